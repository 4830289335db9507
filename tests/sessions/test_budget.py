"""A budget ends a turn before the call that it does not allow; sums agree with the raw records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.errors import TurnBudgetError, UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.sessions.agent import BoundAgent
from hermes_nb.sessions.budget import checked, of_day
from hermes_nb.sessions.hermes import Hermes
from hermes_nb.sessions.usage import summed, total
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
USAGE = {
    "prompt_tokens": 100_000, "completion_tokens": 1_000, "total_tokens": 101_000,
    "prompt_tokens_details": {"cached_tokens": 60_000}, "completion_tokens_details": {"reasoning_tokens": 400},
}  # fmt: skip


@tool
def step(n: int) -> int:
    """Take a step."""
    return n


def _priced(model: ScriptedModel) -> Model:
    return Model("deepseek-chat", "deepseek", base_url=model.base_url, api_key="sk-scripted-0123456789abcdef")


def _steps(n: int) -> list[Any]:
    return [*(Call("step", {"n": i}, usage=USAGE) for i in range(n)), Say("done", usage=USAGE)]


async def test_tokens_end_a_turn_before_the_next_call(make: Make) -> None:
    bound, model = make([Call("step", {"n": 1}, text="Thinking"), Call("step", {"n": 2}), Say("done")], tools=[step])
    result = await bound.run("question", max_tokens=50)  # each call reports 30
    assert len(model.requests) == 2
    assert result.status == "failed"
    assert "The turn's budget of 50 tokens is spent (60 used)" in str(result.error)
    assert result.usage == {"input_tokens": 40, "output_tokens": 20}
    with pytest.raises(TurnBudgetError):
        result.raise_for_status()
    resumed = await bound.resume(result.turn_id, max_tokens=500)
    done = await resumed.wait()
    assert (done.text, len(model.requests)) == ("done", 3)


async def test_cost_ends_a_turn_where_the_price_is_known(own: Hermes) -> None:
    with ScriptedModel(_steps(3)) as model:
        bound = own.bind(Agent("priced", model=_priced(model), tools=[step]))
        result = await bound.run("question", max_cost_usd=0.000001)
        assert len(model.requests) == 1
        assert "The turn's budget of $1e-06 is spent ($" in str(result.error)
        assert result.cost_usd is not None
        assert result.cost_usd > 0.000001


async def test_an_unknown_price_is_refused_with_the_cure(make: Make) -> None:
    bound, model = make([Say("done")])
    result = await bound.run("question", max_cost_usd=1.0)
    assert "cost of a call of model 'scripted' is not known" in str(result.error)
    assert "max_tokens" in str(result.error)
    assert model.requests == []


async def test_the_offline_model_is_free() -> None:
    async with Hermes.local() as hermes:
        result = await hermes.bind(Agent("free", model="offline")).run("Hello", max_cost_usd=0.01)
        assert result.status == "completed"


async def test_a_session_and_a_day_have_budgets(own: Hermes, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bound, model = make([Say(str(n)) for n in range(9)], on=own, session_options={"max_tokens": 60})
    assert [(await bound.run("question")).status for _ in range(3)] == ["completed", "completed", "failed"]
    assert len(model.requests) == 2
    await bound.new_session()
    monkeypatch.setenv("HERMES_NB_MAX_TOKENS", "90")
    assert (await bound.run("question")).status == "completed"
    result = await bound.run("question")
    assert "The day's budget of 90 tokens is spent (90 used)" in str(result.error)
    assert len(model.requests) == 3


def test_budgets_that_are_none_are_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (-1, float("nan"), True, "many"):
        with pytest.raises(UsageError, match="max_cost_usd must be"):
            checked(max_cost_usd=value)
    monkeypatch.setenv("HERMES_NB_MAX_COST_USD", "lots")
    with pytest.raises(UsageError, match="HERMES_NB_MAX_COST_USD is 'lots'"):
        of_day()


async def test_sums_agree_with_raw_records_and_keep_cache_and_reasoning(own: Hermes, tmp_path: Path) -> None:
    with ScriptedModel([*_steps(2), *_steps(0), Say("unreported", usage=None)]) as model:
        bound = own.bind(Agent("priced", model=_priced(model), tools=[step]))
        results = [await bound.run("first"), await bound.run("second"), await bound.run("third")]
    turns = own.library.turns(bound.session_id)
    raw = [e.data for r in results for e in r.events if e.kind == "model.completed"]
    row = total(turns)
    for figure in ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens"):
        assert getattr(row, figure) == sum((d.get("usage") or {}).get(figure, 0) for d in raw)
    assert (row.input_tokens, row.cache_read_tokens, row.reasoning_tokens) == (400_000, 240_000, 1_600)
    assert row.cost_usd == pytest.approx(sum(d.get("cost_usd", 0.0) for d in raw))
    assert not row.is_cost_whole  # the third call's is not known
    assert [r.input_tokens for r in summed(turns, "turn")] == [300_000, 100_000, None]
    assert [(r.name, r.n_turns) for r in summed(turns, "session")] == [(bound.session_id, 3)]
    assert sum(r.cost_usd or 0 for r in summed(turns, "day")) == pytest.approx(row.cost_usd)
    assert own.sessions()[0].input_tokens == 400_000
