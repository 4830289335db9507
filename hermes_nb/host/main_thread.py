"""What waits for the main thread: run in the order it was submitted, by whichever comes first.

That is a waiter that blocks the main thread (`run_one` in its loop), or the loop that runs there (a callback per entry).
"""

from __future__ import annotations

import asyncio
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

    @property
    def n_waiters(self) -> int:
        """How many waiters serve the queue now."""
        return len(self._listeners)

    def put(self, run: Callable[[], None], loop: asyncio.AbstractEventLoop | None) -> None:
        """Add an entry from any thread; `loop` is the main thread's, None when it has none."""
        self._entries.append(run)
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self.run_one, context=contextvars.Context())
            except RuntimeError:  # closed: a blocking waiter will come, or nobody
                return

    def run_one(self) -> bool:
        """Run the oldest entry, on the main thread; False when there was none."""
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
