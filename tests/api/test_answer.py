"""The answer stays the model's own in history, forks and recordings; an end that is none says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import TurnUnfinishedError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.testing import Call, Fail, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.turns.result import RunResult

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
WORDS = "Use the `<think>` tag and close it with `</think>` to mark thoughts.\n```xml\n<reasoning>\nx\n</reasoning>\n```"


def said(model: ScriptedModel, at: int) -> list[str]:
    return [str(m["content"]) for m in model.requests[at].messages if m["role"] == "assistant"]


async def test_words_about_tags_stay_in_history_fork_and_recording(own: Hermes, make: Make, tmp_path: Path) -> None:
    bound, model = make([Say(WORDS), Say("Second."), Say("Forked.")], on=own, name="writer")
    first = await bound.run("How?")
    assert first.text == WORDS
    await bound.run("And then?")
    assert said(model, 1) == [WORDS]
    await bound.fork(at=first.turn_id)
    await bound.run("Otherwise?")
    assert said(model, 2) == [WORDS]
    file = tmp_path / "talk.jsonl"
    own.record(file)
    nowhere = Model("scripted", "custom", base_url="http://127.0.0.1:9/v1")
    async with Hermes.local(state=tmp_path / "other", replay=file) as other:
        again = other.bind(Agent("writer", model=nowhere))
        assert (await again.run("How?")).text == WORDS


async def test_a_thought_that_leads_is_not_sent_as_the_answer_before(make: Make) -> None:
    bound, model = make([Say("<think>secret plan</think>It is 4."), Say("Yes.")])
    first = await bound.run("Two and two?")
    assert (first.text, first.status) == ("It is 4.", "completed")
    await bound.run("Sure?")
    assert said(model, 1) == ["It is 4."]
    assert "secret plan" not in json.dumps([m.get("content") for m in model.requests[1].messages])


async def test_a_turn_at_its_limit_of_model_calls_says_what_to_do(make: Make) -> None:
    @tool
    def look(n: int) -> int:
        """Look."""
        return n

    bound, _ = make([Call("look", {"n": 1}), Say("So far so good.")], tools=[look], max_turns=1)
    result = await bound.run("Look around")
    assert (result.status, result.text) == ("max_turns", "So far so good.")
    with pytest.raises(TurnUnfinishedError, match=r"limit of model calls .* raise the limit: Agent\(\.\.\., max_turns=N\)"):
        result.raise_for_status()


def test_a_turn_at_its_limit_without_a_text_is_not_said_to_have_one() -> None:
    with pytest.raises(TurnUnfinishedError, match=r"\(max_turns\); the model gave no summary of what was done\. Ask"):
        RunResult("", "max_turns", "s", "t").raise_for_status()


@pytest.mark.parametrize(
    ("status", "cure"),
    [
        ("max_turns", "max_turns=N"),
        ("stopped", "%hermes resume"),
        ("timed_out", "--timeout"),
        ("awaiting_approval", "%hermes approve"),
        ("needs_confirmation", "%hermes resume"),
    ],
)
def test_every_status_that_is_no_answer_says_what_to_do(status: str, cure: str) -> None:
    with pytest.raises(Exception, match=cure.replace("(", r"\(")) as raised:
        RunResult("", status, "s", "t").raise_for_status()
    assert "ended as" not in str(raised.value)


async def test_what_went_wrong_and_what_to_do_are_two_sentences(make: Make) -> None:
    bound, _ = make(lambda request: Fail(400, "You sent no good"))
    result = await bound.run("hi")
    assert str(result.error).endswith("You sent no good")
    bound, _ = make(lambda request: Fail(402, "You exceeded your current quota"))
    result = await bound.run("hi")
    assert "You exceeded your current quota. Add credit" in str(result.error)
    assert "You exceeded your current quota. Add credit" in str(result)


async def test_a_tool_is_given_what_was_encoded_twice(make: Make) -> None:
    seen: list[Any] = []

    @tool
    def total(values: list[int]) -> int:
        """Add up."""
        seen.append(values)
        return sum(values)

    bound, model = make([Call("total", json.dumps(json.dumps({"values": [1, 2, 3]}))), Say("6")], tools=[total])
    assert (await bound.run("sum")).text == "6"
    assert (seen, len(model.requests)) == ([[1, 2, 3]], 2)


async def test_a_call_with_the_same_wrong_arguments_is_not_asked_for_without_end(make: Make) -> None:
    @tool
    def total(values: list[int]) -> int:
        """Add up."""
        return sum(values)

    bound, model = make(lambda request: Call("total", {"values": "many"}), tools=[total])
    result = await bound.run("sum")
    assert (result.status, len(model.requests)) == ("failed", 5)
    assert "repeated the same call of 'total' five times, refused each time" in str(result.error)
