"""An evaluation in the log format of Inspect, version 2, as plain data; `inspect_ai` itself is not needed.

Source: `inspect_ai.log.EvalLog` of inspect-ai 0.3.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from typing import Any

from hermes_nb._version import __version__
from hermes_nb.api.evaluation.score import Score
from hermes_nb.api.evaluation.statistics import interval
from hermes_nb.api.evaluation.trial import Trial, by_score


def log_of(trials: Sequence[Trial], variant: str) -> dict[str, Any]:
    """Return the log of one variant.

    Args:
        trials: Its trials.
        variant: Its name.
    """
    now = datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds")
    names = list(dict.fromkeys(s.name for t in trials for s in t.scores))
    digest = hashlib.sha256("\n".join([variant, now, *(t.case.name for t in trials)]).encode()).hexdigest()
    cases = list(dict.fromkeys(t.case.name for t in trials))
    is_whole = all(t.outcome.status != "not_asked" for t in trials)
    model = f"hermes_nb/{variant}"
    means = by_score(list(trials))
    return {
        "version": 2,
        "status": "success" if is_whole else "cancelled",
        "eval": {
            "eval_id": digest[:22],
            "run_id": digest[22:44],
            "created": now,
            "task": variant,
            "task_id": digest[44:64],
            "task_version": 0,
            "dataset": {"name": "cases", "samples": len(cases), "sample_ids": cases},
            "model": model,
            "config": {"epochs": max(t.repeat for t in trials)},
            "packages": {"hermes_nb": __version__},
        },
        "plan": {"name": "plan", "steps": [{"solver": "hermes_nb", "params": {}}], "config": {}},
        "results": {
            "total_samples": len(trials),
            "completed_samples": sum(t.outcome.is_answered for t in trials),
            "scores": [_metrics(name, list(means.get((variant, name), {}).values())) for name in names],
        },
        "stats": {"started_at": now, "completed_at": now, "model_usage": {}},
        "samples": [_sample(t, model) for t in trials],
    }


def _metrics(name: str, values: list[float]) -> dict[str, Any]:
    found = interval(values)
    known = {"mean": found.mean, "interval_low": found.low, "interval_high": found.high}
    metrics = {key: {"name": key, "value": value} for key, value in known.items() if value == value}
    return {"name": name, "scorer": name, "params": {}, "metrics": metrics, "scored_samples": len(values)}


def _sample(trial: Trial, model: str) -> dict[str, Any]:
    outcome = trial.outcome
    expected = "" if trial.case.expected is None else str(trial.case.expected)
    answer = {"role": "assistant", "content": outcome.text or "", "source": "generate", "model": model}
    sample: dict[str, Any] = {
        "id": trial.case.name,
        "epoch": trial.repeat,
        "input": trial.case.prompt,
        "target": expected,
        "messages": [{"role": "user", "content": trial.case.prompt, "source": "input"}, answer],
        "output": {
            "model": model,
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": outcome.text or "",
        },
        "scores": {s.name: _score(s, outcome.text or "") for s in trial.scores if not s.error},
        "metadata": {"turn_id": outcome.turn_id, "session_id": trial.session_id, "status": outcome.status},
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }
    if outcome.duration_s is not None:
        sample["total_time"] = outcome.duration_s
    if not outcome.is_answered:
        said = outcome.error or outcome.status
        sample["error"] = {"message": said, "traceback": said, "traceback_ansi": said}
    return sample


def _score(score: Score, answer: str) -> dict[str, Any]:
    value: float | str = score.label if score.value is None else score.value
    return {"value": value, "answer": answer, **({"explanation": score.reason} if score.reason else {})}
