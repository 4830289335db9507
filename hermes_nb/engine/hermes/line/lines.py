"""The lines of versions that the engine knows, and which of them is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from hermes_nb.engine.hermes.line import coroutine, threaded
from hermes_nb.engine.hermes.line.private_name import Line

LINES = (threaded.LINE, coroutine.LINE)
NEWEST = "0.19"  # of hermes-agent on the package index


def installed() -> tuple[Line, str]:
    """Return the line of the Hermes that is installed here, and its version.

    Raises:
        ModuleNotFoundError: None is installed.
    """
    for line in LINES:
        try:
            return line, version(line.distribution)
        except PackageNotFoundError:
            continue
    raise ModuleNotFoundError(f"no {' or '.join(line.distribution for line in LINES)} is installed")
