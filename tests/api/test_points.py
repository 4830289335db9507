"""Each kind of point about tools once through the real Hermes: what the model was offered, what came back, what ran."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import math
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.errors import ToolRetry
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Place(BaseModel):
    city: str
    since: datetime.date


@dataclasses.dataclass
class Part:
    name: str
    weight: float = 1.0


GOT: list[Any] = []


@tool
def everything(
    size: Size,
    place: Place,
    pair: tuple[int, str],
    when: datetime.datetime,
    part: Part,
    kind: Literal["a", "b", 3] = "a",
    limit: Annotated[int, "At most so many."] = 3,
    price: decimal.Decimal | None = None,
    tags: set[str] = frozenset(),  # type: ignore[assignment]
) -> str:
    """Take everything.

    Args:
        size: How large.
        pair: Two things.
    """
    GOT.append((size, place, pair, when, part, kind, limit, price, tags))
    return "taken"


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    def buy(self, what: str, *, n: int = 1) -> str:
        """Buy."""
        return f"{n} {what} at {self.name}"

    def __call__(self, what: str) -> str:
        """Ask."""
        return f"{self.name} has {what}"


def _told(model: ScriptedModel, n: int = -1) -> str:
    return str(model.requests[n].messages[-1]["content"])


async def test_arguments_are_built_and_the_schema_arrives(make: Make) -> None:
    GOT.clear()
    arguments = {
        "size": "l",
        "place": {"city": "Oslo", "since": "2020-02-29"},
        "pair": [1, "x"],
        "when": "2024-05-06T07:08:09Z",
        "part": {"name": "bolt"},
        "price": "1.10",
        "tags": ["b", "a"],
    }
    bound, model = make([Call("everything", arguments), Say("ok")], tools=[everything])
    assert (await bound.run("go")).tools[0].content == "taken"
    (got,) = GOT
    assert got[:3] == (Size.LARGE, Place(city="Oslo", since=datetime.date(2020, 2, 29)), (1, "x"))
    assert got[3] == datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
    assert got[4:] == (Part("bolt", 1.0), "a", 3, decimal.Decimal("1.10"), {"a", "b"})
    offered = next(t for t in model.requests[0].tools if t["name"] == "everything")
    assert offered["description"] == "Take everything."
    parameters = offered["parameters"]
    assert parameters["required"] == ["size", "place", "pair", "when", "part"]
    assert parameters["additionalProperties"] is False
    properties = parameters["properties"]
    assert properties["size"]["enum"] == ["s", "l"]
    assert properties["size"]["description"].startswith("How large.")
    assert properties["limit"] | {"default": 3, "description": "At most so many."} == properties["limit"]
    assert "city" in properties["place"]["properties"]
    json.dumps(parameters, allow_nan=False)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"size": "huge"}, "size"), ({"size": "s", "nothing": 1}, "nothing"), ("not json", ""), ("[1]", "")],
)
async def test_a_wrong_argument_goes_back_named_and_the_body_does_not_run(make: Make, arguments: Any, named: str) -> None:
    ran: list[Size] = []

    @tool
    def pick(size: Size) -> str:
        """Pick."""
        ran.append(size)
        return "picked"

    bound, model = make([Call("pick", arguments), Say("I see."), Say("I see.")], tools=[pick])
    result = await bound.run("go")
    assert result.status == "completed"
    assert named in str(model.requests[1].messages)
    assert ran == []


async def test_methods_partials_and_callable_objects_are_tools(make: Make) -> None:
    shop = Shop("Ada's")
    few = tool(functools.partial(shop.buy, n=2), name="few", description="Buy two.")
    ask = tool(shop, name="ask_shop")
    calls = [Call("buy", {"what": "tea", "n": 3}), Call("few", {"what": "tea"}), Call("ask_shop", {"what": "tea"})]
    bound, model = make([*calls, Say("ok")], tools=[shop.buy, few, ask])
    result = await bound.run("go")
    assert [t.content for t in result.tools] == ["3 tea at Ada's", "2 tea at Ada's", "Ada's has tea"]
    assert "n" not in next(t for t in model.requests[0].tools if t["name"] == "few")["parameters"]["properties"]


async def test_retry_timeout_and_errors_reach_the_model(make: Make) -> None:
    @tool
    def shy() -> str:
        """Be shy."""
        raise ToolRetry("Ask for the index first.")

    @tool(timeout_s=0.2)
    async def slow() -> str:
        """Be slow."""
        await asyncio.sleep(30)
        return "never"

    @tool(timeout_s=0.2, parallel=True)
    def slow_too() -> str:
        """Be slow."""
        for _ in range(3000):
            time.sleep(0.01)
        return "never"

    @tool
    def broken(n: int) -> str:
        """Break."""
        return str(1 / n)

    steps = [Call("shy"), Call("slow"), Call("slow_too"), Call("broken", {"n": 0}), Say("ok")]
    bound, model = make(steps, tools=[shy, slow, slow_too, broken])
    result = await bound.run("go")
    assert [t.status for t in result.tools] == ["error", "timed_out", "timed_out", "error"]
    assert "Ask for the index first." in _told(model, 1)
    assert "did not return within 0.2 s" in _told(model, 2)
    assert "did not return within 0.2 s" in _told(model, 3)
    assert "ZeroDivisionError" in _told(model, 4)
    assert "return str(1 / n)" in _told(model, 4)


async def test_any_value_comes_as_valid_json_or_text(make: Make) -> None:
    import numpy
    import pandas

    cyclic: list[Any] = [1]
    cyclic.append(cyclic)
    values = [
        {"nan": math.nan, "inf": -math.inf, "set": {1}, "bytes": b"\xff", "decimal": decimal.Decimal("1.5")},
        pandas.DataFrame({"a": range(200), "b": ["x"] * 200}),
        numpy.arange(3),
        numpy.float64("nan"),
        pandas.Timestamp("2024-01-01"),
        Part("bolt"),
        Place(city="a", since=datetime.date(2020, 1, 1)),
        cyclic,
        "\ud800 lone",
        None,
        object(),
    ]

    @tool
    def give(n: int) -> Any:
        """Give."""
        return values[n]

    bound, model = make([[Call("give", {"n": n}) for n in range(len(values))], Say("ok")], tools=[give])
    result = await bound.run("go")
    assert [t.status for t in result.tools] == ["ok"] * len(values)
    assert all(a.value is b for a, b in zip(result.tools, values, strict=True))
    given = [str(m["content"]) for m in model.requests[-1].messages if m["role"] == "tool"]
    for text in given:
        text.encode("utf-8")
        if text[:1] in '{["':
            json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert "200" in given[1]


async def test_a_figure_goes_as_an_image_to_a_model_that_sees_and_in_words_to_others(make: Make) -> None:
    from matplotlib.figure import Figure

    @tool
    def draw(n: int) -> Any:
        """Draw."""
        figures = [Figure(figsize=(1, 1)) for _ in range(n)]
        for figure in figures:
            figure.subplots().set_title("Sales of May")
        return figures[0] if n == 1 else figures

    for sees in (True, False):
        steps = [Call("draw", {"n": 1}), Say("one"), Call("draw", {"n": 2}), Say("two"), Say("three")]
        config = {"model": {"supports_vision": True}} if sees else {"model": {"supports_vision": False}}
        bound, model = make(steps, tools=[draw], config=config)
        for question in ("a", "b", "c"):
            assert (await bound.run(question)).status == "completed"
        given = [m["content"] for m in model.requests[-1].messages if m["role"] == "tool"]  # also in the turns after it
        assert all("Sales of May" in str(content) for content in given)
        if sees:
            assert [[part["type"] for part in content] for content in given] == [
                ["text", "image_url"],
                ["text", "image_url", "image_url"],
            ]
            assert given[0][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
        else:
            assert all(isinstance(content, str) and "base64" not in content for content in given)


async def test_a_schema_stays_what_it_was_through_a_session(make: Make) -> None:
    bound, model = make([Say("one"), Say("two"), Say("three")], tools=[everything])
    for question in ("a", "b", "c"):
        await bound.run(question)
    assert model.requests[0].tools == model.requests[1].tools == model.requests[2].tools


async def test_a_tool_that_is_gone_is_not_offered_and_not_called(make: Make) -> None:
    @tool
    def extra() -> str:
        """Extra."""
        return "extra"

    bound, model = make([Say("one"), Say("two"), Call("extra"), Say("three")])
    first, second = await bound.add_tools([extra]), await bound.add_tools([extra])
    await bound.run("a")
    assert "extra" in [t["name"] for t in model.requests[-1].tools]
    await bound.remove_tools(first)
    await bound.run("b")
    assert "extra" in [t["name"] for t in model.requests[-1].tools]  # the second binding uses it
    await bound.remove_tools(second)
    result = await bound.run("c")
    assert [t["name"] for t in model.requests[-1].tools or ()] == []
    assert "extra" not in [t.content for t in result.tools]


async def test_calls_of_one_batch_overlap_and_come_back_in_call_order(make: Make) -> None:
    async def nap(n: int) -> int:
        """Nap on the loop."""
        await asyncio.sleep(0.4)
        return n

    @tool(parallel=True)
    def doze(n: int) -> int:
        """Nap in a thread."""
        time.sleep(0.4)
        return n

    order: list[int] = []

    def note(n: int) -> int:
        """Note in call order."""
        order.append(n)
        return n

    batch = [Call(name, {"n": n}) for name in ("nap", "doze", "note") for n in (2, 0, 1)]
    bound, model = make([batch, Say("ok")], tools=[nap, doze, note])
    result = await bound.run("go")
    given = [m["content"] for m in model.requests[-1].messages if m["role"] == "tool"]
    assert given == ["2", "0", "1"] * 3
    assert order == [2, 0, 1]
    spans = [s for s in result.spans if s.kind == "tool" and s.name in ("nap", "doze")]
    assert max(s.end_unix_s or 0 for s in spans) - min(s.start_unix_s for s in spans) < 1.2  # 2.4 s one after another


async def test_a_secret_in_an_error_is_masked_and_the_users_own_line_is_told(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "shop-9f8e7d6c5b4a3928")

    def buy() -> str:
        """Buy."""
        raise RuntimeError("401 for key shop-9f8e7d6c5b4a3928 at the shop")

    bound, model = make([Call("buy"), Say("ok")], tools=[buy])
    result = await bound.run("go")
    told = _told(model)
    assert "RuntimeError: 401 for key" in told
    assert "in buy:" in told
    everything = told + json.dumps([e.to_dict() for e in result.events], default=str)
    assert "shop-9f8e" not in everything


async def test_a_flyte_task_is_a_tool(make: Make) -> None:
    flyte = pytest.importorskip("flyte")
    environment = flyte.TaskEnvironment(name="points")

    @environment.task
    async def double(n: int) -> int:
        """Twice the number."""
        return 2 * n

    @environment.task
    def half(n: int) -> float:
        """Half the number."""
        return n / 2

    steps = [Call("double", {"n": 4}), Call("half", {"n": 3}), Call("half", {"n": "three"}), Say("ok")]
    bound, model = make(steps, tools=[double, half])
    result = await bound.run("go")
    assert [t.value for t in result.tools] == [8, 1.5, None]
    assert "argument 'n' got" in _told(model)
    offered = {t["name"]: t for t in model.requests[0].tools}
    assert offered["double"]["description"] == "Twice the number."
    assert offered["half"]["parameters"]["properties"] == {"n": {"type": "integer"}}


async def test_pictures_of_what_a_plot_gives_back_are_sent(make: Make) -> None:
    from matplotlib.figure import Figure

    def draw(n: int) -> Any:
        """Draw; give back axes, or the lines of a plot."""
        axes = Figure(figsize=(1, 1)).subplots(1, 2)
        return axes if n else axes[0].plot([1, 2])

    steps = [[Call("draw", {"n": n}) for n in (0, 1)], Say("ok")]
    bound, model = make(steps, tools=[draw], config={"model": {"supports_vision": True}})
    assert (await bound.run("go")).status == "completed"
    given = [m["content"] for m in model.requests[-1].messages if m["role"] == "tool"]
    assert [[part["type"] for part in content] for content in given] == [["text", "image_url"]] * 2
