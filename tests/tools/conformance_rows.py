"""Rows about types, and about what a call hands to the body."""

import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import typing as t
import uuid

import pydantic
from typing_extensions import NotRequired, TypedDict

from .conformance import MISSING, Row, View, is_json, only, prop, seen

ROWS: list[Row] = []


def row(name, *facts, calls=(), refused=(), **options):
    """Add the decorated callable to the table."""

    def add(function):
        ROWS.append(Row(name, lambda: function, facts, tuple(calls), tuple(refused), **options))
        return function

    return add


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shape(enum.Enum):
    POINT = (0, 0)
    LINE = (0, 1)


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


class Filter(pydantic.BaseModel):
    column: str
    values: list[int] = []


class Query(pydantic.BaseModel):
    filter: Filter
    limit: int = 10


class Tree(pydantic.BaseModel):
    name: str
    children: list["Tree"] = []


@dataclasses.dataclass
class Chain:
    value: int
    next: t.Optional["Chain"] = None


class Cat(pydantic.BaseModel):
    kind: t.Literal["cat"]
    lives: int = 9


class Dog(pydantic.BaseModel):
    kind: t.Literal["dog"]
    tricks: list[str] = []


class Options(TypedDict):
    name: str
    size: NotRequired[int]


class PlainOptions(t.TypedDict):
    name: str
    size: int


class Pair(t.NamedTuple):
    left: int
    right: str = "r"


T = t.TypeVar("T")


class Box(pydantic.BaseModel, t.Generic[T]):
    content: T


CustomerId = t.NewType("CustomerId", int)


class Code(str):
    pass


@row("no parameters", only(), lambda v: not v.schema.get("required"), calls=[({}, "ran")], refused=[{"n": 1}])
def f(): seen("ran")


@row("int", only("n"), prop("n", "integer", required=True), calls=[({"n": 3}, 3)], refused=[{"n": "many"}, {}, {"n": 1.5}])
def f(n: int): seen(n)


@row("int from a numeric string", calls=[({"n": "3"}, 3)])
def f(n: int): seen(n)


@row("int with a default", prop("n", "integer", required=False, default=3), calls=[({}, 3), ({"n": 5}, 5)])
def f(n: int = 3): seen(n)


@row("float", prop("x", "number", required=True), calls=[({"x": 1.5}, 1.5), ({"x": 2}, 2.0)], refused=[{"x": "wide"}])
def f(x: float): seen(x)


@row("bool", prop("on", "boolean", required=True), calls=[({"on": True}, True)], refused=[{"on": "perhaps"}])
def f(on: bool): seen(on)


@row("str", prop("s", "string", required=True), calls=[({"s": "3"}, "3")], refused=[{"s": ["a"]}])
def f(s: str): seen(s)


@row("str with a default", prop("s", "string", required=False, default="x"), calls=[({}, "x")])
def f(s: str = "x"): seen(s)


@row("str = None takes null", prop("s", "string", required=False, default=None), calls=[({}, None), ({"s": None}, None)])
def f(s: str = None): seen(s)  # noqa: RUF013 - how notebooks are written


@row("Optional with default", prop("n", "integer", required=False, nullable=True, default=None),
     calls=[({}, None), ({"n": None}, None), ({"n": 2}, 2)])
def f(n: t.Optional[int] = None): seen(n)


@row("Optional without default", prop("n", "integer", required=True, nullable=True), calls=[({"n": None}, None)], refused=[{}])
def f(n: t.Optional[int]): seen(n)


@row("int | None", prop("n", "integer", required=False, nullable=True, default=None), calls=[({"n": 2}, 2)])
def f(n: int | None = None): seen(n)


@row("str | int keeps a str", lambda v: v.types(v.properties["v"]) == {"string", "integer"},
     calls=[({"v": "3"}, "3"), ({"v": 3}, 3)], refused=[{"v": [1]}])
def f(v: str | int): seen(v)


@row("list[int]", prop("v", "array"), lambda v: v.main(v.properties["v"])["items"] == {"type": "integer"},
     calls=[({"v": [1, 2]}, [1, 2])], refused=[{"v": ["a"]}])
def f(v: list[int]): seen(v)


@row("bare list", prop("v", "array"), calls=[({"v": [1, "a"]}, [1, "a"])], refused=[{"v": 3}])
def f(v: list): seen(v)


@row("list with a default", prop("v", "array", required=False, default=["a"]), calls=[({}, ["a"])])
def f(v: list[str] = ["a"]): seen(v)  # noqa: B006


@row("dict[str, float]", prop("v", "object"), lambda v: v.main(v.properties["v"])["additionalProperties"] == {"type": "number"},
     calls=[({"v": {"a": 1}}, {"a": 1.0})], refused=[{"v": {"a": "wide"}}])
def f(v: dict[str, float]): seen(v)


@row("dict[int, str] keys", prop("v", "object"), calls=[({"v": {"1": "a"}}, {1: "a"})], refused=[{"v": {"one": "a"}}])
def f(v: dict[int, str]): seen(v)


@row("bare dict", prop("v", "object"), calls=[({"v": {"a": [1]}}, {"a": [1]})], refused=[{"v": [1]}])
def f(v: dict): seen(v)


@row("set", prop("v", "array", uniqueItems=True), calls=[({"v": ["a", "a"]}, {"a"})], refused=[{"v": "a"}])
def f(v: set[str]): seen(v)


@row("frozenset", prop("v", "array", uniqueItems=True), calls=[({"v": [1]}, frozenset({1}))])
def f(v: frozenset[int]): seen(v)


@row("tuple[int, str]", prop("v", "array", prefixItems=[{"type": "integer"}, {"type": "string"}], minItems=2, maxItems=2),
     calls=[({"v": [1, "a"]}, (1, "a"))], refused=[{"v": [1]}, {"v": ["a", "a"]}])
def f(v: tuple[int, str]): seen(v)


@row("tuple[int, ...]", prop("v", "array", items={"type": "integer"}), calls=[({"v": [1, 2, 3]}, (1, 2, 3))])
def f(v: tuple[int, ...]): seen(v)


@row("Sequence", prop("v", "array", items={"type": "integer"}), calls=[({"v": [1]}, [1])], refused=[{"v": ["a"]}])
def f(v: collections.abc.Sequence[int]): seen(v)


@row("Mapping", prop("v", "object"), calls=[({"v": {"a": 1}}, {"a": 1})])
def f(v: collections.abc.Mapping[str, int]): seen(v)


@row("Iterable is checked before the body runs", prop("v", "array", items={"type": "integer"}), calls=[({"v": [1]}, [1])],
     refused=[{"v": ["a"]}])
def f(v: collections.abc.Iterable[int]): seen(list(v))


@row("Enum: values, and the member", prop("c", "string", enum=["red", "blue"]), calls=[({"c": "blue"}, Colour.BLUE)],
     refused=[{"c": "green"}])
def f(c: Colour): seen(c)


@row("Enum default", prop("c", "string", required=False, default="red"), calls=[({}, Colour.RED)])
def f(c: Colour = Colour.RED): seen(c)


@row("IntEnum", prop("level", "integer", enum=[1, 2]), calls=[({"level": 2}, Level.HIGH)], refused=[{"level": 3}])
def f(level: Level): seen(level)


@row("Enum of tuples goes by names", prop("s", "string", enum=["POINT", "LINE"], default="POINT"),
     calls=[({"s": "LINE"}, Shape.LINE), ({}, Shape.POINT)], refused=[{"s": "CUBE"}])
def f(s: Shape = Shape.POINT): seen(s)


@row("list of Enum", prop("c", "array"), calls=[({"c": ["red", "blue"]}, [Colour.RED, Colour.BLUE])])
def f(c: list[Colour]): seen(c)


@row("Literal of strings", prop("m", "string", enum=["mean", "sum"]), calls=[({"m": "sum"}, "sum")], refused=[{"m": "max"}])
def f(m: t.Literal["mean", "sum"]): seen(m)


@row("Literal of ints", prop("k", "integer", enum=[1, 2]), calls=[({"k": 2}, 2)], refused=[{"k": 3}])
def f(k: t.Literal[1, 2]): seen(k)


@row("Literal of mixed types", prop("k", enum=[1, "auto", True]), calls=[({"k": "auto"}, "auto"), ({"k": 1}, 1)], refused=[{"k": "1x"}])
def f(k: t.Literal[1, "auto", True]): seen(k)


@row("Literal of one", lambda v: v.main(v.properties["k"]).get("const", v.main(v.properties["k"]).get("enum")) in ("a", ["a"]),
     calls=[({"k": "a"}, "a")], refused=[{"k": "b"}])
def f(k: t.Literal["a"]): seen(k)


@row("Literal of an enum member", calls=[({"c": "red"}, Colour.RED)], refused=[{"c": "blue"}])
def f(c: t.Literal[Colour.RED]): seen(c)


@row("Optional[Literal]", prop("m", "string", enum=["a", "b"], nullable=True, default=None), calls=[({"m": "b"}, "b"), ({}, None)])
def f(m: t.Literal["a", "b"] | None = None): seen(m)


@row("datetime", prop("v", "string", format="date-time"),
     calls=[({"v": "2024-05-01T10:30:00+00:00"}, dt.datetime(2024, 5, 1, 10, 30, tzinfo=dt.timezone.utc))],
     refused=[{"v": "yesterday"}])
def f(v: dt.datetime): seen(v)


@row("date", prop("v", "string", format="date"), calls=[({"v": "2024-05-01"}, dt.date(2024, 5, 1))], refused=[{"v": "May"}])
def f(v: dt.date): seen(v)


@row("time", prop("v", "string", format="time"), calls=[({"v": "10:30:00"}, dt.time(10, 30))])
def f(v: dt.time): seen(v)


@row("timedelta", prop("v", "string", format="duration"), calls=[({"v": "PT1H30M"}, dt.timedelta(hours=1, minutes=30))],
     refused=[{"v": "long"}])
def f(v: dt.timedelta): seen(v)


@row("UUID", prop("v", "string", format="uuid"),
     calls=[({"v": form}, uuid.UUID("12345678-1234-5678-1234-567812345678")) for form in (
         "12345678-1234-5678-1234-567812345678", "12345678123456781234567812345678",
         "{12345678123456781234567812345678}", "urn:uuid:12345678123456781234567812345678")],
     refused=[{"v": "1234"}])
def f(v: uuid.UUID): seen(v)


@row("Path", prop("v", "string", format="path"), calls=[({"v": "a/b.csv"}, lambda v: v == pathlib.Path("a/b.csv") and isinstance(v, pathlib.Path))])
def f(v: pathlib.Path): seen(v)


@row("Decimal", lambda v: v.types(v.properties["v"]) <= {"string", "number"}, calls=[({"v": "1.10"}, decimal.Decimal("1.10"))],
     refused=[{"v": "dear"}])
def f(v: decimal.Decimal): seen(v)


@row("bytes say their encoding", prop("v", "string", contentEncoding="base64"), calls=[({"v": "aGk="}, b"hi"), ({"v": "+/8="}, b"\xfb\xff")],
     refused=[{"v": "!"}])
def f(v: bytes): seen(v)


@row("bytes default", prop("v", "string", default="aGk="), calls=[({}, b"hi")])
def f(v: bytes = b"hi"): seen(v)


@row("bytearray", prop("v", "string", contentEncoding="base64"), calls=[({"v": "aGk="}, bytearray(b"hi"))])
def f(v: bytearray): seen(v)


@row("Any", prop("v", required=True), calls=[({"v": {"a": [1, None]}}, {"a": [1, None]}), ({"v": None}, None)])
def f(v: t.Any): seen(v)


@row("no annotation", prop("v", required=True), calls=[({"v": [1]}, [1])], refused=[{}])
def f(v): seen(v)


@row("no annotation, with a default", prop("v", required=False, default=3), calls=[({}, 3), ({"v": "x"}, "x")])
def f(v=3): seen(v)


@row("dataclass", prop("p", "object"),
     lambda v: list(v.main(v.properties["p"])["properties"]) == ["x", "y"],
     lambda v: v.main(v.properties["p"])["required"] == ["x"],
     calls=[({"p": {"x": 1}, "n": 2}, (Point(1, 0.0), 2))], refused=[{"p": {"x": "a"}, "n": 2}, {"p": {}, "n": 2}])
def f(p: Point, n: int): seen(p, n)


@row("one dataclass argument stays nested", only("p"), prop("p", "object", required=True), calls=[({"p": {"x": 1}}, Point(1))],
     refused=[{"x": 1}])
def f(p: Point): seen(p)


@row("a field the dataclass does not have", calls=[({"p": {"x": 1}}, Point(1))], refused=[{"p": {"x": 1, "z": 2}}])
def f(p: Point): seen(p)


@row("one model argument stays nested", only("q"), prop("q", "object", required=True), calls=[({"q": {"column": "a"}}, Filter(column="a"))],
     refused=[{"column": "a"}])
def f(q: Filter): seen(q)


@row("models in models", prop("q", "object"), lambda v: v.main(v.main(v.properties["q"])["properties"]["filter"])["type"] == "object",
     calls=[({"q": {"filter": {"column": "a", "values": [1]}}}, Query(filter=Filter(column="a", values=[1])))],
     refused=[{"q": {"filter": {}}}])
def f(q: Query): seen(q)


@row("list of models", prop("q", "array"), calls=[({"q": [{"column": "a"}]}, [Filter(column="a")])], refused=[{"q": [{}]}])
def f(q: list[Filter]): seen(q)


@row("model or null", prop("q", "object", nullable=True, default=None), calls=[({}, None), ({"q": {"column": "a"}}, Filter(column="a"))])
def f(q: Filter | None = None): seen(q)


def refers_to_itself(name: str, *path: str):
    """The schema of a property holds a reference to a definition that holds itself."""

    def holds(view: View) -> bool:
        node = view.main(view.properties[name])
        for part in path:
            node = node[part] if isinstance(node, dict) else {}
        return "$ref" in str(node)

    return holds


@row("recursive model", prop("tree", "object"), refers_to_itself("tree", "properties", "children"),
     calls=[({"tree": {"name": "a", "children": [{"name": "b"}]}}, Tree(name="a", children=[Tree(name="b")]))],
     refused=[{"tree": {"name": "a", "children": [{}]}}])
def f(tree: Tree): seen(tree)


@row("recursive dataclass", prop("chain", "object"), refers_to_itself("chain", "properties", "next"),
     calls=[({"chain": {"value": 1, "next": {"value": 2}}}, Chain(1, Chain(2)))])
def f(chain: Chain): seen(chain)


@row("TypedDict", prop("o", "object"), lambda v: v.main(v.properties["o"])["required"] == ["name"],
     calls=[({"o": {"name": "a"}}, {"name": "a"})], refused=[{"o": {}}, {"o": {"name": "a", "size": "big"}}])
def f(o: Options): seen(o)


@row("typing.TypedDict", prop("o", "object"), calls=[({"o": {"name": "a", "size": 1}}, {"name": "a", "size": 1})], refused=[{"o": {"name": "a"}}])
def f(o: PlainOptions): seen(o)


@row("NamedTuple", lambda v: v.main(v.properties["p"])["type"] in ("array", "object"), calls=[({"p": [1, "a"]}, Pair(1, "a"))], refused=[{"p": ["a"]}])
def f(p: Pair): seen(p)


@row("discriminated union", calls=[({"pet": {"kind": "dog", "tricks": ["sit"]}}, Dog(kind="dog", tricks=["sit"]))],
     refused=[{"pet": {"kind": "fish"}}])
def f(pet: t.Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]): seen(pet)


@row("generic model", prop("box", "object"), calls=[({"box": {"content": 3}}, Box[int](content=3))], refused=[{"box": {"content": "x"}}])
def f(box: Box[int]): seen(box)


@row("NewType", prop("n", "integer"), calls=[({"n": 3}, 3)], refused=[{"n": "x"}])
def f(n: CustomerId): seen(n)


@row("class derived from str", prop("c", "string"), calls=[({"c": "a"}, lambda v: type(v) is Code and v == "a")])
def f(c: Code): seen(c)


@row("Annotated text", prop("n", "integer", description="how many"), calls=[({"n": 1}, 1)])
def f(n: t.Annotated[int, "how many"]): seen(n)


@row("Annotated text in Optional", prop("n", "integer", nullable=True, description="how many"), calls=[({}, None)])
def f(n: t.Annotated[int | None, "how many"] = None): seen(n)


@row("Field description and bounds", prop("n", "integer", description="how many", minimum=1, maximum=9, default=5),
     calls=[({"n": 9}, 9), ({}, 5)], refused=[{"n": 0}, {"n": 10}])
def f(n: t.Annotated[int, pydantic.Field(ge=1, le=9, description="how many")] = 5): seen(n)


@row("Field as the default", prop("n", "integer", minimum=1, default=5, required=False), calls=[({}, 5), ({"n": 2}, 2)], refused=[{"n": 0}])
def f(n: int = pydantic.Field(5, ge=1)): seen(n)


@row("required Field as the default", prop("n", "integer", required=True, description="how many"), calls=[({"n": 2}, 2)], refused=[{}])
def f(n: int = pydantic.Field(description="how many")): seen(n)


@row("string pattern with look-ahead", prop("s", "string"), calls=[({"s": "ab1"}, "ab1")], refused=[{"s": "abc"}])
def f(s: t.Annotated[str, pydantic.Field(pattern=r"^(?=.*\d).+$")]): seen(s)


@row("bounds that are no JSON numbers", prop("d", "string", format="date"), is_json, calls=[({"d": "2024-05-01"}, dt.date(2024, 5, 1))],
     refused=[{"d": "2019-01-01"}])
def f(d: t.Annotated[dt.date, pydantic.Field(ge=dt.date(2020, 1, 1))]): seen(d)


@row("NaN default", prop("x", "number", required=False), is_json, lambda v: v.properties["x"].get("default", "") in ("", None, "NaN"),
     calls=[({}, lambda v: v != v)])
def f(x: float = float("nan")): seen(x)


@row("infinite default", prop("x", "number", required=False), is_json, calls=[({}, float("inf"))])
def f(x: float = float("inf")): seen(x)


@row("date default", prop("d", "string", format="date", default="2024-01-31"), is_json, calls=[({}, dt.date(2024, 1, 31))])
def f(d: dt.date = dt.date(2024, 1, 31)): seen(d)


@row("datetime default", prop("d", "string", default="2024-01-31T08:00:00"), is_json, calls=[({}, dt.datetime(2024, 1, 31, 8))])
def f(d: dt.datetime = dt.datetime(2024, 1, 31, 8)): seen(d)


@row("set default", prop("v", "array", default=["a", "b"]), is_json, calls=[({}, {"a", "b"})])
def f(v: set[str] = {"b", "a"}): seen(v)  # noqa: B006


@row("Decimal default", is_json, lambda v: str(v.properties["v"]["default"]) == "1.10", calls=[({}, decimal.Decimal("1.10"))])
def f(v: decimal.Decimal = decimal.Decimal("1.10")): seen(v)


@row("tuple default", prop("v", "array", default=[1, "a"]), is_json, calls=[({}, (1, "a"))])
def f(v: tuple[int, str] = (1, "a")): seen(v)


@row("Path default", prop("v", "string", default="a/b"), is_json, calls=[({}, pathlib.Path("a/b"))])
def f(v: pathlib.Path = pathlib.Path("a/b")): seen(v)


@row("dataclass default", prop("p", "object", required=False), is_json, lambda v: v.resolve(v.properties["p"])["default"] == {"x": 1, "y": 2.0},
     calls=[({}, Point(1, 2.0))])
def f(p: Point = Point(1, 2.0)): seen(p)


@row("a default JSON has no form for", is_json, lambda v: "x" in v.properties and "x" not in v.schema.get("required", ()), calls=[({}, MISSING), ({"x": 2}, 2)])
def f(x: int = MISSING): seen(x)


