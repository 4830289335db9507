"""The sources of `extensions/` by their own tools. Where there is no Node to run them, they are skipped, loudly and counted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNAVAILABLE = 69  # scripts/extensions.py

node = pytest.mark.node
pytestmark = pytest.mark.timeout(300)  # the first one waits for npm


def call(script: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "extensions.py"), "run", script]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def run(script: str) -> str:
    done = call(script)
    if done.returncode == UNAVAILABLE:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@node
def test_what_biome_asks_for_is_kept() -> None:
    run("lint")


@node
def test_the_types_fit() -> None:
    run("types")


@node
def test_the_unit_tests_pass() -> None:
    counted = re.search(r"^ℹ pass (\d+)$", run("unit"), re.MULTILINE)
    assert counted is not None
    assert int(counted[1]) > 100


@node
def test_the_bundles_are_what_esbuild_makes_of_the_sources_here() -> None:
    run("bundles")


def program(folder: Path, name: str, says: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{says}\n")
    (folder / name).chmod(0o755)


def test_without_node_it_says_what_is_missing(tmp_path: Path) -> None:
    done = call("unit", {"PATH": str(tmp_path)})
    assert done.returncode == UNAVAILABLE
    assert done.stderr == "there is no Node: install Node 20 or newer, with npm\n"


def test_an_old_node_is_not_tried(tmp_path: Path) -> None:
    program(tmp_path, "node", "echo v18.20.4")
    program(tmp_path, "npm", "exit 1")
    done = call("unit", {"PATH": str(tmp_path)})
    assert done.returncode == UNAVAILABLE
    assert done.stderr == "Node is v18.20.4: install Node 20 or newer\n"


@pytest.mark.parametrize(("says", "status"), [("code ENOTFOUND", UNAVAILABLE), ("code EUSAGE: not in sync", 1)])
def test_an_index_that_is_out_of_reach_is_told_from_a_lock_file_that_is_wrong(tmp_path: Path, says: str, status: int) -> None:
    for name in ("package.json", "package-lock.json", ".npmrc", "lab/package.json", "widgets/package.json"):
        copy = tmp_path / "extensions" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / "extensions" / name).read_bytes())
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "extensions.py"
    script.write_bytes((ROOT / "scripts" / "extensions.py").read_bytes())
    program(tmp_path, "node", "echo v20.0.0")
    program(tmp_path, "npm", f"echo 'npm error {says}' >&2; exit 1")
    command = [sys.executable, str(script), "run", "unit"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)})
    assert done.returncode == status
    assert ("can't reach its index" if status == UNAVAILABLE else says) in done.stderr
