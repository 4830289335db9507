"""A store in a temporary folder, events by the handful, and a second process to meet in it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from hermes_nb.model.event import Event
from hermes_nb.store.sqlite import Store

Process = subprocess.Popen[str]


def event(seq: int, kind: str = "model.delta", *, session: str = "s", turn: str = "t1", **data: Any) -> Event:
    """Event `seq` of a producer; `producer`, `attempt` and `at` among the keywords are taken out of the data."""
    producer, attempt = data.pop("producer", "worker"), data.pop("attempt", 1)
    at = data.pop("at", 1_700_000_000.0 + seq)
    return Event(1, producer, seq, at, session, turn, turn, None, attempt, kind, data)


def turn_events(
    n: int = 1, *, session: str = "s", prompt: str = "Which?", text: str = "This one.", **end: Any
) -> list[Event]:
    """Start and end of turn `t<n>`."""
    turn = f"t{n}"
    return [
        event(2 * n - 1, "turn.started", session=session, turn=turn, prompt=prompt, agent="analyst"),
        event(2 * n, "turn.completed", session=session, turn=turn, text=text, **{"status": "completed", **end}),
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(path)
    yield opened
    await opened.close()


@pytest.fixture
def python() -> Iterator[Callable[..., Process]]:
    """Start `python -c SOURCE ARGS`, with pipes; ended with the test."""
    started: list[Process] = []

    def start(source: str, *arguments: object) -> Process:
        command = [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line(stream: IO[str] | None) -> str:
    """The next line a process wrote, without its end."""
    assert stream is not None
    return stream.readline().rstrip("\n")
