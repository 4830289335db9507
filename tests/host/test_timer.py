from __future__ import annotations

import logging
import threading

import pytest

from hermes_nb.host.execution.timer import Timer


@pytest.fixture
def timer():
    timer = Timer()
    yield timer
    timer.close()


def test_callbacks_run_earliest_first_and_off_the_calling_thread(timer):
    seen: list[object] = []
    done = threading.Event()
    timer.call_later(0.03, lambda: (seen.append(2), done.set()))
    timer.call_later(0.01, lambda: seen.append(threading.current_thread().name))
    assert done.wait(5)
    assert seen == ["hermes-nb-timer", 2]


def test_a_callback_taken_back_does_not_run(timer):
    seen: list[int] = []
    done = threading.Event()
    take_back = timer.call_later(0.01, lambda: seen.append(1))
    take_back()
    timer.call_later(0.02, done.set)
    assert done.wait(5)
    assert seen == []


def test_a_failing_callback_is_logged_and_the_others_run(timer, caplog):
    done = threading.Event()
    with caplog.at_level(logging.ERROR):
        timer.call_later(0, lambda: 1 / 0)
        timer.call_later(0, done.set)
        assert done.wait(5)
    assert "ZeroDivisionError" in caplog.text


def test_no_thread_before_the_first_callback_and_none_after_close():
    timer = Timer()
    before = threading.enumerate()  # a test before this one may have left a host open
    names = lambda: [t.name for t in threading.enumerate() if t not in before]  # noqa: E731
    assert "hermes-nb-timer" not in names()
    timer.call_later(60, lambda: None)
    assert "hermes-nb-timer" in names()
    timer.close()
    assert "hermes-nb-timer" not in names()
    timer.call_later(0, lambda: None)
    assert "hermes-nb-timer" not in names()
