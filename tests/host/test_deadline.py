"""A call's time limit stands still while a person is asked, and while a debugger halts the call."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from hermes_nb.host.execution.deadline import Deadline, is_halted


class Clock:
    """Time that is moved by hand, for a limit and its timer."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._due: list[tuple[float, int, list[Callable[[], None]]]] = []

    def __call__(self) -> float:
        return self.now_s

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Callable[[], None]:
        cell = [callback]
        heapq.heappush(self._due, (self.now_s + delay_s, len(self._due), cell))
        return cell.clear

    def go(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self._due and self._due[0][0] <= end_s:
            self.now_s, _, cell = heapq.heappop(self._due)
            for callback in cell[:]:
                callback()
        self.now_s = end_s


class Subject:
    def __init__(self, limit_s: float | None) -> None:
        self.clock, self.over_at_s, self.is_halted = Clock(), [], False
        self.limit = Deadline(
            limit_s, self.clock, lambda: self.over_at_s.append(self.clock.now_s), lambda: self.is_halted, self.clock
        )
        self.limit.start()


@pytest.mark.parametrize(("limit_s", "over_at_s"), [(1.0, [1.0]), (None, [])])
def test_it_is_over_once(limit_s, over_at_s):
    subject = Subject(limit_s)
    subject.clock.go(10)
    assert subject.over_at_s == over_at_s


def test_a_call_that_ended_in_time_is_never_over():
    subject = Subject(1.0)
    subject.limit.end()
    subject.clock.go(10)
    assert subject.over_at_s == []


def test_no_time_passes_while_it_is_held():
    subject = Subject(1.0)
    subject.clock.go(0.75)
    with subject.limit.held():
        subject.clock.go(60)
        with subject.limit.held():
            subject.clock.go(60)
        subject.clock.go(60)
    subject.clock.go(0.125)
    assert subject.over_at_s == []
    subject.clock.go(10)
    assert subject.over_at_s == [181.0]


@pytest.mark.parametrize("ends", ["while held", "then"])
def test_a_call_that_ended_is_not_over_by_a_hold_that_ends(ends):
    subject = Subject(1.0)
    with subject.limit.held():
        if ends == "while held":
            subject.limit.end()
    subject.limit.end()
    subject.clock.go(10)
    assert subject.over_at_s == []


def test_it_begins_anew_after_a_halt():
    subject = Subject(1.0)
    subject.is_halted = True
    subject.clock.go(30.125)
    subject.is_halted = False
    subject.clock.go(10)
    assert subject.over_at_s == [31.25]


def test_a_thread_is_halted_where_pydevd_says_so():
    thread, ident = threading.current_thread(), threading.get_ident()
    assert not is_halted(ident)
    assert not is_halted(None)
    thread.additional_info = SimpleNamespace(pydev_state=2)
    try:
        assert is_halted(ident)
        thread.additional_info.pydev_state = 1
        assert not is_halted(ident)
    finally:
        del thread.additional_info
