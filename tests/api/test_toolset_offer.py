"""What an agent's toolsets and config do is told, and what does nothing is refused when it is bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hermes_nb.api._card import card_of
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[Any, Any]]


def test_tools_are_told_by_toolset(make: Make) -> None:
    bound, _ = make(toolsets=["todo", "terminal"])
    told = bound.tools_by_toolset
    assert told["todo"].tools == ("todo",)
    assert told["terminal"].tools == ("process", "terminal")
    assert told["terminal"].missing["read_terminal"] == "Hermes's desktop application"
    assert card_of(bound)["toolsets"]["todo"] == "todo (todo)"
    assert "; read_terminal needs Hermes's desktop application)" in card_of(bound)["toolsets"]["terminal"]


def test_an_agent_without_toolsets_starts_no_worker_to_say_so(own: Hermes) -> None:
    bound = own.bind(Agent("bare", model="offline"))
    assert bound.tools_by_toolset == {}


def test_a_toolset_that_gives_nothing_is_refused_with_what_it_needs(make: Make) -> None:
    bound, _ = make(toolsets=["homeassistant"])
    result = bound.run_sync("x")
    assert result.status == "failed"
    assert "The toolset 'homeassistant' gives no tool here: ha_call_service needs HASS_TOKEN" in str(result.error)
    with pytest.raises(UsageError, match="ha_call_service needs HASS_TOKEN"):
        _ = bound.tools_by_toolset


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"toolsets": ["cronjob"]}, "Agent 'odd': The toolset 'cronjob' can't be had here: it needs Hermes's scheduler"),
        ({"config": {"mcp_servers": {}}}, r"Agent 'odd': config: 'mcp_servers' has no effect here: it is said by Agent"),
        (
            {"config": {"display": {"skin": "x"}}},
            "Agent 'odd': config: 'display' has no effect here: it belongs to Hermes's own",
        ),
        ({"config": {"modle": {}}}, "Agent 'odd': config: Hermes has no setting 'modle'. Did you mean 'model'?"),
    ],
)
def test_what_does_nothing_is_refused_at_bind(options: dict[str, Any], said: str, hermes: Hermes) -> None:
    with pytest.raises(UsageError, match=said):
        hermes.bind(Agent("odd", model="offline", **options))
    assert "odd" not in hermes.agents


async def test_a_setting_counts_for_its_agent_alone(make: Make) -> None:
    first, one = make(["a"], config={"model": {"max_tokens": 77}})
    second, other = make(["b"])
    await first.run("x")
    await second.run("x")
    assert one.requests[0].body["max_tokens"] == 77
    assert other.requests[0].body["max_tokens"] != 77
