"""Text that streams in is sent in pieces of 30 ms: one thread of the process sees to it."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Flushable(Protocol):
    """Something that has text waiting."""

    def flush(self) -> None:
        """Send it; never raises."""


class DeltaPump:
    """One thread per process that flushes waiting text every 30 ms.

    Args:
        interval_s: How long text may wait.
    """

    def __init__(self, interval_s: float = 0.03) -> None:
        self._interval_s = interval_s
        self._waiting: set[Flushable] = set()
        self._lock = threading.Lock()
        self._has_work = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self, source: Flushable) -> None:
        """`source` has text."""
        if source in self._waiting:
            return
        with self._lock:
            self._waiting.add(source)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hermes-nb-deltas", daemon=True)
                self._thread.start()
        self._has_work.set()

    def _run(self) -> None:
        while self._has_work.wait():
            time.sleep(self._interval_s)
            with self._lock:
                self._has_work.clear()
                waiting, self._waiting = self._waiting, set()
            for source in waiting:
                source.flush()
