"""Cases in, scores out: each answer is a turn, each score an event, nothing is asked twice, a fault loses one score."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.evaluation.case import Case, cases_of, cases_of_turns
from hermes_nb.api.evaluation.evaluating import evaluate
from hermes_nb.api.evaluation.judge import Judge
from hermes_nb.api.evaluation.score import Score
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import SessionNotFoundError, UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Fail, Say, ScriptedModel
from hermes_nb.views import otlp

Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
SUMS = [Case("1+1", "2"), Case("2+2", "4"), Case("3+3", "7")]


def _asked(request: Any) -> str:
    return str(request.messages[-1]["content"])


def adds(request: Any) -> Say:
    return Say(str(sum(int(part) for part in _asked(request).split("+"))))


def is_right(case: Case, result: Any) -> bool:
    return bool(result.text == case.expected)


async def test_each_case_is_asked_and_scored(make: Make) -> None:
    bound, model = make(adds)
    made = await evaluate(SUMS, agents=bound, scorers=[is_right, lambda result: len(result.text)])
    assert len(model.requests) == 3
    assert made.frame.is_right.tolist() == [1.0, 1.0, 0.0]
    assert made.frame.scorer_1.tolist() == [1.0, 1.0, 1.0]
    assert made.frame[["case", "answer", "expected", "status"]].values.tolist() == [
        ["1+1", "2", "2", "completed"],
        ["2+2", "4", "4", "completed"],
        ["3+3", "6", "7", "completed"],
    ]
    row = made.scores.set_index("score").loc["is_right"]
    assert (row["n"], row["n_cases"], row["n_failed"]) == (3, 3, 0)
    assert row["mean"] == pytest.approx(2 / 3)
    assert 0 < row["low"] < row["mean"] < row["high"] < 1
    assert [t.case.name for t in made.worst(1)] == ["3+3"]
    assert bound.last_evaluation is made


SCORERS: dict[str, tuple[Any, list[tuple[str, float | None, str, str]]]] = {
    "bool": (lambda case, result: True, [("scorer_1", 1.0, "pass", "")]),
    "number": (lambda case, result, spans: len(spans) > 1 and 0.25, [("scorer_1", 0.25, "", "")]),
    "label": (lambda result: "polite", [("scorer_1", None, "polite", "")]),
    "reason": (lambda result: (False, "Too short."), [("scorer_1", 0.0, "fail", "Too short.")]),
    "dict": (lambda result: {"a": 1, "b": (True, "x")}, [("a", 1.0, "", ""), ("b", 1.0, "pass", "x")]),
    "score": (lambda result: Score("own", 0.5), [("own", 0.5, "", "")]),
    "list": (lambda result: [Score("x", 1.0), Score("y", 0.0)], [("x", 1.0, "", ""), ("y", 0.0, "", "")]),
    "numpy": (lambda result: pd.Series([0.5]).to_numpy()[0], [("scorer_1", 0.5, "", "")]),
    "none": (lambda result: None, []),
}


@pytest.mark.parametrize("name", SCORERS)
async def test_a_scorer_may_say_it_in_many_ways(make: Make, name: str) -> None:
    bound, _ = make(adds)
    scorer, expected = SCORERS[name]
    made = await evaluate(SUMS[:1], agents=bound, scorers=[scorer])
    assert [(s.name, s.value, s.label, s.reason) for s in made.trials[0].scores] == expected


async def test_scorers_may_be_async_and_run_on_the_main_thread(make: Make) -> None:
    threads = set()

    async def waits(case: Case, result: Any) -> float:
        await asyncio.sleep(0)
        threads.add(threading.current_thread())
        return 1.0

    bound, _ = make(adds)
    made = await evaluate(SUMS, agents=[bound], scorers=[waits])
    assert made.frame.waits.tolist() == [1.0] * 3
    assert threads == {threading.main_thread()}


async def test_a_fault_of_a_scorer_or_a_case_loses_nothing_else(make: Make) -> None:
    def fragile(case: Case, result: Any) -> bool:
        if case.prompt == "1+1":
            raise ValueError("odd case")
        return True

    bound, _ = make(lambda r: Fail(400, "No.") if _asked(r) == "2+2" else adds(r))
    made = await evaluate(SUMS, agents=bound, scorers=[fragile, is_right, lambda result: object()])
    assert made.frame.status.tolist() == ["completed", "failed", "completed"]
    assert "ValueError: odd case" in made.frame.fragile_reason.tolist()[0]
    assert made.frame.is_right.isna().tolist() == [False, True, False]
    row = made.scores.set_index("score").loc["fragile"]
    assert (row["n"], row["n_failed"]) == (1, 2)
    assert "returned object" in made.trials[0].scores[2].error
    assert made.worst(1)[0].case.name == "2+2"


async def test_agents_models_and_instructions_are_variants(make: Make) -> None:
    bound, _ = make(lambda r: Say("long" if "long" in str(r.messages[0]) else "short"))
    made = await evaluate(
        [Case("a"), Case("b")],
        agents=bound,
        instructions=["Be long.", "Be short."],
        scorers=[lambda result: len(result.text)],
        repeats=2,
    )
    assert len(made.trials) == 8
    long, short = made.variants
    assert "Be long." in long
    assert made.scores["mean"].tolist() == [4.0, 5.0]
    compared = made.compare(short, than=long)
    assert compared.summary[0]["difference"] == 1.0
    assert compared.summary[0]["n"] == 2
    assert (made.variant(short).compare(made.variant(long))).frame.equals(compared.frame)
    assert bound.config.instructions == ""  # the agent stays what it is
    assert [a for a in bound.hermes.agents if a.startswith(f"{bound.name}-")] == []


async def test_two_evaluations_are_compared_case_by_case(make: Make) -> None:
    wrong = {"1+1"}
    bound, _ = make(lambda r: Say("?") if _asked(r) in wrong else adds(r))
    before = await evaluate(SUMS, agents=bound, scorers=[is_right])
    wrong.clear()
    now = await evaluate([*SUMS, Case("4+4", "8")], agents=bound, scorers=[is_right])
    compared = now.compare(before)
    row = compared.summary[0]
    assert (row["n"], row["n_better"], row["n_worse"], row["p"]) == (3, 1, 0, 1.0)
    assert row["mean_than"] == pytest.approx(1 / 3)
    assert compared.cases[compared.cases.difference > 0].case.tolist() == ["1+1"]
    assert "1+1" in compared._repr_html_()
    with pytest.raises(UsageError, match="share no case"):
        now.compare(await evaluate([Case("9+9", "18")], agents=bound, scorers=[is_right]))
    with pytest.raises(UsageError, match="no variant 'nobody'"):
        now.compare("nobody", than=bound.name)


async def test_a_judge_scores_by_its_rubric(make: Make) -> None:
    def verdict(request: Any) -> Say:
        text = str(request.messages)
        return Say(json.dumps({"score": 2 if "4+4" in text else 0.5, "reason": "Half right."}))

    bound, _ = make(adds)
    critic, judging = make(verdict)
    judge = Judge(critic, "The answer is a number.", name="numeric")
    made = await evaluate([*SUMS[:2], Case("4+4", "8")], agents=bound, scorers=[judge, is_right])
    assert made.frame.numeric.tolist()[:2] == [0.5, 0.5]
    assert made.frame.numeric.isna().tolist() == [False, False, True]
    assert "a score is from 0 to 1" in made.frame.numeric_reason.tolist()[2]
    assert made.frame.numeric_reason.tolist()[0] == "Half right."
    told = str(judging.requests[0].messages)
    assert "The answer is a number." in told
    assert "<expected>" in told


async def test_scores_are_events_of_the_turn_and_attributes_of_its_span(make: Make) -> None:
    bound, _ = make(adds)
    hermes = bound.hermes
    made = await evaluate(SUMS[:1], agents=bound, scorers=[lambda result: (True, "Because.")])
    trial = made.trials[0]
    store = await hermes.io.awaited(hermes.conversations.opened_store())
    events = await hermes.io.awaited(store.events(trial.session_id))
    assert [e.kind for e in events].count("evaluation.result") == 1
    assert events[-1].turn_id == trial.outcome.turn_id
    span = next(s for s in otlp.render(events) if s["parent_id"] is None)
    assert [e["attributes"] for e in span["events"] if e["name"] == "gen_ai.evaluation.result"] == [
        {
            "gen_ai.evaluation.name": "scorer_1",
            "gen_ai.evaluation.score.value": 1.0,
            "gen_ai.evaluation.score.label": "pass",
        }
    ]
    span = next(s for s in otlp.render(events, content=True) if s["parent_id"] is None)
    assert span["events"][0]["attributes"]["gen_ai.evaluation.explanation"] == "Because."


async def test_a_checkpoint_asks_only_what_is_missing_and_keeps_each_score_once(own: Hermes, make: Make) -> None:
    broken = True
    bound, model = make(lambda r: Fail(400, "No.") if broken and _asked(r) == "2+2" else adds(r), on=own)
    first = await evaluate(SUMS, agents=bound, scorers=[is_right], checkpoint="k", repeats=2)
    assert first.frame.status.tolist() == ["completed", "failed", "completed"] * 2
    broken, n_before = False, len(model.requests)
    again = await evaluate(SUMS, agents=bound, scorers=[is_right], checkpoint="k", repeats=2)
    assert [_asked(r) for r in model.requests[n_before:]] == ["2+2", "2+2"]
    assert again.frame.is_right.tolist() == [1.0, 1.0, 0.0] * 2
    store = await own.io.awaited(own.conversations.opened_store())
    events = await own.io.awaited(store.events(again.trials[0].session_id))
    assert [e.kind for e in events].count("evaluation.result") == 1


async def test_a_stop_keeps_and_scores_what_was_answered(make: Make) -> None:
    asked, stopped = threading.Event(), threading.Event()

    def answer(request: Any) -> Any:
        if _asked(request) == "2+2":
            asked.set()
            stopped.wait(30)
        return adds(request)

    bound, _ = make(answer)
    task = asyncio.ensure_future(evaluate(SUMS, agents=bound, scorers=[is_right], n_parallel=1))
    await asyncio.to_thread(asked.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stopped.set()
    frame = bound.last_evaluation.frame
    assert frame.status.tolist() == ["completed", "not_asked", "not_asked"]
    assert frame.is_right.tolist()[0] == 1.0


async def test_the_whole_has_a_limit(make: Make) -> None:
    usage = {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}
    bound, model = make(lambda r: Say("ok", usage=usage))
    made = await evaluate(
        ["a", "b"], agents=bound, instructions=["x", "y"], scorers=[lambda result: 1], n_parallel=1, max_tokens=250
    )
    assert len(model.requests) == 3
    assert made.frame.status.tolist() == ["completed"] * 3 + ["not_asked"]


async def test_the_page_shows_scores_and_opens_the_steps_of_the_worst(make: Make) -> None:
    bound, _ = make(lambda r: Say("<b>six</b>"))
    made = await evaluate([Case("<i>ask</i>", "6")], agents=bound, scorers=[is_right])
    page = made._repr_html_()
    assert "<details><summary>" in page
    assert "is_right" in page
    assert "&lt;i&gt;ask&lt;/i&gt;" in page
    assert "<i>ask</i>" not in page
    assert f"session {made.trials[0].session_id}" in page  # the steps
    assert "0 (0 to 0.793)" in str(made)


# -- cases -----------------------------------------------------------------------------------------------------------
ROWS = [{"prompt": "a?", "expected": "A", "name": "first", "topic": "t"}, {"prompt": "b?", "expected": None, "topic": None}]


@pytest.mark.parametrize("kind", ["dicts", "pandas", "polars", "jsonl"])
def test_cases_come_of_what_holds_them(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("\n\n".join(json.dumps(r) for r in ROWS))
    held = {"dicts": ROWS, "pandas": pd.DataFrame(ROWS), "polars": pl.DataFrame(ROWS), "jsonl": str(path)}[kind]
    first, second = cases_of(held)
    assert (first.prompt, first.expected, first.name) == ("a?", "A", "first")
    assert first.metadata["topic"] == "t"
    assert (second.prompt, second.expected) == ("b?", None)


def test_cases_without_names_get_some_that_differ() -> None:
    assert [c.name for c in cases_of(["a", "b", "a"])] == ["a", "b", "a (2)"]
    made = cases_of(pd.DataFrame({"city": ["Rome"]}, index=["it"]), "Capital? {{row.city}}")
    assert (made[0].name, made[0].prompt, made[0].metadata) == ("it", "Capital? Rome", {"city": "Rome"})


async def test_stored_turns_are_cases(make: Make) -> None:
    bound, _ = make(adds)
    result = await bound.run("5+5", show=False)
    with pytest.raises(SessionNotFoundError):
        cases_of_turns([])
    session = await bound.hermes.io.awaited(bound.hermes.conversations.open_session(result.session_id))
    assert [(c.prompt, c.expected, c.name) for c in cases_of_turns(session.events)] == [("5+5", "10", result.turn_id)]
    assert Case.of(result, "11").expected == "11"
    assert Case.of(result).prompt == "5+5"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cases": []}, "There are no cases"),
        ({"cases": "one text"}, "not one text or case"),
        ({"cases": "none.jsonl"}, "can't be read"),
        ({"cases": [{"question": ""}]}, "has no prompt"),
        ({"cases": [{"text": "x"}]}, "no column prompt or question or input. Columns: text"),
        ({"scorers": []}, "needs a scorer"),
        ({"scorers": is_right}, "takes a list"),
        ({"scorers": [7]}, "not 7"),
        ({"scorers": [is_right, is_right]}, "Two scorers are named 'is_right'"),
        ({"scorers": [lambda a, b, c, d: 1]}, "takes 4 parameters"),
        ({"agents": []}, "agents is empty"),
        ({"agents": "ada"}, "not 'ada'"),
        ({"agents": [Agent("lonely")]}, "pass hermes="),
        ({"repeats": 0}, "repeats is a whole number"),
        ({"models": "gpt"}, "models takes a list"),
        ({"scorer": []}, "Did you mean 'scorers'"),
    ],
)
async def test_what_is_wrong_is_refused_before_anything_is_sent(make: Make, given: dict[str, Any], said: str) -> None:
    bound, model = make(adds)
    with pytest.raises(UsageError, match=said):
        await evaluate(**{"cases": SUMS, "agents": bound, "scorers": [is_right], **given})
    assert not model.requests
    with pytest.raises(UsageError, match="rubric"):
        Judge(bound, " ")


# -- other programs --------------------------------------------------------------------------------------------------
async def test_evaluators_of_pydantic_evals_are_scorers_as_they_are(make: Make) -> None:
    evals = pytest.importorskip("pydantic_evals", reason="pydantic-evals is not installed: its evaluators are not tried")
    evaluators = pytest.importorskip("pydantic_evals.evaluators")
    bound, _ = make(adds)
    foreign = evals.Dataset(
        name="sums", cases=[evals.Case(name=c.prompt, inputs=c.prompt, expected_output=c.expected) for c in SUMS]
    )
    given = [
        evaluators.EqualsExpected(),
        evaluators.MaxDuration(seconds=60),
        evaluators.HasMatchingSpan(query={"name_contains": "chat"}),
    ]
    made = await evaluate(foreign, agents=bound, scorers=given)
    answers = dict(zip(made.frame.case, made.frame.answer, strict=True))

    async def task(prompt: str) -> str:
        return str(answers[prompt])

    foreign.evaluators = given[:2]
    report = await foreign.evaluate(task, progress=False)
    theirs = {c.name: {k: float(v.value) for k, v in c.assertions.items()} for c in report.cases}
    ours = {t.case.name: {s.name: s.value for s in t.scores if s.name != "HasMatchingSpan"} for t in made.trials}
    assert ours == theirs
    assert all(s.value == 1.0 for t in made.trials for s in t.scores if s.name == "HasMatchingSpan")


async def test_scores_are_those_of_pydantic_evals_on_generated_cases(make: Make) -> None:
    evals = pytest.importorskip("pydantic_evals", reason="pydantic-evals is not installed: its scores are not compared")
    evaluators = pytest.importorskip("pydantic_evals.evaluators")
    rng = random.Random(3)
    sums = [(rng.randrange(50), rng.randrange(50), rng.choice([0, 0, 1])) for _ in range(200)]
    foreign = evals.Dataset(
        name="sums",
        cases=[
            evals.Case(name=f"{i}", inputs=f"{a}+{b}", expected_output=str(a + b + off), metadata={"off": off})
            for i, (a, b, off) in enumerate(sums)
        ],
    )
    given = [evaluators.EqualsExpected(), evaluators.Contains(value="1"), evaluators.IsInstance(type_name="str")]
    bound, _ = make(adds)
    made = await evaluate(foreign, agents=bound, scorers=given, n_parallel=16)
    answers = {t.case.name: str(t.outcome.text) for t in made.trials}
    foreign.evaluators = given
    names = {f"{a}+{b}": str(a + b) for a, b, _ in sums}

    async def task(prompt: str) -> str:
        return names[prompt]

    report = await foreign.evaluate(task, progress=False)
    assert answers == {c.name: c.output for c in report.cases}
    theirs = {c.name: {k: (float(v.value), v.reason or "") for k, v in c.assertions.items()} for c in report.cases}
    assert {t.case.name: {s.name: (s.value, s.reason) for s in t.scores} for t in made.trials} == theirs
    means = {k: sum(v[k][0] for v in theirs.values()) / 200 for k in ("EqualsExpected", "Contains", "IsInstance")}
    assert made.scores.set_index("score")["mean"].to_dict() == pytest.approx(means)


async def test_inspect_reads_the_log_that_is_written_for_it(make: Make, tmp_path: Path) -> None:
    bound, _ = make(lambda r: Fail(400, "No.") if _asked(r) == "2+2" else adds(r))
    made = await evaluate(SUMS, agents=bound, scorers=[is_right, lambda result: "word"])
    (path,) = made.to_inspect(tmp_path / "logs")
    log = json.loads(path.read_text())
    assert (log["version"], log["status"], log["results"]["total_samples"]) == (2, "success", 3)
    inspect_log = pytest.importorskip("inspect_ai.log", reason="inspect-ai is not installed: its reader is not tried")
    read = inspect_log.read_eval_log(str(path))
    assert [s.scores["is_right"].value for s in read.samples if s.scores] == [1.0, 0.0]
    assert read.results.scores[0].metrics["mean"].value == 0.5
    assert read.samples[1].error is not None
