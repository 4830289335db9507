from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest

from hermes_nb.host.execution.sigint import Frame, InterruptGuard


@pytest.fixture
def guard():
    before = signal.getsignal(signal.SIGINT)
    yield InterruptGuard()
    assert signal.getsignal(signal.SIGINT) is before


def interrupt_by_user() -> None:
    os.kill(os.getpid(), signal.SIGINT)


class Body:
    """Sleeps for a minute; a thread acts once it sleeps, and again if the signal came just before the sleep began.

    (A signal that arrives between the interpreter's last look and the system call does not end that call.)
    """

    def __init__(self, act) -> None:
        self.act = act
        self.started, self.ended = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._act)
        self.thread.start()

    def _act(self) -> None:
        self.started.wait(10)
        while not self.ended.is_set():
            self.act()
            self.ended.wait(0.5)

    def __call__(self) -> None:
        self.started.set()
        try:
            time.sleep(60)
        finally:
            self.ended.set()


def test_a_body_that_is_not_interrupted_gives_its_value(guard):
    frame = Frame(is_wait=False)
    assert guard.run(frame, lambda: 7) == 7
    assert not frame.was_cut


def test_interrupt_from_a_thread_ends_a_sleep_at_once(guard):
    frame = Frame(is_wait=False)
    body = Body(frame.interrupt)
    began_s = time.monotonic()
    assert guard.run(frame, body) is None
    assert time.monotonic() - began_s < 1
    assert frame.was_cut
    assert frame.n_user == 0
    body.thread.join()


def test_a_user_interrupt_ends_the_body_and_is_told(guard):
    told: list[bool] = []
    frame = Frame(is_wait=False, on_user=lambda: told.append(True))
    body = Body(interrupt_by_user)
    assert guard.run(frame, body) is None
    assert told == [True]
    body.thread.join()


def test_nothing_is_sent_once_the_body_ended(guard):
    frame = Frame(is_wait=False)
    guard.run(frame, lambda: None)
    frame.interrupt()
    assert frame.n_asked == 0


def test_a_signal_that_comes_late_stays_inside_the_guard(guard):
    """A thread keeps asking while bodies end: nothing ever escapes, and each body's frame settles."""
    current: list[Frame] = []
    is_over = threading.Event()

    def keep_asking() -> None:
        while not is_over.is_set():
            for frame in current[-1:]:
                frame.interrupt()

    thread = threading.Thread(target=keep_asking)
    thread.start()
    try:
        for _ in range(300):
            frame = Frame(is_wait=False)
            current.append(frame)
            guard.run(frame, lambda: sum(range(2000)))
            current.pop()
            assert frame.n_seen == frame.n_asked
    finally:
        is_over.set()
        thread.join()


def test_a_handler_that_was_there_before_hears_of_a_user_interrupt_afterwards(guard):
    heard: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("before"))
    try:
        guard.run(Frame(is_wait=False), interrupt_by_user)
        assert heard == ["before"]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_was_there_before_hears_nothing_of_a_stop(guard):
    heard: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("before"))
    frame = Frame(is_wait=False)
    body = Body(frame.interrupt)
    try:
        guard.run(frame, body)
        assert heard == []
    finally:
        signal.signal(signal.SIGINT, before)
        body.thread.join()


def test_a_wait_counts_interrupts_and_raises_nothing(guard):
    frame = Frame(is_wait=True)
    with guard.wait(frame):
        interrupt_by_user()
        interrupt_by_user()
        frame.n_told = frame.n_user
    assert frame.n_user == 2


def test_a_stop_of_the_outer_body_reaches_it_through_an_inner_wait(guard):
    outer, inner = Frame(is_wait=False), Frame(is_wait=True)
    thread = threading.Thread(target=outer.interrupt)

    def body() -> str:
        with guard.wait(inner):
            thread.start()
            while not inner.wants_out:
                time.sleep(0.001)
        return "left"

    assert guard.run(outer, body) == "left"
    assert inner.n_user == 0
    thread.join()


async def test_awaiting_turns_the_first_interrupt_into_a_call(guard):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    told: list[int] = []
    try:
        with guard.awaiting(lambda: told.append(1)), guard.awaiting(lambda: told.append(2)):
            interrupt_by_user()
            await asyncio.sleep(0)
        assert told == [1, 2]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_that_waits_when_the_handler_is_restored_is_passed_on(guard, monkeypatch):
    """`signal.signal` runs the handler of a waiting signal before it changes anything."""
    heard: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("before"))
    leave = Frame.leave

    def leave_late(frame: Frame) -> None:
        leave(frame)
        guard._on_signal(signal.SIGINT, None)

    monkeypatch.setattr(Frame, "leave", leave_late)
    try:
        guard.run(Frame(is_wait=False), lambda: None)
        assert heard == ["before"]
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_a_wait_did_not_pass_on_reaches_the_handler_before(guard):
    heard: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("before"))
    try:
        frame = Frame(is_wait=True)
        with guard.wait(frame):
            interrupt_by_user()
        assert heard == ["before"]
        frame = Frame(is_wait=True)
        with guard.wait(frame):
            interrupt_by_user()
            frame.n_told = frame.n_user
        assert heard == ["before"]
    finally:
        signal.signal(signal.SIGINT, before)


def test_awaiting_leaves_another_handler_alone(guard):
    mine = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGINT, mine)
    try:
        with guard.awaiting(lambda: None):
            assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)
