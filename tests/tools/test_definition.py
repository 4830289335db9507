"""What the conformance table does not hold: definitions, notes, errors at definition, determinism across processes."""

import collections.abc
import dataclasses
import enum
import fractions
import functools
import json
import os
import subprocess
import sys
import typing
import zoneinfo

import jsonschema
import pydantic
import pytest
import typing_extensions

from hermes_nb.errors import HermesNbError, ToolArgumentError, ToolDefinitionError
from hermes_nb.tools.decorator import tool

from .pep563_local import tools as local_tools


def properties(function, **options):
    return tool(function, **options).parameters["properties"]


# --- local types under PEP 563 ---


@pytest.mark.parametrize("name", ["dataclass", "record", "model", "nested", "method"])
def test_local_types_that_name_each_other_are_resolved(name):
    made = local_tools()[name]
    jsonschema.Draft202012Validator.check_schema(made.parameters)
    _, kwargs = made.build({"value": {"inner": {"kind": "a"}}})
    inner = kwargs["value"]["inner"] if name == "record" else kwargs["value"].inner
    assert inner.kind.name == "A"


def test_a_local_named_tuple_and_unpacked_keywords_are_resolved():
    made = local_tools()
    assert made["named_tuple"].build({"value": [{"kind": "a"}]})[1]["value"].inner.kind.name == "A"
    assert made["unpacked"].build({"inner": {"kind": "a"}})[1]["inner"].kind.name == "A"
    assert made["unpacked"].parameters["required"] == ["inner"]


def test_the_module_wins_over_a_name_of_an_unrelated_caller():
    Colour = str  # noqa: F841 - must not be found

    def helper(function):
        Colour = bool  # noqa: F841
        return tool(function)

    assert properties(helper(by_colour))["c"]["enum"] == ["red"]


class Colour(enum.Enum):
    RED = "red"


def by_colour(c: "Colour"): ...


# --- definitions ---


@dataclasses.dataclass
class Point:
    """A point.

    Attributes:
        x: To the right.
    """

    x: int
    y: typing.Annotated[int, pydantic.Field(description="Up.")] = 0


class Node(pydantic.BaseModel):
    point: Point
    children: list["Node"] = []


def test_a_definition_is_written_where_it_is_used():
    def probe(a: Point, b: list[Point], c: Point | None = None): ...

    made = tool(probe).parameters
    assert "$ref" not in json.dumps(made)
    assert made["properties"]["a"]["properties"]["x"] == {"type": "integer", "description": "To the right."}
    assert made["properties"]["a"]["description"] == "A point."


def test_a_definition_that_holds_itself_stays_one():
    def probe(node: Node): ...

    made = tool(probe).parameters
    assert list(made["$defs"]) == ["Node"]
    assert made["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert made["$defs"]["Node"]["properties"]["point"]["type"] == "object"


def test_a_long_definition_that_is_used_twice_stays_one():
    long = pydantic.create_model("Long", **{f"field_{i:03}": (int, 0) for i in range(200)})

    def probe(a: long, b: long): ...

    made = tool(probe).parameters
    assert made["properties"]["a"] == made["properties"]["b"] == {"$ref": "#/$defs/Long"}


def test_the_text_of_a_parameter_beats_that_of_its_class():
    def probe(a: typing.Annotated[Point, "Where."], b: Point):
        """Probe.

        Args:
            b: There.
        """

    made = properties(probe)
    assert (made["a"]["description"], made["b"]["description"]) == ("Where.", "There.")


def test_titles_are_left_out_and_a_property_of_that_name_is_kept():
    class Book(pydantic.BaseModel):
        title: str
        description: str = ""

    def probe(title: str, book: Book): ...

    made = properties(probe)
    assert list(made["book"]["properties"]) == ["title", "description"]
    assert "title" not in made["book"]


def test_a_union_told_apart_by_a_field_keeps_no_foreign_keyword():
    class Cat(pydantic.BaseModel):
        kind: typing.Literal["cat"]

    class Dog(pydantic.BaseModel):
        kind: typing.Literal["dog"]

    def probe(pet: typing.Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]): ...

    made = properties(probe)["pet"]
    assert "discriminator" not in made
    assert [branch["properties"]["kind"]["const"] for branch in made["oneOf"]] == ["cat", "dog"]


# --- notes in descriptions ---


def test_numbers_of_an_enum_are_told_with_their_names():
    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 2

    def probe(level: typing.Annotated[Level, "How loud"]): ...

    assert properties(probe)["level"]["description"] == "How loud. Meaning: 1 = LOW, 2 = HIGH."


def test_what_json_can_not_say_about_a_default_is_said_in_words():
    sentinel, nans = object(), [float("nan")]

    def probe(a: float = float("-inf"), b: typing.Annotated[int, "The b"] = sentinel, c: list[float] = nans): ...

    made = properties(probe)
    assert made["a"] == {"type": "number", "description": "Default: -infinity."}
    assert made["b"]["description"] == "The b. Optional: left out, the function uses a default of its own."
    assert "default" not in made["c"]


def test_bounds_json_has_no_form_for_are_said_in_words():
    import datetime as dt

    def probe(day: typing.Annotated[dt.date, pydantic.Field(ge=dt.date(2020, 1, 1), lt=dt.date(2030, 1, 1))]): ...

    assert properties(probe)["day"]["description"] == "At least 2020-01-01. Less than 2030-01-01."


# --- names ---


def test_the_arguments_model_has_the_names_of_the_parameters():
    def probe(n: int, schema: str = "x", _private: int = 0): ...

    model = tool(probe).arguments
    assert issubclass(model, pydantic.BaseModel)
    assert model(n=3).n == 3
    assert list(model.model_json_schema()["properties"]) == ["n", "schema", "_private"]


def test_an_alias_of_the_user_is_what_the_model_sees():
    def probe(n: typing.Annotated[int, pydantic.Field(alias="count")]): ...

    made = tool(probe)
    assert list(made.parameters["properties"]) == ["count"]
    assert made.build({"count": 3}) == ((), {"n": 3})

    def several(
        n: typing.Annotated[int, pydantic.Field(validation_alias=pydantic.AliasChoices("count", "many"))] = 2,
    ): ...

    made = tool(several)
    assert made.parameters["properties"] == {"count": {"type": "integer", "default": 2}}
    assert made.build({"many": 3}) == made.build({"count": 3}) == ((), {"n": 3})


# --- errors at definition ---


REFUSED = {
    "no type": (3, "it is not a type"),
    "nothing fits": (typing.Never, "there is no value of it"),
    "Self": (typing.Self, "it means something in a class only"),
    "Literal of bytes": (typing.Literal[b"x"], "JSON has no form for the value b'x'"),
    "Generic": (typing.Generic, "Generic"),
    "bad bound": (typing.Annotated[int, pydantic.Field(le=1.5)], ""),
    "bad pattern": (typing.Annotated[str, pydantic.Field(pattern="(")], ""),
    "extra that is no JSON": (typing.Annotated[int, pydantic.Field(json_schema_extra={"x": float("nan")})], ""),
    "nested": (list[typing.Never], "there is no value of it"),
}


@pytest.mark.parametrize(("annotation", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_no_schema_describes_is_refused_naming_parameter_annotation_and_cure(annotation, reason):
    def probe(fine: int, wrong): ...

    probe.__annotations__["wrong"] = annotation
    with pytest.raises(ToolDefinitionError) as error:
        tool(probe)
    text = str(error.value)
    assert text.startswith("Tool 'probe': parameter 'wrong' is annotated ")
    assert reason in text
    assert text.endswith(".")
    assert "errors.pydantic.dev" not in text
    assert isinstance(error.value, HermesNbError | TypeError)


def test_a_text_in_place_of_a_type_is_refused_with_the_cure():
    def probe(n: "how many"): ...  # noqa: F722

    with pytest.raises(ToolDefinitionError, match=r"parameter 'n'.*'how many'.*Annotated\[str, 'text'\]"):
        tool(probe)


def test_a_name_that_is_not_known_is_refused_with_the_cure():
    def probe(n: "Absent"): ...  # noqa: F821

    with pytest.raises(ToolDefinitionError, match=r"parameter 'n'.*no 'Absent' is known there\. Define or import it"):
        tool(probe)


# --- kinds of callables beyond the table ---


def test_a_cached_function_and_a_class_are_tools():
    @functools.cache
    def cached(n: int = 3) -> int:
        """Cached."""
        return n

    assert properties(cached) == {"n": {"type": "integer", "default": 3}}
    assert tool(cached).description == "Cached."
    made = tool(Point)
    assert list(made.parameters["properties"]) == ["x", "y"]
    assert made.description == "A point."
    assert made(**made.build({"x": 1})[1]) == Point(1)


def test_iterators_are_validated_before_the_body_runs():
    def probe(v: collections.abc.Iterator[int]): ...

    _, kwargs = tool(probe).build({"v": ["1", 2]})
    assert next(kwargs["v"]) == 1


def test_a_recursive_typed_dict_of_typing_is_described():
    class Item(typing.TypedDict):
        name: str
        items: list["Item"]

    def probe(item: Item): ...

    made = tool(probe)
    assert made.build({"item": {"name": "a", "items": [{"name": "b", "items": []}]}})[1]["item"]["items"][0]["name"] == "b"


# --- the same function gives the same bytes ---


def test_a_schema_is_the_same_in_every_process():
    code = """
import enum, json, typing
from hermes_nb.tools.decorator import tool
class Colour(enum.Enum):
    RED = "red"; BLUE = "blue"; GREEN = "green"
class Thing: pass
@tool
def probe(
    a: set[str] = {"x", "y", "z", "w"}, c: frozenset[Colour] = frozenset(Colour),
    t: Thing = Thing(), d: dict = {"b": 1, "a": {3, 4}},
):
    '''Probe.'''
print(json.dumps(probe.definition()))
"""
    outputs = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=environment
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_heavy_packages_are_imported_at_the_first_decoration():
    code = """
import sys
from hermes_nb.tools.decorator import tool
heavy = ("pydantic", "griffe", "pandas", "numpy", "IPython", "hermes_cli", "model_tools")
assert not [m for m in heavy if m in sys.modules], "import"
tool(lambda n: n, name="probe")
print([m for m in heavy if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "['pydantic']", done.stderr


# -- kinds that need a word of their own ------------------------------------------------------------------------------
class Rights(enum.IntFlag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Filled:
    a: dataclasses.InitVar[int]
    b: int = dataclasses.field(init=False, default=3)

    def __post_init__(self, a: int) -> None:
        self.b = a


def test_flags_are_sums():
    def f(rights: Rights = Rights.READ | Rights.WRITE):
        return rights

    made = tool(f)
    assert made.parameters["properties"]["rights"] == {
        "type": "integer",
        "minimum": 0,
        "default": 3,
        "description": "A sum of: 1 = READ, 2 = WRITE; 0 for none.",
    }
    assert [made.build({"rights": n})[1]["rights"] for n in (0, 2, 3)] == [Rights(0), Rights.WRITE, Rights(3)]
    with pytest.raises(ToolArgumentError, match="rights"):
        made.build({"rights": "READ"})


def test_fields_that_a_dataclass_fills_itself_are_not_offered():
    def f(x: Filled):
        return x

    made = tool(f)
    assert list(made.parameters["properties"]["x"]["properties"]) == ["a"]
    assert made.build({"x": {"a": 7}})[1]["x"].b == 7
    with pytest.raises(ToolArgumentError, match="b"):
        made.build({"x": {"a": 7, "b": 1}})


@pytest.mark.parametrize(
    ("annotation", "default", "told"),
    [
        (zoneinfo.ZoneInfo, zoneinfo.ZoneInfo("Europe/Oslo"), "Europe/Oslo"),
        (fractions.Fraction, fractions.Fraction(1, 3), "1/3"),
    ],
)
def test_defaults_that_are_written_as_text_are_told_and_read_again(annotation, default, told):
    def f(x=default):
        return x

    f.__annotations__["x"] = annotation
    made = tool(f)
    assert made.parameters["properties"]["x"]["default"] == told
    assert made.build({"x": told})[1]["x"] == default


def test_a_secret_default_is_not_told():
    def f(key: pydantic.SecretStr = pydantic.SecretStr("s3cret")):  # noqa: B008
        return key

    made = tool(f)
    assert "default" not in made.parameters["properties"]["key"]
    assert "s3cret" not in str(made.parameters)
    assert made(*made.build({})[0]).get_secret_value() == "s3cret"


def test_a_tuple_with_a_part_that_repeats_is_refused_with_the_cure():
    def f(x: tuple[int, *tuple[str, ...]]):
        return x

    with pytest.raises(ToolDefinitionError, match=r"Use tuple\[T, \.\.\.\], or a list\."):
        tool(f)


def test_a_generic_function_gets_its_first_argument_by_position():
    @functools.singledispatch
    def f(x: int, y: int = 0):
        return x, y

    made = tool(f)
    args, kwargs = made.build({"x": 1, "y": 2})
    assert made(*args, **kwargs) == (1, 2)


def test_an_array_like_is_a_variable_or_a_list():
    import cloudpickle
    import numpy
    import numpy.typing
    import pandas

    def f(a: numpy.typing.ArrayLike, b: numpy.typing.ArrayLike | None = None):
        return a, b

    made = tool(f)
    notebook = {"arr": numpy.arange(2), "s": pandas.Series([1]), "rows": [[1]], "text": "x"}
    assert made.parameters["properties"]["a"]["anyOf"] == [
        {"type": "string", "description": "Give the name of a notebook variable: an array or list."},
        {"type": "array", "items": {}},
        {"type": "number"},
    ]
    for name in ("arr", "s", "rows"):
        assert made.build({"a": name, "b": name}, notebook)[1] == {"a": notebook[name], "b": notebook[name]}
    assert made.build({"a": [[1, 2]], "b": None})[1] == {"a": [[1, 2]], "b": None}
    with pytest.raises(ToolArgumentError, match="variables that fit: arr, rows, s"):
        made.build({"a": "text"}, notebook)
    assert cloudpickle.loads(cloudpickle.dumps(made)).definition() == made.definition()


class Shade(enum.Enum):
    DARK = "dark"
    LIGHT = "light"


def test_an_alias_is_what_it_stands_for():
    alias = typing_extensions.TypeAliasType
    shades = alias("shades", typing.Literal[Shade.DARK] | None)
    nested = alias("nested", list[shades])

    def f(x, y):
        return x, y

    f.__annotations__ = {"x": nested, "y": collections.abc.Iterable[shades]}
    made = tool(f)
    assert made.build({"x": ["dark", None], "y": ["dark"]})[1] == {"x": [Shade.DARK, None], "y": [Shade.DARK]}
    with pytest.raises(ToolArgumentError, match=r"argument 'x\[0\]' got \"light\""):
        made.build({"x": ["light"], "y": []})


Json = typing_extensions.TypeAliasType("Json", "list[Json] | dict[str, Json] | int | str")


_NEW = pytest.mark.skipif(sys.version_info < (3, 12), reason="the statement is of Python 3.12")


@pytest.mark.parametrize("is_statement", [False, pytest.param(True, marks=_NEW)])
def test_an_alias_that_contains_itself_is_resolved(is_statement):
    space: dict[str, typing.Any] = {}
    if is_statement:
        exec("type Json = list[Json] | dict[str, Json] | int | str", space)

    def f(x):
        return x

    f.__annotations__ = {"x": space.get("Json", Json)}
    made = tool(f)
    jsonschema.Draft202012Validator.check_schema(made.parameters)
    assert made.build({"x": [{"a": [1, "b"]}]})[1]["x"] == [{"a": [1, "b"]}]
    with pytest.raises(ToolArgumentError, match="x"):
        made.build({"x": [{"a": [None]}]})
