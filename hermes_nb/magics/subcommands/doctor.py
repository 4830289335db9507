"""`%hermes doctor`: what is installed, where things are, what was odd."""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from importlib import metadata

from hermes_nb import _settings
from hermes_nb._version import __version__
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show

SUMMARY = "show versions, keys found (by name), folders, workers and warnings"
EXAMPLES = ("%hermes doctor",)

_PACKAGES = ("hermes-agent", "ipython", "ipykernel", "pydantic", "pandas", "plotly", "aiosqlite")


def parser() -> Parser:
    """The options."""
    return Parser("doctor")


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show the table; starts nothing."""
    show(("what", "found"), [*_installed(), *_environment(), *_running(context)])


def _installed() -> list[tuple[str, str]]:
    return [
        ("hermes-nb", __version__),
        ("python", f"{platform.python_version()} at {sys.executable}"),
        *((name, _version(name)) for name in _PACKAGES),
    ]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return f"not installed: %pip install {package}"


def _environment() -> list[tuple[str, str]]:
    keys = [name for name in _settings.KEY_VARIABLES if _settings.variable(name)]
    return [
        ("HERMES_NB_MODEL", _settings.model() or "not set"),
        ("HERMES_NB_HOME", _settings.home() or "not set"),
        ("model keys", f"{', '.join(keys)}; the first one is used" if keys else "none found"),
    ]


def _running(context: Context) -> list[tuple[str, str]]:
    hermes = context.opened_hermes
    if hermes is None:
        return [("Hermes", "not started; the first %hermes agent or %hermes run does")]
    rows = [("state", str(hermes.state_dir))]
    for name, instance in hermes.instances.items():
        worker = instance.worker
        how = "ready" if worker.is_ready else "starting"
        state = "not running" if worker.pid is None else f"process {worker.pid}, {how}"
        rows.append((f"worker {name}", f"{state}; agents: {', '.join(instance.agents) or 'none'}; log: {worker.folder.log}"))
    rows.append(("running turns", ", ".join(f"{t.id} of {t.agent_name}" for t in context.running) or "none"))
    for at_unix_s, code, text in hermes.warnings[-10:]:
        rows.append((f"warning {datetime.datetime.fromtimestamp(at_unix_s):%H:%M:%S}", f"{code}: {text}"))
    return rows
