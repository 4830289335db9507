"""One question of many rows: what comes in is kept, what fails is a row, what was answered is not asked again."""

from __future__ import annotations

import asyncio
import datetime
import gc
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest

from hermes_nb.api.batch.pace import Pace
from hermes_nb.api.batch.progress import line
from hermes_nb.api.batch.runner import Progress
from hermes_nb.api.batch.source import Source
from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Call, Fail, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.turns.runner import TurnRunner

Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
TOLD = ["answer", "status", "error", "cost_usd", "n_tokens", "duration_s", "n_tries", "turn_id"]


@dataclass
class Mood:
    mood: Literal["good", "bad"]
    score: int


def _asked(request: Any) -> str:
    return str(request.messages[-1]["content"])


def echo(request: Any) -> Say:
    return Say(f"<{_asked(request)}>")


INPUTS: dict[str, Any] = {
    "list": ["a", "b"],
    "tuple": ("a", "b"),
    "numbers": [1, 2.5],
    "generator": lambda: (c for c in "ab"),
    "dict": {"x": "a", "y": "b"},
    "series": pd.Series(["a", "b"], index=[10, 20], name="text"),
    "series without a name": pd.Series(["a", "b"]),
    "string dtype": pd.Series(["a", "b"], dtype="string", name="text"),
    "categories": pd.Series(pd.Categorical(["a", "b"], categories=["b", "a", "c"]), name="text"),
    "dates": pd.Series(pd.to_datetime(["2024-02-29", "2025-01-01"]), name="day"),
    "zoned dates": pd.Series(pd.to_datetime(["2024-02-29", "2025-01-01"]).tz_localize("Europe/Rome"), name="day"),
    "timedeltas": pd.Series(pd.to_timedelta(["1 s", "2 s"]), name="wait"),
    "Int64": pd.Series([1, 2], dtype="Int64", name="n"),
    "boolean": pd.Series([True, False], dtype="boolean", name="is"),
    "duplicate labels": pd.Series(["a", "b"], index=["same", "same"], name="text"),
    "date index": pd.Series(["a", "b"], index=pd.date_range("2024-01-01", periods=2, freq="D"), name="text"),
    "interval index": pd.Series(["a", "b"], index=pd.interval_range(0, 2), name="text"),
    "multi index": pd.Series(["a", "b"], index=pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["k", "n"]), name="t"),
    "named index": pd.Series(["a", "b"], index=pd.Index([7, 8], name="id"), name="text"),
    "index": pd.Index(["a", "b"], name="text"),
}


@pytest.mark.parametrize("name", INPUTS)
async def test_rows_keep_their_index_values_and_types(make: Make, name: str) -> None:
    given = INPUTS[name]() if callable(INPUTS[name]) else INPUTS[name]
    bound, _ = make(echo)
    out = await bound.map(given, "Q {{value}}")
    held = out.iloc[:, 0]
    if isinstance(given, pd.Series):
        pd.testing.assert_series_equal(held, given.rename(given.name or "input"))
        pd.testing.assert_index_equal(out.index, given.index)
    elif isinstance(given, pd.Index):
        assert held.tolist() == given.tolist()
    else:
        values = list(INPUTS["generator"]()) if name == "generator" else list(given.values() if name == "dict" else given)
        assert held.tolist() == values
        assert out.index.tolist() == (list(given) if name == "dict" else [0, 1])
    assert list(out.columns[1:]) == TOLD
    assert out.status.tolist() == ["completed", "completed"]
    assert out.answer.tolist() == [f"<Q {value}>" for value in (given if name == "numbers" else held)]
    assert out.answer.dtype == "string"


FRAME = pd.DataFrame(
    {"text": ["a", None, "c"], "n": [1, 2, 3], "x": [1.5, float("nan"), 2.5], "unit price": ["7", "8", "9"]},
    index=list("pqr"),
)


async def test_a_table_keeps_its_columns_and_gets_those_of_the_answer(make: Make) -> None:
    bound, model = make(echo)
    out = await bound.map(FRAME, '{{row.text}} costs {{row["unit price"]}} at {{index}}')
    pd.testing.assert_frame_equal(out[list(FRAME.columns)], FRAME)
    assert out.answer.tolist() == ["<a costs 7 at p>", "< costs 8 at q>", "<c costs 9 at r>"]
    assert len(model.requests) == 3
    assert all(len(r.messages) == len(model.requests[0].messages) for r in model.requests)  # no row sees another


async def test_a_row_without_a_value_is_not_asked(make: Make) -> None:
    bound, model = make(echo)
    out = await bound.map(FRAME, "{{row.text}}!")
    assert out.status.tolist() == ["completed", "missing", "completed"]
    assert out.answer.isna().tolist() == [False, True, False]
    for missing in (None, float("nan"), pd.NA, pd.NaT, "", "  \n"):
        assert (await bound.map([missing, "a"])).status.tolist() == ["missing", "completed"]
    assert len(model.requests) == 2 + 6


@pytest.mark.parametrize("given", [[], {}, pd.Series([], dtype="float64"), pd.DataFrame({"text": []}), pl.Series("t", [])])
async def test_no_rows_give_an_empty_frame(make: Make, given: Any) -> None:
    bound, model = make(echo)
    out = await bound.map(given, "{{value}}")
    assert len(out) == 0
    assert list(out.columns)[-len(TOLD) :] == TOLD
    assert not model.requests


async def test_polars_comes_back_as_polars(make: Make) -> None:
    bound, _ = make(echo)
    given = pl.DataFrame({"text": ["a", None], "day": [datetime.date(2024, 2, 29), None]})
    out = await bound.map(given, "{{row.text}}")
    assert isinstance(out, pl.DataFrame)
    assert out.select(given.columns).equals(given)
    assert out["answer"].to_list() == ["<a>", None]
    assert (await bound.map(given["text"]))["answer"].to_list() == ["<a>", None]


async def test_typed_answers_are_columns_of_their_types(make: Make) -> None:
    def answer(request: Any) -> Say:
        return Say("no" if "nothing" in str(request.messages) else json.dumps({"mood": "good", "score": 3}))

    bound, _ = make(answer)
    rows = pd.DataFrame({"text": ["x", "nothing"], "score": [0.5, 0.6]})
    out = await bound.map(rows, "{{row.text}}", returns=Mood)
    assert out.mood.tolist() == ["good", float("nan")] or out.mood.isna().tolist() == [False, True]
    assert list(out.mood.dtype.categories) == ["good", "bad"]
    assert out.score_answer.dtype == "Int64"
    assert out.score_answer.tolist()[0] == 3
    assert out.score_answer.isna().tolist() == [False, True]
    assert out.status.tolist() == ["completed", "failed"]
    assert "not of the type" in out.error.tolist()[1]


@pytest.mark.parametrize(
    ("returns", "text", "value", "dtype"),
    [
        (int, "7", 7, "Int64"),
        (float, "0.5", 0.5, "Float64"),
        (bool, "true", True, "boolean"),
        (list[int], "[1, 2]", [1, 2], object),
    ],
)
async def test_a_plain_type_is_one_column(make: Make, returns: Any, text: str, value: Any, dtype: Any) -> None:
    bound, _ = make(lambda request: Say(text))
    out = await bound.map(["q", None], returns=returns)
    assert out.answer.tolist()[0] == value
    assert out.answer.dtype == dtype
    assert out.answer.isna().tolist()[1]


async def test_a_row_that_fails_is_a_row_with_its_error(make: Make) -> None:
    def answer(request: Any) -> Any:
        return Fail(400, "No such thing.") if "bad" in _asked(request) else echo(request)

    bound, _ = make(answer)
    out = await bound.map(["good", "bad", "fine"])
    assert out.status.tolist() == ["completed", "failed", "completed"]
    assert "No such thing." in out.error.tolist()[1]
    assert out.answer.isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"over": 5}, "not int"),
        ({"over": "text"}, "not one text"),
        ({"over": FRAME}, "Columns: text, n, x, unit price"),
        ({"over": FRAME, "prompt": "{{row.txt}}"}, "Did you mean 'text'"),
        ({"over": FRAME, "prompt": "{{text}}"}, r"Write \{\{row.text\}\}"),
        ({"over": FRAME, "prompt": "Same for all"}, "the same for each row"),
        ({"over": FRAME, "prompt": 7}, "a function of the row, not 7"),
        ({"over": FRAME, "prompt": lambda row: row.n / 0}, "row 'p' can't be made: division by zero"),
        ({"over": ["a"], "n_paralel": 3}, "Did you mean 'n_parallel'"),
        ({"over": ["a"], "n_parallel": 0}, "1 or more, not 0"),
        ({"over": ["a"], "n_parallel": True}, "1 or more, not True"),
        ({"over": ["a"], "n_retries": -1}, "0 or more, not -1"),
        ({"over": ["a"], "checkpoint": ""}, "checkpoint is a name"),
        ({"over": ["a"], "max_cost_usd": -1}, "max_cost_usd must be"),
        ({"over": ["a"], "timeout_s": 0}, "timeout_s"),
        ({"over": ["a"], "returns": 7}, "returns=7"),
    ],
)
async def test_what_is_wrong_is_refused_before_anything_is_sent(make: Make, given: dict[str, Any], said: str) -> None:
    bound, model = make(echo)
    with pytest.raises(UsageError, match=said):
        await bound.map(**given)
    assert not model.requests
    assert bound.last_map is None


async def test_so_many_rows_at_once_and_no_more(make: Make) -> None:
    now, most, lock = 0, 0, threading.Lock()
    all_there = threading.Barrier(4)

    def answer(request: Any) -> Say:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        all_there.wait(30)  # none goes on before four are there
        with lock:
            now -= 1
        return Say("ok")

    bound, _ = make(answer)
    out = await bound.map(range(24), "Row {{value}}", n_parallel=4)
    assert (out.status == "completed").all()
    assert most == 4


async def test_the_whole_has_a_limit_and_what_is_left_says_so(make: Make) -> None:
    usage = {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}
    bound, model = make(lambda request: Say("ok", usage=usage))
    out = await bound.map(range(6), "Row {{value}}", n_parallel=1, max_tokens=250)
    assert out.status.tolist() == ["completed"] * 3 + ["not_asked"] * 3
    assert out.n_tokens.tolist()[:3] == [100, 100, 100]
    assert out.error.tolist()[-1] == "Not asked: max_tokens=250 is reached. Raise it and run again."
    assert len(model.requests) == 3


async def test_the_same_prompt_is_asked_once_on_request(make: Make) -> None:
    bound, model = make(echo)
    out = await bound.map(["a", "b", "a", "a"], unique=True)
    assert out.answer.tolist() == ["<a>", "<b>", "<a>", "<a>"]
    assert len(model.requests) == 2
    assert out.turn_id.nunique() == 2


async def test_a_limit_of_the_provider_slows_all_rows_and_loses_none(make: Make) -> None:
    n_refused = 0

    def answer(request: Any) -> Any:
        nonlocal n_refused
        if n_refused < 4:
            n_refused += 1
            return Fail(429, "Slow down.", retry_after_s=0.05)
        return echo(request)

    bound, _ = make(answer)
    out = await bound.map([f"r{i}" for i in range(8)], n_parallel=4)
    assert out.status.tolist() == ["completed"] * 8
    assert out.answer.tolist() == [f"<r{i}>" for i in range(8)]


async def test_tools_of_the_notebook_run_for_each_row_on_the_main_thread(make: Make) -> None:
    threads: set[str] = set()

    @tool
    def price(name: str) -> int:
        """Price of a thing."""
        threads.add(threading.current_thread().name)
        return len(name)

    def answer(request: Any) -> Any:
        last = request.messages[-1]
        return Say(f"It costs {last['content']}.") if last["role"] == "tool" else Call("price", {"name": _asked(request)})

    bound, _ = make(answer, tools=[price])
    out = await bound.map(["ab", "abcd"], n_parallel=2)
    assert out.answer.tolist() == ["It costs 2.", "It costs 4."]
    assert threads == {threading.main_thread().name}


async def test_a_call_that_needs_an_approval_does_not_hold_up_the_rest(make: Make) -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        raise AssertionError("nobody allowed it")

    bound, _ = make(lambda request: Call("pay", {}) if _asked(request) == "pay" else echo(request), tools=[pay])
    out = await asyncio.wait_for(bound.map(["pay", "look"], n_parallel=1), 60)
    assert out.status.tolist() == ["awaiting_approval", "completed"]
    assert "pay" in out.error.tolist()[0]


# -- what was answered is kept ---------------------------------------------------------------------------------------
async def test_a_checkpoint_asks_only_what_is_missing_or_failed(make: Make) -> None:
    broken = True

    def answer(request: Any) -> Any:
        return Fail(400, "Not now.") if broken and _asked(request) == "b" else echo(request)

    bound, model = make(answer)
    first = await bound.map(["a", "b", "a"], checkpoint="one")
    assert first.status.tolist() == ["completed", "failed", "completed"]
    broken, n_before = False, len(model.requests)
    again = await bound.map(["a", "b", "a", "c"], checkpoint="one")
    assert sorted(_asked(r) for r in model.requests[n_before:]) == ["b", "c"]
    assert again.answer.tolist() == ["<a>", "<b>", "<a>", "<c>"]
    assert again.turn_id.tolist()[0] == first.turn_id.tolist()[0] != first.turn_id.tolist()[2]
    assert again.n_tries.tolist() == [0, 2, 0, 1]
    assert (await bound.map(["a"], checkpoint="two")).n_tries.tolist() == [1]


async def test_another_kernel_finds_what_was_answered(tmp_path: Path) -> None:
    with ScriptedModel(echo) as model:
        for n_asked in (2, 2):
            hermes = Hermes.open_local(state=tmp_path)
            try:
                out = await hermes.bind(Agent("a", model=model.model)).map(["x", "y"], checkpoint="k")
                assert out.answer.tolist() == ["<x>", "<y>"]
                assert len(model.requests) == n_asked
            finally:
                await hermes.aclose()


async def test_another_agent_prompt_or_type_is_asked_anew(own: Hermes, make: Make) -> None:
    bound, model = make(lambda request: Say("7"), on=own, name="who")
    await bound.map([1], "Count {{value}}", checkpoint="k")
    await bound.map([1], "Count {{value}} now", checkpoint="k")
    await bound.map([1], "Count {{value}}", checkpoint="k", returns=int)
    assert len(model.requests) == 3
    changed = own.bind(Agent("who", "Be brief.", model=model.model))
    await changed.map([1], "Count {{value}}", checkpoint="k")
    assert len(model.requests) == 4


async def test_a_stop_keeps_what_was_answered(make: Make) -> None:
    asked, stopped = threading.Event(), threading.Event()

    def answer(request: Any) -> Any:
        if _asked(request) == "slow":
            asked.set()
            stopped.wait(30)
        return echo(request)

    bound, model = make(answer)
    task = asyncio.ensure_future(bound.map(["a", "slow", "c"], n_parallel=1, checkpoint="stopped"))
    await asyncio.to_thread(asked.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stopped.set()
    assert bound.last_map.status.tolist() == ["completed", "not_asked", "not_asked"]
    n_before = len(model.requests)
    out = await bound.map(["a", "slow", "c"], checkpoint="stopped")
    assert out.answer.tolist() == ["<a>", "<slow>", "<c>"]
    assert "a" not in [_asked(r) for r in model.requests[n_before:]]


async def test_nothing_of_the_rows_stays_in_the_way(own: Hermes, make: Make) -> None:
    bound, _ = make(echo, on=own)
    mine = await bound.run("Mine", show=False)
    await bound.map(["a", "b"], checkpoint="k")
    assert bound.session_id == mine.session_id
    assert [s.session_id for s in own.sessions()] == [mine.session_id]
    assert [t.id for t in own.turns] == [mine.turn_id]
    assert own.keyed == {}
    turns = await own.io.awaited((await own.io.awaited(own.conversations.opened_store())).turns(None))
    assert len(turns) == 3  # the log and the usage have all


# -- pace and progress -----------------------------------------------------------------------------------------------
async def test_a_limit_halves_the_pace_and_answers_raise_it_again() -> None:
    now, slept = 0.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    pace = Pace(8, clock=lambda: now, sleep=sleep)
    assert pace.limited(3.0) == 3.0
    assert pace.limited() >= 2.0  # without a word of the provider's: twice as long each time
    assert pace.n_allowed == 2
    async with pace.turn():
        pass
    assert slept == [3.0]
    for _ in range(200):
        pace.answered()
    assert pace.n_allowed == 8


def test_the_line_of_progress_tells_rows_faults_tokens_and_cost() -> None:
    progress = Progress(10)
    progress.counts.update({"completed": 3, "failed": 1, "missing": 1})
    progress.n_tokens, progress.cost_usd, progress.is_cost_known, progress.n_kept = 1234, 0.5, True, 1
    said = line(progress)
    assert "5 of 10 rows · 1 kept · 1 empty · 1 without an answer · 1,234 tokens · $0.5000 · " in said
    assert said.endswith("left")


def test_an_array_of_two_dimensions_is_refused() -> None:
    import numpy as np

    with pytest.raises(UsageError, match="2 dimensions"):
        Source.of(np.zeros((2, 2)))
    assert Source.of(np.array([1, 2])).kind == "list"


async def test_a_row_that_ended_is_held_by_nothing(own: Hermes, make: Make) -> None:
    @tool
    def look(name: str) -> str:
        """Look."""
        return name

    bound, _ = make(echo, on=own, tools=[look])
    await bound.map(["a", "b", "c"], timeout_s=3000)
    await own.io.awaited(asyncio.sleep(0))  # conversations are dropped on its loop
    gc.collect()
    assert [o for o in gc.get_objects() if isinstance(o, TurnRunner) and o.context is own] == []
    assert not any(bound.definitions.pinned.knows(s.session_id) for s in await _all_sessions(own))


async def test_a_row_that_nobody_sees_is_rendered_for_nobody(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_nb.views import _bundle

    def render(source: Any) -> dict[str, str]:
        raise AssertionError("rendered")

    monkeypatch.setattr(_bundle, "bundle", render)
    bound, _ = make(echo)
    assert (await bound.map(["a"])).status.tolist() == ["completed"]
    assert not [text for _, code, text in bound.hermes.warnings if code == "display"]


async def _all_sessions(hermes: Hermes) -> list[Any]:
    return await hermes.io.awaited((await hermes.io.awaited(hermes.conversations.opened_store())).sessions())
