"""Shapes of values from packages that are never imported here: pandas, numpy, matplotlib, plotly, PIL, pydantic.

A value of such a package proves that the package is loaded; `sys.modules` has it. `null` stands for whatever pandas
calls missing. `"index"` of a frame is there where the index says something; each row then starts with it. Tables,
columns and charts of other packages are `hermes_nb.tools.rendering.table`'s, and so is the form of a table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from hermes_nb.tools.rendering.shape import NULL, Group, Scalar, Shape, Text, array, key_text, record, shape_of
from hermes_nb.tools.rendering.table import Table, chunks, columns

MAX_SIZED = 1_000_000  # rows of a grouped frame whose groups are counted


def shape_of_foreign(value: Any, packages: set[str]) -> Shape | None:
    """The shape of a value one of whose classes is of `packages`; None when this module knows nothing of it."""
    for package, shape in _PACKAGES.items():
        if package in packages and (found := shape(value)) is not None:
            return found
    return None


# ------------------------------------------------------------------------------------------------ pandas


def _pandas(value: Any) -> Shape | None:
    pandas = sys.modules["pandas"]
    name = type(value).__name__
    if name in ("NaTType", "NAType"):
        return NULL
    if isinstance(value, pandas.DataFrame):
        return frame(value)
    if isinstance(value, pandas.Series):
        return _series(value)
    if isinstance(value, pandas.Index):
        head = _header(value, ("names", [key_text(n) for n in value.names]) if name == "MultiIndex" else None)
        return record([*head, ("values", _slices(value, len(value)))], main="values")
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        extra = ("categories", array(list(value.categories))) if name == "Categorical" else None
        return record([*_header(value, extra), ("values", _slices(value, len(value)))], main="values")
    if isinstance(value, pandas.Timedelta):
        return Scalar(value.isoformat())
    if isinstance(value, pandas.Timestamp):
        return Scalar(value.isoformat())
    if isinstance(value, (pandas.Period, pandas.Interval)):
        return Scalar(str(value))
    if name == "Styler":
        return frame(value.data, name="Styler")
    if hasattr(value, "obj") and isinstance(value.obj, (pandas.DataFrame, pandas.Series)) and hasattr(value, "agg"):
        return _grouped(value)
    return None


def _header(value: Any, extra: tuple[str, Any] | None) -> list[tuple[str, Any]]:
    head = [("type", type(value).__name__), ("dtype", str(value.dtype)), ("length", len(value))]
    return [*head, extra] if extra else head


def frame(value: Any, *, name: str = "") -> Group:
    """A frame as an object; see `hermes_nb.tools.rendering.table`."""

    def read(start: int, stop: int, first: int, last: int) -> list[list[Any]]:
        part = value.iloc[start:stop, first:last]
        return [_cells(part.iloc[:, n]) for n in range(part.shape[1])]

    def read_index(start: int, stop: int) -> list[list[Any]]:
        part = value.index[start:stop]
        return [_cells(part.get_level_values(n)) for n in range(part.nlevels)]

    index = [] if _is_plain(value.index) else [key_text("index" if n is None else n) for n in value.index.names]
    extra = [("crs", str(value.crs))] if hasattr(type(value), "crs") and value.crs is not None else []  # geopandas
    kind, held = name or type(value).__name__, read_index if index else None
    return Table(kind, list(value.columns), list(value.dtypes), len(value), read, index, held, extra).to_group()


def _grouped(value: Any) -> Group:
    """What stands for groups or windows of rows: of which columns, by what, how many."""
    held, name = value.obj, type(value).__name__
    n_rows = len(held)
    pairs: list[tuple[str, Any]] = [("type", name), ("n_rows", n_rows)]
    if held.ndim == 2:
        pairs.append(("columns", columns(list(held.columns), list(held.dtypes))))
    else:
        pairs += [("name", None if held.name is None else key_text(held.name)), ("dtype", str(held.dtype))]
    if not hasattr(value, "ngroups"):  # a window
        how = "frame.rolling(3).mean()" if name.startswith("Rolling") else "its mean() or sum()"
        return record([*pairs, ("window", str(value)), ("note", f"No rows yet. A tool can return them: {how}")])
    pairs.append(("n_groups", value.ngroups))
    if n_rows <= MAX_SIZED:
        sizes = value.size()
        sizes = sizes if hasattr(sizes, "index") and sizes.ndim == 1 else sizes.set_index(list(sizes.columns[:-1]))["size"]
        pairs.append(("by", [key_text("index" if n is None else n) for n in sizes.index.names]))
        pairs.append(("rows_per_group", _sizes(sizes)))
    note = "No rows yet. A tool can return them: groups.mean(numeric_only=True), groups.size() or groups.get_group(...)"
    return record([*pairs, ("note", note)])


def _sizes(sizes: Any) -> Group:
    def start_at(offset: int) -> Iterator[tuple[str, Any]]:
        for start, stop in chunks(offset, len(sizes)):
            part = sizes.iloc[start:stop]
            for label, n in zip(_cells(part.index), part.tolist(), strict=True):
                yield "", [label, n]

    return Group(len(sizes), start_at, unit="groups")


def frame_index(value: Any) -> list[tuple[Any, str]]:
    """(name, dtype) of the index's levels; empty where it only counts the rows."""
    if _is_plain(value.index):
        return []
    levels = [value.index.get_level_values(n) for n in range(value.index.nlevels)]
    return [("index" if level.name is None else level.name, str(level.dtype)) for level in levels]


def _series(value: Any) -> Group:
    name = None if value.name is None else key_text(value.name)
    pairs: list[tuple[str, Any]] = [("type", type(value).__name__), ("name", name)]
    pairs += [("dtype", str(value.dtype)), ("length", len(value))]
    if _is_plain(value.index):
        return record([*pairs, ("values", _slices(value, len(value)))], main="values")

    def start_at(offset: int) -> Iterator[tuple[str, Any]]:
        for start, stop in chunks(offset, len(value)):
            part = value.iloc[start:stop]
            for label, cell in zip(_cells(part.index), _cells(part), strict=True):
                yield "", [label, cell]

    pairs.append(("index", [key_text("index" if n is None else n) for n in value.index.names]))
    return record([*pairs, ("values", Group(len(value), start_at, unit="values"))], main="values")


def _is_plain(index: Any) -> bool:
    """Whether an index is 0, 1, 2 ... and has no name: it then says nothing."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None


def _slices(value: Any, length: int) -> Group:
    part = value.iloc if hasattr(value, "iloc") else value

    def start_at(offset: int) -> Iterator[tuple[str, Any]]:
        for start, stop in chunks(offset, length):
            for cell in _cells(part[start:stop]):
                yield "", cell

    return Group(length, start_at, unit="values")


def _cells(values: Any) -> list[Any]:
    """The Python values of a short slice, None where one is missing."""
    return [None if _is_missing(v) else v for v in values.tolist()]


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return value != value
    return type(value).__name__ in ("NaTType", "NAType")


# ------------------------------------------------------------------------------------------------ numpy


def _numpy(value: Any) -> Shape | None:
    numpy = sys.modules["numpy"]
    if value is numpy.ma.masked:
        return NULL
    if isinstance(value, numpy.ndarray):
        if value.ndim == 0:
            return shape_of(value[()])
        pairs = [("type", type(value).__name__), ("shape", list(value.shape)), ("dtype", str(value.dtype))]
        return record([*pairs, ("values", _elements(value))], main="values")
    if not isinstance(value, numpy.generic):
        return None
    if value.dtype.kind in "mM":
        return NULL if numpy.isnat(value) else Scalar(str(value))
    if value.dtype.names:
        return record((name, value[name]) for name in value.dtype.names)
    plain = value.item()
    if isinstance(plain, numpy.generic):  # longdouble, clongdouble: no Python twin
        plain = complex(plain) if value.dtype.kind == "c" else float(plain)
    return shape_of(plain)


def _elements(value: Any) -> Group:
    """An array's elements as nested JSON arrays, a slice at a time."""

    def start_at(offset: int) -> Iterator[tuple[str, Any]]:
        if value.ndim > 1:
            for n in range(offset, len(value)):
                yield "", _elements(value[n])
            return
        is_own = value.dtype.kind in "mMV" or value.dtype.char in "gG"
        for start, stop in chunks(offset, len(value)):
            part = value[start:stop]
            for element in part if is_own else part.tolist():
                yield "", element

    return Group(len(value), start_at, unit="values" if value.ndim == 1 else "rows")


# ------------------------------------------------------------------------------------------------ figures, images


def _matplotlib(value: Any) -> Shape | None:
    if hasattr(value, "get_axes") and hasattr(value, "get_size_inches"):
        width, height = value.get_size_inches()
        pairs: list[tuple[str, Any]] = [("type", "matplotlib figure"), ("size_inches", [float(width), float(height)])]
        if title := getattr(value, "_suptitle", None):
            pairs.append(("title", title.get_text()))
        return record([*pairs, ("axes", [_axes(a) for a in value.get_axes()])])
    if hasattr(value, "get_xlabel") and hasattr(value, "get_lines"):
        return _axes(value)
    return None


def _seaborn(value: Any) -> Shape | None:
    """A grid (`pairplot`, `relplot`, `jointplot` ...) as its figure."""
    return _matplotlib(getattr(value, "figure", None))


def _axes(value: Any) -> Group:
    texts = {"title": value.get_title(), "xlabel": value.get_xlabel(), "ylabel": value.get_ylabel()}
    pairs: list[tuple[str, Any]] = [("type", "matplotlib axes"), *((k, Text(v)) for k, v in texts.items() if v)]
    counts = {name: len(getattr(value, name)) for name in ("lines", "patches", "collections", "images")}
    pairs += [(f"n_{name}", n) for name, n in counts.items() if n]
    if (legend := value.get_legend()) is not None:
        pairs.append(("legend", [t.get_text() for t in legend.get_texts()]))
    return record(pairs)


def _plotly(value: Any) -> Shape | None:
    base = getattr(sys.modules.get("plotly.basedatatypes"), "BaseFigure", None)
    if base is None or not isinstance(value, base):
        return None
    layout = value.layout
    pairs: list[tuple[str, Any]] = [("type", "plotly figure")]
    for name, text in (("title", layout.title.text), ("x", layout.xaxis.title.text), ("y", layout.yaxis.title.text)):
        if text:
            pairs.append((name, Text(str(text))))
    if layout.width and layout.height:
        pairs.append(("size_pixels", [layout.width, layout.height]))
    return record([*pairs, ("traces", [_trace(t) for t in value.data])])


def _trace(value: Any) -> Group:
    pairs: list[tuple[str, Any]] = [("type", value.type)]
    if value.name:
        pairs.append(("name", value.name))
    for name in ("x", "y", "z", "values"):
        if (points := getattr(value, name, None) if name in value else None) is not None:
            pairs.append(("n_points", len(points)))
            break
    return record(pairs)


def _image(value: Any) -> Shape | None:
    if not (hasattr(value, "size") and hasattr(value, "mode")):
        return None
    pairs = [("type", "image"), ("size_pixels", list(value.size)), ("mode", value.mode)]
    return record([*pairs, *([("format", value.format)] if getattr(value, "format", None) else [])])


# ------------------------------------------------------------------------------------------------ pydantic


def _pydantic(value: Any) -> Shape | None:
    if type(value).__module__ == "pydantic.types" and hasattr(value, "get_secret_value"):
        return Scalar(str(value))  # stars
    if not hasattr(type(value), "model_fields") or isinstance(value, type):
        return None
    try:
        return record((str(k), v) for k, v in value.model_dump(by_alias=True).items())
    except Exception:  # noqa: BLE001 - a serializer of the user's, or a field pydantic can't dump: fields as they are
        return record((k, v) for k, v in vars(value).items())


_PACKAGES: dict[str, Callable[[Any], Shape | None]] = {
    "pandas": _pandas,
    "numpy": _numpy,
    "matplotlib": _matplotlib,
    "seaborn": _seaborn,
    "plotly": _plotly,
    "PIL": _image,
    "pydantic": _pydantic,
}
