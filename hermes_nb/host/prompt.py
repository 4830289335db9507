"""A person is asked by a tool: by `input` or `getpass`, and so at the prompt of pdb.

Meanwhile the tool's time limit does not run. Where no cell is there to ask in (a background turn whose cell is over), the
interpreter's own functions would read what the kernel was started with: that is said instead, at once.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import functools
import getpass
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hermes_nb.errors import NobodyThereError
from hermes_nb.host.execution.tool_job import ToolJob

_ASKS: contextvars.ContextVar[ToolJob | None] = contextvars.ContextVar("hermes_nb_asks", default=None)
_PLACES: tuple[tuple[Any, str], ...] = ((builtins, "input"), (getpass, "getpass"))
_LOCK = threading.Lock()
_n_open = 0


@contextmanager
def asking(job: ToolJob, *, needs_cell: bool) -> Iterator[None]:
    """While the job runs in this context: its prompts hold its time limit.

    Args:
        job: Whose body runs.
        needs_cell: Refuse the interpreter's own `input` and `getpass`: in a kernel nobody sees them.
    """
    token = _ASKS.set(job)
    _open(needs_cell)
    try:
        yield
    finally:
        _close()
        _ASKS.reset(token)


def _open(needs_cell: bool) -> None:
    global _n_open
    with _LOCK:
        _n_open += 1
        for module, name in _PLACES:
            function = getattr(module, name)
            if not hasattr(function, "_hermes_nb_asks"):
                setattr(module, name, _held(function, is_refused=needs_cell and _is_the_interpreters(function)))


def _close() -> None:
    """With the last one the functions are what they were. What a cell has put there meanwhile stays."""
    global _n_open
    with _LOCK:
        _n_open -= 1
        if _n_open == 0:
            for module, name in _PLACES:
                setattr(module, name, getattr(getattr(module, name), "_hermes_nb_asks", getattr(module, name)))


def _is_the_interpreters(function: Callable[..., str]) -> bool:
    """Whether this is Python's own function; while a cell runs, the kernel's stand in its place."""
    return isinstance(function, types.BuiltinFunctionType) or getattr(function, "__module__", "") == "getpass"


def _held(function: Callable[..., str], *, is_refused: bool) -> Callable[..., str]:
    @functools.wraps(function)
    def ask(*args: Any, **kwargs: Any) -> str:
        job = _ASKS.get()
        if job is None:
            return function(*args, **kwargs)
        if is_refused:
            raise NobodyThereError(
                f"Tool '{job.call.tool.name}' asks by {function.__name__}(), or stands at a debugger's prompt, and no cell"
                " runs in which a person could answer. Let a cell wait for the turn (without --background)."
            )
        with contextlib.nullcontext() if job.limit is None else job.limit.held():
            return function(*args, **kwargs)

    ask._hermes_nb_asks = function  # type: ignore[attr-defined]
    return ask
