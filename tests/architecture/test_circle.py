"""Modules of a room that need each other, types included, are one module in two files: here there are none."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import source

# Not in it: api, where a Hermes and its agents know each other by type; what runs has no circle.
ROOMS = [
    "model",
    "offline_model",
    "views",
    "engine",
    "flyte",
    "tools",
    "store",
    "host",
    "runtimes",
    "workers",
    "sessions",
    "turns",
    "environments",
    "magics",
    "widgets",
    "testing",
]


def _imported(path: Path, *, when: str) -> Iterator[str]:
    """Modules that a file names when it is `read` (with annotations), or when it `runs` (with functions)."""

    def of(node: ast.AST) -> Iterator[ast.ImportFrom]:
        for child in ast.iter_child_nodes(node):
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            is_for_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            if isinstance(child, ast.ImportFrom):
                yield child
            elif not (is_function if when == "read" else is_for_types):
                yield from of(child)

    for node in of(source.tree(path)):
        folder = source.ROOT.joinpath(*str(node.module).split("."))
        if not all((folder / f"{alias.name}.py").exists() for alias in node.names):  # else the package is only their place
            yield str(node.module)
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(("room", "when"), [*((room, "read") for room in ROOMS), ("api", "runs"), ("flyte", "runs")])
def test_no_module_needs_one_that_needs_it(room: str, when: str) -> None:
    files = {source.dotted(path): path for path in (source.PACKAGE / room).rglob("*.py")}
    needed = {name: {n for n in _imported(path, when=when) if n in files and n != name} for name, path in files.items()}
    assert any(needed.values()) or len(files) <= 2
    graphlib.TopologicalSorter(needed).prepare()  # raises CycleError, which names the circle
