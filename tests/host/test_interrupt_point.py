"""An interrupt at the worst points of a tool, awaiting or not: it is stopped, whatever else it then raises."""

from __future__ import annotations

import pytest

from tests.host.kernels import Kernel

pytestmark = pytest.mark.kernel

TOOLS = """
import contextlib, os
from unittest import mock
from hermes_nb.host.execution import sigint, tool_job
from hermes_nb.host.output import figure
from hermes_nb.tools import call

async def sleeps_async() -> None:
    "Sleep for a minute."
    await asyncio.sleep(60)

async def waits_for_an_event() -> None:
    "Wait a moment as a print with flush=True does, then sleep."
    with interrupt_at(threading.Condition, "_acquire_restore"):
        threading.Event().wait(0.01)
    await asyncio.sleep(60)

def waits_for_an_event_sync() -> None:
    "The same."
    with interrupt_at(threading.Condition, "_acquire_restore"):
        threading.Event().wait(0.01)
    time.sleep(60)

async def fails_when_it_is_cancelled() -> None:
    "Sleep, and fail to clean up."
    try:
        await asyncio.sleep(60)
    finally:
        raise OSError("The connection is closed.")

async def fails_by_itself() -> None:
    "Fail before anything else happens."
    raise OSError("No connection.")

@contextlib.contextmanager
def interrupt_at(owner, name, *, after=False, n=1):
    "SIGINT to this process when the main thread calls that for the nth time: before it does anything, or after it did."
    real, calls = getattr(owner, name), []

    def patched(*args, **kwargs):
        is_it = threading.current_thread() is threading.main_thread() and (calls.append(1) or len(calls) == n)
        if is_it and not after:
            os.kill(os.getpid(), signal.SIGINT)
        value = real(*args, **kwargs)
        if is_it and after:
            os.kill(os.getpid(), signal.SIGINT)
        return value

    with mock.patch.object(owner, name, patched):
        yield calls
"""
CELL = """
turn = FakeTurn(host, {tool}, begin=False)
with interrupt_at({owner}, "{name}", after={after}) as calls:
    turn.thread.start()
    try:
        await turn.wait()
    finally:
        turn.on_interrupt()
        turn.statuses
"""
OUTSIDE = [
    (owner, name, after)
    for owner, name in (
        ("tool_job.ToolJob", "begin"),
        ("figure.Figures", "enter"),
        ("sigint.Frame", "leave"),
        ("figure.Figures", "leave"),
        ("sigint.InterruptGuard", "run"),
        ("call", "run_async"),
    )
    for after in (False, True)
]


@pytest.fixture(autouse=True)
def _tools(kernel: Kernel):
    kernel.run(TOOLS)


def _interrupted(kernel: Kernel, tool: str, owner: str, name: str, *, after: bool = False) -> tuple[list[str], list[str]]:
    """Statuses of the tool's calls, and errors of the cell, when an interrupt comes at that point."""
    errors = _errors(kernel, CELL.format(tool=tool, owner=owner, name=name, after=after))
    assert kernel.value("len(calls) > 0")
    return kernel.value("turn.statuses"), errors


def _errors(kernel: Kernel, cell: str) -> list[str]:
    key = kernel.send(cell)
    kernel.finish(key, timeout_s=20)
    return kernel.cells[key].errors


@pytest.mark.parametrize(("owner", "name", "after"), OUTSIDE)
def test_around_a_step(kernel: Kernel, owner: str, name: str, after: bool) -> None:
    statuses, errors = _interrupted(kernel, "sleeps_async", owner, name, after=after)
    assert statuses == ["stopped"]
    assert errors == ["CancelledError"]


@pytest.mark.parametrize("tool", ["waits_for_an_event", "waits_for_an_event_sync"])
def test_where_a_lock_of_python_is_not_held_yet(kernel: Kernel, tool: str) -> None:
    """`Condition.wait` gives its lock back at its end; interrupted just before, it raises a RuntimeError in its place."""
    assert _errors(kernel, f"turn = FakeTurn(host, {tool}); await turn.wait()") == ["CancelledError"]
    assert kernel.value("turn.statuses") == ["stopped"]


@pytest.mark.parametrize("name", ["stopped", "_without_value"])
def test_while_the_outcome_is_made(kernel: Kernel, name: str) -> None:
    kernel.run("turn = FakeTurn(host, sleeps_async); x = turn.running.wait(5); await asyncio.sleep(0.05)")
    errors = _errors(kernel, f"with interrupt_at(call, {name!r}) as calls:\n    turn.stop()\n    await turn.wait()")
    assert errors in ([], ["CancelledError"])
    assert kernel.value("[turn.statuses, len(calls) > 0]") == [["stopped"], True]


def test_a_cleaning_up_that_fails_is_a_stop(kernel: Kernel) -> None:
    kernel.run("turn = FakeTurn(host, fails_when_it_is_cancelled); x = turn.running.wait(5); await asyncio.sleep(0.05)")
    kernel.run("turn.stop(); await turn.wait()")
    assert kernel.value("turn.statuses") == ["stopped"]


def test_an_error_before_the_stop_stays_one(kernel: Kernel) -> None:
    kernel.run("turn = FakeTurn(host, fails_by_itself); await turn.wait(); x = turn.stop()")
    assert kernel.value("turn.statuses") == ["error"]
