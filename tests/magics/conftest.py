"""Shells of this process for what needs no kernel; real kernels are in `kernel.py`."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import hermes_nb.magics


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A shell with `%hermes` loaded, in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    made = bare_shell()
    hermes_nb.magics.load(made)
    try:
        yield made
    finally:
        hermes_nb.magics.unload(made)
        close(made)


@pytest.fixture
def run(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Run a cell; returns what it printed, errors included."""

    def run_cell(source: str) -> str:
        shell.run_cell(source, store_history=True)
        out, err = capsys.readouterr()
        return out + err

    return run_cell


def bare_shell() -> InteractiveShell:
    """A shell without history file and colours."""
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    return InteractiveShell(config=config)


def close(shell: InteractiveShell) -> None:
    """End what a shell holds."""
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()
