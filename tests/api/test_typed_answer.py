from __future__ import annotations

import base64
import dataclasses
import re
import threading
from collections.abc import Callable
from typing import Any, Literal

import pandas as pd
import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.model.content import ContentPart
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


@dataclasses.dataclass
class City:
    name: str
    people: int


async def test_answer_comes_as_the_type_that_was_asked_for(make: Make) -> None:
    bound, model = make([Say('```json\n{"name": "Oslo", "people": 700000}\n```')])
    result = await bound.run("A city?", returns=City)
    assert result.value == City("Oslo", 700000)
    assert "people" in model.requests[0].body["messages"][-1]["content"]


async def test_wrong_answer_is_asked_for_once_more(make: Make) -> None:
    bound, model = make([Say("Oslo has many people."), Say('[{"city": "Oslo", "n": 1}, {"city": "Rome", "n": 2}]')])
    result = await bound.run("Cities?", returns=pd.DataFrame)
    assert list(result.value["city"]) == ["Oslo", "Rome"]
    assert len(model.requests) == 2
    assert model.requests[1].body["messages"][-2]["content"] == "Oslo has many people."


async def test_a_bare_word_is_not_asked_for_again(make: Make) -> None:
    bound, model = make([Say("Yes."), Say('{"a": [1, 2], "b": ["x", "y"]}')])
    assert (await bound.run("Is it?", returns=Literal["yes", "no"])).value == "yes"
    assert (await bound.run("A table?", returns=pd.DataFrame)).value.values.tolist() == [[1, "x"], [2, "y"]]
    assert len(model.requests) == 2


@pytest.mark.parametrize("returns", [lambda text: text, City("Oslo", 1), "City"], ids=["function", "instance", "text"])
async def test_what_is_no_type_is_refused_before_anything_is_paid(make: Make, returns: object) -> None:
    bound, model = make([Say("x")])
    with pytest.raises(UsageError, match=r"can't be used: it is not a type\."):
        await bound.run("A city?", returns=returns)
    with pytest.raises(UsageError, match=r"can't be used: it is not a type\."):
        bound.run_sync("A city?", returns=returns)
    assert model.requests == []


async def test_a_polars_frame_is_read_on_in_a_turn(make: Make) -> None:
    pl = pytest.importorskip("polars")

    @tool(max_result_chars=600)
    def rows() -> object:
        """All rows."""
        return pl.DataFrame({"i": range(500)})

    def read_on(request: Any) -> Call:
        said = str(request.body["messages"][-1]["content"])
        found = re.search(r"result_id='(\w+)', offset=(\d+)", said)
        assert found, said
        return Call("more", {"result_id": found[1], "offset": int(found[2])})

    bound, model = make([Call("rows", {}), read_on, Say("Done.")], tools=[rows])
    result = await bound.run("Rows?")
    assert result.text == "Done.", result.error
    first, second = (m["content"] for m in model.requests[-1].body["messages"] if m["role"] == "tool")
    assert '"type": "polars.DataFrame", "shape": [500, 1]' in first
    assert '"rows": [[0], [1]' in first
    n = int(re.search(r"offset=(\d+)", first)[1])  # type: ignore[index]
    assert second.startswith(f"[[{n}], [{n + 1}]")


async def test_answer_that_never_fits_is_a_clear_failure(make: Make) -> None:
    bound, model = make([Say("no"), Say("still no")])
    result = await bound.run("Numbers?", returns=list[int])
    assert result.status == "failed"
    assert result.value is None
    assert "type asked for" in (result.error or "")
    assert len(model.requests) == 2


@pytest.mark.parametrize("show", [True, False])
async def test_a_shown_answer_that_does_not_fit_is_followed_by_what_is_wrong(
    make: Make, capsys: pytest.CaptureFixture[str], show: bool
) -> None:
    bound, _ = make([Say("no"), Say("still no"), Say("no"), Say("still no")])
    result = await bound.run("Numbers?", returns=list[int], show=show)
    assert (f"{result.error}\n" in capsys.readouterr().out) == show
    assert "The answer is not of the type asked for" in str(result.error)


def test_typed_answer_without_a_loop(make: Make) -> None:
    bound, _ = make([Say("[1, 2]")])
    assert bound.run_sync("Numbers?", returns=list[int]).value == [1, 2]


async def test_type_that_no_schema_describes_is_refused_before_anything_is_sent(make: Make) -> None:
    bound, model = make([Say("never")])
    with pytest.raises(UsageError):
        await bound.run("?", returns=threading.Thread)
    assert not model.requests


async def test_image_is_sent_to_a_model_that_sees_and_named_to_one_that_does_not(make: Make, hermes: Hermes) -> None:
    pixel = base64.b64encode(b"\x89PNG not really").decode()
    prompt = [ContentPart("text", "What is it?"), ContentPart("image", data=pixel, mime_type="image/png")]
    bound, model = make([Say("a pixel"), Say("next")], config={"model": {"supports_vision": True}})
    await bound.run(prompt)
    content = model.requests[0].body["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert content[1]["image_url"]["url"] == f"data:image/png;base64,{pixel}"
    await bound.run("and now?")
    assert model.requests[1].body["messages"][1]["content"][1]["type"] == "image_url"
    unknown, model = make([Say("words")])
    await unknown.run(prompt)
    assert len(model.requests) == 1
    assert "[image/png" in model.requests[0].body["messages"][-1]["content"]
    assert pixel not in str(model.requests[0].body)
    blind = await hermes.bind(Agent("blind", model="offline")).run(prompt)
    assert blind.events[0].data["prompt"].startswith("What is it?\n\n[image/png")


async def test_attached_tools_outlive_a_second_binding(make: Make, hermes: Hermes) -> None:
    @tool
    def one() -> int:
        """One."""
        return 1

    bound, model = make([Say("x")])
    await bound.add_tools([one])
    again = hermes.bind(Agent(bound.name, instructions="Changed.", model=model.model))
    assert [t.name for t in again.tools] == ["one"]
