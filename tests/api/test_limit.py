"""A budget ends a turn before the call that it does not allow; sums agree with the raw records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api._usage import summed, total
from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import TurnBudgetError, UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.store.reservation import Reservation
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.turns.limit import checked, of_day

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
USAGE = {
    "prompt_tokens": 100_000,
    "completion_tokens": 1_000,
    "total_tokens": 101_000,
    "prompt_tokens_details": {"cached_tokens": 60_000},
    "completion_tokens_details": {"reasoning_tokens": 400},
}


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


@pytest.mark.parametrize("usage", [None, {}, {"total_tokens": 40}])
async def test_a_model_that_counts_no_tokens_is_stopped_after_a_call(make: Make, usage: Any) -> None:
    bound, model = make([*(Call("step", {"n": n}, usage=usage) for n in range(5)), Say("done")], tools=[step])
    result = await bound.run("question", max_tokens=50)
    assert len(model.requests) == 1
    assert "did not say how many tokens" in str(result.error)
    assert "max_turns" in str(result.error)
    assert (await (await bound.resume(result.turn_id, max_tokens=50)).wait()).status == "failed"
    assert len(model.requests) == 2


async def test_the_offline_model_is_free() -> None:
    async with Hermes.local() as hermes:
        result = await hermes.bind(Agent("free", model="offline")).run("Hello", max_cost_usd=0.01)
        assert result.status == "completed"
        assert result.cost_usd == 0  # known, so that a session which goes on with another model has a whole sum
        assert " · $0 · " in result._repr_mimebundle_()["text/plain"]


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


@pytest.mark.parametrize("usage", [None, {}, {"total_tokens": 40}])
async def test_a_session_whose_model_counts_no_tokens_is_over_after_a_call(own: Hermes, make: Make, usage: Any) -> None:
    bound, model = make([Say(str(n), usage=usage) for n in range(5)], on=own, session_options={"max_tokens": 60})
    assert (await bound.run("question")).status == "completed"
    result = await bound.run("question")
    assert (result.status, len(model.requests)) == ("failed", 1)
    assert "A model call of this session did not say how many tokens it took" in str(result.error)
    assert "the session's budget of 60 tokens can't be kept" in str(result.error)
    assert "Start a new session with a model that reports its usage" in str(result.error)
    with pytest.raises(TurnBudgetError):
        result.raise_for_status()
    await bound.new_session()
    assert (await bound.run("question")).status == "completed"


async def test_a_day_with_a_call_that_counts_no_tokens_has_no_further_one(
    own: Hermes, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, quiet_model = make([Say("one", usage=None), Say("two", usage=None)], on=own)
    other, model = make([Say("three"), Say("four")], on=own)
    monkeypatch.setenv("HERMES_NB_MAX_TOKENS", "1000000")
    assert (await silent.run("question")).status == "completed"
    for bound in (silent, other):
        result = await bound.run("question")
        assert "A model call of today did not say how many tokens it took" in str(result.error)
        assert "%hermes usage --by turn" in str(result.error)
    assert (len(quiet_model.requests), len(model.requests)) == (1, 0)
    monkeypatch.setenv("HERMES_NB_MAX_TOKENS", "")
    monkeypatch.setenv("HERMES_NB_MAX_COST_USD", "")
    assert (await other.run("question")).text == "three"
    free = own.bind(Agent("free", model="offline"))
    assert (await free.run("Hello")).status == "completed"
    assert [t.are_tokens_whole for t in await asyncio.to_thread(own.library.turns, free.session_id)] == [True]


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
    (listed,) = await asyncio.to_thread(own.sessions)
    assert (listed.cost_usd, listed.is_cost_whole) == (pytest.approx(row.cost_usd), False)
    assert [r.input_tokens for r in summed(turns, "turn")] == [300_000, 100_000, None]
    assert [(r.name, r.n_turns) for r in summed(turns, "session")] == [(bound.session_id, 3)]
    assert sum(r.cost_usd or 0 for r in summed(turns, "day")) == pytest.approx(row.cost_usd)
    assert own.sessions()[0].input_tokens == 400_000


@pytest.mark.parametrize("n_kernels", [1, 2])
async def test_turns_side_by_side_overstep_the_day_by_one_call_in_all(
    n_kernels: int, own: Hermes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_NB_MAX_TOKENS", "70")  # each call reports 30
    others = [Hermes.open_local(state=own.state_dir) for _ in range(n_kernels - 1)]
    with ScriptedModel(lambda request: Say("ok", first_byte_delay_s=0.2)) as model:
        try:
            bounds = [h.bind(Agent(f"a{i}", model=model.model)) for h in (own, *others) for i in range(4 // n_kernels)]
            results = await asyncio.gather(*(bound.run("question") for bound in bounds))
        finally:
            for other in others:
                await other.aclose()
    assert sorted(r.status for r in results) == ["completed"] * 3 + ["failed"]
    assert len(model.requests) == 3  # 30, 60, 90: the third begins below the limit, the fourth does not
    failed = next(r for r in results if r.status == "failed")
    assert "The day's budget of 70 tokens is spent (90 used)" in str(failed.error)


async def test_calls_far_from_the_limit_run_at_once(own: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_NB_MAX_TOKENS", "100000000")
    hangs = [Hang(), Hang(), Hang()]
    with ScriptedModel(list(hangs)) as model:
        turns = [await own.bind(Agent(f"a{i}", model=model.model)).start("question") for i in range(3)]
        await asyncio.to_thread(model.wait_for_requests, 3)
        model.release()
        assert [(await t.wait()).status for t in turns] == ["completed"] * 3


async def test_a_turn_that_waits_for_its_budget_can_be_stopped(own: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_NB_MAX_TOKENS", "70")
    hang = Hang()
    with ScriptedModel([hang, Say("after")]) as model:
        first = await own.bind(Agent("a", model=model.model)).start("question")
        await asyncio.to_thread(hang.wait_reached)
        bound = own.bind(Agent("b", model=model.model))
        second = await bound.start("question")
        while not any(e.kind == "model.started" for e in second.events):
            await asyncio.to_thread(second._runner.wake.wait, 0.01)
        assert (await second.stop()).status == "stopped"
        assert len(model.requests) == 1
        hang.release()
        assert (await first.wait()).status == "completed"
        assert (await bound.run("again")).text == "after"


async def test_what_a_killed_kernel_had_reserved_is_free_again(
    own: Hermes, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound, _ = make([Say("ok")], on=own)
    monkeypatch.setenv("HERMES_NB_MAX_TOKENS", "70")
    store = await own.io.awaited(own.conversations.opened_store())
    dead = Reservation("call", "t-gone", "s-gone", "k-gone", None, None)
    assert await own.io.awaited(store.reserve(dead, [], lambda name: True)) == []
    assert (await bound.run("question")).status == "completed"
    rows = await own.io.awaited(store._reader.rows("SELECT call_id FROM reservations"))
    assert rows == []


async def test_agents_a_turn_delegates_to_share_its_budget(own: Hermes) -> None:
    def answer(request: ChatRequest) -> Any:
        last = request.messages[-1]
        if last["role"] == "tool":
            return Say("all done")
        if "delegate_task" in {t["name"] for t in request.tools}:
            return Call("delegate_task", {"tasks": [{"goal": f"Do part {n}."} for n in range(3)]})
        return Say("part done", first_byte_delay_s=0.2)

    with ScriptedModel(answer) as model:
        bound = own.bind(Agent("chief", model=model.model, toolsets=["delegation"]))
        result = await bound.run("question", max_tokens=70)
        assert result.status == "failed"
        assert "The turn's budget of 70 tokens is spent (90 used)" in str(result.error)
        assert len(model.requests) == 3
