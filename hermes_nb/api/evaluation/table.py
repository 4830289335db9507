"""The evaluation as frames. The one module of this room that imports pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_nb.api.evaluation.trial import Trial

if TYPE_CHECKING:
    import pandas

_TEXT, _NUMBER, _COUNT = "string", "Float64", "Int64"


def frame(trials: Sequence[Trial]) -> pandas.DataFrame:
    """Return one row per trial; see `Evaluation.frame`."""
    import pandas

    pd: Any = pandas
    columns: dict[str, Any] = {
        "case": pd.array([t.case.name for t in trials], dtype=_TEXT),
        "variant": pd.Categorical([t.variant for t in trials]),
        "repeat": pd.array([t.repeat for t in trials], dtype=_COUNT),
        "prompt": pd.array([t.case.prompt for t in trials], dtype=_TEXT),
        "expected": pd.Series([t.case.expected for t in trials], dtype="object").to_numpy(),
        "answer": pd.array([t.outcome.text for t in trials], dtype=_TEXT),
        "status": pd.Categorical([t.outcome.status for t in trials]),
        "error": pd.array([t.outcome.error for t in trials], dtype=_TEXT),
    }
    said = [{s.name: s for s in t.scores} for t in trials]
    names = list(dict.fromkeys(name for one in said for name in one))
    taken = set(columns) | {"cost_usd", "n_tokens", "duration_s", "session_id", "turn_id"}
    for name in names:
        scores = [one.get(name) for one in said]
        column = name if name not in taken else f"{name}_score"
        is_label = all(s is None or s.value is None for s in scores) and any(s is not None and s.label for s in scores)
        values = [None if s is None else (s.label or None) if is_label else s.value for s in scores]
        columns[column] = pd.array(values, dtype=_TEXT if is_label else _NUMBER)
        reasons = [None if s is None else (s.error or s.reason or None) for s in scores]
        if any(reasons):
            columns[f"{column}_reason"] = pd.array(reasons, dtype=_TEXT)
    columns |= {
        "cost_usd": pd.array([t.outcome.cost_usd for t in trials], dtype=_NUMBER),
        "n_tokens": pd.array([t.outcome.n_tokens for t in trials], dtype=_COUNT),
        "duration_s": pd.array([t.outcome.duration_s for t in trials], dtype=_NUMBER),
        "session_id": pd.array([t.session_id or None for t in trials], dtype=_TEXT),
        "turn_id": pd.array([t.outcome.turn_id for t in trials], dtype=_TEXT),
    }
    made: pandas.DataFrame = pd.DataFrame(columns)
    return made


def scores(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return means with intervals; see `Evaluation.scores`."""
    return plain(rows, ("variant", "score", "mean", "low", "high", "n", "n_cases", "n_failed"))


def plain(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """Return rows of plain data as a frame."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=None if columns is None else list(columns))
