"""What the model reads of what a tool returned."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import pathlib
import subprocess
import sys
import time
import types
import typing
import uuid

import numpy as np
import pandas as pd
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.tools.rendering.result import render, to_content


def parsed(value, max_chars=20_000):
    content, _ = to_content(value, max_chars=max_chars)
    assert len(content) <= max_chars
    return loads(content)


def loads(content):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    content.encode("utf-8")
    return json.loads(content, parse_constant=refuse)


class Colour(enum.Enum):
    RED = "red"
    PLAIN = object()


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str]


@dataclasses.dataclass(slots=True)
class Slotted:
    x: int


class Person(pydantic.BaseModel):
    name: str
    born: dt.date
    password: pydantic.SecretStr = pydantic.SecretStr("hunter2hunter2")
    internal: int = pydantic.Field(default=1, exclude=True)


class Pair(typing.NamedTuple):
    left: int
    right: float


class Movie(typing.TypedDict):
    title: str


class Awkward:
    def __repr__(self):
        raise ValueError("no")


class Plain:
    pass


class Text(str):
    __slots__ = ()

    def __str__(self):
        raise ValueError("no")


nan, inf = float("nan"), float("inf")
stamp = pd.Timestamp("2026-01-02T03:04:05Z")

CASES = {
    "none": (None, None),
    "bool": (True, True),
    "int": (3, 3),
    "large_int": (2**200, 2**200),
    "float": (1.5, 1.5),
    "nan": (nan, "NaN"),
    "infinities": ([inf, -inf], ["Infinity", "-Infinity"]),
    "decimal": (decimal.Decimal("1.10"), "1.10"),
    "decimal_nan": (decimal.Decimal("NaN"), "NaN"),
    "fraction": (fractions.Fraction(1, 3), "1/3"),
    "complex": (1 + 2j, "1+2j"),
    "datetime": (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-01-02T03:04:05+00:00"),
    "date": (dt.date(2026, 1, 2), "2026-01-02"),
    "time": (dt.time(3, 4), "03:04:00"),
    "timedelta": (dt.timedelta(days=1, hours=2, seconds=3, microseconds=500_000), "P1DT2H3.5S"),
    "uuid": (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "path": (pathlib.Path("a/b"), "a/b"),
    "enum": (Colour.RED, "red"),
    "enum_of_an_object": (Colour.PLAIN, "PLAIN"),
    "int_enum": (Level.LOW, 1),
    "list": ([1, "a", None], [1, "a", None]),
    "tuple": ((1, (2,)), [1, [2]]),
    "set": ({3, 1, 2}, [1, 2, 3]),
    "mixed_set": ({"a", 1}, ["a", 1]),
    "frozenset": (frozenset({2, 1}), [1, 2]),
    "range": (range(0, 6, 2), [0, 2, 4]),
    "deque": (collections.deque([1, 2]), [1, 2]),
    "counter": (collections.Counter("aab"), {"a": 2, "b": 1}),
    "ordered": (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    "mapping_proxy": (types.MappingProxyType({"a": 1}), {"a": 1}),
    "chain_map": (collections.ChainMap({"a": 1}), {"a": 1}),
    "dict_views": ([{"a": 1}.keys(), {"a": 1}.values(), {"a": 1}.items()], [["a"], [1], [["a", 1]]]),
    "other_keys": (
        {None: 1, True: 2, 2: 3, 2.5: 4, (1, "a"): 5, dt.date(2026, 1, 1): 6},
        {"null": 1, "true": 2, "2": 3, "2.5": 4, "1 | a": 5, "2026-01-01": 6},
    ),
    "keys_that_would_be_one": ({1: "a", "1": "b"}, [[1, "a"], ["1", "b"]]),
    "bytes": (b"\x00\xff", {"type": "bytes", "size_bytes": 2, "base64": "AP8="}),
    "bytearray": (bytearray(b"a"), {"type": "bytes", "size_bytes": 1, "base64": "YQ=="}),
    "memoryview": (memoryview(b"a"), {"type": "bytes", "size_bytes": 1, "base64": "YQ=="}),
    "png": (b"\x89PNG\r\n\x1a\n...", {"type": "bytes", "size_bytes": 11, "media_type": "image/png"}),
    "dataclass": (Point(1, {"b", "a"}), {"x": 1, "tags": ["a", "b"]}),
    "slotted_dataclass": (Slotted(1), {"x": 1}),
    "model": (Person(name="A", born="2000-01-01"), {"name": "A", "born": "2000-01-01", "password": "**********"}),
    "namedtuple": (Pair(1, 2.0), {"left": 1, "right": 2.0}),
    "typed_dict": (Movie(title="T"), {"title": "T"}),
    "namespace": (types.SimpleNamespace(a=1), "namespace(a=1)"),
    "numpy_float": (np.float64(1.5), 1.5),
    "numpy_float32_nan": (np.float32("nan"), "NaN"),
    "numpy_int": (np.int64(3), 3),
    "numpy_bool": (np.bool_(True), True),
    "numpy_longdouble": (np.longdouble(1.5), 1.5),
    "numpy_datetime": (np.datetime64("2026-01-02"), "2026-01-02"),
    "numpy_nat": (np.datetime64("NaT", "s"), None),
    "numpy_str": (np.str_("a"), "a"),
    "numpy_0d": (np.array(3), 3),
    "array": (
        np.arange(4).reshape(2, 2),
        {"type": "ndarray", "shape": [2, 2], "dtype": "int64", "values": [[0, 1], [2, 3]]},
    ),
    "array_nan": (np.array([nan, 1.0]), {"type": "ndarray", "shape": [2], "dtype": "float64", "values": ["NaN", 1.0]}),
    "structured": (
        np.array([(1, "a")], dtype=[("n", "i4"), ("s", "U1")]),
        {"type": "ndarray", "shape": [1], "dtype": "[('n', '<i4'), ('s', '<U1')]", "values": [{"n": 1, "s": "a"}]},
    ),
    "masked": (
        np.ma.array([1, 2], mask=[0, 1]),
        {"type": "MaskedArray", "shape": [2], "dtype": "int64", "values": [1, None]},
    ),
    "timestamp": (stamp, "2026-01-02T03:04:05+00:00"),
    "nat": (pd.NaT, None),
    "na": (pd.NA, None),
    "timedelta_of_pandas": (pd.Timedelta("1h"), "P0DT1H0M0S"),
    "period": (pd.Period("2026-01"), "2026-01"),
    "interval": (pd.Interval(0, 1), "(0, 1]"),
    "frame": (
        pd.DataFrame({"a": [1, 2], "b": [0.5, None], "t": pd.Series([stamp, pd.NaT], dtype="datetime64[ns, UTC]")}),
        {
            "type": "DataFrame",
            "shape": [2, 3],
            "columns": {"a": "int64", "b": "float64", "t": "datetime64[ns, UTC]"},
            "rows": [[1, 0.5, "2026-01-02T03:04:05+00:00"], [2, None, None]],
        },
    ),
    "frame_with_an_index": (
        pd.DataFrame({"a": [1]}, index=pd.Index(["x"], name="key")),
        {"type": "DataFrame", "shape": [1, 1], "columns": {"a": "int64"}, "index": ["key"], "rows": [["x", 1]]},
    ),
    "frame_with_levels": (
        pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])),
        {"type": "DataFrame", "shape": [1, 2], "columns": {"a | x": "int64", "a | y": "int64"}, "rows": [[1, 2]]},
    ),
    "frame_with_twin_columns": (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        {"type": "DataFrame", "shape": [1, 2], "columns": [["a", "int64"], ["a", "int64"]], "rows": [[1, 2]]},
    ),
    "empty_frame": (pd.DataFrame(), {"type": "DataFrame", "shape": [0, 0], "columns": {}, "rows": []}),
    "series": (
        pd.Series([1, None], name="s", dtype="Int64"),
        {"type": "Series", "name": "s", "dtype": "Int64", "length": 2, "values": [1, None]},
    ),
    "series_with_labels": (
        pd.Series({"x": 1.0}),
        {"type": "Series", "name": None, "dtype": "float64", "length": 1, "index": ["index"], "values": [["x", 1.0]]},
    ),
    "index": (
        pd.DatetimeIndex(["2026-01-02"], dtype="datetime64[ns]"),
        {"type": "DatetimeIndex", "dtype": "datetime64[ns]", "length": 1, "values": ["2026-01-02T00:00:00"]},
    ),
    "categorical": (
        pd.Categorical(["b", None], categories=["a", "b"]),
        {"type": "Categorical", "dtype": "category", "length": 2, "categories": ["a", "b"], "values": ["b", None]},
    ),
    "frame_in_a_dict": (
        {"n": 1, "top": pd.DataFrame({"a": [{"x": {1}}]})},
        {"n": 1, "top": {"type": "DataFrame", "shape": [1, 1], "columns": {"a": "object"}, "rows": [[{"x": [1]}]]}},
    ),
    "exception_inside": ([ValueError("bad")], ["ValueError: bad"]),
    "class": ([int, Plain], ["<class builtins.int>", f"<class {__name__}.Plain>"]),
    "module": ([json], ["<module json>"]),
    "function": ([len], ["<function len(obj, /)>"]),
    "generator_inside": ([iter([1])], ["<list_iterator, not read: return a list to show its items>"]),
    "repr_that_raises": ([Awkward()], ["<tests.Awkward object whose repr raised ValueError>"]),
    "str_that_raises": ([Text("a")], ["a"]),
    "ellipsis": ([...], ["..."]),
}


@pytest.mark.parametrize("case", CASES)
def test_any_value_becomes_json(case):
    value, expected = CASES[case]
    assert parsed([value]) == [expected]


@pytest.mark.parametrize("case", [c for c in CASES if not isinstance(CASES[c][0], str)])
@pytest.mark.parametrize("max_chars", [40, 60, 100, 200])
def test_a_small_room_is_kept_and_still_json(case, max_chars):
    content, _ = to_content([CASES[case][0]] * 30, max_chars=max_chars)
    assert len(content) <= max_chars
    loads(content)


def test_minus_zero_keeps_its_sign():
    assert to_content(-0.0) == ("-0.0", 4)


def test_none_is_null():
    assert to_content(None) == ("null", 4)


def test_a_text_goes_as_it_is():
    assert to_content('say "hi"\n') == ('say "hi"\n', 9)


def test_a_lone_surrogate_is_replaced_and_a_pair_is_joined():
    assert to_content("a\ud800b \ud83d\ude00") == ("a\ufffdb 😀", 5)
    assert parsed({"\udc00": "\udc00"}) == {"\ufffd": "\ufffd"}


def test_an_int_with_more_digits_than_python_writes_is_described():
    assert parsed([10**5000]) == ["<int of about 5,001 digits>"]


def test_a_value_that_contains_itself_says_so():
    loop = [1]
    loop.append(loop)
    ring = {}
    ring["self"] = ring
    assert parsed(loop) == [1, "<the same list again: it contains itself>"]
    assert parsed(ring) == {"self": "<the same dict again: it contains itself>"}


def test_a_value_named_twice_is_shown_twice():
    twin = [1]
    assert parsed([twin, twin]) == [[1], [1]]


def test_nesting_too_deep_to_show_ends_in_words():
    deep = "x"
    for _ in range(50_000):
        deep = [deep]
    content, _ = to_content(deep)
    assert "more than 100 levels deep" in content
    loads(content)
    while isinstance(deep, list):  # taken apart here: the interpreter's own recursion is not the subject
        deep = deep.pop()


def test_a_tree_of_shared_branches_costs_only_what_is_shown():
    branch = [1]
    for _ in range(80):
        branch = [branch] * 10
    began = time.perf_counter()
    assert parsed(branch, 2_000)
    assert time.perf_counter() - began < 2.0


def test_an_object_without_repr_is_named_without_its_address():
    assert to_content(Plain())[0] == "<tests.Plain object>"


def test_a_cut_text_says_how_much_is_left_out_and_how_to_read_on():
    rendered = render("x" * 5_000_000, max_chars=20_000, result_id="r1")
    assert len(rendered.content) <= 20_000
    assert rendered.n_chars == 5_000_000
    head, mark = rendered.content.rsplit("\n", 1)
    assert mark == (
        f"... {5_000_000 - len(head):,} of 5,000,000 characters left out;"
        f" call more(result_id='r1', offset={len(head)}) to read on"
    )


def test_a_cut_list_stays_json_and_counts_what_is_left_out():
    rendered = render(list(range(100_000)), max_chars=2_000, result_id="r1")
    shown = loads(rendered.content)
    n = len(shown) - 1
    assert shown[:-1] == list(range(n))
    assert shown[-1] == f"... {100_000 - n:,} of 100,000 items left out; call more(result_id='r1', offset={n}) to read on"
    assert n > 300


def test_a_cut_object_shows_small_members_whole_and_names_the_path_of_large_ones():
    value = {"rows": [{"id": n, "text": "word " * 10} for n in range(10_000)], "log": "y" * 10_000, "total": 42}
    shown = loads(render(value, max_chars=3_000, result_id="r1").content)
    assert list(shown) == ["rows", "log", "total"]
    assert shown["total"] == 42
    assert shown["rows"][0] == {"id": 0, "text": "word " * 10}
    assert "path='/rows', offset=" in shown["rows"][-1]
    assert "path='/log', offset=" in shown["log"]


def test_a_cut_object_of_many_keys_counts_the_keys():
    shown = loads(to_content({str(n): n for n in range(10_000)}, max_chars=500)[0])
    assert shown["..."] == f"... {10_001 - len(shown):,} of 10,000 keys left out"


def test_a_cut_frame_keeps_shape_and_dtypes_and_counts_rows():
    frame = pd.DataFrame({"a": np.arange(1_000_000), "b": True})
    shown = loads(render(frame, max_chars=2_000, result_id="r1").content)
    rows = shown.pop("rows")
    assert shown == {"type": "DataFrame", "shape": [1_000_000, 2], "columns": {"a": "int64", "b": "bool"}}
    n = len(rows) - 1
    assert rows[:-1] == [[k, True] for k in range(n)]
    assert rows[-1] == f"... {1_000_000 - n:,} of 1,000,000 rows left out; call more(result_id='r1', offset={n}) to read on"


def test_a_wide_frame_names_all_columns_it_can_and_says_which_cells_it_shows():
    shown = parsed(pd.DataFrame(np.zeros((3, 1_000))))
    assert shown["shape"] == [3, 1_000]
    assert shown["cells"] == "of the first 40 of 1,000 columns; the others follow in 'rows_of_further_columns'"
    assert len(shown["columns"]) > 300
    assert len(shown["rows"][0]) == 40


def test_a_huge_value_is_not_rendered_to_be_cut():
    class Watched(collections.UserList):
        n_read = 0

        def __iter__(self):
            for item in self.data:
                Watched.n_read += 1
                yield item

    to_content(Watched(["x" * 100] * 1_000_000), max_chars=1_000)
    assert Watched.n_read < 2_000


def test_a_collection_that_raises_while_read_shows_what_came_before():
    class Broken(collections.UserList):
        def __iter__(self):
            yield 1
            raise OSError("gone")

    assert parsed(Broken([1, 2])) == [1, "<reading on raised OSError>"]


def test_a_model_that_pydantic_cannot_dump_shows_its_fields():
    class Odd(pydantic.BaseModel):
        x: int = 1

        @pydantic.model_serializer
        def dump(self):
            raise RuntimeError("no")

    assert parsed(Odd()) == {"x": 1}


def test_figures_and_images_are_described():
    import matplotlib.figure
    import PIL.Image
    import plotly.graph_objects

    figure = matplotlib.figure.Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.plot([1, 2], label="sales")
    axes.set_title("Revenue")
    axes.set_xlabel("month")
    axes.legend()
    described = {"type": "matplotlib axes", "title": "Revenue", "xlabel": "month", "n_lines": 1, "legend": ["sales"]}
    assert parsed(figure) == {"type": "matplotlib figure", "size_inches": [4.0, 3.0], "axes": [described]}
    assert parsed([axes]) == [described]

    bars = plotly.graph_objects.Figure(plotly.graph_objects.Bar(x=[1, 2, 3], y=[1, 2, 3], name="n"))
    bars.update_layout(title="Counts", xaxis_title="k")
    traces = [{"type": "bar", "name": "n", "n_points": 3}]
    assert parsed(bars) == {"type": "plotly figure", "title": "Counts", "x": "k", "traces": traces}

    assert parsed(PIL.Image.new("RGB", (3, 2))) == {"type": "image", "size_pixels": [3, 2], "mode": "RGB"}


def test_nothing_heavy_is_imported():
    code = (
        "import sys\n"
        "from hermes_nb.tools.rendering.result import to_content\n"
        "from hermes_nb.tools.rendering.description import describe\n"
        "to_content([1, {'a': 2}, object()]); describe('x', {'a': 1})\n"
        "heavy = {'pandas', 'numpy', 'matplotlib', 'plotly', 'PIL', 'pydantic', 'IPython'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


def scrubbed(value):
    """The value with its lone surrogates replaced, as any valid UTF-8 must have them."""
    return json.loads(json.dumps(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


@settings(max_examples=300, deadline=None)
@given(json_values.filter(lambda v: not isinstance(v, str)))
def test_a_json_value_comes_back_as_it_was(value):
    content, n_chars = to_content(value, max_chars=10**6)
    assert loads(content) == value
    assert n_chars == len(content)


@settings(max_examples=300, deadline=None)
@given(json_values, st.integers(40, 400))
def test_a_cut_json_value_is_bounded_and_valid(value, max_chars):
    content, _ = to_content(value, max_chars=max_chars)
    assert len(content) <= max_chars
    content.encode("utf-8")
    if not isinstance(value, str):
        loads(content)


odd = st.one_of(
    st.floats(),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.binary(),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.timedeltas(),
    st.uuids(),
    st.sampled_from([np.float32("inf"), pd.NaT, Plain, Text("a"), stamp]),
    st.builds(Awkward),
    st.text(st.characters(codec=None)),
)
odd_values = st.recursive(
    odd,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.tuples(st.integers(), st.text()) | st.floats() | st.dates(), inner, max_size=5)
        | st.lists(inner, max_size=4).map(tuple)
        | st.lists(inner, max_size=4).map(lambda v: pd.Series(v, dtype=object))
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(odd_values, st.integers(40, 2_000))
def test_no_value_raises_and_all_are_valid(value, max_chars):
    content, n_chars = to_content([value], max_chars=max_chars)
    assert len(content) <= max_chars
    assert n_chars >= 0
    loads(content)
