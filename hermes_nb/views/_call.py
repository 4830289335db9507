"""A call and what it gave, each on one line: `city_weather("Rome")` and `3 rows × 4 columns`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hermes_nb.views.rows import valid, visible

MAX_PARSED_CHARS = 200_000
CALL_CHARS = 160
VALUE_CHARS = 60
SHORT_CHARS = 72
MAX_ROWS, MAX_COLUMNS = 50, 12
CELL_CHARS = 120
_NOTHING = object()


def call_text(name: str, raw: str) -> str:
    """A call as code: names and values, a sole text without its name.

    Args:
        name: The tool.
        raw: Its arguments, JSON as the model wrote it; what is none follows the name as it is.
    """
    name = one_line(name) or "tool"
    given = _parsed(raw)
    if given is _NOTHING:
        return _cut(f"{name}({one_line(raw)})" if raw.strip() else f"{name}()", CALL_CHARS)
    if not isinstance(given, Mapping):
        return f"{name}()" if given is None else _cut(f"{name}({literal(given)})", CALL_CHARS)
    if len(given) == 1 and isinstance(sole := next(iter(given.values())), str):
        return _cut(f"{name}({literal(sole)})", CALL_CHARS)
    return _cut(f"{name}({arguments_line(given)})", CALL_CHARS)


def arguments_line(given: Mapping[str, Any]) -> str:
    """Arguments as code, without their brackets."""
    return ", ".join(f"{one_line(str(key))}={literal(value)}" for key, value in given.items())


def literal(value: Any, limit: int = VALUE_CHARS) -> str:
    """A JSON value as Python writes it, on one line."""
    if isinstance(value, str):
        return json.dumps(_cut(visible(value), limit), ensure_ascii=False)
    if isinstance(value, bool) or value is None or not isinstance(value, (Mapping, list)):
        return str(value)
    if isinstance(value, list):
        inner = ", ".join(literal(one, limit) for one in value[:limit])
        return _cut(f"[{inner}]", limit)
    inner = ", ".join(f"{json.dumps(str(k), ensure_ascii=False)}: {literal(v, limit)}" for k, v in value.items())
    return _cut(f"{{{inner}}}", limit)


def pairs(raw: str, max_chars: int) -> list[tuple[str, str]]:
    """Arguments by name, each value as text; one pair without a name where they are no JSON object."""
    given = _parsed(raw)
    if isinstance(given, Mapping):
        return [(one_line(str(k)), _cut(_whole(v), max_chars)) for k, v in given.items()]
    return [("", _cut(valid(raw), max_chars))] if raw.strip() and given is not None else []


def shape(text: str, n_chars: int | None = None) -> str:
    """What a result is, in a few words: a table's size, a short value itself, the first line of a text."""
    value = _parsed(text) if n_chars is None or n_chars <= len(text) else _NOTHING
    if value is _NOTHING or isinstance(value, str):
        return _shape_of_text(value if isinstance(value, str) else text, n_chars)
    if (found := _table(value)) is not None:
        columns, _, n_rows, is_more = found
        return f"{count(n_rows, 'row', more=is_more)} × {count(len(columns), 'column')}"
    if isinstance(value, Mapping):
        return _shape_of_object(value)
    if isinstance(value, list):
        whole = literal(value, SHORT_CHARS)
        return whole if not whole.endswith("…") else count(len(value), "item")
    return "nothing" if value is None else str(value)


def table(text: str, n_chars: int | None = None) -> tuple[list[str], list[list[str]], int] | None:
    """A result as a table: names of columns, cells of the first rows, how many rows it has. None where it is none."""
    value = _parsed(text) if n_chars is None or n_chars <= len(text) else _NOTHING
    found = None if value is _NOTHING else _table(value)
    if found is None:
        return None
    columns, rows, n_rows, _ = found
    shown = [[_cell(cell) for cell in row[:MAX_COLUMNS]] for row in rows[:MAX_ROWS]]
    names = [one_line(name) for name in columns[:MAX_COLUMNS]]
    if len(columns) > MAX_COLUMNS:
        names.append(f"… {len(columns) - MAX_COLUMNS} more")
        shown = [[*row, ""] for row in shown]
    return names, shown, n_rows


def pretty(text: str) -> str:
    """A text for reading: JSON with line breaks, a JSON text without its quotes, else as it is."""
    value = _parsed(text)
    return valid(text) if value is _NOTHING or value is None else _whole(value)


def count(n: int, one: str, *, more: bool = False) -> str:
    """`1 row`, `1,200 rows`, `20+ rows`."""
    return f"{n:,}{'+' if more else ''} {one if n == 1 and not more else one + 's'}"


def one_line(text: str) -> str:
    """The text without line breaks and control characters."""
    return " ".join(visible(text).split())


def _parsed(text: str) -> Any:
    """The JSON value; `_NOTHING` for what is none."""
    if len(text) > MAX_PARSED_CHARS:
        return _NOTHING
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOTHING


def _table(value: Any) -> tuple[list[str], list[list[Any]], int, bool] | None:
    """(columns, rows, number of rows, whether there are more) of what is a table: of a frame, or records in a list."""
    if isinstance(value, Mapping):
        columns, rows, size = value.get("columns"), value.get("rows"), value.get("shape")
        if not (isinstance(columns, Mapping) and isinstance(rows, list) and isinstance(size, list) and len(size) == 2):
            return None
        cells = [row for row in rows if isinstance(row, list)]
        names = [str(name) for name in columns]
        if cells and len(cells[0]) == len(names) + 1:
            names.insert(0, str(value["index"]) if isinstance(value.get("index"), str) else "")
        return names, cells, size[0] if isinstance(size[0], int) else len(cells), False
    if not isinstance(value, list) or not value:
        return None
    records = [one for one in value if isinstance(one, Mapping)]
    if not records or len(records) < len(value) - 1 or not isinstance(value[0], Mapping):
        return None
    names = list(dict.fromkeys(str(key) for one in records for key in one))
    return names, [[one.get(name) for name in names] for one in records], len(records), len(records) < len(value)


def _shape_of_object(value: Mapping[str, Any]) -> str:
    if isinstance(length := value.get("length"), int) and "values" in value:
        return count(length, "value")
    if isinstance(size := value.get("shape"), list) and "values" in value:
        return " × ".join(f"{n:,}" for n in size if isinstance(n, int)) + " values"
    line = ", ".join(f"{one_line(str(k))}: {literal(v, SHORT_CHARS)}" for k, v in value.items())
    return line if len(line) <= SHORT_CHARS else count(len(value), "field")


def _shape_of_text(text: str, n_chars: int | None) -> str:
    lines = text.strip("\n").count("\n") + 1
    whole = max(len(text), n_chars or 0)
    first = one_line(text[: 4 * SHORT_CHARS])
    if lines == 1 or not first:
        return first if whole <= 4 * SHORT_CHARS else f"{_cut(first, SHORT_CHARS)} ({whole:,} characters)"
    head = one_line(text.strip("\n").partition("\n")[0][: 4 * SHORT_CHARS])
    size = f"{lines:,} lines" if whole <= len(text) else f"{whole:,} characters"
    return f"{_cut(head, SHORT_CHARS)} ({size})"


def _cell(value: Any) -> str:
    return (
        "" if value is None else _cut(one_line(value if isinstance(value, str) else literal(value, CELL_CHARS)), CELL_CHARS)
    )


def _whole(value: Any) -> str:
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, (Mapping, list)):
        return valid(json.dumps(value, indent=1, ensure_ascii=False))
    return str(value)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
