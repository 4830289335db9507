"""Turns asked from within tools, and turns that wait for others: nothing waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


async def test_a_tool_can_not_ask_the_session_that_waits_for_it(make: Make) -> None:
    @tool
    async def ask_itself() -> str:
        """Ask."""
        return (await bound.run("inner")).text

    bound, model = make([Call("ask_itself"), Say("done")], tools=[ask_itself])
    result = await bound.run("go", timeout_s=20)
    assert (result.status, result.text) == ("completed", "done")
    assert result.tools[0].status == "error"
    assert f"Session {result.session_id} waits for the tool that asks" in result.tools[0].content
    assert len(model.requests) == 2


def test_agents_that_ask_each_other_do_not_wait_for_each_other(make: Make) -> None:
    @tool
    def ask_second(text: str) -> str:
        """Ask."""
        return second.run_sync(text).text

    @tool
    def ask_first(text: str) -> str:
        """Ask."""
        return first.run_sync(text).text

    first, _ = make([Call("ask_second", {"text": "you?"}), Say("first is done")], tools=[ask_second])
    second, model = make([Call("ask_first", {"text": "and you?"}), Say("no")], tools=[ask_first])
    result = first.run_sync("go", timeout_s=30)
    assert (result.text, result.tools[0].content) == ("first is done", "no")
    assert "waits for the tool that asks" in str(model.requests[1].messages[-1]["content"])


async def test_a_tool_may_ask_in_a_session_of_its_own(make: Make) -> None:
    @tool
    async def ask_apart() -> str:
        """Ask."""
        outer = bound.session_id
        inner = await bound.new_session()
        bound.session_id = outer
        return (await bound.run("inner", session_id=inner)).text

    bound, _ = make([Call("ask_apart"), Say("inner answer"), Say("outer answer")], tools=[ask_apart])
    result = await bound.run("go")
    assert (result.text, result.tools[0].content) == ("outer answer", "inner answer")


async def test_what_a_tool_left_behind_may_ask_when_its_turn_is_over(make: Make) -> None:
    left: list[asyncio.Task[str]] = []
    over = asyncio.Event()

    @tool
    async def leave() -> str:
        """Leave a task."""

        async def later() -> str:
            await over.wait()
            return (await bound.run("later")).text

        left.append(asyncio.create_task(later()))
        return "left"

    bound, _ = make([Call("leave"), Say("one"), Say("two")], tools=[leave])
    assert (await bound.run("go")).text == "one"
    over.set()
    assert await left[0] == "two"


async def test_the_time_limit_counts_while_a_turn_waits_for_another(make: Make) -> None:
    bound, model = make([Hang(text="x")])
    first = await bound.start("first")
    result = await bound.run("second", timeout_s=0.3)
    assert result.status == "timed_out"
    assert not first.is_done
    await first.stop()
    assert len(model.requests) <= 1


async def test_the_time_limit_counts_while_the_worker_starts(
    own: Hermes, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_NB_TEMPLATE", "0")  # a forked worker is there before the limit
    bound, model = make([Say("never")], on=own)
    assert (await bound.run("question", timeout_s=0.2)).status == "timed_out"
    assert not model.requests


async def test_a_lone_surrogate_in_a_prompt_harms_nothing(make: Make) -> None:
    bound, model = make([Say("one"), Say("two")])
    assert (await bound.run("\ud800 half a pair, \ud83d\ude00 a whole one")).text == "one"
    assert model.requests[0].messages[-1]["content"] == "\ufffd half a pair, \U0001f600 a whole one"
    assert (await bound.run("next")).text == "two"
    row = await asyncio.to_thread(bound.hermes.sessions)
    assert any(r.title.startswith("\ufffd half") for r in row)
    with pytest.raises(UsageError):
        await bound.run("  ")
