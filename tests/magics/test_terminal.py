"""A bare IPython terminal: the same text, the same stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_nb.testing import Call, Hang, Say
from tests.magics.conftest import SETUP, Asked
from tests.magics.kernel import PROJECT

pytestmark = pytest.mark.hermes

ASYNC = """
@tool
async def look(name: str) -> str:
    "Look."
    async with lock:
        return name
analyst.tools = [look, add]
"""


class Terminal:
    """IPython that reads lines from a pipe."""

    def __init__(self, folder: Path) -> None:
        ours = {"PYTHONPATH": str(PROJECT), "IPYTHONDIR": str(folder / ".ipython"), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, **ours},
        )

    def send(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def read_until(self, text: str) -> str:
        """What it printed up to a text."""
        assert self.process.stdout is not None
        found = ""
        while not found.endswith(text):
            character = self.process.stdout.read(1)
            assert character, f"it ended after {found!r}"
            found += character
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def terminal(tmp_path: Path, model: Asked) -> Iterator[Terminal]:
    (tmp_path / "setup.ipy").write_text(SETUP.format(url=model.scripted.base_url) + ASYNC, encoding="utf-8")
    made = Terminal(tmp_path)
    try:
        made.send("%run setup.ipy", "%hermes agent analyst", "import asyncio")
        made.send("lock = await asyncio.sleep(0, asyncio.Lock())")
        yield made
    finally:
        made.close()


def test_it_answers_and_its_tools_meet_the_loop_of_earlier_cells(terminal: Terminal, model: Asked) -> None:
    steps = iter([Call("look", {"name": "Ada"}), Call("add", {"a": 2, "b": 3}), Say("It is **5**, Ada.")])
    model.answer = lambda request: next(steps)
    terminal.send("%hermes run -o answer Which one?", "print(answer.status, [t.content for t in answer.tools], 'END')")
    said = terminal.read_until("END")
    assert "Agent analyst" in said
    assert "adding 2 3" in said
    assert "It is **5**, Ada." in said
    assert "completed ['Ada', '5'] END" in said
    assert model.prompts == ["Which one?"] * 3


@pytest.mark.parametrize("where", ["%hermes run -o answer Tell me", "%time %hermes run -o answer Tell me"])
def test_control_c_stops_the_turn(terminal: Terminal, model: Asked, where: str) -> None:
    step = Hang("Once upon ", "a time.")
    model.answer = lambda request: step
    terminal.send("analyst.tools = []", "%hermes agent analyst", where)
    assert step.wait_reached()
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until("was stopped; what had arrived is kept.")
    terminal.send("print(answer.status, answer.session_id, 'END')")
    assert "stopped s-" in terminal.read_until("END")
