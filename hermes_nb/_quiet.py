"""Keeps what libraries log about our own use of them out of a notebook whose root logger is at DEBUG.

The one place that touches foreign loggers, and only by a filter that lets through whatever the user does with the same
library: it drops records below WARNING that were made on a thread of ours, or inside `quietly`.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
from collections.abc import Iterator

STORE_THREAD = "hermes-nb-store"
_OWN_THREADS = ("hermes-nb-io", "hermes-nb-file", STORE_THREAD)  # not those of tools: there the user's code runs
_is_ours: contextvars.ContextVar[bool] = contextvars.ContextVar("hermes_nb_quiet", default=False)


def _passes(record: logging.LogRecord) -> bool:
    is_own = _is_ours.get() or str(record.threadName).startswith(_OWN_THREADS)
    return record.levelno >= logging.WARNING or not is_own


def hush(*libraries: str) -> None:
    """Filter the loggers that these libraries have by now; call it after they were imported. Doing it again is free."""
    names = [n for n in list(logging.root.manager.loggerDict) if n.startswith(tuple(f"{one}." for one in libraries))]
    for name in (*libraries, *names):
        logging.getLogger(name).addFilter(_passes)


@contextlib.contextmanager
def quietly(*libraries: str) -> Iterator[None]:
    """Nothing that these libraries log within the block is heard, whichever thread it runs on."""
    hush(*libraries)
    token = _is_ours.set(True)
    try:
        yield
    finally:
        _is_ours.reset(token)
