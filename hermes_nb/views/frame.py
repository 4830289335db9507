"""A log as a pandas DataFrame, one row per span.

Tokens, cost and retries are each span's own: a turn's row holds only what the turn reports beyond its model calls. So
a column's sum is the sum of the log, and so is that of any `groupby`. Nothing known stays missing: pass `min_count=1`
to `sum`, or it turns nothing into 0.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hermes_nb._require import require
from hermes_nb.model.span import USAGE_KEYS, Span
from hermes_nb.model.status import SPAN_STATUSES
from hermes_nb.views._input import Source, folder_of
from hermes_nb.views._total import NO_FIGURES, Figures, Key, own_figures

if TYPE_CHECKING:
    import pandas

TIME = "datetime64[ns, UTC]"
# name -> dtype; "string" columns are never missing, "" says there is nothing.
COLUMNS: dict[str, str] = {
    "start": TIME,
    "end": TIME,
    "duration_ms": "float64",
    "kind": "category",
    "operation": "category",
    "name": "string",
    "agent": "string",
    "status": "category",
    "outcome": "string",
    "replayed": "bool",
    "n_retries": "int64",
    **dict.fromkeys(USAGE_KEYS, "Int64"),
    "cost_usd": "float64",
    "model": "string",
    "provider": "string",
    "api_call": "Int64",
    "n_messages": "Int64",
    "tool_calls": "string",
    "finish_reason": "string",
    "prompt": "string",
    "arguments": "string",
    "result": "string",
    "result_chars": "Int64",
    "output_chars": "int64",
    "text": "string",
    "error": "string",
    "error_type": "string",
    "builtin": "bool",
    "attempt": "int64",
    "session_id": "string",
    "turn_id": "string",
    "span_id": "string",
    "parent_id": "string",
}
_NO_TIME = -(2**63)
_CATEGORIES = {
    "kind": ["turn", "model", "tool", "agent", "wait"],
    "operation": ["invoke_agent", "chat", "execute_tool", "wait"],
    "status": list(SPAN_STATUSES),
}


def render(source: Source) -> pandas.DataFrame:
    """The spans of a log as a table.

    Args:
        source: Events of one or many sessions, or a folder.

    Returns:
        One row per span, ordered by start, with a plain index. The columns, in this order, and their dtypes are the
        same for an empty log:

        - start, end: datetime64[ns, UTC]; end is NaT while running.
        - duration_ms: float64, NaN while running and for replayed steps.
        - kind, operation, status: category, with all values that `Span` documents.
        - name, agent, outcome: string.
        - replayed: bool. n_retries: int64, each span's own.
        - input_tokens, output_tokens, reasoning_tokens, cache_read_tokens, cache_write_tokens: Int64, <NA> where
          unknown; each span's own, so that sums count nothing twice. input_tokens includes the cached ones.
        - cost_usd: float64, NaN where unknown; each span's own too.
        - model, provider: string. api_call, n_messages: Int64, <NA> for other kinds.
        - tool_calls: string, names of the tools a model call asked for, joined by ", ". finish_reason: string.
        - prompt, arguments (JSON text), result, text, error, error_type: string.
        - result_chars: Int64, length of a result before it was cut. output_chars: int64, how much a tool printed.
        - builtin: bool, a tool of Hermes itself. attempt: int64.
        - session_id, turn_id, span_id, parent_id: string; parent_id is <NA> for a turn.

    Raises:
        MissingPackageError: pandas is not installed.

    Example:
        >>> frame = answer.frame()  # doctest: +SKIP
        >>> frame[frame.kind == "tool"].groupby("name").duration_ms.describe()  # slowest tools  # doctest: +SKIP
        >>> frame.groupby("model")[["input_tokens", "output_tokens"]].sum(min_count=1)  # doctest: +SKIP
        >>> frame.groupby(frame.start.dt.date).cost_usd.sum(min_count=1)  # cost per day  # doctest: +SKIP
    """
    pd = require("pandas", why="to show a log as a table")
    spans = folder_of(source).spans()
    own = own_figures(spans)
    data: dict[str, Any] = {}
    for name, dtype in COLUMNS.items():
        values = _values(name, spans, own)
        if dtype == TIME:
            data[name] = pd.Series(values, dtype="int64").astype("datetime64[ns]").dt.tz_localize("UTC")
        elif dtype == "category":
            data[name] = pd.Series(pd.Categorical(values, categories=_CATEGORIES[name]))
        else:
            data[name] = pd.Series(values, dtype=dtype)
    frame: pandas.DataFrame = pd.DataFrame(data, columns=list(COLUMNS))
    return frame


def _values(name: str, spans: list[Span], own: dict[Key, Figures]) -> list[Any]:
    if name in USAGE_KEYS:
        return [own.get(s.key, NO_FIGURES)[0].get(name) for s in spans]
    if name == "cost_usd":
        return [own.get(s.key, NO_FIGURES)[1] for s in spans]
    if name == "n_retries":
        children = Counter[tuple[str, str, int]]()
        for span in spans:
            if span.kind != "turn":
                children[span.key[:3]] += span.n_retries
        return [s.n_retries - children[s.key[:3]] if s.kind == "turn" else s.n_retries for s in spans]
    if name in ("start", "end"):
        return [_nanoseconds(getattr(s, f"{name}_unix_s")) for s in spans]
    if name == "tool_calls":
        return [", ".join(s.tool_calls) for s in spans]
    if name in ("api_call", "n_messages"):
        return [getattr(s, name) or None for s in spans]
    values = [getattr(s, name) for s in spans]
    return [_valid(v) for v in values] if COLUMNS[name] == "string" else values


def _nanoseconds(unix_s: float | None) -> int:
    """Nanoseconds since the epoch, to the microsecond that a float of seconds holds; pandas' own mark for no time."""
    return _NO_TIME if unix_s is None else round(unix_s * 1e6) * 1000


def _valid(value: str | None) -> str | None:
    """Valid UTF-8: with pyarrow a string column refuses a lone surrogate."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")
