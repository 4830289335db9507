"""What a model is told about a variable of the notebook."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math

import numpy as np
import pandas as pd
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.model.mask import Masker
from hermes_nb.tools.rendering.description import describe, summary


class Person(pydantic.BaseModel):
    name: str


@dataclasses.dataclass
class Point:
    x: int


class Fitted:
    """A model that was fitted."""

    def __init__(self, data, *, depth=3):
        self.data = data

    def __repr__(self):
        return "Fitted(depth=3)"


class Awkward:
    def __repr__(self):
        raise ValueError("no")

    def __len__(self):
        raise ValueError("no")


def revenue(frame: pd.DataFrame, *, by: str = "month") -> float:
    """Revenue by a column.

    More text.
    """


async def fetch(url: str) -> str: ...


def sales():
    return pd.DataFrame(
        {
            "day": pd.Series(pd.date_range("2026-01-01", periods=100), dtype="datetime64[ns]"),
            "revenue": [None, *np.linspace(0, 1, 99)],
            "city": pd.Categorical(["Oslo | Bergen"] * 100),
        }
    )


def test_a_frame_tells_shape_columns_missing_values_and_its_head():
    assert describe("sales", sales()) == (
        "sales: pandas.DataFrame, 100 rows x 3 columns\n"
        "columns: day datetime64[ns], revenue float64 (1 missing), city category\n"
        "first 5 rows:\n"
        "day | revenue | city\n"
        "2026-01-01T00:00:00 |  | Oslo | Bergen\n"
        "2026-01-02T00:00:00 | 0 | Oslo | Bergen\n"
        "2026-01-03T00:00:00 | 0.0102041 | Oslo | Bergen\n"
        "2026-01-04T00:00:00 | 0.0204082 | Oslo | Bergen\n"
        "2026-01-05T00:00:00 | 0.0306122 | Oslo | Bergen"
    )


def test_an_index_that_says_something_is_told():
    frame = pd.DataFrame({"n": [1]}, index=pd.Index([7], name="key"))
    assert describe("frame", frame) == (
        "frame: pandas.DataFrame, 1 rows x 1 columns\nindex: key int64\ncolumns: n int64\nfirst 1 rows:\nkey | n\n7 | 1"
    )


def test_a_wide_frame_counts_the_columns_it_leaves_out():
    text = describe("wide", pd.DataFrame(np.zeros((3, 5_000))), max_chars=600)
    assert len(text) <= 600
    assert "5,000 columns" in text
    assert " more\n" in text
    assert "first 3 rows" in text


def test_a_long_cell_is_cut():
    text = describe("frame", pd.DataFrame({"t": ["word " * 100_000]}))
    assert text.endswith("...")
    assert len(text) < 300


CASES = {
    "series": (pd.Series([1.5, None], name="x"), "v: pandas.Series 'x', float64, 2 values\nfirst values: [1.5, null]"),
    "index": (pd.Index([1, 2]), "v: pandas.Index, int64, 2 values\nfirst values: [1, 2]"),
    "array": (np.zeros((2, 2)), "v: numpy.ndarray, shape (2, 2), float64\nfirst values: [[0.0, 0.0], [0.0, 0.0]]"),
    "list": ([1, "a"], 'v: list, 2 items\n[1, "a"]'),
    "set": ({1}, "v: set, 1 items\n[1]"),
    "dict": ({"a": 1}, 'v: dict, 1 keys\n{"a": 1}'),
    "text": ("hello", "v: str, 5 characters\nhello"),
    "number": (5, "v: int = 5"),
    "nan": (math.nan, 'v: float = "NaN"'),
    "none": (None, "v: None"),
    "date": (dt.date(2026, 1, 2), 'v: datetime.date = "2026-01-02"'),
    "model": (Person(name="A"), 'v: tests.Person object with name\n{"name": "A"}'),
    "dataclass": (Point(1), 'v: tests.Point object with x\n{"x": 1}'),
    "bytes": (b"ab", "v: bytes, 2 bytes\nfirst bytes: b'ab'"),
    "function": (
        revenue,
        "v: function revenue(frame: 'pd.DataFrame', *, by: 'str' = 'month') -> 'float'\nRevenue by a column.",
    ),
    "async_function": (fetch, "v: async function fetch(url: 'str') -> 'str'"),
    "class": (Fitted, "v: class Fitted(data, depth)\nA model that was fitted."),
    "object": (Fitted(1), "v: tests.Fitted\nFitted(depth=3)"),
    "awkward": (Awkward(), "v: tests.Awkward\n<tests.Awkward object whose repr raised ValueError>"),
    "module": (math, "v: module math\nThis module provides access to the mathematical functions"),
    "generator": ((n for n in ()), "v: <generator <genexpr>, not read: return a list to show its items>"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_description_names_type_and_content(case):
    value, expected = CASES[case]
    assert describe("v", value) == expected


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("max_chars", [80, 120, 300])
def test_a_description_is_bounded(case, max_chars):
    text = describe("v", [CASES[case][0]] * 1_000, max_chars=max_chars)
    assert len(text) <= max_chars
    assert text.startswith("v: list, 1,000 items")


def test_figures_are_described():
    import matplotlib.figure
    import plotly.graph_objects

    figure = matplotlib.figure.Figure(figsize=(4, 3))
    figure.subplots().set_title("Revenue")
    assert describe("fig", figure) == (
        "fig: matplotlib figure, 4 x 3 inches\n"
        '{"type": "matplotlib figure", "size_inches": [4.0, 3.0], "axes": [{"type": "matplotlib axes", "title": "Revenue"}]}'
    )
    bars = plotly.graph_objects.Figure(plotly.graph_objects.Bar(x=[1]))
    assert describe("bars", bars).startswith('bars: plotly figure\n{"type": "plotly figure"')


SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz"


def test_secrets_of_the_environment_are_masked(monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", SECRET)
    for value in (SECRET, [SECRET], {"a": SECRET}, {SECRET: 1}, pd.DataFrame({SECRET: [SECRET]}), pd.Series([SECRET])):
        text = describe("v", value)
        assert "abcdefgh" not in text
        assert "[masked]" in text
    assert describe("v", SECRET, masker=Masker()).endswith(SECRET)


@pytest.mark.parametrize("name", ["api_key", "API_KEY", "openai_apikey", "db_password", "token", "GITHUB_TOKEN"])
def test_a_variable_named_like_a_secret_is_not_shown(name):
    assert describe(name, "correct-horse-battery") == f"{name}: str, 21 long, not shown because of its name"
    assert "horse" not in summary("correct-horse-battery", name=name)


@pytest.mark.parametrize(("name", "value"), [("token", "two words here"), ("key", "short"), ("monkey", "x" * 30)])
def test_a_name_alone_does_not_make_a_secret(name, value):
    assert value in describe(name, value)


def test_a_summary_is_one_line():
    assert summary(pd.DataFrame({"a": [1]})) == "pandas.DataFrame, 1 rows x 1 columns"
    assert "\n" not in summary("a\nb")


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.floats() | st.text(st.characters(codec=None)) | st.binary() | st.builds(Awkward),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ),
    st.integers(80, 500),
)
def test_no_value_raises(value, max_chars):
    text = describe("v", value, max_chars=max_chars)
    assert len(text) <= max_chars
    text.encode("utf-8")
