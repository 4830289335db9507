"""A turn in a terminal or a log: rows as they are over, then the answer and the totals.

What stays is, line for line, the text/plain that a notebook keeps. In a terminal the text that is being written shows
below it for the moment; elsewhere no escape sequence is ever printed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from hermes_nb.host.execution.timer import Timer
from hermes_nb.host.output.bandwidth import REDRAW_S
from hermes_nb.host.output.live_area import LiveArea
from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder


class StreamSink:
    """Prints one turn.

    Args:
        stream: Where to; None shows nothing.
        timer: Runs the redraws.
        is_live: Show the text that is being written, if the stream is a terminal.
        clock: Returns seconds; monotonic.
    """

    def __init__(
        self, stream: Any, timer: Timer, *, is_live: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._timer, self._clock = stream, timer, clock
        self._folder = Folder()
        self._inbox: deque[Event] = deque()
        self._lock = threading.Lock()
        self._printed = ""
        self._next_s = 0.0
        self._is_due = False
        self._is_finished = False
        is_terminal = is_live and stream is not None and hasattr(stream, "isatty") and stream.isatty()
        self._tail = LiveArea(stream) if is_terminal else None
        self._tools: set[str] = set()

    def feed(self, event: Event) -> None:
        """Take an event; its row is printed when it is over."""
        if self._is_finished or self._stream is None:
            return
        self._inbox.append(event)
        if event.kind == "tool.started" and self._tail is not None:
            # What the tool prints must not be mixed with it.
            with self._lock:
                self._tools.add(event.span_id)
                self._tail.clear()
        elif event.kind == "tool.completed":
            self._tools.discard(event.span_id)
        if not self._is_due:
            self._is_due = True
            self._timer.call_later(self._next_s - self._clock(), self._draw)

    def finish(self, bundle: Mapping[str, str]) -> None:
        """Print the rest. Where a row changed after it was printed, the whole text follows."""
        with self._lock:
            if self._is_finished or self._stream is None:
                return
            self._is_finished = True
            if self._tail is not None:
                self._tail.clear()
            text = bundle.get("text/plain", "")
            text += "" if text.endswith("\n") else "\n"
            if text.startswith(self._printed):
                self._print(text.removeprefix(self._printed))
            else:
                self._print(f"\n{text}")

    def _draw(self) -> None:
        with self._lock:
            self._is_due = False
            if self._is_finished:
                return
            while self._inbox:
                self._folder.feed(self._inbox.popleft())
            rows = self._rows_over()
            text = self._text_so_far() if self._tail is not None and not self._tools else ""
            self._next_s = self._clock() + REDRAW_S
            rest = rows.removeprefix(self._printed) if rows.startswith(self._printed) else ""
            if self._tail is not None and (rest or not text):
                self._tail.clear()
            self._print(rest)
            if self._tail is not None and text:
                self._tail.show(text)

    def _rows_over(self) -> str:
        from hermes_nb.views.text import lines_over

        return "".join(f"{line}\n" for line in lines_over(self._folder))

    def _text_so_far(self) -> str:
        from hermes_nb.views.rows import visible

        turns = [span for span in self._folder.spans() if span.kind == "turn"]
        return visible(turns[-1].text) if turns and turns[-1].is_running else ""

    def _print(self, text: str) -> None:
        if text:
            self._printed += text
            self._stream.write(text)
            self._stream.flush()
