"""What waits for the main thread: run in the order it was submitted, by whichever comes first.

That is a waiter that blocks the main thread (`run_one` in its loop), or the loop that runs there (a callback per entry).
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class MainThread:
    """A queue of functions for the main thread; a function must not raise."""

    def __init__(self) -> None:
        self._entries: deque[Callable[[], None]] = deque()
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._is_stuck = False

    @property
    def is_stuck(self) -> bool:
        """Whether an entry was taken back, and the main thread has not come to the queue since."""
        return self._is_stuck

    @property
    def n_waiters(self) -> int:
        """How many waiters serve the queue now."""
        return len(self._listeners)

    def put(self, run: Callable[[], None], loop: asyncio.AbstractEventLoop | None) -> Callable[[], bool]:
        """Add an entry from any thread; `loop` is the main thread's, None when it has none.

        Returns: takes the entry back; False when the main thread has it already.
        """
        self._entries.append(run)
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # closed: a blocking waiter will come, or nobody
                loop.call_soon_threadsafe(self.run_one, context=contextvars.Context())
        return lambda: self._take_back(run)

    def _take_back(self, run: Callable[[], None]) -> bool:
        try:
            self._entries.remove(run)
        except ValueError:
            return False
        self._is_stuck = True
        return True

    def run_one(self) -> bool:
        """Run the oldest entry, on the main thread; False when there was none."""
        self._is_stuck = False
        try:
            run = self._entries.popleft()
        except IndexError:
            return False
        run()
        return True

    @contextmanager
    def serving(self, listener: Callable[[], None]) -> Iterator[None]:
        """While the main thread blocks: `listener` is called (from any thread) when an entry arrives."""
        with self._lock:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(listener)
