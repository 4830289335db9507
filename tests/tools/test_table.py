"""Tables, columns and windows by what they offer: pandas's, and classes that speak one protocol."""

import collections
import io
import json

import numpy as np
import pandas as pd
import pytest

from hermes_nb.tools.builtin import ResultStore
from hermes_nb.tools.rendering.description import describe
from hermes_nb.tools.rendering.result import render


def parsed(value, **options):
    return json.loads(render(value, **options).content)


# Not computed


class Relation:
    """As duckdb's: its repr, shape and stream run the query."""

    columns = ("a", "b")
    types = dtypes = ("INTEGER", "VARCHAR")

    def _run(self, *_):
        raise AssertionError("it was computed")

    shape = property(_run)
    __repr__ = __str__ = __len__ = __arrow_c_stream__ = df = fetchall = to_dicts = limit = _run


class Query:
    """As Spark's: (name, type) pairs."""

    columns = ("a",)
    dtypes = (("a", "bigint"),)

    def toPandas(self): ...

    def collect(self): ...

    def limit(self, n): ...


class Expression:
    """As Ibis's: a schema by call."""

    columns = ("a",)

    def schema(self):
        return {"a": "int64"}

    def execute(self): ...

    def limit(self, n): ...


class Delayed:
    """As Dask's: its head computes."""

    columns = ("a",)
    dtypes = pd.Series({"a": "int64"})

    def compute(self): ...

    def head(self, n): ...


@pytest.mark.parametrize(
    ("value", "columns", "call"),
    [
        (Relation(), {"a": "INTEGER", "b": "VARCHAR"}, "frame.limit(100).df()"),
        (Query(), {"a": "bigint"}, "frame.limit(100).toPandas()"),
        (Expression(), {"a": "int64"}, "frame.limit(100).execute()"),
        (Delayed(), {"a": "int64"}, "frame.head(100)"),
    ],
    ids=["relation", "query", "expression", "delayed"],
)
def test_what_is_yet_to_be_computed_shows_its_columns_alone(value, columns, call):
    shown = parsed(value)
    assert shown["columns"] == columns
    assert shown["lazy"].endswith(f": {call}")
    assert "rows" not in shown


class Gone(Relation):
    """As a relation whose table was dropped."""

    @property
    def columns(self):
        raise LookupError


class Partitioned:
    """As Dask's Series: its length computes."""

    dtype, name, npartitions = "int64", "a", 3

    def _run(self, *_):
        raise AssertionError("it was computed")

    __len__ = __getitem__ = __repr__ = compute = head = _run


def test_what_can_not_say_its_columns_is_not_computed_either():
    assert parsed(Gone())["columns"] == "could not be read: LookupError"
    assert parsed(Partitioned())["lazy"].endswith("column.head(100)")


class Dicts:
    def __len__(self):
        return 2

    def to_dicts(self):
        return [{"a": 1}, {"a": None, "b": "x"}]


class Converted:
    columns = ("a",)

    def __init__(self, n_rows):
        self.n_rows, self.n_converted = n_rows, 0

    def __len__(self):
        return self.n_rows

    def to_pandas(self):
        self.n_converted += 1
        return pd.DataFrame({"a": range(self.n_rows)})


def test_a_short_table_gives_itself_as_records_or_frame():
    assert parsed(Dicts()) == {
        "type": "tests.Dicts",
        "shape": [2, 2],
        "columns": {"a": "int", "b": "str"},
        "rows": [[1, None], [None, "x"]],
    }
    assert parsed(Converted(2))["rows"] == [[0], [1]]


def test_a_large_table_is_not_converted_to_be_shown():
    large = Converted(10_000_000)
    render(large)
    assert large.n_converted == 0


class Tensor:
    def __init__(self, held):
        self.held, self.shape, self.dtype = held, held.shape, held.dtype

    shape = dtype = None

    def __getitem__(self, key):
        return Tensor(self.held[key])

    def tolist(self):
        return self.held.tolist()


def test_a_tensor_shows_shape_and_nested_values():
    shown = parsed(Tensor(np.arange(6).reshape(2, 3)))
    assert shown == {"type": "tests.Tensor", "shape": [2, 3], "dtype": "int64", "values": [[0, 1, 2], [3, 4, 5]]}


# More than 40 columns


def test_cells_beyond_forty_columns_follow_and_can_be_read_on():
    frame = pd.DataFrame(np.arange(3_000 * 60).reshape(3_000, 60), columns=[f"c{n}" for n in range(60)])
    small = parsed(frame.head(2))
    assert small["rows"][1] == list(range(60, 100))
    assert small["rows_of_further_columns"] == {"41-60": [list(range(40, 60)), list(range(100, 120))]}
    store = ResultStore()
    result_id = store.keep("wide", "{}", "", frame)
    cut = parsed(frame, result_id=result_id)["rows_of_further_columns"]["41-60"]
    assert f"call more(result_id='{result_id}', path='/rows_of_further_columns/41-60', offset={len(cut) - 1})" in cut[-1]
    read = json.loads(store.read(result_id, path="/rows_of_further_columns/41-60", offset=len(cut) - 1))
    assert read[0] == list(range((len(cut) - 1) * 60 + 40, (len(cut) - 1) * 60 + 60))


def test_a_named_index_starts_each_row_of_further_columns_too():
    frame = pd.DataFrame([range(41)], index=pd.Index(["x"], name="who"))
    assert parsed(frame)["rows_of_further_columns"] == {"41-41": [["x", 40]]}


# pandas objects that are no frame

SALES = pd.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]}, index=pd.date_range("2024-01-01", periods=3))


def test_a_group_by_says_its_columns_groups_and_how_a_tool_gives_them():
    shown = parsed(SALES.groupby("k"))
    assert (shown["type"], shown["n_groups"], shown["by"]) == ("DataFrameGroupBy", 2, ["k"])
    assert shown["columns"] == {"k": str(SALES["k"].dtype), "v": "int64"}
    assert shown["rows_per_group"] == [["a", 2], ["b", 1]]
    assert shown["note"].startswith("No rows yet. A tool can return them: ")
    assert describe("g", SALES.groupby("k")).startswith("g: pandas.DataFrameGroupBy, 2 groups of 3 rows")


@pytest.mark.parametrize(
    ("value", "n_groups"),
    [
        (SALES.groupby("k")["v"], 2),
        (SALES.groupby("k", as_index=False), 2),
        (SALES.groupby(["k", "v"]), 3),
        (SALES.resample("2D"), 2),
        (SALES["v"].resample("2D"), 2),
    ],
)
def test_other_groups_are_counted_too(value, n_groups):
    shown = parsed(value)
    assert shown["n_groups"] == len(shown["rows_per_group"]) == n_groups


@pytest.mark.parametrize("value", [SALES["v"].rolling(2), SALES[["v"]].expanding(), SALES["v"].ewm(span=2)])
def test_a_window_says_what_it_is(value):
    shown = parsed(value)
    assert shown["n_rows"] == 3
    assert shown["window"]
    assert "object" not in describe("w", value).splitlines()[0]


def test_pandas_objects_that_are_values_stay_as_they_were():
    assert parsed([pd.Interval(1, 2), pd.Period("2024-01"), pd.Timestamp("2024-02-29")]) == [
        "(1, 2]",
        "2024-01",
        "2024-02-29T00:00:00",
    ]
    assert parsed(pd.MultiIndex.from_tuples([(1, 2)], names=["a", "b"]))["names"] == ["a", "b"]
    assert parsed(pd.Categorical(["a"]))["categories"] == ["a"]
    assert parsed(SALES.style)["type"] == "Styler"


# What is known by its text alone


class Graph:
    def __str__(self):
        return "Graph with 4 nodes and 3 edges"


class Inherited(Graph):
    def __repr__(self):
        return object.__repr__(self)


class Silent:
    def __str__(self):
        raise ValueError


class Both:
    def __repr__(self):
        return "Both(1)"

    def __str__(self):
        return "1"


def test_the_str_of_an_object_stands_for_a_repr_that_says_nothing():
    assert render(Graph()).content == render(Inherited()).content == "Graph with 4 nodes and 3 edges"
    assert render(Silent()).content == "<tests.Silent object>"
    assert render(Both()).content == "Both(1)"


class Printed:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


@pytest.mark.parametrize(
    "text", ["C([0, 1, ..., 9])", "a b\n0 1\n...\n[100 rows x 14 columns]", "C([0, 1, …, 9])", repr(np.arange(5_000))]
)
def test_a_repr_that_leaves_out_says_so(text):
    assert "(tests.Printed prints itself abbreviated: something is left out" in render(Printed(text)).content


@pytest.mark.parametrize("text", ["Loading...", "C(1, 2)", "wait... what"])
def test_a_repr_that_is_whole_is_left_as_it_is(text):
    assert render(Printed(text)).content == text


def test_data_that_only_looks_like_a_table_stays_data():
    Row = collections.namedtuple("Row", "columns schema")
    assert parsed(Row(1, 2)) == {"columns": 1, "schema": 2}
    assert parsed({"columns": 1}) == {"columns": 1}
    assert render(io.StringIO("x")).content == "<_io.StringIO object>"
