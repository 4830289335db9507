"""The only possible reading of an answer that is not in the form asked for: bare words, and tables in other forms of JSON.

What could be read in two ways is not read at all; the model is then asked again.
"""

from __future__ import annotations

import datetime
import enum
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

_FENCED = re.compile(r"\A(`{3,}|~{3,})[^\n]*\n(.*?)\n?\1\Z", re.DOTALL)
_NUMBER = re.compile(r"[-+]?[\d.]+")
_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "**": "**"}

Table = tuple[list[str], list[list[Any]], list[Any] | None]  # columns, rows, labels of the rows


# ------------------------------------------------------------------------------------------------ bare words


def bare(adapter: Any, returns: Any, text: str) -> tuple[bool, Any]:
    """(whether the whole text is a value of the type, the value).

    Args:
        adapter: The type's pydantic adapter.
        returns: The type.
        text: The answer.
    """
    from pydantic import ValidationError

    first: list[Any] = []
    forms = list(_forms(text))
    for form in forms:
        try:
            value = adapter.validate_strings(form)
        except ValidationError:
            continue
        if isinstance(value, (datetime.date, datetime.time)) and _NUMBER.fullmatch(form):
            continue  # pydantic reads it as seconds since 1970
        if type(value) is not str or _is_word_of(returns, value):
            return True, value
        first = first or [value]
    words = list(_words(returns))
    for form in forms:
        fits = [v for w, v in words if w == form] or [v for w, v in words if w.casefold() == form.casefold()]
        if fits and all(v is fits[0] for v in fits):
            return True, fits[0]
    return bool(first), first[0] if first else None


def _forms(text: str) -> Iterator[str]:
    """The text, and without the fence, quotes, emphasis and last full stop around it."""
    form = text.strip()
    if match := _FENCED.match(form):
        form = match[2].strip()
    seen: set[str] = set()
    for _ in range(6):
        if form and form not in seen:
            seen.add(form)
            yield form
        opening = next((mark for mark in _PAIRS if form.startswith(mark)), "")
        if opening and len(form) > 2 * len(opening) and form.endswith(_PAIRS[opening]):
            form = form[len(opening) : -len(opening)].strip()
        elif form.endswith((".", "!", ",")):
            form = form[:-1].rstrip()


def _alternatives(returns: Any) -> Iterator[Any]:
    if typing.get_origin(returns) in (typing.Union, types.UnionType):
        for one in typing.get_args(returns):
            yield from _alternatives(one)
    elif typing.get_origin(returns) is typing.Annotated:
        yield from _alternatives(typing.get_args(returns)[0])
    else:
        yield returns


def _words(returns: Any) -> Iterator[tuple[str, Any]]:
    """Each word that stands for a value: those of a Literal, names and values of an Enum, `None`."""
    for one in _alternatives(returns):
        if typing.get_origin(one) is typing.Literal:
            for value in typing.get_args(one):
                yield (value.name if isinstance(value, enum.Enum) else str(value)), value
        elif isinstance(one, type) and issubclass(one, enum.Enum):
            for name, member in one.__members__.items():
                yield name, member
                yield f"{one.__name__}.{name}", member
            yield from ((str(member.value), member) for member in one)
        elif one is None or one is type(None):
            yield "None", None


def _is_word_of(returns: Any, value: str) -> bool:
    return any(word == value and kept == value for word, kept in _words(returns))


# ------------------------------------------------------------------------------------------------ tables


def is_frame(returns: Any) -> bool:
    """Whether it is the table class of pandas, polars or pyarrow, or a subclass; none is imported to find out."""
    return isinstance(returns, type) and any(
        (cls.__module__.partition(".")[0], cls.__name__) in _FRAMES for cls in returns.__mro__
    )


_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}


def table_in(plain: Any) -> Table | None:
    """The one table that JSON data can be read as; None when it is no table, or could be two."""
    if isinstance(plain, list):
        return _of_list(plain)
    if not isinstance(plain, dict) or not plain:
        return None
    names = plain.get("columns")
    for key in ("data", "rows", "values"):
        if isinstance(names, (list, dict)) and isinstance(plain.get(key), list):  # pandas's `split`; what a tool gives
            titles = [n if isinstance(n, str) else str(n) for n in names]
            labels = plain.get("index")
            rows = plain[key]
            if all(isinstance(row, list) and len(row) == len(titles) for row in rows):
                is_labelled = isinstance(labels, list) and len(labels) == len(rows)
                return titles, rows, labels if is_labelled and labels != list(range(len(rows))) else None
    inner = list(plain.values())
    if all(isinstance(v, list) for v in inner):
        if len(inner) == 1 and inner[0] and all(isinstance(row, dict) for row in inner[0]):
            return _of_list(inner[0])  # {"rows": [{...}]}
        if len({len(v) for v in inner}) == 1 and not any(isinstance(cell, (list, dict)) for v in inner for cell in v):
            return list(plain), [list(row) for row in zip(*inner, strict=True)], None
        return None
    if "schema" in plain and isinstance(plain.get("data"), list):  # pandas's `table`
        return _of_list(plain["data"])
    if all(isinstance(v, dict) for v in inner) and not any(isinstance(c, (dict, list)) for v in inner for c in v.values()):
        keys = [list(v) for v in inner]
        if _counts(list(plain)) and not _counts(keys[0]):  # pandas's `index`
            return _of_list(inner)
        if all(_counts(k) and len(k) == len(keys[0]) for k in keys) and not _counts(list(plain)):  # pandas's own form
            return list(plain), [list(row) for row in zip(*(v.values() for v in inner), strict=True)], None
    return None


def _counts(keys: list[str]) -> bool:
    return keys == [str(n) for n in range(len(keys))]


def _of_list(rows: list[Any]) -> Table | None:
    if all(isinstance(row, dict) for row in rows):
        names = list(dict.fromkeys(key for row in rows for key in row))
        return names, [[row.get(name) for name in names] for row in rows], None
    if len(rows) < 2 or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        return None
    head, body = rows[0], rows[1:]
    is_header = all(isinstance(name, str) and name for name in head) and len(set(head)) == len(head)
    is_told_apart = any(cell is not None and not isinstance(cell, str) for row in body for cell in row)
    return (head, body, None) if is_header and is_told_apart else None


def build(returns: Any, table: Table) -> Any:
    """The table as an instance of the class."""
    names, rows, labels = table
    package = next(p for cls in returns.__mro__ if (p := cls.__module__.partition(".")[0], cls.__name__) in _FRAMES)
    if package == "pandas":
        return returns(rows, columns=names, index=labels) if rows else returns(columns=names)
    columns = {name: [row[n] for row in rows] for n, name in enumerate(names)}
    return returns(columns, strict=False) if package == "polars" else returns.from_pydict(columns)
