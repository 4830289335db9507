"""Ways of a debugger that a kernel does not give to tools by itself: `%debug` after one failed, `breakpoint()` within one.

The visual debugger needs nothing from here. Prompts and time limits are `prompt`'s and `limit`'s business.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.Lock()
_n_open = 0
_before: Any = None


def remember(error: BaseException | None) -> None:
    """Make a tool's error the one that `%debug` and `pdb.pm()` enter, as one that ended a cell would be.

    Its traceback then begins with the tool. Left alone where there is nothing to step into: no error, one without a frame
    of the tool (its arguments were wrong), one by which the tool speaks to the model, the end of a debugger's session.
    """
    from hermes_nb.errors import ToolError
    from hermes_nb.tools.rendering.error_report import outside

    at = None if error is None else outside(error.__traceback__)
    if error is None or at is None or isinstance(error, ToolError) or type(error).__module__ == "bdb":
        return
    error.__traceback__ = at
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, at
    if sys.version_info >= (3, 12):
        sys.last_exc = error


@contextmanager
def breaking(kernel: Any, *, is_answered: bool) -> Iterator[None]:
    """Meanwhile `breakpoint()` opens pdb, as it does in a script.

    ipykernel loads debugpy, and debugpy puts a `sys.breakpointhook` in place that does nothing until a debugger is attached
    (https://github.com/ipython/ipykernel/issues/897, ipykernel 7.4). tests/magics/test_prompt.py tells when it is mended.

    Args:
        kernel: The ipykernel.
        is_answered: Whether a person can answer; else it stays ignored, as in the rest of the notebook.
    """
    if not (is_answered and _is_ignored(kernel)):
        yield
        return
    _open()
    try:
        yield
    finally:
        _close()


def _is_ignored(kernel: Any) -> bool:
    is_attached = bool(getattr(getattr(kernel, "debugger", None), "is_started", False))
    is_debugpys = getattr(sys.breakpointhook, "__name__", "") == "debugpy_breakpointhook"
    return not is_attached and (is_debugpys or _n_open > 0)


def _open() -> None:
    global _n_open, _before
    with _LOCK:
        _n_open += 1
        if _n_open == 1:
            _before, sys.breakpointhook = sys.breakpointhook, sys.__breakpointhook__


def _close() -> None:
    global _n_open
    with _LOCK:
        _n_open -= 1
        if _n_open == 0 and sys.breakpointhook is sys.__breakpointhook__:  # else a tool has put its own there
            sys.breakpointhook = _before
