"""The outcomes of a map as a frame, beside the rows they are of. The one module of this room that imports pandas."""

from __future__ import annotations

import dataclasses
import datetime
import sys
import typing
from collections.abc import Sequence
from typing import Any

from hermes_nb.api.batch.outcome import Outcome
from hermes_nb.api.batch.source import Row, Source, is_missing

ANSWER = "answer"
_DTYPES = {int: "Int64", float: "Float64", bool: "boolean", str: "string", datetime.datetime: "datetime64[us]"}


def frame(source: Source, outcomes: Sequence[Outcome], returns: Any) -> Any:
    """Return the rows with their outcomes: a pandas frame, of polars' when the rows came in one.

    Args:
        source: The rows; their columns, index and types stay as they are.
        outcomes: Of each row.
        returns: The type of the answers; the fields of a model, a dataclass or a TypedDict are a column each.

    Returns: columns of the rows, then `answer` or one column for each field, then status, error, cost_usd, n_tokens,
        duration_s, n_tries and turn_id. A name that the rows have already gets `_answer` behind it.
    """
    import pandas as pd

    held = _rows(pd, source)
    answers = _answers(pd, outcomes, returns)
    told = {
        "status": pd.Categorical([o.status for o in outcomes]),
        "error": pd.array([o.error for o in outcomes], dtype="string"),
        "cost_usd": pd.array([o.cost_usd for o in outcomes], dtype="Float64"),
        "n_tokens": pd.array([o.n_tokens for o in outcomes], dtype="Int64"),
        "duration_s": pd.array([o.duration_s for o in outcomes], dtype="Float64"),
        "n_tries": pd.array([o.n_tries for o in outcomes], dtype="Int64"),
        "turn_id": pd.array([o.turn_id for o in outcomes], dtype="string"),
    }
    taken = {str(name) for name in held.columns}
    columns: dict[str, Any] = {}
    for name, values in {**answers, **told}.items():
        unique = name
        while unique in taken:
            unique = f"{unique}_answer"
        taken.add(unique)
        columns[unique] = values
    if source.kind.startswith("polars"):
        return _polars(source, columns)
    made = pd.DataFrame(columns, index=held.index)
    return pd.concat([held, made], axis=1)


def _rows(pd: Any, source: Source) -> Any:
    if source.kind == "frame":
        return source.held
    if source.kind == "series":
        return source.held.to_frame(name="input" if source.held.name is None else source.held.name)
    if source.kind == "polars-frame":
        return pd.DataFrame({name: [] for name in source.held.columns}, index=source.index[:0])
    if source.kind == "polars-series":
        return pd.DataFrame({source.held.name or "input": []}, index=source.index[:0])
    index = pd.Index(list(source.index)) if source.kind == "mapping" else pd.RangeIndex(len(source.values))
    if source.values and all(isinstance(v, Row) for v in source.values):
        return pd.DataFrame([v.raw for v in source.values], index=index)
    return pd.DataFrame({"input": list(source.values)}, index=index)


def _answers(pd: Any, outcomes: Sequence[Outcome], returns: Any) -> dict[str, Any]:
    if returns is None:
        return {ANSWER: pd.array([o.text for o in outcomes], dtype="string")}
    fields = _fields(returns)
    if fields is None:
        return {ANSWER: _column(pd, [o.value for o in outcomes], returns)}
    return {
        name: _column(pd, [None if o.value is None else _field(o.value, name) for o in outcomes], kind)
        for name, kind in fields.items()
    }


def _fields(returns: Any) -> dict[str, Any] | None:
    """Names and types of the fields of a model, a dataclass or a TypedDict; None for other types."""
    if not isinstance(returns, type):
        return None
    if hasattr(returns, "model_fields"):
        return {name: field.annotation for name, field in returns.model_fields.items()}
    if dataclasses.is_dataclass(returns) or typing.is_typeddict(returns):
        return dict(typing.get_type_hints(returns))
    return None


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name)


def _column(pd: Any, values: list[Any], kind: Any) -> Any:
    """Values of a type, with pandas' own missing value where there is none."""
    plain = [k for k in typing.get_args(kind) if k is not type(None)]
    if typing.get_origin(kind) is typing.Literal:
        return pd.Categorical(values, categories=list(typing.get_args(kind)))
    dtype = _DTYPES.get(plain[0] if len(plain) == 1 and type(None) in typing.get_args(kind) else kind)
    if dtype is not None:
        try:
            return pd.array(values, dtype=dtype)
        except (TypeError, ValueError, OverflowError):  # e.g. a number beyond 64 bits
            pass
    return pd.Series(values, dtype="object").to_numpy()


def _polars(source: Source, columns: dict[str, Any]) -> Any:
    polars: Any = sys.modules["polars"]
    held = source.held if source.kind == "polars-frame" else source.held.to_frame()
    if source.kind == "polars-series" and not source.held.name:
        held = held.rename({"": "input"})
    made = [polars.Series(name, [_plain(v) for v in values], strict=False) for name, values in columns.items()]
    return held.with_columns(made)


def _plain(value: Any) -> Any:
    return None if is_missing(value) else value
