"""Who is asked, what "always" covers, and that each decision is in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum

import pytest

from hermes_nb.errors import UsageError
from hermes_nb.sessions.agent import BoundAgent
from hermes_nb.sessions.result import RunResult
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


async def _answered(bound: BoundAgent, answer: str) -> RunResult:
    turn = bound.hermes.turns[-1]
    await asyncio.to_thread(turn.approve, turn.pending[0]["request_id"], answer)
    return await turn.wait()


async def test_always_is_for_this_session(make: Make) -> None:
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    bound, _ = make([Call("pay", {"amount": 5}), Say("done")] * 3, tools=[pay])
    await bound.run("first")
    await _answered(bound, "always")
    assert (await bound.run("same session")).status == "completed"
    await bound.new_session()
    assert (await bound.run("another session")).status == "awaiting_approval"
    assert (await _answered(bound, "deny")).tools[0].status == "denied"


async def test_a_command_of_hermes_is_allowed_always_for_itself_alone(make: Make) -> None:
    steps = [Call("terminal", {"command": text}) for text in ("echo one", "echo one", "echo two")]
    bound, _ = make([x for step in steps for x in (step, Say("done"))], toolsets=["terminal"])
    assert (await bound.run("first")).status == "awaiting_approval"
    with pytest.raises(UsageError, match="not one of once, always, deny"):
        bound.hermes.turns[-1].approve(bound.hermes.turns[-1].pending[0]["request_id"], "alwys")
    first = await _answered(bound, "always")
    assert '"one"' in first.tools[0].content
    again = await bound.run("second")
    assert (again.status, again.tools[0].status) == ("completed", "ok")
    assert [e.kind for e in again.events if e.kind.startswith("approval")] == ["approval.requested", "approval.responded"]
    assert (await bound.run("third")).status == "awaiting_approval"
    assert (await _answered(bound, "deny")).tools[0].status == "denied"


class Mode(Enum):
    SAFE = "safe"
    WILD = "wild"


@pytest.mark.parametrize(
    ("predicate", "arguments", "asks"),
    [
        (lambda a: a["amount"] > 100, {"amount": 500}, True),
        (lambda a: a["amount"] > 100, {"amount": 50}, False),
        (lambda a: a["amount"] > 100, {"amount": "500"}, True),
        (lambda a: a["amount"] > 100, {}, True),  # the default is 1000
        (lambda a: a["force"] is True, {"amount": 1, "force": "true"}, True),
        (lambda a: a["mode"] is Mode.WILD, {"amount": 1, "mode": "wild"}, True),
        (lambda a: a["mode"] == "wild", {"amount": 1, "mode": "wild"}, True),
        (lambda a: a["mode"] is Mode.WILD, {"amount": 1, "mode": "safe"}, False),
        (lambda a: a["nothing"], {"amount": 1}, True),
        (lambda a: True, {"amount": "much"}, False),  # refused: the body does not run
    ],
)
async def test_a_predicate_sees_what_the_body_gets(
    make: Make, predicate: Callable[[dict[str, object]], bool], arguments: dict[str, object], asks: bool
) -> None:
    ran: list[int] = []

    @tool(approval=predicate)
    def pay(amount: int = 1000, force: bool = False, mode: Mode = Mode.SAFE) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    bound, _ = make([Call("pay", arguments), Say("done")], tools=[pay])
    result = await bound.run("go")
    assert (result.status == "awaiting_approval") is asks
    assert bool(ran) is (not asks and arguments["amount"] != "much")
    if asks:
        await _answered(bound, "deny")


async def test_each_decision_is_an_event_and_a_stop_is_one(make: Make) -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    bound, model = make([Call("pay"), Say("a"), Call("pay"), Say("b"), Call("pay")], tools=[pay])
    for answer in ("once", "deny"):
        await bound.run("go")
        events = (await _answered(bound, answer)).events
        said = {e.kind: e.data for e in events if e.kind.startswith("approval")}
        assert said["approval.responded"]["answer"] == answer
        assert said["approval.responded"]["request_id"] == said["approval.requested"]["request_id"]
    await bound.run("go")
    stopped = await bound.hermes.turns[-1].stop()
    assert stopped.status == "stopped"
    assert [e.data["answer"] for e in stopped.events if e.kind == "approval.responded"] == ["deny"]
    assert len(model.requests) == 5


async def test_a_request_is_answered_once(make: Make) -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    bound, _ = make([Call("pay"), Say("a")], tools=[pay])
    await bound.run("go")
    turn = bound.hermes.turns[-1]
    request_id = turn.pending[0]["request_id"]
    await asyncio.to_thread(turn.deny, request_id)
    with pytest.raises(UsageError, match=f"Request {request_id} was answered already: deny."):
        await asyncio.to_thread(turn.approve, request_id)
    with pytest.raises(UsageError, match=r"has no open request 'r-none'\. Open: none\."):
        turn.approve("r-none")
    assert (await turn.wait()).tools[0].status == "denied"
