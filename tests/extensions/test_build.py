"""What is built from `extensions/` and committed: it is what its sources give, and a change of either is noticed. No Node needed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "extensions"
ASSETS = {"lab": "hermes_nb/labextension", "widgets": "hermes_nb/widgets/static"}


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts" / "extensions.py"), "check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_built_is_what_the_sources_give() -> None:
    checked = check(ROOT)
    assert checked.returncode == 0, checked.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(SOURCES, tmp_path / "extensions", ignore=shutil.ignore_patterns("node_modules", "lib"))
    for assets in ASSETS.values():
        shutil.copytree(ROOT / assets, tmp_path / assets)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "extensions.py", tmp_path / "scripts")
    assert check(tmp_path).returncode == 0
    return tmp_path


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("lab", "lab/src/panel.ts"),
        ("lab", "lab/package.json"),
        ("widgets", "widgets/src/turn/rows.js"),
        ("widgets", "widgets/src/shared/theme.css"),
        ("widgets", "widgets/build.mjs"),
    ],
)
def test_a_source_that_changed_is_noticed(tree: Path, package: str, file: str) -> None:
    with (tree / "extensions" / file).open("a") as source:
        source.write("\n")
    checked = check(tree)
    assert checked.returncode == 1
    assert checked.stderr == f"{ASSETS[package]} was not built from extensions/{package} as it is. Run make extensions.\n"


def test_a_lock_file_that_changed_outdates_both(tree: Path) -> None:
    with (tree / "extensions" / "package-lock.json").open("a") as lock:
        lock.write("\n")
    assert [line.partition(" ")[0] for line in check(tree).stderr.splitlines()] == list(ASSETS.values())


@pytest.mark.parametrize("package", ASSETS)
def test_what_was_changed_behind_the_build_is_noticed(tree: Path, package: str) -> None:
    built = next((tree / ASSETS[package]).rglob("*.js"))
    built.write_text(built.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    checked = check(tree)
    assert checked.returncode == 1
    assert f"{ASSETS[package]} was changed after it was built. Change extensions/{package}" in checked.stderr


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert len(packages) > 100
    assert [name for name, entry in packages.items() if "resolved" in entry and not entry.get("link")] == []
    foreign = [name for name, entry in packages.items() if "node_modules/" in name and not entry.get("link")]
    assert [name for name in foreign if "integrity" not in packages[name]] == []
