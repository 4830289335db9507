"""Once under a key, in the order asked, and words put into a running turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.turns.request import TurnRequest

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


async def test_a_key_runs_once_from_many_tasks(make: Make) -> None:
    bound, model = make([Say("once"), Say("other")])
    results = await asyncio.gather(*(bound.run("question", idempotency_key="k1") for _ in range(20)))
    assert {(r.text, r.turn_id) for r in results} == {("once", results[0].turn_id)}
    assert len(model.requests) == 1
    request = TurnRequest(prompt="question", idempotency_key="k1")
    threads = await asyncio.gather(*(asyncio.to_thread(bound.submit, request) for _ in range(5)))
    assert {t.id for t in threads} == {results[0].turn_id}
    with pytest.raises(UsageError, match="'k1' was used for another question"):
        await bound.run("another question", idempotency_key="k1")
    assert (await bound.run("another question", idempotency_key="k2")).text == "other"


async def test_a_key_is_known_after_a_restart(make: Make, tmp_path: Path) -> None:
    first = Hermes.open_local(state=tmp_path / "state")
    bound, model = make([Say("once")], on=first, name="keyed")
    before = await bound.run("question", idempotency_key="k")
    await first.aclose()
    second = Hermes.open_local(state=tmp_path / "state")
    try:
        again = second.bind(Agent("keyed", model=model.model))
        result = await again.run("question", idempotency_key="k")
        assert (result.text, result.turn_id, result.status) == ("once", before.turn_id, "completed")
        assert [e.key for e in result.events] == [e.key for e in before.events]
        assert len(model.requests) == 1
        with pytest.raises(UsageError, match="another question"):
            await again.run("something else", idempotency_key="k")
    finally:
        await second.aclose()


async def test_turns_of_a_session_run_in_the_order_they_were_asked(make: Make) -> None:
    bound, model = make([Say(str(n)) for n in range(6)])
    await bound.new_session()
    turns = [bound.submit(TurnRequest(prompt=f"question {n}")) for n in range(6)]
    results = [await turn.wait() for turn in turns]
    assert [r.text for r in results] == [str(n) for n in range(6)]
    assert [r.body["messages"][-1]["content"] for r in model.requests] == [f"question {n}" for n in range(6)]


async def test_steer_rides_on_a_tool_or_is_handed_back(make: Make) -> None:
    reached, go = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool
    async def look(n: int) -> str:
        """Look."""
        loop.call_soon_threadsafe(reached.set)
        await go.wait()
        return "seen"

    hang = Hang()
    bound, model = make([Call("look", {"n": 1}), hang], tools=[look])
    turn = await bound.start("question")
    await asyncio.wait_for(reached.wait(), 20)
    assert await bound.start("rather in red", mode="steer") is turn
    go.set()
    await asyncio.to_thread(hang.wait_reached)
    assert "rather in red" in str(model.requests[-1].body["messages"])
    assert await bound.start("too late", mode="steer") is turn
    hang.release()
    result = await turn.wait()
    assert result.status == "completed"
    assert turn.unread_steer == result.unread_steer == "too late"
    assert [e.data["code"] for e in result.events if e.kind == "warning"] == ["steer-unread"]
    model.extend([Say("new turn")])
    fresh = await bound.start("nothing runs", mode="steer")
    assert fresh is not turn
    assert (await fresh.wait()).unread_steer is None
    wrong: Any = "sideways"
    with pytest.raises(UsageError, match="'enqueue' or 'steer'"):
        bound.submit(TurnRequest(prompt="question", mode=wrong))
