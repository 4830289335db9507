"""Pytest fixtures: `pytest_plugins = ["hermes_nb.testing.fixtures"]` in a conftest, or import the one you need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hermes_nb.testing.scripted import ScriptedModel
from hermes_nb.testing.step import Script


@pytest.fixture
def scripted_model() -> Iterator[Callable[..., ScriptedModel]]:
    """Starts scripted models: `scripted_model([Call("add", {"a": 1}), Say("Done")])`; all are closed after the test."""
    with ExitStack() as opened:

        def start(script: Script | str = (), **options: Any) -> ScriptedModel:
            return opened.enter_context(ScriptedModel(script, **options))

        yield start
