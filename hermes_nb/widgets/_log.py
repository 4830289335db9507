"""The log behind a timeline: events by turn, folded again only where something came, numbered for the browser."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder, Note, Span
from hermes_nb.model.status import SPAN_STATUSES
from hermes_nb.views._layout import CATEGORIES
from hermes_nb.views.figure import LOOKS
from hermes_nb.widgets._columns import KINDS, Change, Columns
from hermes_nb.widgets._detail import TABLE_COLUMNS, carried, detail, matches, row

_Turn = tuple[str, str]


class Log:
    """Events of one or many sessions. Any thread may feed and ask.

    Attributes:
        events: All that came, in order of arrival.
        is_followed: Whether what comes is fed. What runs then lasts until the present, else until its last sign of life:
            a turn whose kernel was killed does not run on.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = []
        self.is_followed = False
        self._seen_unix_s = 0.0
        # Put here and folded when it is shown, so that whoever feeds never waits.
        self._inbox: deque[Event] = deque(events)
        self._lock = threading.RLock()
        self._folder = Folder()
        self._numbers: dict[_Turn, list[int]] = {}
        self._running: set[_Turn] = set()
        self._columns = Columns()
        self._untold = Change()

    def feed(self, event: Event) -> None:
        """Take an event."""
        self._inbox.append(event)

    def fold(self) -> None:
        """Fold what came since."""
        with self._lock:
            dirty: dict[_Turn, None] = {}
            while self._inbox:
                event = self._inbox.popleft()
                if self._folder.feed(event):
                    self.events.append(event)
                    self._seen_unix_s = max(self._seen_unix_s, event.at_unix_s)
                    dirty[event.session_id, event.turn_id] = None
            # By start over all turns, so that numbers follow time wherever they can.
            folded = {where: self._folder.turn_spans(*where) for where in dirty}
            before = [n for where in dirty for n in self._numbers.get(where, ())]
            spans = [span for spans in folded.values() for span in spans]
            if len(folded) > 1:
                spans.sort(key=_start)
            self._untold.numbers.update(dict.fromkeys(self._columns.put(spans, instead_of=before)))
            for where, spans in folded.items():
                found = (self._columns.number(s.key) for s in spans)
                self._numbers[where] = [n for n in found if n is not None]
                is_running = any(s.kind == "turn" and s.is_running for s in spans)
                (self._running.add if is_running else self._running.discard)(where)

    @property
    def is_running(self) -> bool:
        """Whether a turn of it runs, as far as it was folded."""
        return bool(self._running)

    @property
    def ended_turns(self) -> set[str]:
        """Ids of the turns that came to their end."""
        with self._lock:
            self.fold()
            return {turn_id for session_id, turn_id in self._numbers if (session_id, turn_id) not in self._running}

    @property
    def is_live(self) -> bool:
        """Whether it grows."""
        return self.is_followed and self.is_running

    @property
    def now_unix_s(self) -> float:
        """Until when what runs has lasted."""
        return time.time() if self.is_live else self._seen_unix_s

    @property
    def n_spans(self) -> int:
        """How many spans there are, as far as it was folded."""
        return len(self._columns.spans)

    def folder(self) -> Folder:
        """All of it so far in one folder, for the views; what comes later does not change it."""
        with self._lock:
            self.fold()
            return _Kept(self._folder)

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
                "statuses": SPAN_STATUSES,
                "looks": {name: LOOKS[name] for name in CATEGORIES},
                "table": TABLE_COLUMNS,
                "now": self.now_unix_s,
                "live": self.is_live,
                "details": None if self.is_live else carried(columns.spans, columns.number),
                "data": data,
            }

    def changes(self) -> tuple[dict[str, Any], bytes]:
        """What is new or changed since the last call, for a browser that was told all before: a head and records."""
        with self._lock:
            self.fold()
            told, self._untold = self._untold, Change(n_names=len(self._columns.names))
            head = {
                "t": "add",
                "n": len(told.numbers),
                "from": told.n_names,
                "names": self._columns.names[told.n_names :],
                "now": self.now_unix_s,
                "live": self.is_live,
            }
            return head, self._columns.changes(told.numbers)

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


class _Kept(Folder):
    """What a folder held when it was made, so that views take their time while events come."""

    def __init__(self, folder: Folder) -> None:
        super().__init__()
        self._kept_spans, self._kept_notes = folder.spans(), folder.notes()

    def spans(self) -> list[Span]:
        return list(self._kept_spans)

    def notes(self) -> list[Note]:
        return list(self._kept_notes)


def _start(span: Span) -> float:
    return span.start_unix_s
