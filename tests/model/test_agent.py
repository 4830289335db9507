"""Agents as declarations: what is refused, and what is said to who takes one for a bound agent."""

from __future__ import annotations

import copy
import pickle

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.model.agent import Agent, Model


@pytest.mark.parametrize("name", ["run", "run_sync", "chat", "fork"])
def test_who_runs_a_declaration_hears_how_it_is_bound(name: str) -> None:
    with pytest.raises(AttributeError, match=r"%hermes agent NAME -o bound, then bound\." + name):
        getattr(Agent("analyst"), name)
    assert callable(getattr(BoundAgent, name))
    assert not hasattr(Agent("analyst"), name)


def test_other_names_are_missing_as_ever_and_copies_work() -> None:
    agent = Agent("analyst", instructions="Answer.", model="m", provider="openrouter")
    with pytest.raises(AttributeError, match="'Agent' object has no attribute 'rum'"):
        agent.rum  # type: ignore[attr-defined]  # noqa: B018
    assert copy.deepcopy(agent) == agent == pickle.loads(pickle.dumps(agent))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bind", "hermes.bind(agent), or %hermes agent NAME"),
        ("instruction", "has no attribute 'instruction'. Did you mean 'instructions'?"),
        ("toolset", "Did you mean 'toolsets'?"),
        ("add_tools", "bound.add_tools(...)"),
    ],
)
def test_a_misspelled_field_is_named_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(AttributeError) as told:
        getattr(Agent("analyst"), name)
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:11434/v1", "Write http://localhost:11434/v1."),
        ("127.0.0.1:8000", "has no http"),
        ("ftp://h/v1", "has no http"),
        ("http://localhost:99999/v1", "Port out of range"),
        ("http://localhost:http/v1", "is no address"),
        ("http://", "names no host"),
        ("http:///v1", "names no host"),
    ],
)
def test_an_address_that_cannot_be_called_is_refused_where_it_is_written(url: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        Model("m", "custom", url)
    assert said in str(refused.value)
    assert url in str(refused.value)


def test_a_name_with_a_letter_beyond_ascii_is_refused_with_what_a_letter_is() -> None:
    with pytest.raises(ValueError, match=r"Agent name 'Käse' can't be used\. .*ASCII"):
        Agent("Käse")
