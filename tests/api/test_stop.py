"""Stopping: under a second wherever the turn is, nothing goes on, what there was is kept, the next turn is its own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.api.turn import Turn
from hermes_nb.errors import TurnTimeoutError
from hermes_nb.testing import Call, Fail, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
STOP_S = 1.0


async def _stop_from_a_thread(turn: Turn) -> float:
    began = time.perf_counter()
    threading.Thread(target=turn.stop).start()
    await turn.wait()
    return time.perf_counter() - began


async def _event(turn: Turn, kind: str) -> None:
    async with asyncio.timeout(20):
        while not any(e.kind == kind for e in turn.events):
            await asyncio.sleep(0)


async def _next_turn_is_its_own(bound: BoundAgent, model: ScriptedModel) -> None:
    n_before = len(model.requests)
    model.extend([Say("fine")])
    result = await bound.run("next question")
    assert (result.text, result.status) == ("fine", "completed")
    assert len(model.requests) == n_before + 1
    assert model.requests[-1].body["messages"][-1]["content"] == "next question"


async def test_before_the_first_byte(make: Make) -> None:
    hang = Hang()
    bound, model = make([hang])
    turn = await bound.start("question")
    await asyncio.to_thread(hang.wait_reached)
    assert await _stop_from_a_thread(turn) < STOP_S
    assert turn.result is not None
    assert (turn.result.status, turn.result.text) == ("stopped", "")
    await _next_turn_is_its_own(bound, model)


async def test_while_streaming_keeps_what_had_come(make: Make) -> None:
    hang = Hang(text="Half of an")
    bound, model = make([hang])
    turn = await bound.start("question")
    await _event(turn, "model.delta")
    assert await _stop_from_a_thread(turn) < STOP_S
    assert turn.result is not None
    assert turn.result.status == "stopped"
    assert "Half of an".startswith(turn.result.text.strip())
    assert turn.result.text
    await _next_turn_is_its_own(bound, model)


async def test_in_an_async_tool(make: Make) -> None:
    cancelled: list[bool] = []
    running = asyncio.Event()

    @tool
    async def forever() -> str:
        """Wait."""
        running.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "never"

    bound, model = make([Call("forever")], tools=[forever])
    turn = await bound.start("question")
    await running.wait()
    assert await _stop_from_a_thread(turn) < STOP_S
    assert turn.result is not None
    assert turn.result.status == "stopped"
    async with asyncio.timeout(2):
        while not cancelled:
            await asyncio.sleep(0)
    assert len(model.requests) == 1
    await _next_turn_is_its_own(bound, model)


def test_in_a_sync_tool_that_sleeps(make: Make) -> None:
    running = threading.Event()

    @tool
    def nap() -> str:
        """Sleep."""
        running.set()
        time.sleep(60)
        return "never"

    bound, model = make([Call("nap"), Say("never")], tools=[nap])
    stopped_at: list[float] = []

    def stopper() -> None:
        running.wait(20)
        stopped_at.append(time.perf_counter())
        bound.hermes.turns[-1].stop()

    threading.Thread(target=stopper).start()
    result = bound.run_sync("question")
    assert time.perf_counter() - stopped_at[0] < STOP_S
    assert result.status == "stopped"
    assert len(model.requests) == 1


async def test_while_it_waits_behind_another_turn(make: Make) -> None:
    hang = Hang(then="first answer")
    bound, model = make([hang])
    first = await bound.start("first")
    await asyncio.to_thread(hang.wait_reached)
    second = await bound.start("second")
    assert await _stop_from_a_thread(second) < STOP_S
    assert second.result is not None
    assert second.result.status == "stopped"
    hang.release()
    assert (await first.wait()).text == "first answer"
    assert len(model.requests) == 1


async def test_during_the_wait_after_a_429(make: Make) -> None:
    bound, model = make([Fail(429, retry_after_s=30), Say("never")])
    turn = await bound.start("question")
    await _event(turn, "model.retried")
    assert await _stop_from_a_thread(turn) < STOP_S
    assert len(model.requests) == 1


async def test_while_the_worker_starts(own: Hermes, make: Make) -> None:
    bound, model = make([Say("never")], on=own)
    turn = await bound.start("question")
    assert await _stop_from_a_thread(turn) < STOP_S
    assert turn.result is not None
    assert turn.result.status == "stopped"
    assert not model.requests


async def test_timeout_stops_with_its_own_status(make: Make) -> None:
    bound, model = make([Say("ready"), Hang(text="Part")])
    await bound.run("is the worker there?")
    began = time.perf_counter()
    result = await bound.run("question", timeout_s=0.5)
    assert time.perf_counter() - began < 0.5 + STOP_S
    assert result.status == "timed_out"
    with pytest.raises(TurnTimeoutError, match=r"not done at its time limit; what had arrived is kept\. A longer one:"):
        result.raise_for_status()
    assert result.error is None or "timed" in result.error or "time" in result.error
    await _next_turn_is_its_own(bound, model)


async def test_cancelling_the_task_keeps_the_partial_turn_and_is_not_swallowed(make: Make, hermes: Hermes) -> None:
    hang = Hang(text="Half")
    bound, model = make([hang])
    task = asyncio.create_task(bound.run("question"))
    while not bound.hermes.turns or bound.hermes.turns[-1].agent_name != bound.name:
        await asyncio.sleep(0)
    turn = bound.hermes.turns[-1]
    await _event(turn, "model.delta")
    task.cancel()
    with pytest.raises(asyncio.CancelledError, match="was stopped; what had arrived is kept"):
        await task
    assert turn.result is not None
    assert turn.result.status == "stopped"
    store = await hermes.io.awaited(hermes.conversations.opened_store())
    kinds = {e.kind for e in await hermes.io.awaited(store.events(turn.session_id))}
    assert "turn.stopped" in kinds
    await _next_turn_is_its_own(bound, model)


async def test_stop_is_idempotent_and_harmless_after_the_end(make: Make) -> None:
    bound, model = make([Say("done")])
    turn = await bound.start("question")
    await turn.wait()
    turn.stop()
    result = await turn.stop()
    assert result.status == "completed"
    await _next_turn_is_its_own(bound, model)


async def test_worker_that_does_not_answer_is_replaced(own: Hermes, make: Make) -> None:
    import os
    import signal

    hang = Hang(text="Half")
    bound, model = make([hang], on=own)
    turn = await bound.start("question")
    await _event(turn, "model.delta")
    pid = bound.instance.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)  # alive, and deaf
    assert await _stop_from_a_thread(turn) < STOP_S
    assert turn.result is not None
    assert turn.result.status == "stopped"
    assert "Half".startswith(turn.result.text.strip())
    await _next_turn_is_its_own(bound, model)
    assert bound.instance.worker.pid != pid


async def test_tool_that_ignores_the_stop_is_named_and_the_turn_ends(make: Make) -> None:
    running, release = threading.Event(), threading.Event()

    @tool(parallel=True)
    def stubborn() -> str:
        """Wait."""
        running.set()
        release.wait(30)
        return "late"

    bound, model = make([Call("stubborn"), Say("never")], tools=[stubborn])
    turn = await bound.start("question")
    await asyncio.to_thread(running.wait, 20)
    assert await _stop_from_a_thread(turn) < STOP_S
    assert turn.running_tools() == ["stubborn"]
    release.set()
    assert len(model.requests) == 1
