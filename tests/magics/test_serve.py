"""`%hermes serve`: programs of the user call functions of the notebook, each asked about at first, each call a row."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.magics.kernel import Cell, Kernel

pytest.importorskip("mcp")
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]
SETUP = """
import threading
where = []

@tool
def place(word: str) -> str:
    "Say where it runs."
    where.append(threading.current_thread() is threading.main_thread())
    print("placing", word)
    return f"placed {word}"

@tool(approval=True)
def pay(amount: int) -> str:
    "Pay."
    return f"paid {amount}"
"""
TURN = "__import__('hermes_nb.magics').magics.context(get_ipython()).hermes.turns[-1]"


class Program:
    """A program of the user's: connects as what it is given, from a thread of its own."""

    def __init__(self, path: Path, name: str) -> None:
        self.server = json.loads(path.read_text())["mcpServers"]["notebook"]
        self.name = name
        self.told: list[tuple[bool, str]] = []

    def call(self, *calls: tuple[str, dict[str, Any]]) -> threading.Thread:
        thread = threading.Thread(target=lambda: asyncio.run(self._calls(calls)), daemon=True)
        thread.start()
        return thread

    async def _calls(self, calls: tuple[tuple[str, dict[str, Any]], ...]) -> None:
        me = Implementation(name=self.name, version="1")
        http = httpx.AsyncClient(headers=self.server["headers"], timeout=60)
        async with http, streamable_http_client(self.server["url"], http_client=http) as (reads, writes, _):
            async with ClientSession(reads, writes, client_info=me) as session:
                await session.initialize()
                for name, arguments in calls:
                    result = await session.call_tool(name, arguments)
                    self.told.append((result.isError, result.content[0].text))  # type: ignore[union-attr]


@pytest.fixture
def served(kernel: Kernel) -> Iterator[tuple[Cell, Path]]:
    """The cell that serves `place` and `pay`, and the file that a client needs."""
    kernel.ok(SETUP)
    cell = kernel.ok("%hermes serve place pay")
    kernel.until(lambda: "Served on" in str(cell.messages))
    found = re.search(r"is in (\S+mcp\.json)", str(cell.messages).replace("\\\\n", " ").replace("\\n", " "))
    assert found is not None, cell.messages
    path = Path(found[1])
    yield cell, path if path.is_absolute() else kernel.folder / path
    kernel.run("%hermes serve --stop")


def asked(kernel: Kernel, about: str) -> str:
    """The id of the request that is open about something."""
    out = ""

    def is_there() -> bool:
        nonlocal out
        out = kernel.ok("%hermes approve").out
        return about in out

    kernel.until(is_there)
    return next(line.split()[0] for line in out.splitlines() if about in line)


def wait(kernel: Kernel, thread: threading.Thread) -> None:
    """Until a program is done; the kernel is free meanwhile."""
    kernel.until(lambda: not thread.is_alive(), 30)


def test_a_client_is_asked_about_once_and_its_calls_are_rows_on_the_main_thread(
    kernel: Kernel, served: tuple[Cell, Path]
) -> None:
    cell, path = served
    assert path.stat().st_mode & 0o777 == 0o600
    editor = Program(path, "an editor")
    thread = editor.call(("place", {"word": "a"}), ("pay", {"amount": 5}), ("place", {"word": "b"}))
    kernel.ok(f"%hermes approve {asked(kernel, 'an editor')}")
    kernel.ok(f"%hermes approve --deny {asked(kernel, 'pay')}")
    wait(kernel, thread)
    assert [is_error for is_error, _ in editor.told] == [False, True, False]
    assert [text for _, text in editor.told if "placed" in text] == ["placed a", "placed b"]
    assert kernel.value("where") == [True, True]
    other = Program(path, "another")
    thread = other.call(("place", {"word": "c"}), ("place", {"word": "d"}))
    kernel.ok(f"%hermes approve --deny {asked(kernel, 'another')}")
    wait(kernel, thread)
    assert [is_error for is_error, _ in other.told] == [True, True]
    assert "did not allow this program" in other.told[0][1]
    assert len(kernel.value("where")) == 2
    rows = kernel.value(f"[[e.kind, e.data['name'], e.data.get('client')] for e in {TURN}.events if e.kind[:5] == 'tool.']")
    assert [row for row in rows if row[0] == "tool.completed"] == [
        ["tool.completed", name, "an editor"] for name in ("place", "pay", "place")
    ]
    outputs = kernel.value(f"[e.data['text'] for e in {TURN}.events if e.kind == 'tool.output']")
    assert "placing a" in "".join(outputs)
    kernel.ok("%hermes serve --stop")
    # A live output is redrawn by its id, in whichever cell runs.
    last = [c.text for c in kernel._cells.values() if c.text][
        -1
    ]  # a live output is redrawn by its id, in whichever cell runs
    rows = ('✓ place("a") → placed a', "⊘ pay(amount=5) denied by you", "⊘ May 'another' call functions", "■ Stopped by you")
    assert [row for row in rows if row not in last] == []
    key = editor.server["headers"]["Authorization"].removeprefix("Bearer ")
    assert key not in str(cell.messages)


def test_a_stop_revokes_the_key_and_ends_the_turn(kernel: Kernel, served: tuple[Cell, Path]) -> None:
    _, path = served
    program = Program(path, "late")
    assert "served already, by turn" in kernel.run("%hermes serve place").err
    said = kernel.ok("%hermes serve --stop").out
    assert "serves nothing any more" in said
    assert not path.exists()
    with contextlib.suppress(httpx.TransportError):
        answer = httpx.post(program.server["url"], headers=program.server["headers"], json={})
        assert answer.status_code == 404
    assert kernel.value(f"{TURN}.status") == "stopped"
    assert "Nothing is served." in kernel.ok("%hermes serve --stop").out


@pytest.mark.parametrize(
    ("line", "said"),
    [("%hermes serve nothing_there", "no variable named"), ("%hermes serve --stop place", "takes no names")],
)
def test_what_can_not_be_served_is_refused(kernel: Kernel, line: str, said: str) -> None:
    assert said in kernel.run(line).err


def test_a_port_that_is_taken_fails_the_turn_and_says_so(kernel: Kernel) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        cell = kernel.ok(f"%hermes serve add --port {taken.getsockname()[1]}")
        kernel.until(lambda: "can't be listened on" in str(cell.messages))
    assert "Nothing is served." in kernel.ok("%hermes serve --stop").out
