"""Folds events into spans, one event at a time. Public through `hermes_nb.model.span`.

Here events are sorted into records; what they mean is settled in `_settle.py`, when spans are asked for. Nothing
depends on the order of arrival: a record keeps its first start and its last end by `_settle.when`.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_nb.model._settle import Attempt, Record, note, settle, when
from hermes_nb.model._span import Note, Span
from hermes_nb.model.event import Event

_STARTS = {
    "turn.started": "turn",
    "model.started": "model",
    "tool.started": "tool",
    "agent.started": "agent",
    "approval.requested": "wait",
    "clarify.requested": "wait",
}
_ENDS = {
    "turn.completed": "turn",
    "turn.failed": "turn",
    "turn.stopped": "turn",
    "model.completed": "model",
    "model.failed": "model",
    "tool.completed": "tool",
    "agent.completed": "agent",
    "approval.responded": "wait",
    "clarify.responded": "wait",
}
_STREAMS = {"model.delta": "model", "reasoning.delta": "model", "tool.output": "tool"}
_SHAPES_OTHERS = frozenset({"turn", "agent", "wait"})  # a change of theirs may change other spans of the attempt


class Folder:
    """Spans of a growing log: feed events in any order, ask for spans at any time.

    Spans that did not change since the last call are the same objects, so that a live view can tell by identity what
    to redraw. Not thread-safe: its owner holds the lock.
    """

    def __init__(self) -> None:
        self._seen: set[tuple[str, str, int, int]] = set()
        self._turns: dict[tuple[str, str], _Turn] = {}
        self._records: list[Record] = []
        self._is_sorted = True

    def feed(self, event: Event) -> bool:
        """Take one event in; False for one that was there already."""
        key = event.key
        if key in self._seen:
            return False
        self._seen.add(key)
        where = (event.session_id, event.turn_id)
        turn = self._turns.get(where)
        if turn is None:
            turn = self._turns[where] = _Turn()
        turn.feed(event)
        self._is_sorted = False
        return True

    def feed_all(self, events: Iterable[Event]) -> int:
        """Take events in; how many were new."""
        return sum(map(self.feed, events))

    def spans(self) -> list[Span]:
        """Spans so far, ordered by start; a parent comes before the children that start with it."""
        if not self._is_sorted:
            self._records = [record for turn in self._turns.values() for record in turn.settled()]
            self._records.sort(key=_order)
            self._is_sorted = True
        return [record.span for record in self._records if record.span is not None]

    def notes(self) -> list[Note]:
        """Retries, warnings, steers, compressed contexts and unknown kinds so far, ordered by time."""
        return [note(e) for e in sorted((e for turn in self._turns.values() for e in turn.notes), key=when)]


def _order(record: Record) -> tuple[float, int, str, int, str, str, int, str]:
    return record.order


class _Turn:
    """All attempts of a turn."""

    __slots__ = ("attempts", "is_dirty", "notes", "records")

    def __init__(self) -> None:
        self.attempts: dict[int, Attempt] = {}
        self.notes: list[Event] = []
        self.records: list[Record] = []
        self.is_dirty = True

    def feed(self, event: Event) -> None:
        self.is_dirty = True
        attempt = self.attempts.get(event.attempt)
        if attempt is None:
            attempt = self.attempts[event.attempt] = Attempt(event)
        attempt.saw(event)
        kind = event.kind
        if (starts := _STARTS.get(kind)) is not None:
            record = attempt.record(starts, event)
            if record.start is None or when(event) < when(record.start):
                record.start = event
        elif (ends := _ENDS.get(kind)) is not None:
            record = attempt.record(ends, event)
            if record.end is None or when(event) > when(record.end):
                record.end = event
        elif (streams := _STREAMS.get(kind)) is not None:
            attempt.record(streams, event).add_chunk(event)
            return
        else:
            self.notes.append(event)
            if kind == "model.retried":
                attempt.retries.append(event)
                attempt.is_stale = True
            return
        if record.kind in _SHAPES_OTHERS:
            attempt.is_stale = True

    def settled(self) -> list[Record]:
        if self.is_dirty:
            latest = max(self.attempts)
            for number, attempt in self.attempts.items():
                settle(attempt, is_superseded=number < latest)
            self.records = [r for a in self.attempts.values() for r in a.records.values() if r.span is not None]
            self.is_dirty = False
        return self.records
