"""A bare IPython in a terminal: its own loop, Python's own interrupt handler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
SETUP = """
import asyncio, threading, time
from hermes_nb.host.detect import current
from tests.host.fake_turn import FakeTurn
host = current()
def where() -> bool: return threading.current_thread() is threading.main_thread()
async def waits() -> None: print("waiting", flush=True); await asyncio.sleep(60)
def sleeps() -> None: print("sleeping", flush=True); time.sleep(60)
print("re" + "ady", flush=True)
"""


class Terminal:
    """An IPython process fed line by line."""

    def __init__(self, folder: Path) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            cwd=folder,
            env={**env, "PYTHONPATH": str(PROJECT), "IPYTHONDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        )
        self.seen = ""

    def send(self, *lines: str) -> None:
        assert self.process.stdin is not None
        for line in lines:
            self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def until(self, text: str) -> str:
        """What was printed up to and with `text`."""
        assert self.process.stdout is not None
        seen = ""
        while text not in seen:
            character = self.process.stdout.read(1)
            assert character, f"ended: {self.seen}{seen}"
            seen += character
        self.seen += seen
        return seen

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    terminal.send(*SETUP.strip().splitlines())
    terminal.until("ready")
    yield terminal
    terminal.close()


def test_turns_work_in_a_terminal(terminal):
    terminal.send("print(host.name, host.is_interactive, 'host' + 'ed')")
    assert "plain True hosted" in terminal.until("hosted")
    terminal.send("turn = await FakeTurn(host, where, where).wait()")
    terminal.send("print([o.value for o in turn.outcomes], 'awai' + 'ted')")
    assert "[True, True] awaited" in terminal.until("awaited")
    terminal.send("turn = FakeTurn(host, where, blocks=True).wait_blocking()")
    terminal.send("print([o.value for o in turn.outcomes], 'block' + 'ed')")
    assert "[True] blocked" in terminal.until("blocked")


@pytest.mark.parametrize(
    ("function", "word", "wait"),
    [
        ("waits", "waiting", "turn = FakeTurn(host, waits); x = await turn.wait()"),
        ("sleeps", "sleeping", "turn = FakeTurn(host, sleeps); x = await turn.wait()"),
        ("sleeps", "sleeping", "turn = FakeTurn(host, sleeps, blocks=True); x = turn.wait_blocking()"),
    ],
)
def test_an_interrupt_stops_the_turn_and_the_prompt_goes_on(terminal, function, word, wait):
    terminal.send(wait)
    terminal.until(f"{word}\n")
    began_s = time.monotonic()
    terminal.process.send_signal(signal.SIGINT)
    terminal.send("print(turn.statuses, turn.n_interrupts, 'stop' + 'ped')")
    assert "['stopped'] 1 stopped" in terminal.until("stopped\n")
    assert time.monotonic() - began_s < 2
    terminal.send("print('ali' + 've')")
    terminal.until("alive")
