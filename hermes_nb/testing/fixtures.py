"""Pytest fixtures: `pytest_plugins = ["hermes_nb.testing.fixtures"]` in a conftest, or import the one you need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hermes_nb import _settings
from hermes_nb.testing.scripted import ScriptedModel
from hermes_nb.testing.step import Script

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes


@pytest.fixture
def scripted_model() -> Iterator[Callable[..., ScriptedModel]]:
    """Starts scripted models: `scripted_model([Call("add", {"a": 1}), Say("Done")])`; all are closed after the test."""
    with ExitStack() as opened:

        def start(script: Script | str = (), **options: Any) -> ScriptedModel:
            return opened.enter_context(ScriptedModel(script, **options))

        yield start


@pytest.fixture
def hermes_recording(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hermes]:
    """A `Hermes` whose models answer from a recording kept beside the test: no key, no network, no cost.

    The file is `recordings/<module>.<test>.jsonl` in the test's folder. Make it, or make it anew, by running the test once
    with HERMES_NB_RECORD=1: the models then answer themselves.

    Example:
        async def test_my_agent_finds_the_best_customer(hermes_recording):
            bound = hermes_recording.bind(my_agent)
            assert "Acme" in (await bound.run("Which customer is best?")).text
    """
    from hermes_nb.api.hermes import Hermes

    test = re.sub(r"[^\w.-]+", "-", f"{request.path.stem}.{request.node.name}").strip("-")
    file = request.path.parent / "recordings" / f"{test}.jsonl"
    is_recorded_now = _settings.variable("HERMES_NB_RECORD") == "1"
    if not is_recorded_now and not file.exists():
        pytest.fail(f"There is no recording {file}. Run the test once with HERMES_NB_RECORD=1 to make it.", pytrace=False)
    hermes = Hermes.open_local(state=tmp_path / "hermes-state", replay=None if is_recorded_now else file)
    try:
        if is_recorded_now:
            hermes.record(file)
        yield hermes
    finally:
        hermes.close()
