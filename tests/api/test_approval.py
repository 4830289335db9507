"""Who is asked, what "always" covers, and that each decision is in the log."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from enum import Enum

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.turn import Turn
from hermes_nb.errors import TurnUnfinishedError, UsageError
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.turns.result import RunResult

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


async def _answered(bound: BoundAgent, answer: str) -> RunResult:
    return await _answered_of(bound.hermes.turns[-1], answer)


async def _answered_of(turn: Turn, answer: str) -> RunResult:
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


async def test_a_denied_call_starts_when_it_was_asked_for(make: Make) -> None:
    @tool
    def quick() -> str:
        """Answer at once."""
        return "quick"

    bound, _ = make([Call("quick", {}), Call("send", {"to": "Ada"}), Say("done")], tools=[quick, send])
    await bound.run("Write")
    result = await _answered(bound, "deny")
    quick_end, denied_end = (e for e in result.events if e.kind == "tool.completed")
    assert (quick_end.data["status"], denied_end.data["status"]) == ("ok", "denied")
    assert quick_end.data["started_at_unix_s"] > 1_700_000_000
    assert "started_at_unix_s" not in denied_end.data


@tool(approval=True)
def send(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


async def test_a_result_that_waits_for_an_answer_says_how_to_give_it(make: Make) -> None:
    bound, _ = make([Call("send", {"to": "Ada"}), Say("done")], tools=[send])
    result = await bound.run("Write to Ada")
    request_id = bound.hermes.turns[-1].pending[0]["request_id"]
    how = f"%hermes approve {request_id} (or --deny); in Python turn.approve({request_id!r})"
    said = f"May the agent call send? Answer with {how}"
    assert said in str(result.error)
    assert str(result).endswith(f"\n\n{result.error}")
    with pytest.raises(TurnUnfinishedError, match="May the agent call send"):
        result.raise_for_status()
    answered = await _answered(bound, "once")
    assert (answered.status, answered.error) == ("completed", None)


async def test_turns_behind_one_that_waits_for_an_answer_say_so(make: Make) -> None:
    may_ask = threading.Event()

    def asking(request: object) -> Call:
        may_ask.wait(30)
        return Call("send", {"to": "Ada"})

    bound, _ = make([asking, Say("sent"), Say("second")], tools=[send])
    first = await bound.start("Write to Ada")
    second = await bound.start("Asked before it asks")
    may_ask.set()
    await first.wait(until_asked=True)
    third = await bound.run("Asked after it asked", timeout_s=0.1)
    request_id = first.pending[0]["request_id"]
    await _answered_of(first, "once")
    assert ((await second.wait()).text, third.status) == ("second", "timed_out")
    for events in (second.events, third.events):
        said = [e.data["message"] for e in events if e.kind == "warning" and e.data["code"] == "held-up"]
        assert len(said) == 1
        assert said[0].startswith(f"Turn {first.id} of this session comes first, and asks: May the agent call send?")
        assert f"%hermes approve {request_id}" in said[0]
    assert not [e for e in first.events if e.kind == "warning"]


async def test_a_turn_of_another_session_is_not_held_up(make: Make) -> None:
    bound, _ = make([Call("send", {"to": "Ada"}), Say("other"), Say("sent")], tools=[send])
    first = await bound.start("Write to Ada")
    await first.wait(until_asked=True)
    other = await bound.run("Meanwhile", session_id=await bound.new_session())
    assert (other.text, [e.kind for e in other.events if e.kind == "warning"]) == ("other", [])
    await _answered_of(first, "once")


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
