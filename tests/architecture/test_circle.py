"""Modules of a room that need each other, types included, are one module in two files: here there are none."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import source

# Not in it: sessions (a Hermes and its agents know each other by type), flyte and magics (the package is in a circle).
ROOMS = ["model", "views", "engine", "tools", "store", "host", "runtimes", "widgets", "testing"]


def _imported(path: Path) -> Iterator[str]:
    """Modules that a file names when it is imported, or in annotations; not what a function asks for when it runs."""

    def of(node: ast.AST) -> Iterator[ast.ImportFrom]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ImportFrom):
                yield child
            elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from of(child)

    for node in of(source.tree(path)):
        yield str(node.module)
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_needs_one_that_needs_it(room: str) -> None:
    files = {source.dotted(path): path for path in (source.PACKAGE / room).glob("*.py")}
    needed = {name: {n for n in _imported(path) if n in files and n != name} for name, path in files.items()}
    assert any(needed.values())
    graphlib.TopologicalSorter(needed).prepare()  # raises CycleError, which names the circle
