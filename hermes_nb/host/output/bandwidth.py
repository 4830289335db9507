"""Where a turn shows. Here: nowhere, and what the others share (see `stream_sink` and `display_sink`)."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_nb.model.event import Event

# At most ten redraws a second, and no more bytes a second than this, however long the text has become.
REDRAW_S = 0.1
BYTES_PER_S = 300_000


class Bandwidth:
    """What the turns that show at once may send together: Jupyter's own limit is 1 MB a second for all of them."""

    def __init__(self) -> None:
        self.n_open = 0

    def open(self) -> None:
        """One more turn shows."""
        self.n_open += 1

    def close(self) -> None:
        """One turn less."""
        self.n_open -= 1

    def interval_s(self, size_bytes: int) -> float:
        """Seconds until a text of that size may be drawn again."""
        return max(REDRAW_S, max(1, self.n_open) * size_bytes / BYTES_PER_S)


class NullSink:
    """Shows nothing."""

    def feed(self, event: Event) -> None:
        """Nothing."""

    def finish(self, bundle: Mapping[str, str]) -> None:
        """Nothing."""
