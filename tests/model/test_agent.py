"""Agents as declarations: what is refused, and what is said to who takes one for a bound agent."""

from __future__ import annotations

import copy
import pickle

import pytest

from hermes_nb.model.agent import Agent
from hermes_nb.sessions.agent import BoundAgent


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
