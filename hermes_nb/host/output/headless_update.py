"""What comes between two cells: a headless client reads messages of the running cell alone, so it is said again then.

nbclient 0.11 drops an update that is sent after a cell is over, and after the last cell it hears nothing at all. So what is
about to be replaced may also hold up a cell's end, for a moment.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

_OF_SHELLS: weakref.WeakKeyDictionary[Any, HeadlessUpdates] = weakref.WeakKeyDictionary()


class HeadlessUpdates:
    """Knows whether a cell runs; made while one does.

    Args:
        events: IPython's `shell.events`.
    """

    def __init__(self, events: Any) -> None:
        self._is_running = True
        self._again: dict[str, Callable[[], None]] = {}
        self._ends: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        events.register("pre_run_cell", self._begin)
        events.register("post_run_cell", self._end)

    def update(self, display_id: str, send: Callable[[], None]) -> None:
        """Send an update now, and if no cell runs again at the start of the next. No cell begins or ends meanwhile."""
        with self._lock:
            send()
            if not self._is_running:
                self._again[display_id] = send

    def before_end(self, wait: Callable[[], None]) -> None:
        """Call `wait` at the end of each cell, before its client is told that it is over."""
        self._ends.append(wait)

    def forget(self, wait: Callable[[], None]) -> None:
        """Call it no longer."""
        if wait in self._ends:
            self._ends.remove(wait)

    def _begin(self, _: object = None) -> None:
        with self._lock:
            self._is_running = True
            again, self._again = self._again, {}
            for send in again.values():  # under the lock: nothing newer may be overtaken
                send()

    def _end(self, _: object = None) -> None:
        for wait in list(self._ends):
            wait()
        with self._lock:
            self._is_running = False


def between(shell: Any) -> HeadlessUpdates:
    """The one of that shell."""
    if shell not in _OF_SHELLS:
        _OF_SHELLS[shell] = HeadlessUpdates(shell.events)
    return _OF_SHELLS[shell]
