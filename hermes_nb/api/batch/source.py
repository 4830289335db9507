"""Rows to ask about, of whatever holds them: a column, a table, a list, a dict; and the prompt of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_nb._near import near
from hermes_nb.errors import UsageError
from hermes_nb.model.template import fill, names

MAX_ROWS = 1_000_000
_KNOWN = ("row", "value", "index")


class Row(Mapping[str, Any]):
    """One row of a table: `row.title`, `row["unit price"]`."""

    __slots__ = ("_n_found", "_n_missing", "_values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._n_found = self._n_missing = 0

    def __getitem__(self, name: str) -> Any:
        values = self._values
        if name not in values:
            raise KeyError(f"no column {name!r}.{near(str(name), [str(v) for v in values])}")
        value = values[name]
        if is_missing(value):
            self._n_missing += 1
            return ""
        self._n_found += 1
        return value

    @property
    def raw(self) -> Mapping[str, Any]:
        """The values as they came."""
        return self._values

    @property
    def is_empty(self) -> bool:
        """Whether all that was looked up is missing."""
        return self._n_missing > 0 and not self._n_found

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as exc:
            raise AttributeError(exc.args[0]) from None

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {self[name]}" for name in self)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows, and what they came in.

    Attributes:
        kind: `frame`, `series`, `polars-frame`, `polars-series`, `mapping` or `list`.
        held: What was given; of an iterator, its list.
        index: The label of each row, as the outcome is indexed.
        values: Each row: a value, or a `Row`.
    """

    kind: str
    held: Any
    index: Sequence[Any]
    values: Sequence[Any]

    @classmethod
    def of(cls, over: Any) -> Source:
        """Read what was given.

        Raises:
            UsageError: It holds no rows.
        """
        kind = _library(over)
        if kind == "pandas.DataFrame":
            records = over.to_dict("records")
            return cls("frame", over, list(over.index), [Row({str(k): v for k, v in r.items()}) for r in records])
        if kind == "pandas.Series":
            return cls("series", over, list(over.index), over.tolist())
        if kind == "pandas.Index":
            return cls("series", over.to_series(), list(over), over.tolist())
        if kind == "polars.DataFrame":
            return cls("polars-frame", over, range(over.height), [Row(r) for r in over.iter_rows(named=True)])
        if kind == "polars.Series":
            return cls("polars-series", over, range(len(over)), over.to_list())
        if isinstance(over, str | bytes):
            raise UsageError("over takes a column, a table or a list of rows, not one text. Ask one question with run().")
        if isinstance(over, Mapping):
            return cls("mapping", over, list(over), [_row(v) for v in over.values()])
        if hasattr(over, "__array__") and getattr(over, "ndim", 1) != 1:
            raise UsageError(f"over takes one column; this array has {over.ndim} dimensions. Make it a pandas.DataFrame.")
        if not isinstance(over, Iterable):
            raise UsageError(f"over takes a column, a table or a list of rows, not {type(over).__name__}.")
        held: list[Any] = []
        for value in over:
            if len(held) == MAX_ROWS:
                raise UsageError(f"over gave more than {MAX_ROWS:,} rows and did not end. Take a part of it.")
            held.append(value)
        return cls("list", held, range(len(held)), [_row(v) for v in held])

    def prompts(self, prompt: str | Callable[[Any], str] | None) -> list[str | None]:
        """Return the prompt of each row; None where a row has nothing to ask about.

        Args:
            prompt: A template with `{{row.column}}`, `{{value}}` and `{{index}}`; a function of the row; None takes each
                value as its prompt.

        Raises:
            UsageError: The template names what there is not, or the function failed; the row is named.
        """
        if prompt is None:
            if any(isinstance(v, Row) for v in self.values):
                columns = ", ".join(map(str, next(v for v in self.values if isinstance(v, Row))))
                raise UsageError(
                    "Rows with columns need a prompt that says what is asked of each, e.g."
                    f" prompt='Summarise: {{{{row.NAME}}}}'. Columns: {columns[:300]}."
                )
            return [None if is_missing(v) else _text(v) for v in self.values]
        if isinstance(prompt, str):
            used = names(prompt)
            unknown = [name for name in used if name not in _KNOWN]
            if unknown:
                name = unknown[0]
                fields = [str(c) for v in self.values[:1] if isinstance(v, Row) for c in v]
                cure = f" Write {{{{row.{name}}}}}." if name in fields else near(name, [*_KNOWN, *fields])
                known = ", ".join(_KNOWN)
                raise UsageError(f"{{{{{name}}}}} in the prompt is none of {known}.{cure} Nothing was sent.")
            if not used:
                raise UsageError(
                    "The prompt is the same for each row. Put {{row.NAME}} or {{value}} where the row's part belongs."
                )
        elif not callable(prompt):
            raise UsageError(f"prompt takes a text with {{{{row.NAME}}}} or a function of the row, not {prompt!r}.")
        return [self._prompt(prompt, i) for i in range(len(self.values))]

    def _prompt(self, prompt: str | Callable[[Any], str], i: int) -> str | None:
        value, label = self.values[i], self.index[i]
        if not isinstance(value, Row) and is_missing(value):
            return None
        try:
            made = fill(prompt, {"row": value, "value": value, "index": label}) if isinstance(prompt, str) else prompt(value)
            is_empty = is_missing(made) or (isinstance(value, Row) and value.is_empty)
            return None if is_empty else _text(made)
        except Exception as exc:
            raise UsageError(f"The prompt of row {label!r} can't be made: {exc} Nothing was sent.") from exc


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, NaT, pandas.NA."""
    if value is None:
        return True
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _text(value: Any) -> str | None:
    text = str(value)
    return text if text.strip() else None


def _row(value: Any) -> Any:
    return Row({str(k): v for k, v in value.items()}) if isinstance(value, Mapping) else value


def _library(over: Any) -> str:
    """`pandas.DataFrame` and alike, for the classes of these libraries and their subclasses; "" for others."""
    for module, kinds in (("pandas", ("DataFrame", "Series", "Index")), ("polars", ("DataFrame", "Series"))):
        library = sys.modules.get(module)
        for kind in kinds:
            if library is not None and isinstance(over, getattr(library, kind, ())):
                return f"{module}.{kind}"
    return ""
