"""Tables and columns of polars and pyarrow as the model reads them."""

import json
import time

import numpy as np
import pandas as pd
import pytest

from hermes_nb.tools.builtin import ResultStore
from hermes_nb.tools.rendering.description import describe
from hermes_nb.tools.rendering.result import render

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

HUNDRED = {"i": range(100), "s": [f"v{n}" for n in range(100)]}


def parsed(value, **options):
    return json.loads(render(value, **options).content)


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (pl.DataFrame(HUNDRED), ("polars.DataFrame", "Int64", "String")),
        (pa.table({k: list(v) for k, v in HUNDRED.items()}), ("pyarrow.Table", "int64", "string")),
        (pa.record_batch({k: list(v) for k, v in HUNDRED.items()}), ("pyarrow.RecordBatch", "int64", "string")),
    ],
    ids=lambda v: v[0] if isinstance(v, tuple) else "",
)
def test_a_table_of_another_package_is_shown_as_a_pandas_frame_is(value, types):
    shown = parsed(value)
    assert shown["type"] == types[0]
    assert shown["shape"] == [100, 2]
    assert shown["columns"] == {"i": types[1], "s": types[2]}
    assert shown["rows"] == [[n, f"v{n}"] for n in range(100)]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_a_cut_table_is_read_on_with_more(make):
    store, value = ResultStore(), make({k: list(v) for k, v in HUNDRED.items()})
    result_id = store.keep("rows", "{}", "", value)
    cut = parsed(value, max_chars=600, result_id=result_id)["rows"]
    n = len(cut) - 1
    assert cut[-1] == f"... {100 - n} of 100 rows left out; call more(result_id='{result_id}', offset={n}) to read on"
    assert json.loads(store.read(result_id, offset=n)) == [[k, f"v{k}"] for k in range(n, 100)]
    assert json.loads(store.read(result_id, offset=-1)) == [[99, "v99"]]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (pl.Series("q", [1, None, 3]), {"type": "polars.Series", "name": "q", "dtype": "Int64", "values": [1, None, 3]}),
        (pa.array([1, None]), {"type": "pyarrow.Int64Array", "dtype": "int64", "values": [1, None]}),
        (pa.chunked_array([[1], [2, 3]]), {"type": "pyarrow.ChunkedArray", "dtype": "int64", "values": [1, 2, 3]}),
    ],
    ids=["polars", "array", "chunked"],
)
def test_a_column_of_another_package_shows_its_values(value, shown):
    assert parsed(value) == {**shown, "length": len(value)}


def test_a_stream_that_can_be_read_once_is_not_read():
    reader = pa.table({"a": [1]}).to_reader()
    assert parsed(reader)["lazy"].endswith(": frame.read_all()")
    assert reader.read_all().num_rows == 1


def test_a_scalar_of_arrow_is_its_value():
    assert parsed({"a": pa.scalar(3), "b": pa.scalar(None)}) == {"a": 3, "b": None}


def test_tables_without_rows_or_columns_and_within_others():
    assert parsed(pl.DataFrame()) == {"type": "polars.DataFrame", "shape": [0, 0], "columns": {}, "rows": []}
    assert parsed(pl.DataFrame({"a": []}))["shape"] == [0, 1]
    assert parsed(pa.table({}))["rows"] == []
    mixed = parsed({"p": pl.DataFrame({"a": [1]}), "l": [pa.table({"b": [2]}), pd.DataFrame({"c": [3]})]})
    assert [mixed["p"]["rows"], *(t["rows"] for t in mixed["l"])] == [[[1]], [[2]], [[3]]]


def test_nested_dated_and_missing_cells():
    frame = pl.DataFrame({"d": [None, "2024-02-29"], "l": [[1, 2], []], "s": [{"a": 1}, None]}).with_columns(
        pl.col("d").str.to_date()
    )
    assert parsed(frame)["rows"] == [[None, [1, 2], {"a": 1}], ["2024-02-29", [], None]]


def test_two_columns_of_one_name_are_pairs():
    assert parsed(pa.table([[1], [2]], names=["a", "a"])) == {
        "type": "pyarrow.Table",
        "shape": [1, 2],
        "columns": [["a", "int64"], ["a", "int64"]],
        "rows": [[1, 2]],
    }


@pytest.mark.serial
def test_a_huge_table_costs_no_more_than_what_is_shown():
    value = pl.DataFrame({"i": np.arange(2_000_000), "s": ["x"] * 2_000_000})
    render(value, max_chars=1_000)
    start = time.perf_counter()
    assert render(value).is_cut
    assert time.perf_counter() - start < 0.2


def test_a_lazy_frame_is_not_computed_and_says_how_to_get_rows():
    computed = []
    lazy = pl.LazyFrame({"i": [1, 2]}).map_batches(lambda f: computed.append(1) or f, schema=pl.Schema({"i": pl.Int64}))
    note = "Its rows are not computed. A tool can return some of them: frame.limit(100).collect()"
    assert parsed(lazy) == {"type": "polars.LazyFrame", "lazy": note, "columns": {"i": "Int64"}}
    assert describe("lazy", lazy).startswith("lazy: polars.LazyFrame, not computed, 1 columns")
    assert computed == []


class Stream:
    """Speaks the Arrow stream and nothing else."""

    def __init__(self, held):
        self.held = held

    def __arrow_c_stream__(self, requested_schema=None):
        return self.held.__arrow_c_stream__(requested_schema)


class Interchange:
    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return pa.table({"a": [1, 2]}).__dataframe__()


def test_a_table_of_one_protocol_is_read_by_it():
    assert parsed(Stream(pa.table({"a": [1, 2]})))["rows"] == [[1], [2]]
    assert parsed(Stream(pa.chunked_array([[1, 2]])))["values"] == [1, 2]


@pytest.mark.parametrize("make", [lambda d: pl.DataFrame(d), lambda d: pa.table(d)])
def test_further_columns_of_other_packages_follow_too(make):
    shown = parsed(make({f"c{n}": [n] for n in range(100)}))
    assert shown["rows"] == [list(range(40))]
    assert shown["rows_of_further_columns"] == {"41-80": [list(range(40, 80))], "81-100": [list(range(80, 100))]}


def test_a_table_of_the_interchange_protocol_is_read_by_it():
    assert parsed(Interchange())["rows"] == [[1], [2]]


def test_a_group_by_of_polars_says_what_it_is():
    shown = parsed(pl.DataFrame({"k": [1]}).group_by("k"))
    assert shown == {
        "type": "polars.GroupBy",
        "by": ["k"],
        "note": "No rows yet. A tool can return them: groups.agg(...)",
    }


def test_a_lazy_frame_whose_source_is_gone_says_so(tmp_path):
    assert parsed(pl.scan_csv(tmp_path / "gone.csv"))["columns"].startswith("could not be read: ")
