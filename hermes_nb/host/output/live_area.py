"""The last lines of a growing text at the foot of a terminal, drawn over and taken away again."""

from __future__ import annotations

import shutil
import unicodedata
from typing import Any

MAX_LINES = 8


class LiveArea:
    """What is shown for the moment, below what was printed for good.

    Args:
        stream: A terminal.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._n_lines = 0

    def show(self, text: str) -> None:
        """Show the last lines of `text` instead of what was shown."""
        columns, rows = shutil.get_terminal_size()
        lines = last_lines(text, columns - 1, min(MAX_LINES, rows - 2))
        self._stream.write(self._erasing() + "".join(f"{line}\n" for line in lines))
        self._stream.flush()
        self._n_lines = len(lines)

    def clear(self) -> None:
        """Take away what was shown; the cursor is where it was before."""
        if self._n_lines:
            self._stream.write(self._erasing())
            self._stream.flush()
            self._n_lines = 0

    def _erasing(self) -> str:
        # Up to the first line of the tail, then erase to the end of the screen.
        return f"\x1b[{self._n_lines}F\x1b[J" if self._n_lines else ""


def last_lines(text: str, n_columns: int, n_lines: int) -> list[str]:
    """The last lines of a text, broken at `n_columns`; wide characters count twice."""
    lines: list[str] = []
    # Enough of the end for so many full lines, so that a long text is not gone through at each redraw.
    for line in text[-(n_columns + 1) * (n_lines + 1) :].rstrip("\n").split("\n"):
        width, part = 0, ""
        for character in line.expandtabs():
            n = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if width + n > n_columns:
                lines.append(part)
                width, part = 0, ""
            width, part = width + n, part + character
        lines.append(part)
    return lines[-n_lines:] if text.strip() else []
