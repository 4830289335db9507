"""The plain host in this process: pytest's main thread is the user's."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from hermes_nb.host.plain import PlainHost
from hermes_nb.tools.decorator import tool
from tests.host.fake_turn import FakeTurn


@pytest.fixture
def host():
    before = (signal.getsignal(signal.SIGINT), sys.stdout, sys.stderr)
    host = PlainHost()
    yield host
    host.close()
    assert (signal.getsignal(signal.SIGINT), sys.stdout, sys.stderr) == before
    assert [t.name for t in threading.enumerate() if t.name == "hermes-nb-timer"] == []


def on_main() -> bool:
    """Whether this runs on the main thread."""
    return threading.current_thread() is threading.main_thread()


async def on_which_loop() -> int:
    """The id of the running loop."""
    return id(asyncio.get_running_loop())


def when_running(turn: FakeTurn, act) -> threading.Thread:
    """In a thread: `act()` once the turn's tool runs."""

    def run() -> None:
        while not turn.host.running_tools(turn.id):
            pass
        act()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def interrupt(turn: FakeTurn) -> None:
    """SIGINT to this process, and again where it came just before a system call that it does not end."""
    while turn.host.running_tools(turn.id) and not turn.n_interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        turn.thread.join(0.5)


def test_a_script_is_a_plain_process():
    code = """
from hermes_nb.host.detect import current
host = current()
assert (host.name, host.is_interactive, host.cell_id()) == ("plain", False, None)
host.close()
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


async def test_sync_tools_run_on_the_main_thread_in_call_order_while_the_caller_awaits(host):
    order: list[int] = []
    tools = [tool(lambda n=n: order.append(n) or on_main(), name=f"t{n}", description="x") for n in range(5)]
    turn = await FakeTurn(host, *tools, at_once=True).wait()
    assert [o.value for o in turn.outcomes] == [True] * 5
    assert order == [0, 1, 2, 3, 4]


def test_sync_tools_run_on_the_main_thread_while_the_caller_blocks(host):
    turn = FakeTurn(host, on_main, on_main, blocks=True).wait_blocking()
    assert [o.value for o in turn.outcomes] == [True, True]


async def test_async_tools_run_on_the_callers_loop(host):
    turn = await FakeTurn(host, on_which_loop).wait()
    assert turn.outcomes[0].value == id(asyncio.get_running_loop())


async def test_an_async_tool_whose_loop_is_blocked_is_refused(host):
    turn = FakeTurn(host, on_which_loop, blocks=True).wait_blocking()
    assert turn.statuses == ["error"]
    assert turn.outcomes[0].error_type == "LoopBlockedError"
    assert "on_which_loop" in turn.outcomes[0].error


def test_an_async_tool_without_a_loop_is_refused(host):
    turn = FakeTurn(host, on_which_loop, blocks=True).wait_blocking()
    assert turn.outcomes[0].error_type == "LoopBlockedError"


async def test_parallel_tools_run_at_once(host):
    barrier = threading.Barrier(3)
    meet = tool(lambda: barrier.wait(10) >= 0, name="meet", description="x", parallel=True)
    turn = await FakeTurn(host, meet, meet, meet, at_once=True).wait()
    assert [o.value for o in turn.outcomes] == [True] * 3


async def test_tools_see_the_callers_context_variables_and_keep_their_changes_to_themselves(host):
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("caller")

    def swap() -> str:
        """Read and set."""
        seen = variable.get()
        variable.set("tool")
        return seen

    async def swap_async() -> str:
        """Read and set."""
        return swap()

    threaded = tool(swap, parallel=True, name="threaded")
    turn = await FakeTurn(host, swap, swap_async, threaded, swap).wait()
    assert [o.value for o in turn.outcomes] == ["caller"] * 4
    assert variable.get() == "caller"


async def test_an_error_of_a_tool_is_an_outcome(host):
    def fails() -> None:
        """Fail."""
        raise ValueError("no such row")

    turn = await FakeTurn(host, fails).wait()
    assert (turn.statuses, turn.outcomes[0].error_type) == (["error"], "ValueError")


def sleeps() -> None:
    """Sleep for a minute."""
    time.sleep(60)


async def sleeps_async() -> None:
    """Sleep for a minute."""
    await asyncio.sleep(60)


async def blocks_its_loop() -> None:
    """Sleep for a minute without awaiting."""
    time.sleep(60)


@pytest.mark.parametrize(
    "function",
    [sleeps, sleeps_async, blocks_its_loop, tool(sleeps, parallel=True, name="threaded")],
    ids=["sync", "async", "blocking-async", "parallel"],
)
async def test_stop_from_a_thread_ends_a_long_sleep_in_a_tenth_of_a_second(host, function):
    turn = FakeTurn(host, function)
    times: list[float] = []

    def stop() -> None:
        times.append(time.monotonic())
        assert turn.stop() == [turn.tools[0].name]

    thread = when_running(turn, stop)
    await turn.wait()
    took_s = time.monotonic() - times[0]
    thread.join()
    assert turn.statuses == ["stopped"]
    assert took_s < 0.4  # about a millisecond; asked again after a tenth of a second when the sleep had just begun


def test_stop_while_the_caller_blocks(host):
    turn = FakeTurn(host, sleeps, blocks=True)
    thread = when_running(turn, turn.stop)
    began_s = time.monotonic()
    turn.wait_blocking()
    thread.join()
    assert turn.statuses == ["stopped"]
    assert time.monotonic() - began_s < 1


async def test_stop_ends_pending_calls_too_and_their_bodies_never_run(host):
    ran: list[int] = []
    after = tool(lambda: ran.append(1), name="after", description="x")
    turn = FakeTurn(host, sleeps, after, after, at_once=True)
    thread = when_running(turn, lambda: (turn.running.wait(10), turn.stop()))
    await turn.wait()
    thread.join()
    assert turn.statuses == ["stopped"] * 3
    assert ran == []


async def test_stopping_one_turn_leaves_another_alone(host):
    go = asyncio.Event()

    async def waits() -> str:
        """Wait."""
        await go.wait()
        return "done"

    first, second = FakeTurn(host, waits), FakeTurn(host, waits)
    while not (host.running_tools(first.id) and host.running_tools(second.id)):
        await asyncio.sleep(0)
    first.stop()
    await first.wait()
    go.set()
    await second.wait()
    assert (first.statuses, second.statuses) == (["stopped"], ["ok"])


def swallows() -> str:
    """Ignore two interrupts."""
    for _ in range(2):
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            continue
    return "in the end"


async def test_a_tool_that_swallows_an_interrupt_is_asked_again_and_named_until_it_ends(host):
    turn = FakeTurn(host, swallows)
    names: list[list[str]] = []

    def stop() -> None:
        turn.stop()
        names.append(host.running_tools(turn.id))

    thread = when_running(turn, stop)
    await turn.wait()
    thread.join()
    assert names == [["swallows"]]
    assert host.running_tools(turn.id) == []


async def test_a_parallel_tool_that_can_not_be_reached_is_left_alone_and_named(host):
    gate = threading.Event()
    stuck = tool(lambda: gate.wait(60), name="stuck", description="x", parallel=True)
    turn = FakeTurn(host, stuck)
    thread = when_running(turn, turn.stop)
    await turn.wait()
    thread.join()
    assert turn.statuses == ["stopped"]
    assert host.running_tools(turn.id) == ["stuck"]
    assert type(sys.stdout).__name__ != "Tee"
    gate.set()


async def test_a_parallel_tool_in_a_python_loop_is_stopped(host):
    def spins() -> None:
        """Spin for ever."""
        while True:
            pass

    turn = FakeTurn(host, tool(spins, parallel=True))
    thread = when_running(turn, turn.stop)
    await turn.wait()
    thread.join()
    assert turn.statuses == ["stopped"]
    while host.running_tools(turn.id):
        await asyncio.sleep(0)


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_sync_tool_is_ended_at_its_time_limit(host, parallel):
    limited = tool(sleeps, timeout_s=0.05, name="limited", parallel=parallel)
    began_s = time.monotonic()
    turn = await FakeTurn(host, limited).wait()
    assert time.monotonic() - began_s < 2
    assert turn.statuses == ["timed_out"]
    assert "0.05 s" in turn.outcomes[0].content


@pytest.mark.parametrize("why", ["timed_out", "stopped"])
async def test_a_body_that_does_not_listen_is_told_with_the_time_it_took(host, why):
    is_over = threading.Event()
    turn = FakeTurn(host, tool(is_over.wait, parallel=True, name="deaf", timeout_s=0.05 if why == "timed_out" else None))
    thread = when_running(turn, turn.stop) if why == "stopped" else None
    await turn.wait()
    is_over.set()
    if thread is not None:
        thread.join()
    outcome = turn.outcomes[0]
    assert (outcome.status, outcome.duration_ms > 40, outcome.started_at_unix_s > 0) == (why, True, True)


async def test_an_async_tool_is_ended_at_its_time_limit(host):
    turn = await FakeTurn(host, tool(sleeps_async, timeout_s=0.05, name="limited")).wait()
    assert turn.statuses == ["timed_out"]


async def test_an_async_tool_that_blocks_its_loop_is_ended_at_its_time_limit(host):
    turn = await FakeTurn(host, tool(blocks_its_loop, timeout_s=0.05, name="limited")).wait()
    assert turn.statuses == ["timed_out"]


async def test_a_tool_within_its_limit_is_not_disturbed(host):
    turn = await FakeTurn(host, tool(on_main, timeout_s=60, name="limited")).wait()
    assert turn.statuses == ["ok"]


def test_an_interrupt_of_a_blocking_wait_is_told_once_and_the_wait_goes_on(host):
    turn = FakeTurn(host, blocks=True, begin=False)
    interrupts = [lambda: os.kill(os.getpid(), signal.SIGINT)]

    def over() -> bool:
        if interrupts:
            interrupts.pop()()
        return turn.n_interrupts == 1

    host.wait_blocking(over, turn.wake, turn.on_interrupt)
    assert turn.n_interrupts == 1


def test_a_second_interrupt_of_a_blocking_wait_is_raised(host):
    turn = FakeTurn(host, blocks=True, begin=False)

    def interrupted() -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return False

    with pytest.raises(KeyboardInterrupt):
        host.wait_blocking(interrupted, turn.wake, turn.on_interrupt)
    assert turn.n_interrupts == 1


def test_an_interrupt_during_a_tool_of_a_blocking_wait_stops_tool_and_turn(host):
    turn = FakeTurn(host, sleeps, sleeps, blocks=True)
    thread = when_running(turn, lambda: interrupt(turn))
    turn.wait_blocking()
    thread.join()
    assert turn.statuses == ["stopped"]
    assert turn.n_interrupts == 1


def test_an_interrupt_of_a_script_during_a_tool_cancels_the_waiting_task(host):
    """`asyncio.run` has a handler of its own; it hears of the interrupt once the tool is stopped."""
    turns: list[FakeTurn] = []

    async def main() -> None:
        turn = FakeTurn(host, sleeps)
        turns.append(turn)
        turns_thread.append(when_running(turn, lambda: interrupt(turn)))
        await turn.wait()

    turns_thread: list[threading.Thread] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(main())
    finally:
        signal.signal(signal.SIGINT, before)
    turns_thread[0].join()
    turns[0].thread.join()
    assert turns[0].statuses == ["stopped"]


def test_a_terminal_loop_survives_the_interrupt_of_an_awaiting_turn(host):
    """`run_until_complete`, as a bare IPython runs its cells: Python's own handler would tear the loop down."""
    loop = asyncio.new_event_loop()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:

        async def main() -> FakeTurn:
            turn = FakeTurn(host, sleeps_async)
            thread = when_running(turn, lambda: interrupt(turn))
            await turn.wait()
            thread.join()
            return turn

        turn = loop.run_until_complete(main())
        assert (turn.statuses, turn.n_interrupts) == (["stopped"], 1)
    finally:
        signal.signal(signal.SIGINT, before)
        loop.close()


async def test_cancelling_an_awaiting_wait_ends_it_at_once(host):
    turn = FakeTurn(host, begin=False)
    task = asyncio.create_task(turn.wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_two_waits_for_one_turn_both_end(host):
    turn = FakeTurn(host, on_main)
    await asyncio.gather(turn.wait(), turn.wait())
    assert turn.statuses == ["ok"]


def test_a_turn_of_another_thread_uses_the_main_thread_when_that_waits(host):
    results: list[object] = []
    outer = FakeTurn(host, blocks=True, begin=False)

    def other_thread() -> None:
        turn = FakeTurn(host, on_main, blocks=True).wait_blocking()
        results.extend(o.value for o in turn.outcomes)
        outer.is_done = True
        outer.wake.set()

    thread = threading.Thread(target=other_thread)
    outer.thread = thread
    started: list[bool] = []

    def is_done() -> bool:
        if not started:
            started.append(True)
            thread.start()
        return outer.is_done

    host.wait_blocking(is_done, outer.wake, outer.on_interrupt)
    thread.join()
    assert results == [True]


def test_a_turn_of_another_thread_does_not_wait_for_a_main_thread_that_joins_it(host):
    results: list[object] = []

    def other_thread() -> None:
        turn = FakeTurn(host, on_main, blocks=True).wait_blocking()
        results.extend(o.status for o in turn.outcomes)

    thread = threading.Thread(target=other_thread)
    thread.start()
    thread.join(20)
    assert results == ["ok"]


def test_a_background_turn_of_a_script_is_served_by_the_next_wait(host):
    background = FakeTurn(host, on_main, background=True)
    background.running.wait(10)
    other = FakeTurn(host, on_main, blocks=True).wait_blocking()
    background.thread.join(10)
    assert (background.statuses, other.statuses) == (["ok"], ["ok"])


async def test_prints_of_a_tool_appear_and_are_heard(host, capsys):
    def talks() -> None:
        """Print."""
        print("one")
        print("two", file=sys.stderr)

    turn = await FakeTurn(host, talks).wait()
    out, err = capsys.readouterr()
    assert (out, err) == ("one\n", "two\n")
    assert turn.outputs == [("stdout", "one\n", ()), ("stderr", "two\n", ())]


def test_a_nested_turn_inside_a_tool_works(host):
    def nested() -> list[str]:
        """Run a turn."""
        return FakeTurn(host, on_main, blocks=True).wait_blocking().statuses

    turn = FakeTurn(host, nested, blocks=True).wait_blocking()
    assert turn.outcomes[0].value == ["ok"]


def test_stopping_a_turn_reaches_through_the_nested_turn_it_waits_for(host):
    inner: list[FakeTurn] = []

    def nested() -> None:
        """Run a turn that does not end."""
        inner.append(FakeTurn(host, sleeps, blocks=True))
        inner[0].wait_blocking()

    turn = FakeTurn(host, nested, blocks=True)
    began_s = time.monotonic()

    def stop() -> None:
        while not (inner and host.running_tools(inner[0].id)):
            pass
        turn.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    turn.wait_blocking()
    thread.join()
    assert turn.statuses == ["stopped"]
    assert time.monotonic() - began_s < 2
    inner[0].stop()
