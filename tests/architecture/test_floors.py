"""Imports point down, through one door each. import-linter is the law; what it can't see is read from the sources."""

import ast
import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import source

DOORS = {name: c for name, c in source.contracts().items() if name.startswith("One door: ")}


def test_import_contracts_are_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()"]
    ran = subprocess.run(
        [*command, "--no-logo", "--cache-dir", str(tmp_path)], cwd=source.ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_runtime_is_in_the_independence_contract() -> None:
    files = {source.dotted(p) for p in (source.PACKAGE / "runtimes").glob("*.py") if not p.name.startswith("_")}
    assert set(source.contracts()["Runtimes do not know each other"]["modules"]) == files


def test_every_room_has_a_floor() -> None:
    layers = " ".join(source.contracts()["Floors: imports point down"]["layers"])
    floors = set(re.findall(r"\w+", layers))
    rooms = {p.stem for p in source.PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert rooms - {"__init__", "labextension"} <= floors


def asked_for(path: Path) -> set[str]:
    """Top-level names that a file imports or asks for by a literal name, annotations' imports apart."""
    apart: set[ast.AST] = set()
    for branch in source.nodes(path, ast.If):
        if isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING":
            apart.update(node for statement in branch.body for node in ast.walk(statement))
    found: set[str] = set()
    for node in source.nodes(path, ast.Import, ast.ImportFrom, ast.Call):
        if node in apart:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module if node.module and not node.level else "")
        else:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"require", "import_module", "__import__"} and node.args:
                name = node.args[0]
                found.add(name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else "")
    return {name.partition(".")[0] for name in found if name}


@pytest.mark.parametrize("door", DOORS)
def test_a_package_with_one_door_is_asked_for_there_alone(door: str) -> None:
    may = [line.partition(" -> ")[0].replace(".**", ".*") for line in DOORS[door]["ignore_imports"]]
    guarded = set(DOORS[door]["forbidden_modules"])
    trespassers = {
        source.name_of(path): sorted(asked_for(path) & guarded)
        for path in source.modules()
        if asked_for(path) & guarded
        and not any(
            fnmatch.fnmatch(source.dotted(path) + ".", may_be + ".") or fnmatch.fnmatch(source.dotted(path), may_be)
            for may_be in may
        )
    }
    assert trespassers == {}
