"""One thread that runs short callbacks at their time: redraws, time limits, repeated signals.

It starts with the first callback and ends with `close`. Nothing here knows what the callbacks do.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable

from hermes_nb._daemon import daemon

_log = logging.getLogger(__name__)
_Entry = tuple[float, int, "list[Callable[[], None]]"]


class Timer:
    """Runs callbacks on its own daemon thread, earliest first.

    Args:
        clock: Returns seconds; monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # SimpleQueue.put is re-entrant, so that a signal handler may ask for a callback.
        self._inbox: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._count = itertools.count()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def start(self) -> None:
        """Make sure that the thread runs; needed before `call_soon` from a signal handler."""
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._thread = daemon(self._run, name="timer")
                self._thread.start()

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` at once. Safe in a signal handler once `start` was called."""
        self._inbox.put((self._clock(), next(self._count), [callback]))

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Run `callback` after `delay_s`; returns what takes it back."""
        self.start()
        cell = [callback]
        self._inbox.put((self._clock() + max(0.0, delay_s), next(self._count), cell))
        return cell.clear

    def close(self) -> None:
        """End the thread; callbacks that were not due yet never run, nor do later ones."""
        with self._lock:
            self._is_closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._inbox.put(None)
            if thread is not threading.current_thread():
                thread.join(timeout=2.0)

    def _run(self) -> None:
        waiting: list[_Entry] = []
        while True:
            timeout_s = max(0.0, waiting[0][0] - self._clock()) if waiting else None
            try:
                entry = self._inbox.get(timeout=timeout_s)
            except queue.Empty:
                pass
            else:
                if entry is None:
                    return
                heapq.heappush(waiting, entry)
            while waiting and waiting[0][0] <= self._clock():
                for callback in heapq.heappop(waiting)[2][:]:
                    try:
                        callback()
                    except Exception:  # noqa: BLE001 - one bad callback must not end the others
                        _log.exception("A callback of the host failed.")
