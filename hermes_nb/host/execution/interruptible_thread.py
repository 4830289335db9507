"""A function in a thread that can be ended from outside, by an exception that the interpreter raises in that thread."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")

# Before Python 3.13 the interpreter has one flag for all threads: an exception waits to be raised. Raising it lowers
# the flag; withdrawing it does not, nor does a thread that sleeps in C. Meanwhile Python 3.12 runs loops 1.3 and
# calls 1.6 times slower, and in Python 3.11 the next call under `sys.settrace` (a debugger, coverage) never ends. So
# nothing is withdrawn here, and the flag is lowered at once; a thread that wakes raises it again by itself. Gone
# with https://github.com/python/cpython/pull/109846; tests/host/test_thread_body.py tells.
SHARES_FLAG = sys.version_info < (3, 13)


class ThreadBody(Generic[Value]):
    """A body in a thread, into which KeyboardInterrupt can be put; it is raised at the next step of the interpreter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ident: int | None = None

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the body; nothing when it is not running."""
        with self._lock:
            if self._ident is not None:
                _raise_in(self._ident, KeyboardInterrupt)

    def run(self, body: Callable[[], Value]) -> Value | None:
        """The value of `body()`, None when it was torn down. No interrupt outlives it."""
        outcome: Value | None = None
        try:
            try:
                self._ident = threading.get_ident()
                outcome = body()
            finally:
                self._end()
        except KeyboardInterrupt:
            self._end()
        return outcome

    def _end(self) -> None:
        with self._lock:
            self._ident = None
        # What was put in and not raised yet is raised here at the latest: the interpreter looks at the end of each call.


class _Flagged(BaseException):
    """Raised in the thread that interrupts another, to take the flag back."""


def _raise_in(ident: int, error: type[BaseException]) -> None:
    import ctypes  # 9 ms

    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    own = threading.get_ident()
    raise_in(ctypes.c_ulong(ident), ctypes.py_object(error))
    if SHARES_FLAG and ident != own:
        with contextlib.suppress(_Flagged):
            raise_in(ctypes.c_ulong(own), ctypes.py_object(_Flagged))  # raised at the end of this call
