"""The one door to optional and heavy packages; elsewhere they are never imported at module level."""

from __future__ import annotations

import importlib
import importlib.util
import re
from types import ModuleType

from hermes_nb.errors import MissingPackageError

# Which extra of hermes-nb brings a module; a module not named here belongs to the base install.
EXTRAS = {
    "flyte": "flyte",
    "flyteplugins": "flyte-adapter",
    "cloudpickle": "flyte",
    "ipywidgets": "widgets",
    "anywidget": "widgets",
    "jupyterlab": "lab",
    "opentelemetry": "otel",
    "fastapi": "tool-host",
    "uvicorn": "tool-host",
    "mcp": "tool-host",
    "mcp_types": "tool-host",
}

# What a front end brings along may be older than what our extras ask for: Colab has ipywidgets 7.
OLDEST = {"ipywidgets": (8, 1), "anywidget": (0, 9, 13)}


def lack(*modules: str) -> str:
    """Which of these can't be used, as a sentence's beginning; "" when all can. Imports none of them."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
        if module in OLDEST and (version := _version(module)):
            oldest = OLDEST[module]
            if tuple(int(part) for part in re.findall(r"\d+", version)[:3]) < oldest:
                return f"{module} {version} is older than {'.'.join(map(str, oldest))}"
    return ""


def _version(package: str) -> str:
    from importlib import metadata  # 15 ms

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # a copy on the path, without its papers
        return ""


def lack_of_widgets() -> str:
    """Why nothing can be shown as a widget, as `lack`; "" when it can."""
    return lack("ipywidgets", "anywidget")


def require(module: str, *, why: str) -> ModuleType:
    """The imported module.

    Args:
        module: Dotted name, as in an import statement.
        why: Completes "it is needed ...", for the error.

    Raises:
        MissingPackageError: It is not installed, or too old; the message gives the pip line. A broken install (the module
            is there and fails to import something else) raises its own ImportError.
    """
    root = module.partition(".")[0]
    wanted = f"hermes-nb[{EXTRAS[root]}]" if root in EXTRAS else "hermes-nb"
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as exc:
        if exc.name is None or not (module == exc.name or module.startswith(f"{exc.name}.")):
            raise
        raise MissingPackageError(
            f"{root} is not installed; it is needed {why}. Run %pip install '{wanted}'.", name=exc.name
        ) from exc
    if root in OLDEST and (lacking := lack(root)):
        raise MissingPackageError(f"{lacking}; it is needed {why}. Run %pip install '{wanted}'.", name=root)
    return found
