"""The log behind a timeline: events by turn, folded again only where something came, numbered for the browser."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder, Span
from hermes_nb.views.figure import CATEGORIES, LOOKS
from hermes_nb.widgets._columns import KINDS, STATUSES, Change, Columns
from hermes_nb.widgets._detail import TABLE_COLUMNS, carried, detail, matches, row

_Turn = tuple[str, str]


class Log:
    """Events of one or many sessions. Any thread may feed and ask.

    Attributes:
        events: All that came, in order of arrival.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = []
        # Put here and folded when it is shown, so that whoever feeds never waits.
        self._inbox: deque[Event] = deque(events)
        self._lock = threading.RLock()
        self._folders: dict[_Turn, Folder] = {}
        self._numbers: dict[_Turn, list[int]] = {}
        self._running: set[_Turn] = set()
        self._columns = Columns()
        self._whole: Folder | None = None
        self._n_whole = 0

    def feed(self, event: Event) -> None:
        """Take an event."""
        self._inbox.append(event)

    def fold(self) -> Change:
        """Fold what came since; which spans are new or changed."""
        with self._lock:
            dirty: dict[_Turn, Folder] = {}
            while self._inbox:
                event = self._inbox.popleft()
                where = (event.session_id, event.turn_id)
                folder = self._folders.get(where)
                if folder is None:
                    folder = self._folders[where] = Folder()
                if folder.feed(event):
                    self.events.append(event)
                    dirty[where] = folder
            # By start over all turns, so that numbers follow time wherever they can.
            folded = {where: folder.spans() for where, folder in dirty.items()}
            before = [n for where in dirty for n in self._numbers.get(where, ())]
            spans = [span for spans in folded.values() for span in spans]
            if len(folded) > 1:
                spans.sort(key=_start)
            change = self._columns.put(spans, instead_of=before)
            for where, spans in folded.items():
                found = (self._columns.number(s.key) for s in spans)
                self._numbers[where] = [n for n in found if n is not None]
                is_running = any(s.kind == "turn" and s.is_running for s in spans)
                (self._running.add if is_running else self._running.discard)(where)
            return change

    @property
    def is_running(self) -> bool:
        """Whether a turn of it runs, as far as it was folded."""
        return bool(self._running)

    @property
    def n_spans(self) -> int:
        """How many spans there are, as far as it was folded."""
        return len(self._columns.spans)

    def folder(self) -> Folder:
        """All of it in one folder, for the views."""
        with self._lock:
            self.fold()
            if self._whole is None:
                self._whole = Folder()
            self._whole.feed_all(self.events[self._n_whole :])
            self._n_whole = len(self.events)
            return self._whole

    # -- what the browser gets -----------------------------------------------------------------------------------
    def snapshot(self) -> dict[str, Any]:
        """All of it for a browser that knows nothing yet."""
        with self._lock:
            self.fold()
            columns = self._columns
            data = columns.snapshot()
            return {
                "n": len(columns.spans),
                "names": list(columns.names),
                "kinds": KINDS,
                "statuses": STATUSES,
                "looks": {name: LOOKS[name] for name in CATEGORIES},
                "table": TABLE_COLUMNS,
                "now": time.time(),
                "live": self.is_running,
                "details": carried(columns.spans, [columns.number(s.parent_key) for s in columns.spans[:200]])
                if len(columns.spans) <= 200 and not self.is_running
                else None,
                "data": data,
            }

    def changes(self, change: Change) -> tuple[dict[str, Any], bytes]:
        """What a browser must be told of a change."""
        with self._lock:
            head = {
                "t": "add",
                "n": len(change.numbers),
                "names": change.names,
                "now": time.time(),
                "live": self.is_running,
            }
            return head, self._columns.changes(change.numbers)

    def detail(self, number: int) -> dict[str, Any] | None:
        """The panel of a span; None when there is no such number."""
        with self._lock:
            span = self._span(number)
            return None if span is None else detail(span, parent=self._columns.number(span.parent_key))

    def rows(self, numbers: Iterable[int]) -> list[list[str]]:
        """The table's cells of these spans."""
        with self._lock:
            spans = [self._span(n) for n in numbers]
            return [[] if span is None else row(span) for span in spans]

    def find(self, text: str) -> list[int]:
        """Numbers of the spans that hold each word of a text."""
        words = text.lower().split()
        with self._lock:
            return [n for n, span in enumerate(self._columns.spans) if matches(span, words)] if words else []

    def _span(self, number: object) -> Span | None:
        spans = self._columns.spans
        return spans[number] if isinstance(number, int) and 0 <= number < len(spans) else None


def _start(span: Span) -> float:
    return span.start_unix_s
