"""Threads of this package's own: a debugger neither traces nor halts them.

Jupyter's visual debugger (debugpy) halts every thread at a breakpoint and traces all of them from the moment it is attached.
A thread of ours that is held would keep the turn, the store and Stop from answering, so each is marked as ipykernel marks
its own. Threads in which a tool's body runs are the user's, and are not made here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def daemon(target: Callable[..., object], *arguments: Any, name: str) -> threading.Thread:
    """A daemon thread that no debugger holds; not started yet."""
    return unheld(threading.Thread(target=target, args=arguments, name=f"hermes-nb-{name}", daemon=True))


def unheld(thread: threading.Thread) -> threading.Thread:
    """The thread, which no debugger traces or holds from now on; best before it starts."""
    # The names that pydevd, which is inside debugpy, looks for: the first for tracing, the second for halting.
    for mark in ("pydev_do_not_trace", "is_pydev_daemon_thread"):
        setattr(thread, mark, True)
    return thread


def hold_none_of_this() -> None:
    """Mark the calling thread: what a pool of threads runs first in each."""
    unheld(threading.current_thread())
