"""An environment is made once, whole or not at all."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hermes_nb.environments import catalog, creation, discovery, lockfile
from hermes_nb.errors import EngineError

MAKE = "from hermes_nb.environments import discovery, lockfile; print(discovery.install(lockfile.locked()).interpreter.path)"


def make_elsewhere(**more: str) -> subprocess.Popen[str]:
    """Another kernel that needs the same environment."""
    command = [sys.executable, "-P", "-c", MAKE]
    return subprocess.Popen(command, env={**os.environ, **more}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def n_hermes(python: Path) -> str:
    asked = [str(python), "-P", "-c", "import run_agent, importlib.metadata as m; print(m.version('hermes-agent'))"]
    environment = {
        "HOME": str(python.parents[1]),
        "HERMES_HOME": str(python.parents[1] / "home"),
        "PATH": os.environ["PATH"],
    }
    return subprocess.run(asked, capture_output=True, text=True, env=environment, check=True).stdout.strip()


def test_four_kernels_at_once_make_one(engines: Path) -> None:
    kernels = [make_elsewhere() for _ in range(4)]
    said = [kernel.communicate(timeout=120) for kernel in kernels]
    assert [kernel.returncode for kernel in kernels] == [0, 0, 0, 0], said
    assert len({out for out, _ in said}) == 1
    (one,) = catalog.environments()
    assert one.is_whole
    assert n_hermes(one.python) == lockfile.DEFAULT
    asked = [str(one.python), "-c", "from importlib.metadata import version; print(version('mcp'))"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "1.26.0\n"  # Agent(mcp=[...]) works


@pytest.mark.parametrize("after_s", [0.05, 0.3, 0.6])
def test_a_kill_in_the_middle_leaves_nothing_half(engines: Path, after_s: float) -> None:
    kernel = make_elsewhere()
    folder = creation.folder_of(lockfile.locked(), sys.version_info[:3], engines)
    deadline_s = time.monotonic() + 60
    while not folder.exists() and kernel.poll() is None and time.monotonic() < deadline_s:
        os.sched_yield()
    try:
        kernel.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        kernel.send_signal(signal.SIGKILL)
    kernel.communicate(timeout=60)
    was_whole = creation.made(folder) is not None
    engine = discovery.install(lockfile.locked())
    assert engine.interpreter.version == lockfile.DEFAULT
    assert [one.is_whole for one in catalog.environments()] == [True]
    assert was_whole or creation.facts(folder)["took_s"] > 0


def test_without_a_network_the_line_that_makes_it_elsewhere_is_said(
    engines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "no-cache"))
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    with pytest.raises(EngineError, match=r"pip install hermes-agent==0\.19\.0.*HERMES_NB_ENGINE=ENV/bin/python"):
        discovery.install(lockfile.locked())
    assert catalog.environments() == []


def test_a_package_whose_hash_differs_is_not_installed(engines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = lockfile.locked().text()
    head, _, tail = text.partition("hermes-agent==0.19.0")
    lines = tail.split("\n")
    n = next(i for i, line in enumerate(lines) if i and not line.startswith("    "))
    lines[1:n] = ["    --hash=sha256:" + "0" * 64]
    monkeypatch.setattr(lockfile.Locked, "text", lambda self: head + "hermes-agent==0.19.0 \\\n" + "\n".join(lines[1:]))
    with pytest.raises(EngineError, match=r"(?i)hash"):
        discovery.install(lockfile.locked())
    assert catalog.environments() == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HERMES_NB_ENGINES", str(tmp_path / "file" / "engines"))
    with pytest.raises(EngineError, match="Set HERMES_NB_ENGINES to a folder"):
        discovery.install(lockfile.locked())


@pytest.mark.release
def test_venv_and_pip_do_where_uv_is_missing(engines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creation, "uv_program", lambda: None)
    said: list[str] = []
    engine = discovery.install(lockfile.locked(), said.append)
    assert creation.facts(engine.interpreter.path.parents[1])["made_by"] == "pip"
    assert any("uv would be quicker" in text for text in said)


@pytest.mark.parametrize("name", ["hermes-agent-0.19.0", "hermes-agent-0.18.2", "async-hermes-agent-0.20.4.1"])
def test_a_list_has_the_hashes_of_every_file_of_a_release_not_of_those_of_one_python(name: str) -> None:
    entries = re.split(r"^(?=\w)", lockfile.locked(name).text(), flags=re.MULTILINE)[1:]
    assert len(entries) > 60
    assert [entry.split()[0] for entry in entries if entry.count("--hash=") < 2] == []
