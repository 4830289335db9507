"""What a browser is told, and when: at most 12 messages a second, fewer where they are large or costly to make."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from hermes_nb.host.execution.timer import Timer
from hermes_nb.widgets._comm import make_view
from hermes_nb.widgets._turn_model import TurnModel

INTERVAL_S = 1 / 12
COST_FACTOR = 15  # a message waits so many times what making the last one took
BYTES_PER_S = 300_000


class WidgetChannel:
    """The widget of a turn or a chat, seen from Python. Any thread may tell.

    Args:
        kind: `turn` or `chat`.
        on_message: Hears the browser's messages.
        timer: Runs what is sent later.
        clock: Returns seconds; monotonic.
        n_open: How many turns of the kernel share the connection now.

    Attributes:
        view: The widget; None once it is closed.
        is_open: Whether a browser has answered, so that it is told what changes.
    """

    def __init__(
        self,
        kind: str,
        on_message: Callable[[dict[str, Any]], None],
        timer: Timer,
        *,
        clock: Callable[[], float] = time.monotonic,
        n_open: Callable[[], int] = lambda: 1,
    ) -> None:
        self._timer, self._clock, self._n_open = timer, clock, n_open
        self.lock = threading.RLock()
        self.view: Any = make_view(kind, on_message)
        self.view.shown_as = self.view.model_id
        self.is_open = False
        self._changed: dict[int, TurnModel] = {}
        self._next_s = 0.0
        self._is_due = False

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message, now."""
        with self.lock:
            if self.view is not None and self.is_open:
                self.view.send(message)

    def changed(self, pane: TurnModel) -> None:
        """Tell soon what changed in a pane."""
        if not self.is_open:
            return
        self._changed[id(pane)] = pane
        if not self._is_due:
            self._is_due = True
            self._timer.call_later(self._next_s - self._clock(), self.flush)

    def flush(self) -> None:
        """Tell what changed."""
        with self.lock:
            self._is_due = False
            changed, self._changed = self._changed, {}
            if self.view is None or not self.is_open:
                return
            began_s = self._clock()
            n_bytes = 0
            for pane in changed.values():
                ops = pane.changes()
                if ops:
                    self.view.send({"t": "ops", "turn": pane.turn_id, "ops": ops})
                    n_bytes += sum(len(part) for op in ops for part in op if isinstance(part, str))
            cost_s = (self._clock() - began_s) * COST_FACTOR
            self._next_s = self._clock() + max(INTERVAL_S, cost_s, self._n_open() * n_bytes / BYTES_PER_S)

    def close(self) -> None:
        """Take the widget away."""
        with self.lock:
            view, self.view = self.view, None
            if view is not None:
                view.close()
