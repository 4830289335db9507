"""Stop, in a real kernel: the interrupt of the front end, and a stop from a thread."""

from __future__ import annotations

import time

import pytest

from tests.host.kernels import Kernel

pytestmark = pytest.mark.kernel

TOOLS = """
def sleeps() -> None:
    "Sleep for a minute."
    print("go", flush=True)
    time.sleep(60)

async def sleeps_async() -> None:
    "Sleep for a minute."
    print("go", flush=True)
    await asyncio.sleep(60)

async def blocks_its_loop() -> None:
    "Sleep for a minute without awaiting."
    print("go", flush=True)
    time.sleep(60)

@tool(parallel=True)
def sleeps_in_a_thread() -> None:
    "Sleep for a minute."
    print("go", flush=True)
    time.sleep(60)

def swallows() -> str:
    "Ignore two interrupts."
    print("go", flush=True)
    for _ in range(2):
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            print("no!", flush=True)
    return "in the end"

def stop_soon(turn):
    "Stop the turn from a thread once its tool runs."
    def run():
        while not host.running_tools(turn.id):
            time.sleep(0.01)
        time.sleep(0.1)
        stopped_at.append(time.monotonic())
        turn.stop()
    stopped_at = []
    threading.Thread(target=run).start()
    return stopped_at
"""
PROMPT_S = 2.0  # a tenth of it on an idle machine; half of it is what is promised
KINDS = ["sleeps", "sleeps_async", "blocks_its_loop", "sleeps_in_a_thread"]


@pytest.fixture(autouse=True)
def _tools(kernel: Kernel):
    kernel.run(TOOLS)


def interrupt(kernel: Kernel, key: str, text: str = "go") -> float:
    """Interrupt the cell once its tool has printed; returns how long the cell took to end."""
    kernel.until(key, text)
    if "async" not in str(kernel.cells[key].of("execute_input")):
        # Let it fall asleep: no Python notices a signal that comes just before a system call begins.
        time.sleep(0.05)
    began_s = time.monotonic()
    kernel.interrupt()
    kernel.finish(key, timeout_s=20)
    return time.monotonic() - began_s


@pytest.mark.parametrize("function", KINDS)
def test_an_interrupt_ends_an_awaiting_cell_in_a_second(kernel, function):
    key = kernel.send(f"turn = FakeTurn(host, {function})\ntry:\n    await turn.wait()\nfinally:\n    turn.on_interrupt()")
    assert interrupt(kernel, key) < PROMPT_S
    assert kernel.cells[key].errors == ["CancelledError"]
    assert kernel.value("[turn.statuses, turn.n_interrupts > 0]") == [["stopped"], True]


def test_an_interrupt_of_a_sync_tool_tells_the_waiter_before_the_outcome(kernel):
    key = kernel.send("turn = FakeTurn(host, sleeps, sleeps)\nawait turn.wait()")
    assert interrupt(kernel, key) < PROMPT_S
    assert kernel.value("[turn.statuses, turn.n_interrupts]") == [["stopped"], 1]


@pytest.mark.parametrize("function", ["sleeps", "sleeps_in_a_thread"])
def test_an_interrupt_of_a_blocking_wait_stops_the_turn(kernel, function):
    key = kernel.send(f"turn = FakeTurn(host, {function}, {function}, blocks=True); x = turn.wait_blocking()")
    assert interrupt(kernel, key) < PROMPT_S
    assert kernel.value("[turn.statuses, turn.n_interrupts]") == [["stopped"], 1]


def test_an_interrupt_of_a_blocking_wait_inside_an_async_cell_stops_the_turn(kernel):
    key = kernel.send("await asyncio.sleep(0); turn = FakeTurn(host, sleeps, blocks=True); x = turn.wait_blocking()")
    assert interrupt(kernel, key) < PROMPT_S
    assert kernel.value("[turn.statuses, turn.n_interrupts]") == [["stopped"], 1]


def test_an_interrupt_of_a_blocking_wait_without_a_tool_is_told(kernel):
    key = kernel.send(
        "turn = FakeTurn(host, blocks=True, begin=False); said = []\n"
        "def is_done():\n"
        "    if not said: said.append(print('go', flush=True))\n"
        "    return turn.n_interrupts > 0\n"
        "host.wait_blocking(is_done, turn.wake, turn.on_interrupt)"
    )
    assert interrupt(kernel, key) < PROMPT_S
    assert kernel.value("turn.n_interrupts") == 1


@pytest.mark.parametrize("function", KINDS)
@pytest.mark.parametrize("wait", ["await turn.wait()", "turn.wait_blocking()"])
def test_a_stop_from_a_thread_ends_the_cell_at_once(kernel, function, wait):
    blocks = "blocking" in wait
    if blocks and function in ("sleeps_async", "blocks_its_loop"):
        return  # refused: its loop is blocked
    reply = kernel.run(
        f"turn = FakeTurn(host, {function}, blocks={blocks}); stopped_at = stop_soon(turn)\n"
        f"x = {wait}; ended_at = time.monotonic(); print(turn.statuses)"
    )
    assert "['stopped']" in reply.text
    assert kernel.value("ended_at - stopped_at[0]") < 0.5


@pytest.mark.parametrize("function", KINDS)
def test_a_background_turn_is_stopped_from_the_next_cell_or_a_thread(kernel, function):
    key = kernel.send(f"turn = FakeTurn(host, {function}, background=True); stopped_at = stop_soon(turn)")
    kernel.finish(key)
    reply = kernel.run("turn.thread.join(10); print(turn.statuses)" if "thread" in function else "x = await turn.wait()")
    assert reply.errors == []
    assert kernel.value("turn.statuses") == ["stopped"]


def test_an_interrupt_during_a_background_tool_stops_it_and_reaches_the_users_cell(kernel):
    asking = kernel.send("turn = FakeTurn(host, sleeps, background=True, begin=False)")
    mine = kernel.send("turn.thread.start(); await asyncio.sleep(30)")
    # ipykernel before 6.18 sends what a thread prints to the cell that runs.
    kernel.pump(lambda: any("go" in kernel.cells[key].text for key in (asking, mine)))
    began_s = time.monotonic()
    kernel.interrupt()
    kernel.finish(mine)
    assert time.monotonic() - began_s < PROMPT_S
    assert kernel.cells[mine].errors == ["CancelledError"]
    kernel.run("turn.thread.join(5)")
    assert kernel.value("[turn.statuses, turn.n_interrupts]") == [["stopped"], 0]


def test_a_tool_that_swallows_an_interrupt_is_named_and_asked_again(kernel):
    key = kernel.send("turn = FakeTurn(host, swallows)\nstop_soon(turn)\nx = await turn.wait(); print(turn.statuses)")
    kernel.finish(key)
    assert kernel.cells[key].text.count("no!") == 2
    assert kernel.value("host.running_tools(turn.id)") == []


def test_a_tool_that_never_listens_gives_its_turn_back(kernel):
    reply = kernel.run(
        "release = threading.Event()\n"
        "def deaf() -> None:\n"
        "    'Ignore every interrupt.'\n"
        "    while not release.is_set():\n"
        "        try: time.sleep(60)\n"
        "        except KeyboardInterrupt: pass\n"
        "turn = FakeTurn(host, deaf, background=True)\n"
        "def watch():\n"
        "    while not host.running_tools(turn.id): time.sleep(0.01)\n"
        "    began = time.monotonic()\n"
        "    turn.stop(); turn.thread.join(10)\n"
        "    seen.extend([time.monotonic() - began, host.running_tools(turn.id)])\n"
        "    release.set()\n"
        "seen = []; watcher = threading.Thread(target=watch); watcher.start()\n"
        "await turn.wait()\n"
    )
    assert reply.errors == []
    took_s, names = kernel.value("[watcher.join(10), seen][1]")
    assert took_s < PROMPT_S
    assert names == ["deaf"]
    assert kernel.value("[turn.statuses, host.running_tools(turn.id)]") == [["stopped"], []]


def test_time_limits_hold(kernel):
    reply = kernel.run(
        "turn = await FakeTurn(host, *[tool(f, timeout_s=0.1, name=f'n{i}', parallel=getattr(f, 'parallel', False))\n"
        "    for i, f in enumerate([sleeps, sleeps_async, blocks_its_loop, sleeps_in_a_thread])]).wait()\n"
        "print(turn.statuses)"
    )
    assert "['timed_out', 'timed_out', 'timed_out', 'timed_out']" in reply.text


def test_the_next_cell_and_the_next_turn_work_after_stops(kernel):
    for _ in range(3):
        key = kernel.send("turn = FakeTurn(host, sleeps)\nawait turn.wait()")
        assert interrupt(kernel, key) < PROMPT_S
        assert kernel.run("print(1 + 1)").text == "2\n"
        kernel.run("five = tool(lambda: 5, name='five', description='5')")
        reply = kernel.run("turn = await FakeTurn(host, five).wait(); print(turn.statuses)")
        assert reply.text == "['ok']\n"


def test_a_late_second_interrupt_does_not_break_the_kernel(kernel):
    key = kernel.send("turn = FakeTurn(host, sleeps)\nawait turn.wait()")
    kernel.until(key, "go")
    for _ in range(3):
        kernel.interrupt()
    kernel.finish(key)
    assert kernel.run("print('alive')").text == "alive\n"
