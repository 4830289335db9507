"""Shapes of tables, columns and arrays of any package, known by what they offer and never by the name of their class.

A table becomes `{"type", "shape", "columns": {name: dtype}, "rows": [[...]]}`, its rows read in small slices. What has
its rows yet to be computed (a lazy frame, a relation, a query) is never made to compute them: its columns are given,
and how a tool gives rows. Nothing is imported here.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_nb.tools.rendering.shape import Group, Shape, array, key_text, record, shape_of, type_name

MAX_COLUMNS = 40  # of a table whose cells stand in one row; those of the others follow, as many at a time
CHUNK = 32  # rows or elements read first; each further slice is twice as long, up to 32 times that
MAX_CONVERTED = 10_000  # rows of a table that is read by converting all of it
REST = "rows_of_further_columns"  # the key of a table's cells beyond the first MAX_COLUMNS

# (a method that computes, how to call it), best first
_COMPUTING = (
    ("df", "df"),
    ("toPandas", "toPandas"),
    ("collect", "collect"),
    ("compute", "compute"),
    ("execute", "execute"),
    ("fetchall", "fetchall"),
    ("read_all", "read_all"),
    ("to_table", "to_table"),
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be read in pieces.

    Attributes:
        type: What it is called.
        names: Its columns.
        dtypes: Their types.
        n_rows: How many rows.
        read: Gives the columns `first` to `last` of the rows `start` to `stop`, each a list of cells.
        index: Names of the index's levels, whose cells each row starts with; empty for none.
        read_index: Gives the cells of the index's levels, as `read` does.
        extra: Further facts, shown before the rows.
    """

    type: str
    names: Sequence[Any]
    dtypes: Sequence[Any]
    n_rows: int
    read: Callable[[int, int, int, int], list[list[Any]]]
    index: Sequence[str] = ()
    read_index: Callable[[int, int], list[list[Any]]] | None = None
    extra: Sequence[tuple[str, Any]] = ()

    def to_group(self) -> Group:
        """The table as an object; see the top of this module."""
        n_columns = len(self.names)
        pairs: list[tuple[str, Any]] = [("type", self.type), ("shape", [self.n_rows, n_columns])]
        pairs += [("columns", columns(self.names, self.dtypes)), *self.extra]
        if self.index:
            pairs.append(("index", list(self.index)))
        if n_columns > MAX_COLUMNS:
            note = f"of the first {MAX_COLUMNS} of {n_columns:,} columns; the others follow in {REST!r}"
            pairs.append(("cells", note))
        pairs.append(("rows", self._rows(0)))
        if n_columns > MAX_COLUMNS:
            pairs.append((REST, self._rest()))
        return record(pairs, main="rows")

    def _rows(self, first: int) -> Group:
        last = min(first + MAX_COLUMNS, len(self.names))

        def start_at(offset: int) -> Iterator[tuple[str, Any]]:
            for start, stop in chunks(offset, self.n_rows):
                cells = self.read(start, stop, first, last)
                if self.read_index is not None:
                    cells = self.read_index(start, stop) + cells
                for n in range(stop - start):
                    yield "", [column[n] for column in cells]

        return Group(self.n_rows, start_at, unit="rows")

    def _rest(self) -> Group:
        firsts = range(MAX_COLUMNS, len(self.names), MAX_COLUMNS)

        def start_at(offset: int) -> Iterator[tuple[str, Any]]:
            for first in firsts[offset:]:
                yield f"{first + 1}-{min(first + MAX_COLUMNS, len(self.names))}", self._rows(first)

        return Group(len(firsts), start_at, is_object=True, unit="ranges of columns")


def columns(names: Sequence[Any], dtypes: Sequence[Any]) -> Group:
    """The columns with their types: an object, or pairs where two bear one name."""
    shown, types = [key_text(n) for n in names], [_type_text(t) for t in dtypes]
    pairs = list(zip(shown, types, strict=True))
    return record(pairs) if len(set(shown)) == len(shown) else array(pairs)


def _type_text(dtype: Any) -> str:
    return dtype.__name__ if isinstance(dtype, type) else str(dtype)


def chunks(offset: int, length: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of the slices to read."""
    size, limit = CHUNK, 32 * CHUNK
    while offset < length:
        yield offset, min(offset + size, length)
        offset, size = offset + size, min(2 * size, limit)


def shape_of_table(value: Any) -> Shape | None:
    """The shape of a table, a column or an array of a package that is not known; None of what is none of them."""
    kind = type(value)
    for shape in _READERS:
        try:
            found = shape(value, kind)
        except Exception:  # noqa: BLE001 - it offers what its name promises to another end; the next one may do
            found = None
        if found is not None:
            return found
    return None


def _has(kind: type, *names: str) -> bool:
    return all(hasattr(kind, name) for name in names)


# ------------------------------------------------------------------------------------------------ not computed yet


def _lazy(value: Any, kind: type) -> Shape | None:
    is_frame = _has(kind, "columns") or _has(kind, "collect_schema")
    is_source = _has(kind, "schema") and (_has(kind, "read_all") or _has(kind, "to_table"))
    verb = next((call for name, call in _COMPUTING if _has(kind, name)), "")
    if not verb or not (is_frame or is_source) or _has(kind, "num_rows"):
        return None
    try:
        held: Any = columns(*_schema(value, kind))
    except Exception as exc:  # noqa: BLE001 - a source that is gone; what follows here might compute it
        held = f"could not be read: {type(exc).__name__}"
    head = next((f".{name}(100)" for name in ("limit", "head") if _has(kind, name)), "")
    call = head if verb == "compute" and head == ".head(100)" else f"{head}.{verb}()"
    note = f"Its rows are not computed. A tool can return some of them: frame{call}"
    return record([("type", type_name(value)), ("lazy", note), ("columns", held)])


def _schema(value: Any, kind: type) -> tuple[list[Any], list[Any]]:
    """Names and types of the columns of what is not computed; nothing is computed for it."""
    schema = value.collect_schema() if _has(kind, "collect_schema") else getattr(value, "schema", None)
    schema = schema() if callable(schema) else schema
    if isinstance(schema, Mapping) or (schema is not None and callable(getattr(type(schema), "items", None))):
        return [n for n, _ in schema.items()], [t for _, t in schema.items()]
    names, types = getattr(schema, "names", None), getattr(schema, "types", None)
    if names is not None and types is not None:
        return list(names), list(types)
    held = [str(name) for name in value.columns]
    dtypes = getattr(value, "dtypes", None)
    dtypes = list(dtypes) if dtypes is not None else [""] * len(held)
    return held, [t[1] if isinstance(t, tuple) and len(t) == 2 else t for t in dtypes]


def _lazy_array(value: Any, kind: type) -> Shape | None:
    """One column or array: in chunks or partitions, or an expression."""
    is_split = _has(kind, "compute", "dtype") and (getattr(value, "chunks", None) or _has(kind, "npartitions"))
    if not is_split and not _has(kind, "execute", "to_pyarrow", "type"):
        return None
    call = "[:100].compute()" if is_split and _has(kind, "chunks") else ".head(100)" if is_split else ".execute()"
    note = f"Its values are not computed. A tool can return some of them: column{call}"
    pairs = [("type", type_name(value)), ("lazy", note)]
    pairs += [("dtype", str(value.dtype))] if _has(kind, "dtype") else [("dtype", str(value.type()))]
    return record(pairs)


def _groups(value: Any, kind: type) -> Shape | None:
    """Groups of rows of a package other than pandas."""
    how = next((name for name in ("agg", "aggregate") if _has(kind, name)), "")
    if "GroupBy" not in kind.__name__ or not how:
        return None
    by = next((held for name in ("by", "keys") if isinstance(held := getattr(value, name, None), (str, list, tuple))), None)
    pairs: list[tuple[str, Any]] = [("type", type_name(value))]
    pairs += [("by", [by] if isinstance(by, str) else [str(one) for one in by])] if by else []
    return record([*pairs, ("note", f"No rows yet. A tool can return them: groups.{how}(...)")])


# ------------------------------------------------------------------------------------------------ tables


def _part(value: Any, start: int, stop: int) -> Any:
    return value.slice(start, stop - start) if hasattr(type(value), "slice") else value[start:stop]


def _by_rows(value: Any, kind: type) -> Shape | None:
    """A table that gives parts of itself as a list of rows: polars, narwhals."""
    if not _has(kind, "columns", "schema", "select") or not (_has(kind, "rows") or _has(kind, "to_dicts")):
        return None
    names = list(value.columns)

    def read(start: int, stop: int, first: int, last: int) -> list[list[Any]]:
        part = _part(value, start, stop).select(names[first:last])
        rows = part.rows() if _has(kind, "rows") else [list(row.values()) for row in part.to_dicts()]
        return [list(column) for column in zip(*rows, strict=True)]

    types = [t for _, t in value.schema.items()]
    return Table(type_name(value), names, types, value.shape[0], read).to_group()


def _by_columns(value: Any, kind: type) -> Shape | None:
    """A table whose columns give parts of themselves as lists: pyarrow."""
    return _arrow(value, type_name(value)) if _has(kind, "num_rows", "schema", "slice", "column") else None


def _arrow(value: Any, name: str) -> Group:
    def read(start: int, stop: int, first: int, last: int) -> list[list[Any]]:
        part = value.slice(start, stop - start)
        return [part.column(n).to_pylist() for n in range(first, last)]

    return Table(name, value.schema.names, value.schema.types, value.num_rows, read).to_group()


def _by_stream(value: Any, kind: type) -> Shape | None:
    """A table or column of the Arrow protocol, where a package that reads the protocol is loaded."""
    if not (_has(kind, "__arrow_c_stream__") or _has(kind, "__arrow_c_array__")) or _has(kind, "__next__"):
        return None
    if (pyarrow := sys.modules.get("pyarrow")) is not None:
        try:
            return _arrow(pyarrow.table(value), type_name(value))
        except (TypeError, ValueError, RuntimeError):  # no table but a column
            return _column(pyarrow.chunked_array(value), type_name(value))
    polars = sys.modules.get("polars")
    if polars is None:
        return None
    held = polars.DataFrame(value)
    found = _by_rows(held, type(held))
    return _renamed(found, value) if isinstance(found, Group) else None


def _by_iloc(value: Any, kind: type) -> Shape | None:
    """A table that is used as pandas's: of another engine, or on a device."""
    if not _has(kind, "iloc", "columns", "dtypes", "shape"):
        return None

    def read(start: int, stop: int, first: int, last: int) -> list[list[Any]]:
        part = value.iloc[start:stop, first:last]
        part = part.to_pandas() if hasattr(part, "to_pandas") else part
        return [part.iloc[:, n].tolist() for n in range(last - first)]

    return Table(type_name(value), list(value.columns), list(value.dtypes), len(value), read).to_group()


def _by_dicts(value: Any, kind: type) -> Shape | None:
    """A short table that gives itself as records, whole."""
    if not (_has(kind, "to_dicts") and _has(kind, "__len__")) or len(value) > MAX_CONVERTED:
        return None
    rows = value.to_dicts()
    names = list(getattr(value, "columns", None) or dict.fromkeys(key for row in rows for key in row))

    def read(start: int, stop: int, first: int, last: int) -> list[list[Any]]:
        return [[row.get(name) for row in rows[start:stop]] for name in names[first:last]]

    types = [next((type(row[n]) for row in rows if row.get(n) is not None), "null") for n in names]
    return Table(type_name(value), names, types, len(rows), read).to_group()


def _by_pandas(value: Any, kind: type) -> Shape | None:
    """A short table that becomes a pandas frame: by its own word, or by the interchange protocol."""
    if _has(kind, "__dataframe__") and (pandas := sys.modules.get("pandas")) is not None:
        if value.__dataframe__().num_rows() > MAX_CONVERTED:
            return None
        with warnings.catch_warnings(action="ignore"):  # pandas 3 says that the protocol is going
            return _renamed(shape_of(pandas.api.interchange.from_dataframe(value)), value)
    if not _has(kind, "to_pandas") or _length(value) > MAX_CONVERTED or not (_has(kind, "columns") or _has(kind, "dtype")):
        return None
    return _renamed(shape_of(value.to_pandas()), value)


def _length(value: Any) -> int:
    n_rows = getattr(value, "num_rows", None)
    return n_rows if isinstance(n_rows, int) else len(value)


def _renamed(shape: Shape, value: Any) -> Shape | None:
    """A shape under the name of the value it stands for; None when it is no object."""
    if not isinstance(shape, Group) or not shape.is_object:
        return None
    pairs = [(k, type_name(value) if k == "type" else v) for k, v in shape.start_at(0)]
    return record(pairs, main=shape.main)


# ------------------------------------------------------------------------------------------------ columns, arrays


def _series(value: Any, kind: type) -> Shape | None:
    if not _has(kind, "__len__") or not (_has(kind, "slice") or _has(kind, "__getitem__")):
        return None
    if _has(kind, "to_pylist", "type", "slice"):
        return _column(value, type_name(value))
    if not _has(kind, "to_list", "dtype", "name"):
        return None
    pairs = [("type", type_name(value)), ("name", value.name), ("dtype", str(value.dtype)), ("length", len(value))]
    return record([*pairs, ("values", _values(len(value), lambda a, b: _part(value, a, b).to_list()))], main="values")


def _column(value: Any, name: str) -> Group:
    pairs = [("type", name), ("dtype", str(value.type)), ("length", len(value))]
    values = _values(len(value), lambda a, b: value.slice(a, b - a).to_pylist())
    return record([*pairs, ("values", values)], main="values")


def _values(length: int, read: Callable[[int, int], list[Any]]) -> Group:
    def start_at(offset: int) -> Iterator[tuple[str, Any]]:
        for start, stop in chunks(offset, length):
            for cell in read(start, stop):
                yield "", cell

    return Group(length, start_at, unit="values")


def _scalar(value: Any, kind: type) -> Shape | None:
    return shape_of(value.as_py()) if _has(kind, "as_py", "is_valid") else None


def _tensor(value: Any, kind: type) -> Shape | None:
    """An array that gives parts of itself as lists: a tensor, an array of a device."""
    if not _has(kind, "tolist", "shape", "dtype", "__getitem__") or _has(kind, "columns"):
        return None
    sizes = [int(n) for n in value.shape]
    if not sizes:
        return shape_of(value.tolist())
    pairs = [("type", type_name(value)), ("shape", sizes), ("dtype", str(value.dtype))]
    return record([*pairs, ("values", _elements(value, sizes, lambda part: part.tolist()))], main="values")


def _elements(value: Any, sizes: list[int], read: Callable[[Any], list[Any]]) -> Group:
    if len(sizes) == 1:
        return _values(sizes[0], lambda a, b: read(value[a:b]))
    start_at = lambda offset: (("", _elements(value[n], sizes[1:], read)) for n in range(offset, sizes[0]))  # noqa: E731
    return Group(sizes[0], start_at, unit="rows")


def _labelled(value: Any, kind: type) -> Shape | None:
    """Arrays with named dimensions and coordinates: xarray."""
    if not _has(kind, "dims", "coords", "sizes"):
        return None
    pairs: list[tuple[str, Any]] = [("type", type_name(value))]
    coords = [(key_text(name), _variable(c)) for name, c in value.coords.items()]
    if _has(kind, "data_vars"):
        pairs.append(("sizes", {key_text(d): n for d, n in value.sizes.items()}))
        pairs.append(("variables", record((key_text(name), _variable(v)) for name, v in value.data_vars.items())))
    else:
        inner = _variable(value)
        pairs += [("name", value.name), *(p for p in inner.start_at(0) if p[0] != "values")]
    pairs += [("coords", record(coords))] if coords else []
    pairs += [("attrs", dict(value.attrs))] if value.attrs else []
    if not _has(kind, "data_vars"):
        pairs += [p for p in inner.start_at(0) if p[0] == "values"]
    return record(pairs, main="values" if pairs[-1][0] == "values" else "")


def _variable(value: Any) -> Group:
    sizes = [int(n) for n in value.shape]
    pairs: list[tuple[str, Any]] = [("dims", [key_text(d) for d in value.dims]), ("shape", sizes)]
    pairs.append(("dtype", str(value.dtype)))
    if getattr(value, "chunks", None):
        return record([*pairs, ("lazy", "Its values are not computed. A tool can return some: array[:100].compute()")])
    if not sizes:
        return record([*pairs, ("values", value.values)])
    # As numpy arrays, whose elements are dates, times and missing values as numpy's are
    return record([*pairs, ("values", _elements(value, sizes, lambda part: list(part.values)))], main="values")


# ------------------------------------------------------------------------------------------------ charts


def _chart(value: Any, kind: type) -> Shape | None:
    """A chart that is a Vega-Lite specification: Altair."""
    is_one = _has(kind, "to_dict", "_repr_mimebundle_") and any(hasattr(value, n) for n in ("encoding", *_PARTS))
    if not is_one or not _has(kind, "to_json"):
        return None
    pairs: list[tuple[str, Any]] = [("type", f"{type_name(value)}, a Vega-Lite chart")]
    return record([*pairs, *_chart_facts(value)])


_PARTS = ("layer", "hconcat", "vconcat", "concat")


def _chart_facts(value: Any) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name in ("title", "mark", "encoding"):
        held = getattr(value, name, None)
        if (plain := _plain(held)) not in (None, {}):
            pairs.append((name, plain))
    data = shape_of(getattr(value, "data", None))
    if isinstance(data, Group) and data.is_object and data.main:
        pairs.append(("data", record(p for p in data.start_at(0) if p[0] in ("type", "shape", "columns"))))
    for name in _PARTS:
        parts = getattr(value, name, None)
        if isinstance(parts, (list, tuple)):
            pairs.append((name, [record(_chart_facts(part)) for part in parts]))
    if hasattr(inner := getattr(value, "spec", None), "encoding"):
        pairs.append(("spec", record(_chart_facts(inner))))
    return pairs


def _plain(held: Any) -> Any:
    """A piece of a specification as plain data; None where it is not set."""
    if held is None or type(held).__name__ == "UndefinedType":
        return None
    if isinstance(held, (str, int, float, bool)):
        return held
    if isinstance(held, (list, tuple)):
        return [_plain(v) for v in held]
    fields = held if isinstance(held, dict) else getattr(held, "_kwds", None)
    if fields is None:
        return str(held)
    plain = {k: _plain(v) for k, v in fields.items()}
    plain = {k: v for k, v in plain.items() if v is not None}
    return plain["shorthand"] if list(plain) == ["shorthand"] else plain


_READERS: tuple[Callable[[Any, type], Shape | None], ...] = (
    _groups,
    _labelled,
    _lazy,
    _lazy_array,
    _by_rows,
    _by_columns,
    _by_iloc,
    _series,
    _tensor,
    _scalar,
    _by_stream,
    _by_dicts,
    _by_pandas,
    _chart,
)
