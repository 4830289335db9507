"""A function is defined again while an agent has it: its body counts at once, its schema in the next session."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import Tool
from hermes_nb.turns.result import RunResult

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
Define = Callable[..., Tool]


@pytest.fixture
def define(monkeypatch: pytest.MonkeyPatch) -> Define:
    """`define(parameters, body)` runs a cell that defines the tool `look`."""
    import __main__

    def run(parameters: str, body: str, head: str = "@tool") -> Tool:
        before = sys.modules["__main__"]
        assert before is __main__
        variables = {**vars(before), "__name__": "__main__"}
        source = f"{head}\ndef look({parameters}):\n    'Look.'\n    return {body}"
        exec(f"from hermes_nb.tools.decorator import tool\n{source}", variables)
        monkeypatch.setitem(vars(before), "look", variables["look"])
        made: Tool = variables["look"]
        return made

    return run


def said(result: RunResult) -> list[str]:
    return [str(e.data["message"]) for e in result.events if e.kind == "warning" and e.data["code"] == "tool"]


def parameters(model: ScriptedModel) -> dict[str, Any]:
    found = next(t for t in model.requests[-1].tools if t["name"] == "look")
    return dict(found["parameters"]["properties"])


async def test_the_body_counts_at_once_and_the_schema_from_the_next_session_on(make: Make, define: Define) -> None:
    call = Call("look", {"where": "a"})
    look = define("where: str", "'first ' + where")
    bound, model = make([call, Say("1"), call, Say("2"), call, Say("3"), Say("4"), Say("5")], tools=[look])
    first = await bound.run("a")
    define("where: str, far: bool = False", "f'second {where} {far}'")
    second, third = await bound.run("b"), await bound.run("c")
    assert [r.tools[0].content for r in (first, second, third)] == ["first a", "second a False", "second a False"]
    assert all(r.tools == model.requests[0].tools for r in model.requests)
    assert [len(said(r)) for r in (first, second, third)] == [0, 1, 0]
    assert "goes on with what it was told" in said(second)[0]
    await bound.new_session()
    assert said(await bound.run("d")) == []
    assert list(parameters(model)) == ["where", "far"]
    await bound.open_session(first.session_id)
    await bound.run("e")
    assert list(parameters(model)) == ["where"]


async def test_refreshing_takes_the_new_schema_now_and_says_so(make: Make, define: Define) -> None:
    bound, model = make([Say("1"), Say("2"), Say("3")], tools=[define("where: str", "where")])
    await bound.run("a")
    assert await bound.refresh_tools() == []
    define("there: str", "there")
    assert await bound.refresh_tools(["look"]) == ["look"]
    assert said(await bound.run("b")) == ["Tool look was redefined: from this turn on the model is told of its new form."]
    assert list(parameters(model)) == ["there"]
    assert said(await bound.run("c")) == []
    with pytest.raises(UsageError, match=r"has no tool 'lok'\. It has: look\."):
        await bound.refresh_tools(["lok"])


async def test_a_call_that_does_not_fit_goes_back_with_what_fits(make: Make, define: Define) -> None:
    steps = [Say("1"), Call("look", {"where": "a"}), Call("look", {"there": 3}), Say("2")]
    bound, model = make(steps, tools=[define("where: str", "where")])
    await bound.run("a")
    define("there: int", "there + 1")
    result = await bound.run("b")
    assert [t.status for t in result.tools] == ["error", "ok"]
    told = str(model.requests[2].messages[-1]["content"])
    assert "argument 'there' is missing" in told
    assert '\\"there\\": {\\"type\\": \\"integer\\"' in told
    assert "The tool did not run." in told
    assert result.tools[1].value == 4
    assert [("this session shows does not fit" in text, "%hermes tools refresh" in text) for text in said(result)] == [
        (False, True),
        (True, True),
    ]
    assert model.requests[-1].tools == model.requests[0].tools


async def test_a_redefinition_meets_the_turn_that_runs(make: Make, define: Define) -> None:
    look = define("where: str", "where")

    def hold() -> str:
        """Hold, while the user runs a cell."""
        define("where: str, far: bool = True", "f'{where} {far}'", "@tool(timeout_s=5)")
        return ""

    bound, model = make([Call("hold"), Call("look", {"where": "a"}), Say("ok")], tools=[look, hold])
    result = await bound.run("a")
    assert result.tools[1].content == "a True"
    assert list(parameters(model)) == ["where"]


async def test_an_approval_that_the_new_function_asks_for_counts_at_once(make: Make, define: Define) -> None:
    call = Call("look", {"where": "a"})
    bound, _ = make([call, Say("1"), call, Say("2")], tools=[define("where: str", "where")])
    assert (await bound.run("a")).status == "completed"
    define("where: str", "where * 2", "@tool(approval=True)")
    assert (await bound.run("b")).status == "awaiting_approval"
    await bound.hermes.turns[-1].stop()


async def test_a_killed_turn_is_resumed_with_the_schema_it_had_and_the_new_body(
    own: Hermes, make: Make, define: Define
) -> None:
    hang = Hang()
    look = define("where: str", "'first'")
    bound, model = make([Call("look", {"where": "a"}), hang], on=own, tools=[look])
    turn = await bound.start("a")
    await asyncio.to_thread(hang.wait_reached)
    pid = bound.instance.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert (await turn.wait()).status == "failed"
    define("where: str, far: bool = False", "'second'")
    model.extend([Call("look", {"where": "b"}), Say("done")])
    result = await (await turn.resume()).wait()
    assert result.status == "completed"
    assert [t.content for t in result.tools] == ["first", "second"]
    assert list(parameters(model)) == ["where"]


async def test_another_kernel_says_that_the_schema_is_another(own: Hermes, make: Make, define: Define) -> None:
    bound, model = make([Say("1"), Say("2"), Say("3")], on=own, tools=[define("where: str", "where")], name="a")
    first = await bound.run("a")
    other = Hermes.open_local(state=own.state_dir)
    try:
        again = other.bind(Agent("a", model=model.model, tools=[define("there: str", "there")]))
        texts = said(await again.run("b", session_id=first.session_id))
        assert texts == [
            "What the model is told of tool look changed since this session's last turn; from here on it is the new form."
        ]
        assert said(await again.run("c", session_id=first.session_id)) == []
        assert list(parameters(model)) == ["there"]
    finally:
        other.close()


async def test_an_agent_that_is_bound_again_takes_the_new_schema_and_says_so(
    hermes: Hermes, make: Make, define: Define
) -> None:
    bound, model = make([Say("1"), Say("2")], tools=[define("where: str", "where")])
    await bound.run("a")
    again = hermes.bind(Agent(bound.name, model=model.model, tools=[define("there: str", "there")]))
    assert said(await again.run("b")) == ["Tool look was redefined: from this turn on the model is told of its new form."]
    assert list(parameters(model)) == ["there"]


async def test_a_tool_that_is_attached_again_comes_with_its_new_schema(make: Make, define: Define) -> None:
    bound, model = make([Say("1"), Say("2")])
    binding = await bound.add_tools([define("where: str", "where")])
    await bound.run("a")
    await bound.remove_tools(binding)
    await bound.add_tools([define("there: str", "there")])
    assert said(await bound.run("b")) == []
    assert list(parameters(model)) == ["there"]


async def test_a_tool_that_is_detached_while_a_turn_runs_is_not_called(make: Make, define: Define) -> None:
    bindings: list[str] = []

    async def hold() -> str:
        """Hold, while the user runs a cell."""
        await bound.remove_tools(bindings[0])
        return ""

    bound, _ = make([Call("hold"), Call("look", {"where": "a"}), Say("ok")], tools=[hold])
    bindings.append(await bound.add_tools([define("where: str", "where")]))
    result = await bound.run("a")
    assert result.tools[1].status == "error"
    assert "LookupError: No tool named 'look' is attached. Known: hold, more." in result.tools[1].content
