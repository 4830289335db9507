"""Forks of sessions that have no turn of their own yet."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import SessionNotFoundError
from hermes_nb.testing import Call, Say, ScriptedModel

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


def asked(model: ScriptedModel) -> list[str]:
    return [str(m["content"]) for m in model.requests[-1].messages if m["role"] == "user"]


async def test_a_fork_of_a_fresh_fork_has_the_inherited_turns(own: Hermes, make: Make) -> None:
    bound, model = make([Say("1"), Say("2"), Say("3")], on=own)
    await bound.run("first")
    await bound.run("second")
    once = await bound.fork()
    twice = await bound.fork()
    assert bound.session_id == twice != once
    own.conversations._sessions.clear()  # as another kernel would find them
    await bound.run("third")
    assert asked(model) == ["first", "second", "third"]


async def test_a_fresh_fork_of_a_step_can_be_forked(own: Hermes, make: Make) -> None:
    def add(n: int) -> int:
        """Add."""
        return n + 1

    bound, model = make([Call("add", {"n": 1}), Say("two"), Say("on")], on=own, tools=[add])
    result = await bound.run("first")
    await bound.fork(at=next(e.span_id for e in result.events if e.kind == "tool.completed"))
    await bound.fork()
    own.conversations._sessions.clear()
    await bound.run("go on")
    assert [m["role"] for m in model.requests[-1].messages][:4] == ["system", "user", "assistant", "tool"]
    assert "two" not in [m["content"] for m in model.requests[-1].messages]


async def test_again_in_a_fresh_fork_replaces_the_inherited_turn_there_alone(own: Hermes, make: Make) -> None:
    bound, model = make([Say("1"), Say("2"), Say("3"), Say("4")], on=own)
    first = await bound.run("first")
    await bound.run("second")
    await bound.fork()
    await bound.run("second, otherwise", again=True)
    assert asked(model) == ["first", "second, otherwise"]
    await bound.open_session(first.session_id)
    await bound.run("third")
    assert asked(model) == ["first", "second", "third"]


async def test_a_session_without_any_turn_says_that_there_is_nothing_to_fork(own: Hermes, make: Make) -> None:
    bound, _ = make([], on=own)
    session_id = await bound.new_session()
    with pytest.raises(SessionNotFoundError, match=f"Session {session_id} has no turn yet: there is nothing to fork"):
        await bound.fork()
