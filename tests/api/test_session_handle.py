"""A session's handle: its id, its turns, and its events, followed from anywhere in them."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.api.session_handle import SessionHandle
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.model.event import Event
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


async def until_ends(events: AsyncIterator[Event], n_ends: int) -> list[Event]:
    """The events up to the n-th end of a turn."""
    found: list[Event] = []
    async with asyncio.timeout(30):
        async for event in events:
            found.append(event)
            n_ends -= event.is_turn_end
            if not n_ends:
                return found
    return found


def keys(events: Any) -> list[Any]:
    return [e.key for e in events]


async def test_an_opened_session_is_its_id_and_knows_its_agent(make: Make) -> None:
    bound, _ = make([Say("1"), Say("2")])
    first = await bound.run("a")
    await bound.new_session()
    handle = await bound.open_session(first.session_id)
    assert handle == handle.id == first.session_id == bound.session_id == f"{handle}"
    assert handle.agent is bound
    assert repr(handle) == f"<SessionHandle {handle.id} of {bound.name!r}>"
    assert json.dumps(handle) == f'"{handle.id}"'
    assert type(pickle.loads(pickle.dumps(handle))) is type(handle.id) is str
    assert (await bound.run("b", session_id=handle)).session_id == first.session_id
    assert [(t.prompt, t.status) for t in await handle.turns()] == [("a", "completed"), ("b", "completed")]


async def test_the_session_before_the_first_turn_is_the_one_that_it_takes(make: Make) -> None:
    bound, _ = make([Say("1")])
    assert bound.session_id is None
    session = bound.session
    assert isinstance(session, SessionHandle)
    assert (await session.turns(), session.running) == ([], None)
    task = asyncio.create_task(until_ends(session.events(), 1))
    result = await bound.run("a")
    assert result.session_id == session == bound.session
    events = await task
    assert events[0].kind == "turn.started"
    assert keys(events) == keys(result.events)


async def test_events_come_while_the_turn_runs_and_its_handle_is_running(make: Make) -> None:
    hang = Hang("some words ")
    bound, _ = make([hang])
    session = bound.session
    turn = await bound.start("a")
    async with asyncio.timeout(30):
        async for event in session.events():
            if event.kind == "model.delta":
                break
    assert not turn.is_done
    assert session.running is turn
    hang.release()
    await turn
    assert session.running is None


async def test_after_an_event_come_those_behind_it_each_once(make: Make) -> None:
    bound, _ = make([Say("1"), Say("2")])
    one = await bound.run("a")
    events = await until_ends(bound.session.events(), 1)
    for after in (events[0], events[0].id):
        assert keys(await until_ends(bound.session.events(after=after), 1)) == keys(events[1:])
    task = asyncio.create_task(until_ends(bound.session.events(after=events[-1]), 1))
    two = await bound.run("b")
    assert {e.turn_id for e in await task} == {two.turn_id} != {one.turn_id}
    assert keys(await until_ends(bound.session.events(), 2)) == keys([*one.events, *two.events])


@pytest.mark.parametrize("after", ["x", "w-1:1:x", 3, "w-1:1:" + "9" * 40, "::"])
async def test_what_is_no_event_is_refused(make: Make, after: Any) -> None:
    bound, _ = make([])
    with pytest.raises(UsageError, match="after takes an Event or the id of one"):
        await anext(bound.session.events(after=after))


async def test_an_event_that_is_not_of_this_session_is_refused(make: Make) -> None:
    bound, _ = make([Say("1")])
    result = await bound.run("a")
    await bound.new_session()
    with pytest.raises(UsageError, match=f"this one is of {result.session_id}"):
        await anext(bound.session.events(after=result.events[0]))
    with pytest.raises(UsageError, match=f"Session {bound.session_id} has no event '{result.events[0].id}'"):
        await anext(bound.session.events(after=result.events[0].id))


async def test_another_kernel_s_turn_is_followed(own: Hermes, make: Make) -> None:
    bound, model = make([Say("1"), Say("2")], on=own, name="a")
    first = await bound.run("a")
    other = Hermes.open_local(state=own.state_dir)
    try:
        there = other.bind(Agent("a", model=model.model))
        task = asyncio.create_task(until_ends((await there.open_session(first.session_id)).events(), 2))
        second = await bound.run("b")
        assert keys(await task) == keys([*first.events, *second.events])
    finally:
        other.close()


async def test_a_stream_ends_with_its_hermes_and_with_its_session(own: Hermes, make: Make) -> None:
    bound, _ = make([Say("1"), Say("2")], on=own)
    await bound.run("a")
    deleted = bound.session
    await bound.new_session()
    await bound.run("b")
    streams = [asyncio.create_task(until_ends(s.events(), 9)) for s in (deleted, bound.session)]
    await until_ends(bound.session.events(), 1)
    await asyncio.to_thread(own.library.delete, deleted.id)
    async with asyncio.timeout(30):
        assert {e.session_id for e in await streams[0]} <= {deleted.id}
        await own.aclose()
        assert (await streams[1])[-1].is_turn_end


async def test_who_leaves_a_stream_leaves_nothing(own: Hermes, make: Make) -> None:
    bound, _ = make([Call("nothing"), Say("1")], on=own)
    await bound.run("a")
    stream: Any = bound.session.events()
    await anext(stream)
    await stream.aclose()
    waiting = asyncio.create_task(until_ends(bound.session.events(), 9))
    await until_ends(bound.session.events(), 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    store = await own.io.awaited(own.conversations.opened_store())
    assert store._followers._waiting == {}


async def test_a_session_is_told_as_messages_and_as_a_trajectory(make: Make, tmp_path: Path) -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    bound, model = make(
        [Say("Thinking of sums.", reasoning="because"), Call("add", {"a": 1, "b": 2}), Say("3.")], tools=[add]
    )
    await bound.run("Hello")
    await bound.run("What is 1 plus 2?")
    session = bound.session
    messages = await session.to_messages()
    asked = [m for m in model.requests[-1].messages if m["role"] != "system"]
    assert [(m["role"], m["content"]) for m in messages[:-1]] == [(m["role"], m["content"]) for m in asked]
    turns = await session.to_trajectory()
    assert [turn["from"] for turn in turns] == ["system", "human", "gpt", "human", "gpt", "tool", "gpt"]
    assert '"name": "add"' in turns[0]["value"]
    assert turns[2]["value"] == "<think>\nbecause\n</think>\nThinking of sums."
    assert '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>' in turns[4]["value"]
    assert '"content": "3"' in turns[5]["value"]
    short = await session.to_trajectory(max_tokens=400, count_tokens=len, summarize=lambda text: f"{len(text)} characters")
    assert len(short) == len(turns)  # its middle is empty
    with pytest.raises(UsageError, match="go together"):
        await session.to_trajectory(max_tokens=400)
    file = await session.to_jsonl(tmp_path / "kept.jsonl")
    await session.to_jsonl(file, form="openai")
    with pytest.raises(UsageError, match="'sharegpt' or 'openai'"):
        await session.to_jsonl(file, form="csv")  # type: ignore[arg-type]
    first, second = map(json.loads, file.read_text().splitlines())
    assert (first["conversations"], first["completed"], first["model"]) == (turns, True, bound.model.id)
    assert (second["messages"], second["tools"][0]["function"]["name"]) == (messages, "add")
