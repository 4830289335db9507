"""`%hermes runtimes`: the places agents can run, which of them can be used here, and why not."""

from __future__ import annotations

import argparse
from typing import Any

from hermes_nb import _registry
from hermes_nb.errors import HermesNbError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show
from hermes_nb.runtimes._base import Runtime

SUMMARY = "list where agents can run, and what a place lacks"
EXAMPLES = ("%hermes runtimes",)
NOTES = """\
--on of %hermes agent and %hermes run takes a name of this list, or a variable that holds a runtime. Other packages add
theirs by an entry point of the group hermes_nb.runtimes."""


def parser() -> Parser:
    """Return the options."""
    return Parser("runtimes")


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show them: plug-ins first, then variables of the notebook."""
    rows = [(name, *_usable(name)) for name in _registry.all_names("runtimes")]
    for name, value in context.variables().items():
        if isinstance(value, Runtime) and not isinstance(value, type):
            rows.append((name, "yes", f"this notebook's variable: {value!r}"))
    show(("runtime", "usable", "what it is, or lacks"), rows)


def _usable(name: str) -> tuple[str, str]:
    try:
        module: Any = _registry.load("runtimes", name)
        lack = module.lack() if hasattr(module, "lack") else ""
    except (ImportError, HermesNbError) as exc:
        return "no", " ".join(str(exc).split())
    if lack:
        return "no", lack
    return "yes", str(module.__doc__ or "").strip().split("\n")[0]
