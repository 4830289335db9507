"""What a model is told about arguments that don't fit: which field, what was got, what is wanted."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import typing

import pydantic
import pytest

from hermes_nb.errors import ToolArgumentError
from hermes_nb.tools.decorator import tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int


class Cat(pydantic.BaseModel):
    kind: typing.Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: typing.Literal["dog"]
    name: str


def not_negative(value: int) -> int:
    if value < 0:
        raise ValueError("must not be negative")
    return value


class Frame:
    pass


def probe(
    n: int,
    colour: Colour = Colour.RED,
    p: Point | None = None,
    pet: Cat | Dog | None = None,
    points: list[Point] = [],  # noqa: B006
    by_number: dict[int, int] = {},  # noqa: B006
    when: dt.datetime | None = None,
    few: typing.Annotated[int, pydantic.Field(le=3)] = 1,
    checked: typing.Annotated[int, pydantic.AfterValidator(not_negative)] = 1,
    pair: tuple[int, str] = (1, "a"),
    frame: Frame | None = None,
) -> None: ...


PROBE = tool(probe)

REFUSED = {
    "wrong type": ({"n": "x"}, """argument 'n' got "x", wanted integer."""),
    "fraction": ({"n": 1.5}, "argument 'n' got 1.5, wanted integer."),
    "null": ({"n": None}, "argument 'n' got null, wanted integer."),
    "missing": ({}, "argument 'n' is missing (wanted: integer)."),
    "enum": ({"n": 1, "colour": "green"}, """argument 'colour' got "green", wanted one of "red", "blue"."""),
    "not an object": ({"n": 1, "p": 3}, "argument 'p' got 3, wanted object or null."),
    "in an object": ({"n": 1, "p": {"x": "a"}}, """argument 'p.x' got "a", wanted a valid integer."""),
    "missing in an object": ({"n": 1, "p": {}}, "argument 'p.x' is missing."),
    "unknown in an object": ({"n": 1, "p": {"x": 1, "y": 2}}, "argument 'p.y' is unknown there."),
    "in a list": (
        {"n": 1, "points": [{"x": 1}, {"x": "a"}]},
        """argument 'points[1].x' got "a", wanted a valid integer.""",
    ),
    "in a union": (
        {"n": 1, "pet": {"kind": "cat", "lives": "many"}},
        """argument 'pet.lives' got "many", wanted a valid integer""",
    ),
    "key": (
        {"n": 1, "by_number": {"one": 1}},
        """argument 'by_number.one' has the key "one", wanted a valid integer.""",
    ),
    "format": ({"n": 1, "when": "soon"}, """argument 'when' got "soon", wanted string (date-time) or null."""),
    "bound": ({"n": 1, "few": 9}, "argument 'few' got 9: Input should be less than or equal to 3."),
    "validator of the user": ({"n": 1, "checked": -1}, "argument 'checked' got -1: must not be negative."),
    "short tuple": ({"n": 1, "pair": [1]}, "argument 'pair[1]' is missing."),
    "unknown": ({"n": 1, "zz": 2}, "there is no argument 'zz'; known: 'n', 'colour', "),
    "misspelled": ({"n": 1, "color": "red"}, "there is no argument 'color' (perhaps 'colour' for 'color')."),
    "two at once": (
        {"n": "x", "few": "y"},
        """argument 'n' got "x", wanted integer; argument 'few' got "y", wanted integer.""",
    ),
    "variable": ({"n": 1, "frame": "f"}, "argument 'frame': there is no notebook here whose variables could be used."),
    "long": ({"n": "x" * 1_000}, "... (1002 characters), wanted integer."),
}


@pytest.mark.parametrize(("sent", "text"), REFUSED.values(), ids=REFUSED)
def test_the_field_what_was_got_and_what_is_wanted_are_named(sent, text):
    for form in (sent, json.dumps(sent)):
        with pytest.raises(ToolArgumentError) as error:
            PROBE.build(form)
        assert str(error.value).startswith("probe: ")
        assert text in str(error.value)


MALFORMED = {
    '{"n": 1': "not valid JSON: Expecting ',' delimiter at character 7",
    '{"n": 1}}': "not valid JSON: Extra data at character 8",
    "{'n': 1}": "not valid JSON",
    '{"n": 1, "n": 2}': "'n' is given twice",
    '{"n": 1, "p": {"x": 1, "x": 1}}': "'x' is given twice",
    '{"n": NaN}': "NaN is no JSON number",
    '{"n": -Infinity}': "-Infinity is no JSON number",
    '{"n": 1e999}': "argument 'n'",
    "[1]": 'must be a JSON object, e.g. {"name": value}; got [1].',
    "null": "must be a JSON object",
    '"n"': "must be a JSON object",
    '{"n": ' + "[" * 100_000: "can't be read as JSON",
    '{"n": ' + "9" * 5_000 + "}": "can't be read as JSON",
}


@pytest.mark.parametrize(("text", "problem"), MALFORMED.items(), ids=[key[:20] for key in MALFORMED])
def test_malformed_arguments_are_refused(text, problem):
    with pytest.raises(ToolArgumentError) as error:
        PROBE.build(text)
    assert problem in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("thing", [[1], None, 3])
def test_what_is_no_mapping_is_refused(thing):
    with pytest.raises(ToolArgumentError, match="must be an object"):
        PROBE.build(thing)


def test_no_text_means_no_arguments():
    def nothing() -> None: ...

    assert tool(nothing).build("") == tool(nothing).build(" \n") == ((), {})


def test_a_slip_with_one_meaning_is_taken():
    def slips(n: int, x: float, on: bool, v: str | int, s: set[int]) -> None: ...

    _, kwargs = tool(slips).build({"n": "3", "x": "2.5", "on": "true", "v": "3", "s": [1, 1]})
    assert kwargs == {"n": 3, "x": 2.5, "on": True, "v": "3", "s": {1}}


def test_lone_surrogates_are_replaced():
    def say(text: str) -> None: ...

    for form in ('{"text": "a\\ud83d"}', {"text": "a\ud83d"}):
        assert tool(say).build(form) == ((), {"text": "a\ufffd"})
    assert tool(say).build('{"text": "\\ud83d\\ude00"}') == ((), {"text": "\U0001f600"})
    with pytest.raises(ToolArgumentError) as error:
        PROBE.build('{"n": "\\ud83d"}')
    str(error.value).encode()


def test_an_error_inside_a_validator_is_one_about_the_arguments():
    import decimal

    def pay(amount: decimal.Decimal) -> None: ...

    with pytest.raises(ToolArgumentError, match=r"^pay: "):
        tool(pay).build({"amount": [None, None, None]})

    def lookup(key: typing.Annotated[str, pydantic.AfterValidator({"a": 1}.__getitem__)]) -> None: ...

    with pytest.raises(ToolArgumentError, match="KeyError: 'b'") as error:
        tool(lookup).build({"key": "b"})
    assert isinstance(error.value.__cause__, KeyError)


def test_python_objects_are_taken_in_a_mapping():
    point, when = Point(1), dt.datetime(2024, 5, 1)
    _, kwargs = PROBE.build({"n": 1, "p": point, "when": when, "colour": Colour.BLUE})
    assert kwargs == {"n": 1, "p": point, "when": when, "colour": Colour.BLUE}


def test_an_argument_left_out_is_left_to_the_function():
    assert PROBE.build({"n": 1}) == ((), {"n": 1})


def test_a_model_that_is_strict_gets_what_json_can_say():
    class Strict(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(strict=True)
        when: dt.date
        tags: set[str]
        n: int

    def strict(s: Strict) -> None: ...

    sent = {"when": "2024-05-01", "tags": ["a"], "n": 1}
    for form in (json.dumps({"s": sent}), {"s": sent}):
        assert tool(strict).build(form)[1]["s"].when == dt.date(2024, 5, 1)
    with pytest.raises(ToolArgumentError, match=r"'s\.n'"):
        tool(strict).build({"s": sent | {"n": "1"}})


def test_typed_keywords_come_as_an_object_and_go_as_keywords():
    def query(table: str, **filters: int) -> None: ...

    made = tool(query)
    assert made.parameters["properties"]["filters"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert made.parameters["required"] == ["table"]
    assert made.build({"table": "t", "filters": {"year": 2024}}) == ((), {"table": "t", "year": 2024})
    assert made.build({"table": "t"}) == ((), {"table": "t"})
    with pytest.raises(ToolArgumentError, match="'table' is an argument of its own"):
        made.build({"table": "t", "filters": {"table": 1}})


def test_unpacked_keywords_are_parameters():
    class Options(typing.TypedDict, total=False):
        year: typing.Required[int]
        region: str

    def query(table: str, **options: typing.Unpack[Options]) -> None: ...

    made = tool(query)
    assert list(made.parameters["properties"]) == ["table", "year", "region"]
    assert made.parameters["required"] == ["table", "year"]
    assert made.build({"table": "t", "year": 1}) == ((), {"table": "t", "year": 1})


LONG = "12345678901234567.89"


@pytest.mark.parametrize(
    "sent", [LONG, "0.123456789012345678", f'"{LONG}"', "123456789012345678901234567890", "-1.5", "1e400"]
)
def test_a_decimal_has_every_digit_that_was_sent(sent):
    @tool
    def pay(amount: decimal.Decimal, rate: float = 1.0, rows: list[dict[str, decimal.Decimal]] | None = None) -> None:
        """Pay."""

    (_, given) = pay.build(f'{{"amount": {sent}, "rate": 0.1234567890123456789, "rows": [{{"a": {LONG}}}]}}')
    assert given["amount"] == decimal.Decimal(sent.strip('"'))
    assert (given["rate"], type(given["rate"])) == (0.1234567890123456789, float)
    assert given["rows"] == [{"a": decimal.Decimal(LONG)}]
    with pytest.raises(ToolArgumentError, match="argument 'amount'"):
        pay.build(f'{{"amount": "many", "rate": {LONG}}}')


@pytest.mark.parametrize(
    ("kind", "wanted"), [(decimal.Decimal, "a decimal number"), (decimal.Decimal | None, "a decimal number or null")]
)
def test_what_is_no_decimal_is_not_said_to_want_a_string(kind, wanted):
    def pay(amount):
        """Pay."""

    pay.__annotations__ = {"amount": kind}
    with pytest.raises(ToolArgumentError, match=rf"argument 'amount' got \"many\", wanted {wanted}\."):
        tool(pay).build('{"amount": "many"}')
