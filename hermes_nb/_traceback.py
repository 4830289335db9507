"""An error's traceback as its user needs it in IPython: what they called, not what this package did with it."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import TracebackType

_PACKAGE = str(Path(__file__).parent) + "/"
_LIBRARIES = tuple({sysconfig.get_path(name) + "/" for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def of_user(at: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this package and of what it calls; the user's own below them (a tool) stay."""
    kept, is_inside = [], False
    step = at
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        is_ours = name.startswith(_PACKAGE)
        is_inside |= is_ours
        is_called = is_inside and (name.startswith(_LIBRARIES) or (name[:1] == "<" and not name.startswith("<ipython")))
        if not is_ours and not is_called:
            kept.append(step)
        step = step.tb_next
    made: TracebackType | None = None
    for step in reversed(kept):
        made = TracebackType(made, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return made or at


def rendered(error: BaseException) -> list[str]:
    """The lines that IPython shows for an error, without the frames of this package, and where its cause and cure stand.

    Raises:
        RuntimeError: No shell of IPython runs here.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None:
        raise RuntimeError("No shell of IPython runs here.")
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, of_user(error.__traceback__))
    named = next((kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "hermes_nb.errors"), "")
    has_magic = "hermes" in shell.magics_manager.magics["line"]
    cure = f"%hermes help {named}" if has_magic else f'hermes_nb.help("{named}")'
    return [*lines, f"Cause and cure: {cure}"] if named else lines
