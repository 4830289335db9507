"""The tail of a run's log while the run goes on: a container's by the client, a local run's from its file."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

LINES = 12  # of the tail
LINE_CHARS = 300
FILE_BYTES = 16_000  # read from the end of a local run's log


class LogTail:
    """The last lines of a log, as they are read.

    Args:
        mask: Takes keys out of a line.
    """

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._lines: deque[str] = deque(maxlen=LINES)
        self._told: tuple[str, ...] = ()
        self._task: asyncio.Task[None] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The tail now."""
        return tuple(self._lines)

    def add(self, line: str) -> None:
        """One more line; what would move a cursor is shown when it is drawn, not here."""
        self._lines.append(self._mask(line.rstrip("\r\n"))[:LINE_CHARS])

    def news(self) -> tuple[str, ...] | None:
        """The tail, when it is another than the last one that was asked for; else None."""
        if self.lines == self._told:
            return None
        self._told = self.lines
        return self._told

    def follow(self, run: Any, attempt: int) -> None:
        """Read the log of that attempt from now on, instead of what was read before."""
        self.close()
        self._task = asyncio.create_task(self._read(run, attempt))

    async def _read(self, run: Any, attempt: int) -> None:
        try:
            async for line in run.get_logs.aio(attempt=attempt, filter_system=True):
                self.add(str(line))
        except Exception as exc:  # noqa: BLE001 - the log only explains; the run is told without it
            if not self._lines:
                self.add(f"(the log can't be read: {' '.join(str(exc).split()) or type(exc).__name__})")

    async def finish(self, timeout_s: float = 3.0) -> None:
        """Return when the log has ended, or after that time."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=timeout_s)
        self.close()

    def close(self) -> None:
        """Read no further."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def read_file(self, path: Path) -> None:
        """Take the end of a file for the tail; one that is not there has none."""
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - FILE_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return
        self._lines.clear()
        for line in text.splitlines()[-LINES:]:
            self.add(line)
