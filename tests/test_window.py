"""The shop window: what `import hermes_nb` offers, and what it does not do."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hermes_nb

PROBE = """
import json, os, sys, threading, time
before = set(sys.modules)
files = set(os.listdir("."))
began_s = time.perf_counter()
import hermes_nb
took_ms = (time.perf_counter() - began_s) * 1000
print(json.dumps({
    "modules": sorted(set(sys.modules) - before), "threads": threading.active_count(),
    "files": sorted(set(os.listdir(".")) - files), "took_ms": took_ms,
}))
"""

LOAD_PROBE = """
import json, os, sys, threading, time
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
before, threads, files = set(sys.modules), threading.active_count(), set(os.listdir("."))
began_s = time.perf_counter()
shell.extension_manager.load_extension("hermes_nb")
took_ms = (time.perf_counter() - began_s) * 1000
print(json.dumps({
    "modules": sorted(set(sys.modules) - before), "threads": threading.active_count() - threads,
    "files": sorted(set(os.listdir(".")) - files), "took_ms": took_ms,
    "children": open(f"/proc/self/task/{os.getpid()}/children").read().split() if sys.platform == "linux" else [],
}))
"""

HEAVY = (
    "aiosqlite", "anywidget", "flyte", "griffe", "ipywidgets", "numpy", "openai", "pandas", "plotly", "pydantic",
    "run_agent",
)  # fmt: skip


def probe(source: str, folder: Path) -> dict[str, Any]:
    """What a fresh interpreter says of itself."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(hermes_nb.__file__).parents[1]), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_import_brings_nothing_but_itself(tmp_path: Path) -> None:
    found = probe(PROBE, tmp_path)
    print(f"import hermes_nb: {found['took_ms']:.1f} ms")
    assert set(found["modules"]) == {"hermes_nb", "hermes_nb._version"}
    assert found["threads"] == 1
    assert found["files"] == []


def test_load_ext_brings_nothing_heavy(tmp_path: Path) -> None:
    found = probe(LOAD_PROBE, tmp_path)
    print(f"%load_ext hermes_nb: {found['took_ms']:.1f} ms")
    roots = {name.partition(".")[0] for name in found["modules"]}
    assert not roots & set(HEAVY)
    assert not [name for name in found["modules"] if name.startswith(("hermes_nb.sessions", "hermes_nb.engine"))]
    assert found["threads"] == 0
    assert found["files"] == [".ipython"] or found["files"] == []
    assert found["children"] == []


def test_every_export_is_there_and_documented() -> None:
    for name in hermes_nb.__all__:
        value = getattr(hermes_nb, name)
        assert name == "__version__" or inspect.getdoc(value)


def test_the_export_table_names_what_editors_see() -> None:
    """Type checkers read the imports, Python reads the table: they must agree."""
    tree = ast.parse(Path(hermes_nb.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name: node.module.removeprefix("hermes_nb.")
        for node in guarded.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hermes_nb.")
        for alias in node.names
    }
    table = {name: module for module, names in hermes_nb._EXPORTS.items() for name in names}
    assert imported == table
    assert sorted([*table, "__version__"]) == sorted(hermes_nb.__all__)


def test_dir_lists_exports_before_they_are_used() -> None:
    assert set(hermes_nb.__all__) <= set(dir(importlib.reload(hermes_nb)))


def test_an_unknown_name_is_an_attribute_error_that_lists_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'agnet'\. It has: Agent, "):
        hermes_nb.agnet  # noqa: B018
    with pytest.raises(ImportError):
        from hermes_nb import nothing_of_that_name  # type: ignore[attr-defined] # noqa: F401


def test_help_leads_a_newcomer_on() -> None:
    text = pydoc.plain(pydoc.render_doc(hermes_nb))
    head = text[: text.index("PACKAGE CONTENTS")]
    steps = ("%load_ext hermes_nb", "from hermes_nb import", "%hermes agent", "%hermes run", "%hermes help", "help(Agent)")
    for step in steps:
        assert step in head


def test_the_window_stays_small() -> None:
    for path in (Path(hermes_nb.__file__), Path(hermes_nb.__file__).parent / "magics" / "__init__.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 80
