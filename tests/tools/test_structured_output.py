"""Typed answers: from what a model wrote to a Python value."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import typing
import uuid
from typing import Literal

import jsonschema
import pandas as pd
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.errors import ModelError, UsageError
from hermes_nb.tools.structured_output import AnswerError, parse, repair, request, schema_for


class City(pydantic.BaseModel):
    name: str
    population: int


@dataclasses.dataclass
class Visit:
    day: dt.date
    city: City


class Mood(enum.Enum):
    GOOD = "good"


PARIS = '{"name": "Paris", "population": 2000000}'
SHAPES = {
    "bare": PARIS,
    "fenced": f"```json\n{PARIS}\n```",
    "fenced_without_language": f"Here:\n\n```\n{PARIS}\n```\nDone.",
    "fenced_by_tildes": f"~~~json\n{PARIS}\n~~~",
    "in_prose": f"The largest [1] is {PARIS}, as you {{see}}.",
    "json_block_after_another": f'```python\nx = {{"name": 1}}\n```\n```json\n{PARIS}\n```',
    "second_block_fits": f'```json\n{{"name": "Rome"}}\n```\n```json\n{PARIS}\n```',
    "indented": "  ```json\n" + json.dumps(json.loads(PARIS), indent=2) + "\n  ```",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_json_is_found_wherever_it_stands(shape):
    assert parse(City, SHAPES[shape]) == City(name="Paris", population=2_000_000)


@pytest.mark.parametrize(
    ("returns", "text", "value"),
    [
        (list[int], "[1, 2, 3]", [1, 2, 3]),
        (int, "```json\n42\n```", 42),
        (int, "42", 42),
        (bool, "true", True),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (dict[str, float], '{"a": 1}', {"a": 1.0}),
        (Mood, '"good"', Mood.GOOD),
        (str, "Plain words.", "Plain words."),
        (str, '"quoted"', "quoted"),
        (int | None, "null", None),
        (dt.date, '"2026-01-02"', dt.date(2026, 1, 2)),
    ],
)
def test_types_are_built(returns, text, value):
    assert parse(returns, text) == value


def test_a_dataclass_with_a_model_inside_is_built():
    visit = parse(Visit, f'{{"day": "2026-01-02", "city": {PARIS}}}')
    assert visit == Visit(dt.date(2026, 1, 2), City(name="Paris", population=2_000_000))


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


class Point(typing.TypedDict):
    x: int


UUID = "12345678-1234-5678-1234-567812345678"
HEX = "a2345678123456781234567812345678"


@pytest.mark.parametrize("text", ["yes", "Yes.", "**yes**", "'yes'", "`yes`", '"yes"', "“Yes”.", "```\nyes\n```", " yes\n"])
def test_a_bare_word_of_a_literal_is_the_answer(text):
    assert parse(Literal["yes", "no"], text) == "yes"


@pytest.mark.parametrize(
    ("returns", "text", "value"),
    [
        (dt.date, "2024-02-29", dt.date(2024, 2, 29)),
        (dt.date, "'2024-02-29'.", dt.date(2024, 2, 29)),
        (dt.datetime, "2024-02-29 10:00", dt.datetime(2024, 2, 29, 10)),
        (dt.time, "`10:30`", dt.time(10, 30)),
        (dt.timedelta, "PT1H", dt.timedelta(hours=1)),
        (uuid.UUID, f"{UUID}.", uuid.UUID(UUID)),
        *((uuid.UUID, form, uuid.UUID(HEX)) for form in (HEX, f"{HEX}.", f"{{{HEX}}}", f"urn:uuid:{HEX}", f'"{{{HEX}}}"')),
        (uuid.UUID | None, "12345678123456781234567812345678", uuid.UUID(UUID)),
        (uuid.UUID | None, "12345678e12345678123456781234567", uuid.UUID("12345678e12345678123456781234567")),
        (Colour, "red", Colour.RED),
        (Colour, "Red.", Colour.RED),
        (Colour, "BLUE", Colour.BLUE),
        (Colour, "Colour.BLUE", Colour.BLUE),
        (Literal[1, 2], "1.", 1),
        (int | str, "abc", "abc"),
        (int | str, "42", 42),
        (dt.date | str, "2024-02-29.", dt.date(2024, 2, 29)),
        (bool, "yes", True),
        (bool, "No.", False),
        (bool, "True", True),
        (decimal.Decimal, "'12.50'", decimal.Decimal("12.50")),
        (int, "42.", 42),
        (int | None, "None", None),
        (Point, '{"x": 1}', {"x": 1}),
    ],
)
def test_bare_words_are_taken_where_the_type_leaves_one_reading(returns, text, value):
    assert parse(returns, text) == value


@pytest.mark.parametrize(
    ("returns", "text"),
    [
        (Literal["yes", "no"], "The answer is yes."),
        (Literal["a", "A"], "'Ä'"),
        (dt.datetime, "2024"),
        (dt.date, "86400"),
        (int, "I think 42"),
        (list[str], "abc"),
        (Point, "x"),
    ],
)
def test_bare_words_with_another_reading_are_asked_for_again(returns, text):
    with pytest.raises(AnswerError):
        parse(returns, text)


@pytest.mark.parametrize(
    "returns", [lambda x: x, Mood.GOOD, City(name="Paris", population=1), 5, "int", [int], {"a": int}, print]
)
def test_what_is_no_type_is_refused_before_anything_is_asked(returns):
    with pytest.raises(UsageError, match=r"^returns=.* can't be used: it is not a type\."):
        request(returns)


AB = [[1, "x"], [2, "y"]]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2], "b": ["x", "y"]}',
        'As asked: {"a": [1, 2], "b": ["x", "y"]}.',
        '{"columns": ["a", "b"], "index": [0, 1], "data": [[1, "x"], [2, "y"]]}',
        '{"columns": ["a", "b"], "rows": [[1, "x"], [2, "y"]]}',
        '{"0": {"a": 1, "b": "x"}, "1": {"a": 2, "b": "y"}}',
        '{"a": {"0": 1, "1": 2}, "b": {"0": "x", "1": "y"}}',
        '[["a", "b"], [1, "x"], [2, "y"]]',
        '{"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}',
        '{"schema": {}, "data": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}',
    ],
    ids="columns prose split shown index pandas header wrapped table".split(),
)
def test_a_frame_is_built_from_any_form_of_json_that_is_one_table(text):
    frame = parse(pd.DataFrame, text)
    assert list(frame.columns) == ["a", "b"]
    assert frame.values.tolist() == AB
    assert list(frame.index) == [0, 1]


def test_a_frame_keeps_the_labels_of_its_rows():
    assert list(parse(pd.DataFrame, '{"columns": ["a"], "index": ["r"], "data": [[1]]}').index) == ["r"]


@pytest.mark.parametrize(
    "text",
    [
        "[[1, 2], [3, 4]]",
        '[["a", "b"], ["c", "d"]]',
        '{"FR": {"gdp": 1}, "DE": {"gdp": 2}}',
        '{"a": [1, 2], "b": [1]}',
        '{"e": 1}',
    ],
)
def test_a_frame_that_could_be_another_is_asked_for_again(text):
    with pytest.raises(AnswerError, match=r"can't be read as one table\. Give an array with an object for each row\."):
        parse(pd.DataFrame, text)


@pytest.mark.parametrize("text", ["[]", '{"a": []}'])
def test_a_frame_may_have_no_rows(text):
    assert len(parse(pd.DataFrame, text)) == 0


def test_frames_of_other_packages_are_built_too():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    assert parse(polars.DataFrame, '{"a": [1, 2], "b": ["x", null]}').rows() == [(1, "x"), (2, None)]
    assert parse(pyarrow.Table, '[{"a": 1}]').to_pylist() == [{"a": 1}]


def test_a_frame_is_built_from_rows():
    frame = parse(pd.DataFrame, 'Here it is:\n```json\n[{"a": 1, "b": "x"}, {"a": 2, "b": null}]\n```')
    assert list(frame.columns) == ["a", "b"]
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].isna().tolist() == [False, True]


@pytest.mark.parametrize("returns", [City, Visit, list[int], pd.DataFrame, Mood, int | None])
def test_a_schema_is_valid_json_schema(returns):
    schema = schema_for(returns)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.dumps(schema, allow_nan=False) in request(returns)


def test_a_wrong_answer_names_field_value_and_what_is_wanted():
    with pytest.raises(AnswerError) as caught:
        parse(City, '{"name": "Paris", "population": "many"}')
    assert str(caught.value) == (
        "The answer does not fit City: population: Input should be a valid integer, unable to parse string as an integer,"
        ' got "many".'
    )
    assert repair(caught.value).startswith(f"That answer could not be used. {caught.value} Answer again")
    assert isinstance(caught.value, ModelError)
    assert isinstance(caught.value, ValueError)


def test_an_answer_without_json_says_so():
    with pytest.raises(AnswerError, match=r"The answer holds no JSON for City\."):
        parse(City, "I don't know.")


def test_many_errors_are_bounded():
    with pytest.raises(AnswerError, match="and 92 more"):
        parse(list[int], json.dumps(["x"] * 100))


def test_a_type_without_schema_is_a_usage_error_that_names_it():
    class Connection:
        pass

    with pytest.raises(
        UsageError, match=r"returns=Connection can't be described to a model: \S+Connection has no form in JSON"
    ):
        schema_for(Connection)


@pytest.mark.parametrize("returns", [pd.Series, pd.Timestamp, list[pd.Series], typing.Callable, type, dict[str, pd.Index]])
def test_what_json_cannot_hold_is_said_without_words_of_pydantic(returns: typing.Any) -> None:
    with pytest.raises(UsageError, match=r"has no form in JSON\. Use a pydantic model") as caught:
        schema_for(returns)
    assert not [word for word in ("schema", "model_config", "arbitrary") if word in str(caught.value)]


def test_a_text_full_of_brackets_is_searched_in_bounded_time():
    with pytest.raises(AnswerError):
        parse(City, "[{" * 100_000)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec=None)))
def test_any_text_is_parsed_or_refused(text):
    try:
        assert isinstance(parse(City, text), City)
    except AnswerError as error:
        assert str(error).endswith(".")  # noqa: PT017 - either end is right


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-(2**60), 2**60)),
    st.text(st.characters(codec="utf-8", exclude_characters="[]{}`~"), max_size=50),
)
def test_a_value_survives_the_prose_around_it(value, prose):
    assert parse(list[int], f"{prose}\n```json\n{json.dumps(value)}\n```\n{prose}") == value


@pytest.mark.parametrize("answer", ["12345678901234567.89", "```json\n12345678901234567.89\n```", '"12345678901234567.89"'])
def test_a_decimal_has_every_digit_of_the_answer(answer: str) -> None:
    assert parse(decimal.Decimal, answer) == decimal.Decimal("12345678901234567.89")
    assert parse(float, answer) == 12345678901234567.89


def test_a_field_that_is_a_decimal_has_every_digit_of_the_answer() -> None:
    class Coin(pydantic.BaseModel):
        wei: decimal.Decimal
        price: float
        day: dt.date

    coin = parse(Coin, '{"wei": 0.123456789012345678, "price": 0.1234567890123456789, "day": "2024-02-29"}')
    assert (coin.wei, coin.price) == (decimal.Decimal("0.123456789012345678"), 0.1234567890123456789)
    assert coin.day == dt.date(2024, 2, 29)
