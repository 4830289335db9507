"""A turn in a terminal or a log: rows as they are over, then the answer and the totals.

What is printed is, line for line, the text/plain that a notebook keeps.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder


class StreamSink:
    """Prints one turn.

    Args:
        stream: Where to; None shows nothing.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._folder = Folder()
        self._lock = threading.Lock()
        self._printed = ""

    def feed(self, event: Event) -> None:
        """Take an event; rows that are over are printed."""
        with self._lock:
            self._folder.feed(event)
            if event.kind.endswith(".delta") or event.is_turn_end:
                return
            self._print_rows()

    def finish(self, bundle: Mapping[str, str]) -> None:
        """Print the rest. Where a row changed after it was printed, the whole text follows."""
        with self._lock:
            text = bundle.get("text/plain", "")
            text += "" if text.endswith("\n") else "\n"
            rest = text.removeprefix(self._printed)
            self._print(rest if rest is not text or not self._printed else f"\n{text}")

    def _print_rows(self) -> None:
        from hermes_nb.views.rows import render
        from hermes_nb.views.text import row_text

        lines: list[str] = []
        for row in render(self._folder):
            if row.span is not None and row.span.is_running and row.kind != "heading":
                break
            lines.append(row_text(row))
        text = "".join(f"{line}\n" for line in lines)
        if text.startswith(self._printed):
            self._print(text.removeprefix(self._printed))

    def _print(self, text: str) -> None:
        if text and self._stream is not None:
            self._printed += text
            self._stream.write(text)
            self._stream.flush()
