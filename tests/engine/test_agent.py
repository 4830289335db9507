"""How many AIAgents serve the turns of an agent: those that run at once, and few once they are over."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from hermes_nb.engine.hermes.agent import MOST_IDLE, ModelRoute, WorkerAgent
from hermes_nb.engine.hermes.outcome import ModelIdentity


class _Upstream:
    """Hermes's AIAgent in small, which is counted."""

    made: ClassVar[list[_Upstream]] = []

    def __init__(self, **options: Any) -> None:
        self.base_url, self.session_id, self.tools = options["base_url"], options["session_id"], []
        self.is_closed = False
        self._todo_store: list[str] = []
        self._memory_store = None
        self.made.append(self)

    def reset_session_state(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def agent() -> WorkerAgent:
    _Upstream.made = []

    @contextlib.contextmanager
    def configured(config: Mapping[str, Any]) -> Iterator[None]:
        yield

    url = "http://127.0.0.1:9/v1"
    return WorkerAgent(
        {},
        SimpleNamespace(AIAgent=_Upstream, tame=lambda agent: None),
        ModelIdentity("m", "custom", url),
        ModelRoute("custom", url, "k"),
        configured,
    )


def test_turns_that_run_at_once_build_no_more_agents_than_they_are(agent: WorkerAgent) -> None:
    for n_round in range(5):
        taken = [agent.take(f"s{n_round}-{i}", {}) for i in range(12)]
        assert len({id(t) for t in taken}) == 12
        for i, one in enumerate(taken):  # each is followed by another turn, as rows of a map are
            agent.give_back(one, f"s{n_round}-{i}", {})
            taken[i] = agent.take(f"t{n_round}-{i}", {})
        assert len(_Upstream.made) == 12 or n_round
        for i, one in enumerate(taken):
            agent.give_back(one, f"t{n_round}-{i}", {})
    n_open = sum(not one.is_closed for one in _Upstream.made)
    assert n_open == MOST_IDLE  # once all are over


def test_a_turn_that_waits_for_its_agent_takes_one_that_comes_back(agent: WorkerAgent) -> None:
    first = agent.take("one", {})
    began, waits, found = threading.Event(), threading.Event(), []

    def build(session_id: str, tools: Any) -> Any:
        began.set()
        waits.wait(30)
        return _Upstream(base_url="http://127.0.0.1:9/v1", session_id=session_id)

    agent._build = build  # type: ignore[method-assign]
    slow = threading.Thread(target=lambda: found.append(agent.take("two", {})))
    slow.start()
    assert began.wait(30)
    late = threading.Thread(target=lambda: found.append(agent.take("three", {})))
    late.start()
    agent.give_back(first, "one", {})
    waits.set()
    slow.join(30)
    late.join(30)
    assert first in found
    assert len(_Upstream.made) == 2


def test_an_agent_whose_turn_failed_serves_no_other(agent: WorkerAgent) -> None:
    first = agent.take("one", {})
    agent.discard(first)
    assert first.is_closed
    assert agent.take("two", {}) is not first


def test_an_agent_that_can_not_be_built_leaves_no_place_taken(agent: WorkerAgent) -> None:
    def build(session_id: str, tools: Any) -> Any:
        raise ValueError("no")

    agent._build = build  # type: ignore[method-assign]
    for _ in range(3 * MOST_IDLE):
        with pytest.raises(ValueError, match="no"):
            agent.take("one", {})
    del agent._build
    taken = [agent.take(f"s{i}", {}) for i in range(2 * MOST_IDLE)]
    for one in taken:
        agent.give_back(one, "s", {})
    assert sum(not one.is_closed for one in _Upstream.made) == MOST_IDLE
