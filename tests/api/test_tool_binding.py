"""A binding of tools: what it says, and that nothing of it runs once it is removed."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.errors import UsageError
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


def look_of(ran: list[str], which: str, **options: Any) -> Any:
    """A tool `look` that notes that it ran."""

    def look() -> str:
        """Look."""
        ran.append(which)
        return which

    return tool(look, **options)


async def test_a_binding_says_what_it_attached_and_is_its_id(make: Make) -> None:
    bound, _ = make([])
    binding = await bound.add_tools([look_of([], "a")])
    assert (binding.agent, binding.tools) == (bound.name, ("look",))
    assert repr(binding) == f"<ToolBinding {binding.id} of {bound.name!r}: look>"
    assert json.loads(json.dumps([binding])) == [binding.id] == [binding] == [f"{binding}"]
    assert type(binding.id) is type(pickle.loads(pickle.dumps(binding))) is str
    with pytest.raises(UsageError, match=r"has no tool binding 'b-no'. Known: " + binding.id):
        await bound.remove_tools("b-no")
    await bound.remove_tools(binding.id)
    with pytest.raises(UsageError, match=r"has no tool binding .*Known: none"):
        await bound.remove_tools(binding)
    with pytest.raises(UsageError, match="has no tool binding"):
        await bound.run("hi", tool_binding_ids=[binding])


@pytest.mark.parametrize("given", [[], "look", look_of([], "a")], ids=["none", "text", "function"])
async def test_what_is_no_list_of_functions_is_refused(make: Make, given: Any) -> None:
    bound, _ = make([])
    with pytest.raises(UsageError, match=r"add_tools takes a list of functions.*Nothing was attached"):
        await bound.add_tools(given)
    assert bound.tools == []


async def test_a_binding_of_another_agent_is_not_removed(make: Make) -> None:
    one, _ = make([])
    other, _ = make([])
    binding = await one.add_tools([look_of([], "a")])
    with pytest.raises(UsageError, match=f"Agent '{other.name}' has no tool binding"):
        await other.remove_tools(binding)
    assert [t.name for t in one.tools] == ["look"]


async def test_what_the_declaration_has_stays_when_a_binding_of_it_goes(make: Make) -> None:
    ran: list[str] = []
    look = look_of(ran, "declared")
    bound, _ = make([Call("look"), Say("done")], tools=[look])
    await bound.remove_tools(await bound.add_tools([look]))
    assert [t.content for t in (await bound.run("hi")).tools] == ["declared"]
    assert ran == ["declared"]


async def test_a_call_after_the_removal_does_not_run_the_function_that_took_the_name(make: Make) -> None:
    ran: list[str] = []
    bindings: list[str] = []

    async def swap() -> str:
        """Swap."""
        await bound.remove_tools(bindings[0])
        await bound.add_tools([look_of(ran, "new")])
        return ""

    bound, _ = make([Call("swap"), Call("look"), Say("done"), Call("look"), Say("done")], tools=[swap])
    bindings.append(await bound.add_tools([look_of(ran, "old")]))
    result = await bound.run("hi")
    assert ran == []
    assert result.tools[1].status == "error"
    assert "No tool named 'look' is attached. Known: more, swap." in result.tools[1].content
    assert [t.content for t in (await bound.run("again")).tools] == ["new"]


async def test_a_call_that_was_asked_about_before_the_removal_does_not_run_when_it_is_allowed(make: Make) -> None:
    ran: list[str] = []
    bound, _ = make([Call("look"), Say("done")])
    binding = await bound.add_tools([look_of(ran, "old", approval=True)])
    turn = await bound.start("hi")
    waiting = await turn.wait(until_asked=True)
    assert waiting.status == "awaiting_approval"
    await bound.remove_tools(binding)
    await asyncio.to_thread(turn.approve, turn.pending[0]["request_id"])
    result = await turn
    assert ran == []
    assert (result.status, result.tools[0].status) == ("completed", "error")
    assert "No tool named 'look' is attached" in result.tools[0].content


async def test_a_call_that_waits_for_its_thread_is_refused_when_its_binding_goes(make: Make) -> None:
    ran: list[str] = []
    bindings: list[str] = []

    def hold() -> str:
        """Hold the main thread, while the other call of the batch waits for it."""
        bound.instance.detach(bound, bindings[0])
        return "held"

    bound, _ = make([[Call("hold"), Call("look")], Say("done")], tools=[hold])
    bindings.append(await bound.add_tools([look_of(ran, "old")]))
    result = await bound.run("hi")
    assert [t.status for t in result.tools] == ["ok", "error"]
    assert ran == []


async def test_a_body_that_has_begun_ends(make: Make) -> None:
    bindings: list[str] = []

    async def leave() -> str:
        """Remove the binding that this is of."""
        await bound.remove_tools(bindings[0])
        return "ended"

    bound, _ = make([Call("leave"), Call("leave"), Say("done")])
    bindings.append(await bound.add_tools([leave]))
    result = await bound.run("hi")
    assert [t.status for t in result.tools] == ["ok", "error"]
