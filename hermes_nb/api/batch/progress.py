"""Shows how far a map is: one line that changes, in a notebook and at a prompt."""

from __future__ import annotations

import time
from collections.abc import Callable

from hermes_nb.api.batch import outcome
from hermes_nb.api.batch.runner import Progress
from hermes_nb.model.format import format_ms, format_usd

EVERY_S = 0.25
_WIDTH = 24


def line(progress: Progress) -> str:
    """Return the progress as one line: bar, rows, errors, tokens, cost, time left."""
    done, n_rows = progress.n_done, progress.n_rows
    filled = _WIDTH if not n_rows else round(_WIDTH * done / n_rows)
    counts = progress.counts
    n_bad = done - counts["completed"] - counts[outcome.MISSING]
    parts = [f"{'█' * filled}{'░' * (_WIDTH - filled)} {done:,} of {n_rows:,} rows"]
    if progress.n_kept:
        parts.append(f"{progress.n_kept:,} kept")
    if counts[outcome.MISSING]:
        parts.append(f"{counts[outcome.MISSING]:,} empty")
    if n_bad:
        parts.append(f"{n_bad:,} without an answer")
    parts.append(f"{progress.n_tokens:,} tokens")
    if progress.is_cost_known:
        parts.append(format_usd(progress.cost_usd))
    left_s = progress.left_s()
    took_s = time.monotonic() - progress.began_s
    parts.append(format_ms(took_s * 1000) if left_s is None else f"{format_ms(left_s * 1000)} left")
    return " · ".join(parts)


class ProgressLine:
    """Draw the line at most four times a second, and at the end.

    Args:
        draw: Shows a text in place of the one before; True is for the last.
    """

    def __init__(self, draw: Callable[[str, bool], None]) -> None:
        self._draw = draw
        self._at_s = 0.0

    def __call__(self, progress: Progress) -> None:
        """Take the progress."""
        now = time.monotonic()
        if now - self._at_s >= EVERY_S:
            self._at_s = now
            self._draw(line(progress), False)

    def end(self, progress: Progress) -> None:
        """Draw it for the last time."""
        self._draw(line(progress), True)
