"""The repository as data: its files, their syntax trees, its contracts. Read from the work tree, nothing is imported."""

from __future__ import annotations

import ast
import functools
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "hermes_nb"


def modules() -> list[Path]:
    """Python files of the package, sorted."""
    return sorted(p for p in PACKAGE.rglob("*.py") if "labextension" not in p.parts)


def python_files() -> list[Path]:
    """Python files of the package, the tests and the scripts, sorted."""
    found = [*modules(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
    return sorted(p for p in found if ".ipynb_checkpoints" not in p.parts)


def text_files() -> list[Path]:
    """What is, or would be, committed and can be read as text."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
        paths = [ROOT / name for name in listed]
    except (OSError, subprocess.CalledProcessError):  # an unpacked sdist
        paths = [p for p in ROOT.rglob("*") if not {".venv", "node_modules", ".git"} & set(p.parts)]
    binary = {".png", ".gif", ".jpg", ".ico", ".woff2", ".whl", ".gz", ".zip", ".pyc"}
    return sorted(p for p in paths if p.is_file() and p.suffix not in binary)


def name_of(path: Path) -> str:
    """How a file is called in messages: its path from the root."""
    return path.relative_to(ROOT).as_posix()


def dotted(path: Path) -> str:
    """A module's dotted name."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def tree(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def nodes(path: Path, *kinds: type[ast.AST]) -> Iterator[Any]:
    """All nodes of some kinds."""
    return (node for node in ast.walk(tree(path)) if isinstance(node, kinds))


@functools.cache
def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def contracts() -> dict[str, dict[str, Any]]:
    """The import contracts, by name."""
    return {contract["name"]: contract for contract in project()["tool"]["importlinter"]["contracts"]}
