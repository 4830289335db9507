"""A body in a thread is ended from outside, and nothing of that is left in the interpreter."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from hermes_nb.host.execution.interruptible_thread import ThreadBody

TRACES = """
import faulthandler, sys
def called(): pass
faulthandler.dump_traceback_later(5, exit=True)
sys.settrace(lambda *_: None)
called()
sys.settrace(None)
print("traced")
"""
STARTS = """
import threading, time
from hermes_nb.host.execution.interruptible_thread import ThreadBody
body, begun, ended = ThreadBody(), threading.Event(), threading.Event()
def run(function):
    def run_it():
        body.run(lambda: (begun.set(), function()))
        ended.set()
    threading.Thread(target=run_it, daemon=True).start()
    begun.wait()
def spins():
    while True:
        pass
"""
ENDS = {
    "by itself": "run(lambda: None); ended.wait()",
    "interrupted": "run(spins); body.interrupt(); ended.wait()",
    "interrupted twice": "run(spins); body.interrupt(); body.interrupt(); ended.wait()",
    "asleep in C": "run(lambda: time.sleep(60)); time.sleep(0.05); body.interrupt()",
    "interrupted as it wakes": "run(lambda: time.sleep(0.2)); time.sleep(0.05); body.interrupt(); ended.wait()",
    "interrupted after its end": "run(lambda: None); ended.wait(); body.interrupt()",
    "interrupted by itself": "run(body.interrupt); ended.wait()",
}


def said_by(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    return ran.stdout.strip() or ran.stderr


@pytest.mark.parametrize("end", ENDS)
def test_a_debugger_can_trace_afterwards(end):
    assert said_by(STARTS + ENDS[end] + TRACES) == "traced"


def test_the_interpreters_flag_still_has_to_be_taken_back_before_python_3_13():
    put_and_withdrawn = """
import ctypes, threading
ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)
"""
    # On 3.12 it costs time only.
    assert (said_by(put_and_withdrawn + TRACES) == "traced") == (sys.version_info >= (3, 12))


def in_a_thread(body: ThreadBody, function) -> tuple[threading.Thread, list]:
    results = []
    begun = threading.Event()

    def run() -> None:
        def runs():
            begun.set()
            return function()

        results.append(body.run(runs))
        results.extend(["went on"] * (sum(range(1000)) > 0))  # nothing is raised later

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    begun.wait()
    return thread, results


def test_its_value_is_returned():
    thread, results = in_a_thread(ThreadBody(), lambda: 7)
    thread.join(5)
    assert results == [7, "went on"]


def test_its_error_is_raised():
    with pytest.raises(KeyError, match="nope"):
        ThreadBody().run(lambda: {}["nope"])


def test_a_sleeper_is_ended_when_it_wakes():
    """The flag was taken back meanwhile: the interpreter has to raise it again."""
    body, went_on = ThreadBody(), []

    def sleeps():
        time.sleep(0.3)
        for _ in range(1000):
            pass
        went_on.append(True)

    thread, results = in_a_thread(body, sleeps)
    body.interrupt()
    thread.join(5)
    assert (results, went_on) == ([None, "went on"], [])


def test_a_body_that_swallows_interrupts_keeps_its_value():
    body, swallowed = ThreadBody(), threading.Event()

    def stubborn():
        try:
            while True:
                pass
        except KeyboardInterrupt:
            swallowed.set()
        return "anyway"

    thread, results = in_a_thread(body, stubborn)
    body.interrupt()
    assert swallowed.wait(5)
    thread.join(5)
    assert results == ["anyway", "went on"]


def test_interrupts_never_leave_the_body_whenever_they_come():
    """2,000 bodies that end at the moment when they are interrupted."""
    escaped = []
    hook, threading.excepthook = threading.excepthook, lambda told: escaped.append(told.exc_value)
    try:
        for n in range(2000):
            body = ThreadBody()
            thread, results = in_a_thread(body, lambda n=n: sum(range(n % 200)))
            body.interrupt()
            thread.join(5)
            assert results in ([None, "went on"], [sum(range(n % 200)), "went on"]), n
    finally:
        threading.excepthook = hook
    assert escaped == []
