"""What a Python value looks like as JSON, without rendering it: a scalar, a text, or a group of children.

Groups give their children lazily and from any offset, so that a reader who shows ten of ten million pays for ten.
pandas, numpy and figures are `hermes_nb.tools.rendering.third_party`'s.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import io
import itertools
import math
import os
import re
import types
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

MAX_BYTES = 300_000  # of a bytes value that are offered as base64
MAX_SORTED = 10_000  # a larger set comes in its own order
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BARE = re.compile(r"<[\w.<>]+(?: object| instance)?(?: at 0x[0-9a-fA-F]+)?>")
_DOTS = re.compile(r"(?:^|[\s,\[({│|])(?:\.\.\.|…)(?=$|[\s,\])}│┆|])|\[\d[\d,]* rows x \d+ columns\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A JSON scalar, shown whole: None, bool, int, a finite float, or a short str."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Text:
    """A text that may be cut anywhere."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """A JSON array (`is_object` False) or object of children.

    Attributes:
        length: How many children there are.
        start_at: Gives (key, child) from an offset on; a child is a value or a shape. Keys of an array are ignored.
        is_object: Whether it is a JSON object.
        unit: What the children are called where some are left out.
        main: The child of an object that offsets count in (the rows of a table); "" when it is the object itself.
    """

    length: int
    start_at: Callable[[int], Iterable[tuple[str, Any]]]
    is_object: bool = False
    unit: str = "items"
    main: str = ""


Shape = Scalar | Text | Group
NULL = Scalar(None)


def shape_of(value: Any) -> Shape:
    """The shape of any value; never raises for what the value's own code raises."""
    if isinstance(value, (Scalar, Text, Group)):
        return value
    if (exact := _EXACT.get(type(value))) is not None:
        return exact(value)
    try:
        return _shape_by_class(value)
    except Exception as exc:  # noqa: BLE001 - the value's own code, which may raise anything
        return Scalar(f"<{type_name(value)} that could not be read: {type(exc).__name__}>")


def array(values: Collection[Any], *, unit: str = "items") -> Group:
    """An array of a sized collection's elements."""

    def start_at(offset: int) -> Iterator[tuple[str, Any]]:
        return (("", v) for v in itertools.islice(values, offset, None))

    return Group(len(values), start_at, unit=unit)


def record(pairs: Iterable[tuple[str, Any]], *, main: str = "") -> Group:
    """An object of the pairs."""
    held = list(pairs)
    return Group(len(held), lambda offset: held[offset:], is_object=True, unit="keys", main=main)


def type_name(value: Any) -> str:
    """The name of the value's class, with its package where it is not a builtin or from the notebook."""
    cls = type(value)
    package = cls.__module__.partition(".")[0]
    return cls.__qualname__ if package in ("builtins", "__main__") else f"{package}.{cls.__qualname__}"


def printed(value: Any) -> str:
    """`repr(value)` without memory addresses, or `str(value)` where only that says more; says so where it raises."""
    try:
        text = f"<{type_name(value)} object>" if _is_plain(value, "__repr__") else repr(value)
    except Exception as exc:  # noqa: BLE001 - the value's own code
        return f"<{type_name(value)} object whose repr raised {type(exc).__name__}>"
    if _BARE.fullmatch(text) and not _is_plain(value, "__str__"):
        try:
            said = str(value)
        except Exception:  # noqa: BLE001 - the value's own code
            said = ""
        text = said if said.strip() else text
    return _ADDRESS.sub("", text) if text.startswith("<") and len(text) < 2000 else text


def _is_plain(value: Any, name: str) -> bool:
    """Whether a method of the value is that of every object."""
    return getattr(type(value), name, None) is getattr(object, name)


def duration(value: datetime.timedelta) -> str:
    """ISO 8601, as JSON schema's `duration` format asks: `P1DT2H0.5S`."""
    microseconds = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    sign, rest = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    seconds, micros = divmod(rest, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    tail = f"{second}.{micros:06d}".rstrip("0") if micros else str(second)
    clock = "".join(f"{n}{mark}" for n, mark in ((hour, "H"), (minute, "M")) if n) + (f"{tail}S" if tail != "0" else "")
    return f"{sign}P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "" if days else "T0S")


# ------------------------------------------------------------------------------------------------ builtins


def _float(value: float) -> Shape:
    if math.isfinite(value):
        return Scalar(value)
    return Scalar("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")


def _int(value: int) -> Shape:
    if value.bit_length() < 2_000:
        return Scalar(value)
    n_digits = int(value.bit_length() * 0.30103) + 1
    try:
        return Scalar(value) if str(value) else NULL
    except ValueError:  # more digits than sys.set_int_max_str_digits allows, here and for whoever parses the JSON
        return Scalar(f"<int of about {n_digits:,} digits>")


def _mapping(value: Mapping[Any, Any]) -> Shape:
    if len(value) <= MAX_SORTED and not all(type(k) is str for k in value):
        names = [key_text(k) for k in value]
        if len(set(names)) < len(names):  # 1 and "1": an object would lose one
            return array([list(pair) for pair in value.items()], unit="key-value pairs")

    def start_at(offset: int) -> Iterator[tuple[str, Any]]:
        return ((k if type(k) is str else key_text(k), v) for k, v in itertools.islice(value.items(), offset, None))

    return Group(len(value), start_at, is_object=True, unit="keys")


def key_text(key: Any) -> str:
    """A mapping's key as the key of a JSON object."""
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, (tuple, frozenset)):
        return " | ".join(key_text(part) for part in key)
    shape = shape_of(key)
    if not isinstance(shape, Scalar):
        return printed(key)[:200]
    if shape.value is None or isinstance(shape.value, bool):
        return "null" if shape.value is None else str(shape.value).lower()
    return str(shape.value)


def _set(value: Set[Any]) -> Shape:
    if len(value) <= MAX_SORTED:
        try:
            return array(sorted(value))
        except TypeError:
            return array(sorted(value, key=printed))
    return array(value)


def _range(value: range) -> Shape:
    return Group(len(value), lambda offset: (("", n) for n in value[offset:]))


def _bytes(value: bytes | bytearray | memoryview) -> Shape:
    size = value.nbytes if isinstance(value, memoryview) else len(value)
    head = bytes(value[:MAX_BYTES])
    pairs: list[tuple[str, Any]] = [("type", "bytes"), ("size_bytes", size)]
    if media_type := next((name for mark, name in _MEDIA_TYPES.items() if head.startswith(mark)), None):
        return record([*pairs, ("media_type", media_type)])
    pairs.append(("base64", Text(base64.b64encode(head).decode())))
    if size > len(head):
        pairs.append(("left_out", f"{size - len(head):,} of {size:,} bytes"))
    return record(pairs)


_MEDIA_TYPES = {
    b"\x89PNG\r\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"%PDF-": "application/pdf",
    b"PK\x03\x04": "application/zip",
    b"\x1f\x8b": "application/gzip",
    b"PAR1": "application/vnd.apache.parquet",
    b"SQLite format 3\x00": "application/vnd.sqlite3",
}


def _date(value: datetime.date | datetime.time) -> Shape:
    return Scalar(value.isoformat())


def _named(value: Any) -> Shape:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type_name(value)
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        signature = "(...)"
    return Scalar(f"<function {name}{signature}>"[:300])


def _unread(value: Any) -> Shape:
    """An iterator inside a value: reading it would take its items from its owner."""
    name = getattr(value, "__name__", "")
    return Scalar(f"<{type(value).__name__}{' ' + name if name else ''}, not read: return a list to show its items>")


_EXACT: dict[type, Callable[[Any], Shape]] = {
    str: Text,
    int: _int,
    float: _float,
    bool: Scalar,
    type(None): Scalar,
    dict: _mapping,
    list: array,
    tuple: array,
    set: _set,
    frozenset: _set,
    range: _range,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    datetime.date: _date,
    datetime.datetime: _date,
    datetime.time: _date,
    datetime.timedelta: lambda v: Scalar(duration(v)),
    decimal.Decimal: lambda v: Scalar(str(v)),
    fractions.Fraction: lambda v: Scalar(str(v)),
    complex: lambda v: Scalar(str(v).strip("()")),
    uuid.UUID: lambda v: Scalar(str(v)),
    type(Ellipsis): lambda v: Scalar("..."),
    types.ModuleType: lambda v: Scalar(f"<module {v.__name__}>"),
    types.FunctionType: _named,
    types.BuiltinFunctionType: _named,
    types.MethodType: _named,
}


def _shape_by_class(value: Any) -> Shape:
    packages = {cls.__module__.partition(".")[0] for cls in type(value).__mro__}
    if not packages <= {"builtins", "__main__", "collections", "abc"}:
        from hermes_nb.tools.rendering import third_party

        if (shape := third_party.shape_of_foreign(value, packages)) is not None:
            return shape
    if isinstance(value, type):
        return Scalar(f"<class {value.__module__}.{value.__qualname__}>")
    if isinstance(value, enum.Enum):
        inner = value.value
        return shape_of(inner) if isinstance(inner, (str, int, float, tuple)) else Scalar(value.name)
    if dataclasses.is_dataclass(value):
        return _attributes(value, [f.name for f in dataclasses.fields(value)])
    if isinstance(names := getattr(type(value), "__attrs_attrs__", None), tuple):
        return _attributes(value, [a.name for a in names])
    if isinstance(value, tuple) and isinstance(fields := getattr(type(value), "_fields", None), tuple):
        return record(zip(fields, value, strict=False))
    if isinstance(value, BaseException):
        return Text(f"{type(value).__name__}: {value}")
    if isinstance(value, os.PathLike):
        return Scalar(os.fsdecode(value))
    return _shape_by_protocol(value)


def _shape_by_protocol(value: Any) -> Shape:
    if not isinstance(value, (str, int, float, list, dict, tuple, bytes, io.IOBase)):
        from hermes_nb.tools.rendering.table import shape_of_table

        if (found := shape_of_table(value)) is not None:
            return found
    for base, shape in _BASES:
        if isinstance(value, base):
            return shape(value)
    if isinstance(value, functools.partial):
        return Scalar(f"<partial of {printed(value.func)}>"[:300])
    if isinstance(value, Iterator) and not isinstance(value, io.IOBase):
        return _unread(value)
    if text := _rich_text(value):
        return Text(text)
    text = printed(value)
    return Text(text + _abbreviated(text, value))


def _abbreviated(text: str, value: Any) -> str:
    """The sentence for a text in which a class left something out on its own."""
    if not _DOTS.search(text[:100_000]):
        return ""
    return (
        f"\n({type_name(value)} prints itself abbreviated: something is left out where the dots are, and can't be read on."
        " A tool can return the values themselves, e.g. as a list.)"
    )


def _rich_text(value: Any) -> str:
    """What an object without a repr that says anything shows in a notebook: as Markdown, LaTeX, text or HTML; or ""."""
    kind = type(value)
    if getattr(kind, "__repr__", None) is not object.__repr__ and kind.__module__.partition(".")[0] != "IPython":
        return ""
    for name in ("_repr_markdown_", "_repr_latex_", "_repr_mimebundle_", "__str__", "_repr_html_"):
        if name == "__str__" and _is_plain(value, name):
            continue
        try:
            shown = getattr(kind, name)(value) if hasattr(kind, name) else None
            shown = shown[0] if isinstance(shown, tuple) and shown else shown
            if isinstance(shown, Mapping):
                shown = next((shown[mime] for mime in _MIME_TYPES if shown.get(mime)), None)
        except Exception:  # noqa: BLE001 - the next one may do
            shown = None
        if isinstance(shown, str) and shown:
            return shown
    return ""


_MIME_TYPES = ("text/markdown", "text/latex", "text/plain", "text/html")


_BASES: tuple[tuple[Any, Callable[[Any], Shape]], ...] = (
    (bool, Scalar),
    (str, lambda v: Text(str.__str__(v))),
    (int, lambda v: _int(int.__int__(v))),
    (float, lambda v: _float(float.__float__(v))),
    (datetime.timedelta, lambda v: Scalar(duration(v))),
    ((datetime.date, datetime.time), _date),
    ((decimal.Decimal, fractions.Fraction, uuid.UUID), lambda v: Scalar(str(v))),
    (complex, lambda v: Scalar(str(v).strip("()"))),
    ((bytes, bytearray), _bytes),
    (Mapping, _mapping),
    (Set, _set),
    ((Sequence, collections.deque, collections.abc.ValuesView), array),
    (types.ModuleType, lambda v: Scalar(f"<module {v.__name__}>")),
)


def _attributes(value: Any, names: Iterable[str]) -> Group:
    missing = object()
    pairs = ((name, getattr(value, name, missing)) for name in names)
    return record((name, v) for name, v in pairs if v is not missing)
