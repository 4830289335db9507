"""The Hermes that its own installer left: found by the PATH, run by its own interpreter, and never written to."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.environments import discovery
from hermes_nb.environments.interpreter import Interpreter, own
from hermes_nb.runtimes._base import WorkerFiles
from hermes_nb.runtimes.process import Process

pytestmark = pytest.mark.hermes


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with its environment and a launcher on the PATH; the kernel has no Hermes, and there is no environment."""
    folder = tmp_path / "hermes-agent"
    here = metadata.distribution("hermes-agent")
    for file in here.files or ():
        if file.suffix == ".py" and ".." not in file.parts:
            place = folder / file
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), place)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (packages,) = folder.glob("venv/lib/python*/site-packages")
    (packages / "_editable.pth").write_text(f"{folder}\n{here.locate_file('')}\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    launcher = programs / "hermes"
    launcher.write_text(
        f'#!/usr/bin/env bash\nunset PYTHONPATH\nunset PYTHONHOME\nexec "{folder}/venv/bin/python" "{folder}/hermes" "$@"\n'
    )
    launcher.chmod(0o755)
    kernel = own()
    monkeypatch.setattr(discovery, "own", lambda: Interpreter(kernel.path, kernel.python))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("HERMES_NB_ENGINES", str(tmp_path / "engines"))
    return folder


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and folder with its size and time of change."""
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {str(path.relative_to(folder)): (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


async def asked(folder: Path) -> list[dict[str, Any]]:
    """What a worker says to one question of the offline model."""
    said: list[dict[str, Any]] = []
    news = asyncio.Event()
    place = WorkerFiles("w1", folder / "home", folder / "journal.sqlite", folder / "log", folder)

    async def until(kind: str) -> None:
        while not any(m["kind"] == kind for m in said):
            news.clear()
            await asyncio.wait_for(news.wait(), 30)

    connection = await Process().open(
        place, on_message=lambda m: (said.append(m), news.set()), on_end=lambda why: news.set()
    )
    agent = {"name": "a", "instructions": "", "tools": [], "toolsets": [], "max_turns": None, "config": {}}
    connection.send("bind", agent_id="a", agent={**agent, "model": {"id": "hermes-nb-offline", "provider": "offline"}})
    start = {"turn_id": "t", "session_id": "s", "agent_id": "a", "prompt": "Hello!", "history": [], "attempt": 1}
    connection.send("turn.start", **start, date="2026-01-02", tools=[], timeout_s=None, runtime="process")
    await until("turn.done")
    await connection.close()
    return said


def test_it_answers_and_stays_as_it_was(checkout: Path, tmp_path: Path) -> None:
    before = tree(checkout)
    assert any(name.endswith("run_agent.py") for name in before)
    (tmp_path / "w").mkdir()
    said = asyncio.run(asked(tmp_path / "w"))
    found = next(m for m in said if m["kind"] == "engine.found")
    assert (found["source"], found["python"]) == ("path", str(checkout / "venv/bin/python"))
    assert next(m for m in said if m["kind"] == "turn.done")["status"] == "completed"
    assert (tmp_path / "engines" / discovery.BYTECODE / str(checkout).lstrip("/") / "agent").is_dir()
    assert tree(checkout) == before
