"""Each Hermes tells the same events for the same turns, ids and times apart: the one of the tests is the measure."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hermes_nb.environments import creation, discovery, lockfile
from hermes_nb.errors import EngineError
from hermes_nb.model.capability import CAPABILITIES
from tests.engine.conftest import Script
from tests.engine.rig import Worker
from tests.engine.scene import QUICK, SCENES, told

pytestmark = pytest.mark.hermes
OTHERS = ("hermes-agent-0.18.2", "async-hermes-agent-0.20.4.1")


@pytest.fixture(scope="module")
def worker_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Worker]]:
    """`worker_of(name)`: a worker in an environment of that Hermes, made here; "" is the Hermes of the tests."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "engines"
    workers: dict[str, Worker] = {}

    def make(name: str) -> Worker:
        if name not in workers:
            python = None
            if name:
                locked = lockfile.locked(name)
                try:
                    python = str(creation.create(locked, discovery.base_for(locked), root).path)
                except EngineError as exc:
                    pytest.skip(f"No environment for {name} can be made here: {exc}")
            workers[name] = Worker(tmp_path_factory.mktemp(name or "own"), python=python or sys.executable)
        return workers[name]

    yield make
    for worker in workers.values():
        worker.close()


_SAID: dict[tuple[str, str], Any] = {}


def said(worker: Worker, name: str, scene: str, script: Script) -> Any:
    """What a Hermes tells of a scene; played once."""
    if (name, scene) not in _SAID:
        _SAID[name, scene] = told(worker, SCENES[scene](worker, script))
    return _SAID[name, scene]


# Where a release can't tell the same, and the capability that it therefore does not promise.
DEVIATIONS = {("hermes-agent-0.18.2", "shortened"): "helpers"}

UNTRIED = {("hermes-agent-0.18.2", "served"): "Its environment has no package mcp, which the worker says when it is bound."}


@pytest.mark.parametrize("scene", SCENES if os.environ.get("HERMES_NB_TEST_ENGINE") else QUICK)  # all in the matrix
@pytest.mark.parametrize("name", OTHERS)
def test_the_same_turn_is_told_by_the_same_events(
    worker_of: Callable[[str], Worker], script: Script, name: str, scene: str
) -> None:
    if (name, scene) in UNTRIED:
        pytest.skip(UNTRIED[name, scene])
    worker = worker_of(name)
    promised = worker.wait_kind("ready")["capabilities"]
    assert set(CAPABILITIES) - set(promised) == {lost for (of, _), lost in DEVIATIONS.items() if of == name}
    if (name, scene) in DEVIATIONS:
        pytest.skip(f"{name} does not promise {DEVIATIONS[name, scene]!r}.")
    assert said(worker, name, scene, script) == said(worker_of(""), "", scene, script)
