from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.model.agent import Agent
from hermes_nb.testing import ScriptedModel

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hermes]:
    """One Hermes (one worker) for a module; each test binds agents of its own."""
    hermes = Hermes.open_local(state=tmp_path_factory.mktemp("state"))
    yield hermes
    hermes.close()


@pytest.fixture
def make(hermes: Hermes) -> Iterator[Callable[..., tuple[BoundAgent, ScriptedModel]]]:
    """`make(script, **agent_options) -> (bound agent, its scripted model)`."""
    models: list[ScriptedModel] = []

    def bind(script: Any = (), *, on: Hermes | None = None, **options: Any) -> tuple[BoundAgent, ScriptedModel]:
        model = ScriptedModel(script)
        model.start()
        models.append(model)
        name = options.pop("name", f"agent{next(_NUMBERS)}")
        return (on or hermes).bind(Agent(name, model=model.model, **options)), model

    yield bind
    for model in models:
        model.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Hermes]:
    """A Hermes of the test's own, for tests that kill its worker or close it."""
    hermes = Hermes.open_local(state=tmp_path / "state")
    yield hermes
    hermes.close()
