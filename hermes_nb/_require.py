"""The one door to optional and heavy packages; elsewhere they are never imported at module level."""

from __future__ import annotations

import importlib
from types import ModuleType

from hermes_nb.errors import MissingPackageError

# Which extra of hermes-nb brings a module; a module not named here belongs to the base install.
EXTRAS = {
    "flyte": "flyte",
    "flyteplugins": "flyte",
    "ipywidgets": "widgets",
    "anywidget": "widgets",
    "jupyterlab": "lab",
    "opentelemetry": "otel",
}


def require(module: str, *, why: str) -> ModuleType:
    """The imported module.

    Args:
        module: Dotted name, as in an import statement.
        why: Completes "it is needed ...", for the error.

    Raises:
        MissingPackageError: It is not installed; the message gives the pip line. A broken install (the module is
            there and fails to import something else) raises its own ImportError.
    """
    root = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as exc:
        if exc.name is None or not (module == exc.name or module.startswith(f"{exc.name}.")):
            raise
        wanted = f"hermes-nb[{EXTRAS[root]}]" if root in EXTRAS else "hermes-nb"
        raise MissingPackageError(
            f"{root} is not installed; it is needed {why}. Run %pip install '{wanted}'.", name=exc.name
        ) from exc
