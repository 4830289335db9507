"""Typed answers: from what a model wrote to a Python value."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json

import jsonschema
import pandas as pd
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.errors import ModelError, UsageError
from hermes_nb.tools.answer import AnswerError, parse, repair, request, schema_for


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

    with pytest.raises(UsageError, match="returns=Connection can't be described to a model"):
        schema_for(Connection)


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
