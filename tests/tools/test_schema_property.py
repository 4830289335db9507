"""Random signatures never yield an invalid schema, and what fits a schema arrives in the body."""

import dataclasses
import datetime as dt
import decimal
import enum
import inspect
import json
import keyword
import pathlib
import typing
import uuid

import jsonschema
import pydantic
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.errors import ToolArgumentError
from hermes_nb.tools.decorator import Tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Odd(enum.Enum):
    PAIR = (1, 2)
    NAN = float("nan")


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    tags: tuple[str, ...] = ()


@dataclasses.dataclass
class Chain:
    value: float
    next: "Chain | None" = None


class Query(pydantic.BaseModel):
    column: str
    limit: int = 10


class Pair(typing.NamedTuple):
    left: int
    right: str = ""


class Record(typing.TypedDict, total=False):
    name: typing.Required[str]
    size: int


class Opaque:
    pass


SCALARS = [
    *(
        int,
        float,
        bool,
        str,
        bytes,
        dt.date,
        dt.datetime,
        dt.time,
        dt.timedelta,
        decimal.Decimal,
        uuid.UUID,
        pathlib.Path,
    ),
    *(Colour, Level, Odd, Point, Chain, Query, Pair, Record, Opaque, typing.Any, None, object, bytearray),
    *(list, dict, set, tuple, typing.Literal[1, "a", None], typing.Literal[Colour.RED], typing.NewType("Id", int)),
    typing.Annotated[int, pydantic.Field(ge=1, le=decimal.Decimal(9))],
    typing.Annotated[str, "a text"],
]
HASHABLE = st.sampled_from([int, str, Colour, Point, dt.date, bytes])


def _wider(inner):
    return st.one_of(
        inner.map(lambda a: typing.Optional[a]),  # noqa: UP045 - made from an object
        inner.map(lambda a: list[a]),
        inner.map(lambda a: tuple[a, ...]),
        inner.map(lambda a: typing.Iterable[a]),
        st.tuples(inner, inner).map(lambda pair: tuple[pair]),
        inner.map(lambda a: dict[str, a]),
        HASHABLE.map(lambda a: set[a]),
        st.tuples(inner, inner).map(lambda pair: typing.Union[pair]),  # noqa: UP007 - made from a tuple
        inner.map(lambda a: typing.Annotated[a, pydantic.Field(description="described")]),
    )


ANNOTATIONS = st.recursive(st.sampled_from(SCALARS), _wider, max_leaves=5)
NAMES = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.sampled_from(
        ["schema", "json", "model_config", "self_", "copy", "_private", "__x", "list", "größe", "model_fields", "title"]
    ),
).filter(lambda name: not keyword.iskeyword(name))
DEFAULTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.decimals(),
    st.sampled_from(
        [*Colour, *Level, *Odd, Point(1), Chain(float("inf")), Query(column="a"), Opaque(), object(), len, Pair(1)]
    ),
    st.sets(st.one_of(st.integers(), st.text())),
    st.dictionaries(st.text(), st.floats()),
    st.lists(st.one_of(st.floats(), st.sampled_from(Colour))),
)


@st.composite
def signatures(draw):
    names = draw(st.lists(NAMES, max_size=5, unique=True))
    kinds = sorted(draw(st.sampled_from([0, 1, 3])) for _ in names)
    had_default = False
    parameters = []
    for name, number in zip(names, kinds, strict=True):
        kind = inspect._ParameterKind(number)
        has_default = draw(st.booleans()) or (had_default and number != 3)
        had_default |= has_default and number != 3
        default = draw(DEFAULTS) if has_default else inspect.Parameter.empty
        annotation = draw(st.one_of(ANNOTATIONS, st.just(inspect.Parameter.empty)))
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    return inspect.Signature(parameters)


def of(signature: inspect.Signature) -> Tool:
    def probe(*args, **kwargs):
        return args, kwargs

    probe.__signature__ = signature
    return Tool.from_function(probe)


@settings(max_examples=150, deadline=None)
@given(signatures())
def test_a_random_signature_has_a_valid_schema(signature):
    made = of(signature)
    schema = made.parameters
    text = json.dumps(schema, allow_nan=False)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(schema["properties"]) == list(signature.parameters)
    assert schema["additionalProperties"] is False
    required = [n for n, p in signature.parameters.items() if p.default is inspect.Parameter.empty]
    assert schema.get("required", []) == required
    assert json.dumps(of(signature).parameters) == text
    assert " at 0x" not in text


@settings(max_examples=100, deadline=None)
@given(signatures(), st.data())
def test_anything_sent_arrives_or_is_refused_with_a_reason(signature, data):
    made = of(signature)
    sent = data.draw(st.dictionaries(st.one_of(st.sampled_from([*signature.parameters, "other"]), st.text()), JSON))
    try:
        args, kwargs = made.build(json.dumps(sent))
    except ToolArgumentError as exc:
        text = str(exc)
        assert text.startswith("probe: ")
        assert len(text) < 4_000
    else:
        signature.bind(*args, **kwargs)
        assert set(sent) <= set(signature.parameters)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_any_json_value_reaches_the_body_as_it_is(value):
    def probe(value: typing.Any, bare, nested: dict[str, typing.Any]): ...

    sent = {"value": value, "bare": value, "nested": {"a": value}}
    for form in (sent, json.dumps(sent)):
        assert Tool.from_function(probe).build(form) == ((), sent)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_value_written_as_json_is_built_again(data):
    kind = data.draw(
        st.sampled_from(
            [
                int,
                str,
                bool,
                dt.date,
                dt.datetime,
                uuid.UUID,
                Colour,
                Level,
                list[int],
                tuple[int, str],
                dict[str, Point],
                Point,
            ]
        )
    )
    value = data.draw(st.from_type(kind))

    def probe(value): ...

    probe.__annotations__ = {"value": kind}
    sent = json.loads(pydantic.TypeAdapter(kind).dump_json(value))
    assert Tool.from_function(probe).build({"value": sent}) == ((), {"value": value})
