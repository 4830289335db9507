"""Names, parameters and defaults are those of the published contract, or stand in docs/deviations.md with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb import Agent, BoundAgent, Hermes, Model, Process, RunResult, ToolHost, tool
from hermes_nb.api import _instance_opening
from hermes_nb.turns.model_choice import choose
from tests.api.contract import Statement, statements

PAGE = Path(__file__).parents[2] / "docs" / "deviations.md"
_ROW = re.compile(r"\| `(?P<name>[^`]+)` \| `(?P<contract>[^`]+)` \| `(?P<here>[^`]+)` \| (?P<why>.+) \|")


def rows() -> dict[str, tuple[Statement, str]]:
    """The table of the page, by name: the statement, and why it is so."""
    found: dict[str, tuple[Statement, str]] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            row = _ROW.fullmatch(line)
            assert row is not None, f"not a row: {line}"
            name, contract, here, why = (text.replace("\\|", "|") for text in row.groups())
            assert name not in found, f"{name} stands there twice"
            found[name] = Statement(name, contract, here), why
    return found


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Statement]]:
    hermes = Hermes.open_local(state=tmp_path_factory.mktemp("state"))
    instance = _instance_opening.made(hermes, hermes._state, "demo", Process(), owner=hermes.owner)
    agent = Agent("a", model="offline")
    bound = BoundAgent(instance, agent, "a-1", choice=choose(agent), tools=[])
    try:
        live = {"Hermes": hermes, "Instance": instance, "BoundAgent": bound, "ToolHost": ToolHost("http://127.0.0.1:1")}
        yield {s.name: s for s in statements(live)}
    finally:
        instance.worker.folder.release()
        hermes.close()


def test_the_contract_is_looked_at_whole(said: dict[str, Statement]) -> None:
    assert len(said) > 150
    assert {"Agent.toolsets", "BoundAgent.start(mode)", "Hermes.open_instance(instance_id)", "Model.api_key"} <= set(said)


def test_what_is_otherwise_stands_in_the_table_as_it_is(said: dict[str, Statement]) -> None:
    told = {name: statement for name, (statement, _) in rows().items()}
    assert {name: s for name, s in said.items() if s.contract != s.here} == told


def test_each_deviation_has_a_reason() -> None:
    assert [name for name, (_, why) in rows().items() if len(why) < 20 or not why.endswith(".")] == []


@pytest.mark.parametrize(
    "shown",
    [
        Model("m", "custom", "http://localhost/v1", api_key="SEEN"),
        RunResult("text", "completed", "s-1", "t-1", {"messages": "SEEN"}),
        Process(options={"environment": {"X_API_KEY": "SEEN-0123456789"}}),
        Agent("a", model=Model("m", "custom", "http://localhost/v1", api_key="SEEN")),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_what_is_not_to_be_in_a_repr_is_not_in_it(shown: Any) -> None:
    assert "SEEN" not in repr(shown)


def test_a_tool_s_repr_has_neither_its_function_nor_its_arguments_class() -> None:
    def look(n: int = 3) -> str:
        """Look."""
        return ""

    assert repr(tool(look)) == "<Tool look(n: 'int' = 3) -> 'str'>"
