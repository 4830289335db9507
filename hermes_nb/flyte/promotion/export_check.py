"""Whether an exported module can be imported where `flyte run` imports it: tried in an interpreter of its own, before it is
written.

What the notebook did to its own path, and what stands in a folder that is not the module's, is found here and missing there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.flyte.promotion import bundle as bundles

TIMEOUT_S = 60.0
# The adapter is stood for: it needs Hermes at its import, which may live in an environment of its own.
_CHILD = """
import importlib.util, json, os, sys, types
order = json.load(sys.stdin)
told = os.fdopen(os.dup(1), "w")
sys.stdout = sys.stderr
sys.path[:0] = order["folders"]
missing = [name for name in order["modules"] if importlib.util.find_spec(name) is None]
adapter = types.ModuleType("flyteplugins.agents.hermes")
adapter.run_agent = None
adapter.tool = lambda function=None, **options: function if function is not None else lambda f: f
sys.modules[adapter.__name__] = adapter
error = None
try:
    module = types.ModuleType(order["name"])
    module.__file__ = order["file"]
    sys.modules[order["name"]] = module
    exec(compile(order["text"], order["file"], "exec", dont_inherit=True), vars(module))
except BaseException as exc:
    error = [type(exc).__name__, str(exc)]
print(json.dumps([missing, error]), file=told, flush=True)
"""


def included(modules: Sequence[str], folder: Path) -> list[str]:
    """Data files of local packages, as `include` of an environment names them.

    Args:
        modules: Names of the local modules.
        folder: The exported module's, from which `flyte run` takes files along.

    Raises:
        UsageError: A package with data files is elsewhere.
    """
    files: list[str] = []
    for module in modules:
        for path in bundles.data_files(module).taken.values():
            if not path.resolve().is_relative_to(folder.resolve()):
                raise UsageError(
                    f"Package {module!r} has data files ({path.name} ...), which `flyte run` takes along only from below the"
                    f" module's own folder. Write the module into the folder that has {module}: --export"
                    f" {os.path.relpath(_home(module, path), Path.cwd())}/NAME.py; or promote without --export."
                )
            files.append(path.resolve().relative_to(folder.resolve()).as_posix())
    return sorted(files)


def _home(module: str, path: Path) -> Path:
    return next((parent.parent for parent in path.parents if parent.name == module), path.parent)


def check(text: str, path: Path, modules: Sequence[str]) -> None:
    """Import the module's text as `flyte run` in its folder does.

    Args:
        text: The module's text.
        path: Where it will be written.
        modules: Top-level names of the user's own modules that it needs, also within functions.

    Raises:
        UsageError: It can't be imported there.
    """
    path = path.resolve()
    folders = list(dict.fromkeys([str(path.parent), str(Path.cwd())]))
    order = {"text": text, "name": path.stem, "file": str(path), "folders": folders, "modules": list(modules)}
    missing, error = _told(order, path.parent)
    shown = os.path.relpath(path.parent, Path.cwd())
    if missing:
        raise UsageError(
            f"Nothing was written: module {missing[0]!r} is found here through the notebook's sys.path, and `flyte run` in"
            f" {shown} does not find it. Write the module beside {missing[0]}, or install {missing[0]}; or promote without"
            " --export."
        )
    if error is not None:
        raise UsageError(
            f"Nothing was written: the module can't be imported in an interpreter of its own: {error[0]}: {error[1]}. Change"
            " what is named there, or promote without --export."
        )


def _told(order: Mapping[str, Any], folder: Path) -> tuple[list[str], list[str] | None]:
    """Modules that are not found there, and what was raised, as (kind, text)."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", "-c", _CHILD],
            input=json.dumps(order).encode(),
            capture_output=True,
            cwd=folder,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], ["Timeout", f"it took longer than {TIMEOUT_S:g} s"]
    if not done.stdout:
        return [], ["Ended", done.stderr.decode("utf-8", "replace")[-300:]]
    missing, error = json.loads(done.stdout)
    return missing, error
