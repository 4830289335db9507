"""The agent builder's widget without a browser: messages in, what it makes, and its static form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.tools.decorator import tool
from hermes_nb.widgets._form import EMPTY
from hermes_nb.widgets.builder import WAITING, AgentBuilder


@pytest.fixture
def hermes(tmp_path: Path) -> Iterator[Hermes]:
    hermes = Hermes.open_local(state=tmp_path / "state")
    yield hermes
    hermes.close()


class Desk:
    """A builder, the notebook's names, and what it answered."""

    def __init__(self, hermes: Hermes) -> None:
        self.names: dict[str, Any] = {"top": tool(lambda n=3: [n], name="top")}
        self.said: list[dict[str, Any]] = []
        self.bound: list[tuple[str, str]] = []
        self._hermes = hermes
        self.builder = AgentBuilder(lambda: self.names, self._bind)

    def _bind(self, agent: Agent, variable: str, runtime: str) -> BoundAgent:
        if "refuse" in agent.name:
            raise UsageError("No room.")
        self.bound.append((variable, runtime))
        return self._hermes.bind(agent)

    def hear(self, **message: Any) -> dict[str, Any]:
        self.builder.sheet._heard(message, lambda answer: self.said.append(dict(answer)))
        return self.said[-1] if self.said else {}


@pytest.fixture
def desk(hermes: Hermes) -> Desk:
    return Desk(hermes)


def form(**given: Any) -> dict[str, Any]:
    return {**EMPTY, "name": "analyst", "model": "offline", "tools": ["top"], **given}


def test_a_form_is_checked_as_it_is_typed(desk: Desk) -> None:
    told = desk.hear(t="check", id=3, form=form(name=""))
    assert (told["t"], told["id"], list(told["errors"]), told["code"]) == ("checked", 3, ["name"], "")
    assert "analyst = Agent(" in desk.hear(t="check", id=4, form=form())["code"]
    assert desk.bound == []


def test_create_binds_and_gives_the_code_to_who_clicked(desk: Desk, hermes: Hermes) -> None:
    told = desk.hear(t="create", by="tab-1", n=0, form=form(runtime="flyte:local"))
    assert (told["t"], told["by"]) == ("created", "tab-1")
    assert told["code"].endswith("%hermes agent analyst --on flyte:local")
    assert desk.bound == [("analyst", "flyte:local")]
    assert hermes.agents["analyst"].tools[0].name == "top"
    made = desk.builder.sheet.data["created"]
    assert ("runtime", "flyte:local") in [tuple(line) for line in made["lines"]]


def test_two_tabs_that_click_at_once_make_one_agent(desk: Desk) -> None:
    assert desk.hear(t="create", by="a", n=0, form=form())["t"] == "created"
    told = desk.hear(t="create", by="b", n=0, form=form(name="other"))
    assert (told["t"], told["by"]) == ("refused", "b")
    assert "Another view" in told["text"]
    assert len(desk.bound) == 1
    assert desk.hear(t="create", by="b", n=1, form=form(max_turns="3"))["t"] == "created"  # who has seen it may change it


def test_what_can_not_be_bound_is_said_and_the_form_goes_on(desk: Desk) -> None:
    told = desk.hear(t="create", by="a", n=0, form=form(name="refuse"))
    assert (told["t"], told["text"]) == ("refused", "No room.")
    assert desk.hear(t="create", by="a", n=0, form=form())["t"] == "created"


def test_look_again_finds_what_was_defined_since(desk: Desk) -> None:
    desk.names["late"] = tool(lambda: 1, name="late")
    desk.hear(t="refresh", form=form())
    assert [t["variable"] for t in desk.builder.sheet.data["choices"]["tools"]] == ["top", "late"]


@pytest.mark.parametrize("message", [None, 3, {}, {"t": "create"}, {"t": "create", "form": 3}, {"t": "eval", "form": {}}])
def test_a_message_that_means_nothing_does_no_harm(desk: Desk, message: Any) -> None:
    desk.builder.sheet._heard(message, lambda answer: pytest.fail(str(answer)))
    assert desk.bound == []


def test_the_static_form_is_the_card_and_the_code_escaped(desk: Desk) -> None:
    assert desk.builder.bundle()["text/plain"] == WAITING
    desk.hear(t="create", by="a", n=0, form=form(instructions="<script>alert(1)</script>"))
    static = desk.builder.bundle()
    assert "analyst = Agent(" in static["text/plain"]
    assert "<script>" not in static["text/html"]
    assert "&lt;script&gt;" in static["text/html"]


def test_a_toolset_that_hermes_has_not_is_refused(desk: Desk, hermes: Hermes) -> None:
    told = desk.hear(t="create", by="a", n=0, form=form(more_toolsets="nothing_like_it"))
    assert told["t"] == "refused"
    assert "Hermes has no toolset 'nothing_like_it'" in told["text"]
    assert "analyst" not in hermes.agents
