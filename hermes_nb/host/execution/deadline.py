"""The time limit of one call. It does not run while the call asks a person, nor while a debugger halts it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hermes_nb.host.execution.timer import Timer

# A call that is halted in a debugger when its time is over is looked at again this often.
LOOK_S = 0.25
_SUSPENDED = 2  # pydevd's STATE_SUSPEND


class Deadline:
    """Calls `on_over` once, when a call has had its time.

    Args:
        limit_s: How long the call may take; None for ever.
        timer: Runs the callback.
        on_over: What then is done.
        is_halted: Whether a debugger halts the call now. How long it did is not told, so the time begins anew after it.
        clock: Returns seconds; monotonic.
    """

    def __init__(
        self,
        limit_s: float | None,
        timer: Timer,
        on_over: Callable[[], None],
        is_halted: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit_s, self._timer, self._on_over, self._is_halted = limit_s, timer, on_over, is_halted
        self._clock = clock
        self._lock = threading.Lock()
        self._left_s = limit_s or 0.0
        self._since_s = 0.0
        self._n_held = 0
        self._is_on = False
        self._was_halted = False
        self._cancel: Callable[[], None] = _nothing

    def start(self) -> None:
        """The call begins."""
        with self._lock:
            self._is_on = self._limit_s is not None
            self._run(self._left_s)

    def end(self) -> None:
        """The call is over."""
        with self._lock:
            self._is_on = False
            self._cancel()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Meanwhile no time passes; from any thread, also more than once at a time."""
        with self._lock:
            self._n_held += 1
            if self._n_held == 1:
                self._cancel()
                self._left_s = max(0.0, self._left_s - (self._clock() - self._since_s))
        try:
            yield
        finally:
            with self._lock:
                self._n_held -= 1
                self._run(self._left_s)

    def _run(self, for_s: float) -> None:
        if self._is_on and not self._n_held:
            self._left_s, self._since_s = for_s, self._clock()
            self._cancel = self._timer.call_later(for_s, self._look)

    def _look(self) -> None:
        with self._lock:
            if not self._is_on or self._n_held:
                return
            if self._is_halted():
                self._was_halted = True
                self._run(LOOK_S)
                return
            if self._was_halted:
                self._was_halted = False
                self._run(self._limit_s or 0.0)
                return
            self._is_on = False
        self._on_over()


def is_halted(ident: int | None) -> bool:
    """Whether a debugger of the pydevd family (Jupyter's, VS Code's, PyCharm's) halts that thread."""
    thread = next((t for t in threading.enumerate() if t.ident == ident), None)
    return getattr(getattr(thread, "additional_info", None), "pydev_state", None) == _SUSPENDED


def _nothing() -> None:
    """What is done when there is nothing to do."""
