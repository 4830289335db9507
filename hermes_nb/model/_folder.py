"""Folds events into spans, one event at a time. Public through `hermes_nb.model.span`.

Here events are sorted into records; what they mean is settled in `_settle.py`, when spans are asked for. Nothing
depends on the order of arrival: a record keeps its first start and its last end by `_record.when`.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_nb.model._record import Attempt, Record, note, when
from hermes_nb.model._settle import settle
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
        self._seen: dict[tuple[str, str, int], set[int]] = {}
        self._turns: dict[tuple[str, str], _Turn] = {}
        self._spans: list[Span] | None = []

    def feed(self, event: Event) -> bool:
        """Take one event in; False for one that was there already."""
        source = (event.session_id, event.producer, event.attempt)
        seen = self._seen.get(source)
        if seen is None:
            seen = self._seen[source] = set()
        if event.seq in seen:
            return False
        seen.add(event.seq)
        where = (event.session_id, event.turn_id)
        turn = self._turns.get(where)
        if turn is None:
            turn = self._turns[where] = _Turn()
        turn.feed(event)
        self._spans = None
        return True

    def feed_all(self, events: Iterable[Event]) -> int:
        """Take events in; how many were new."""
        return sum(map(self.feed, events))

    def spans(self) -> list[Span]:
        """Spans so far, ordered by start; a parent comes before the children that start with it."""
        if self._spans is None:
            self._spans = _ordered([record for turn in self._turns.values() for record in turn.settled()])
        return list(self._spans)

    def turn_spans(self, session_id: str, turn_id: str) -> list[Span]:
        """Spans of one turn so far, all its attempts, ordered by start; at the cost of that turn, not of the log."""
        turn = self._turns.get((session_id, turn_id))
        return [] if turn is None else _ordered(list(turn.settled()))

    def notes(self) -> list[Note]:
        """Retries, warnings, steers, compressed contexts and unknown kinds so far, ordered by time."""
        return [note(e) for e in sorted((e for turn in self._turns.values() for e in turn.notes), key=when)]


def _ordered(records: list[Record]) -> list[Span]:
    """Spans by start. Ties (a parent and its first child, clocks that stand still) go parent first, then as produced."""
    records.sort(key=_start)
    spans = [record.span for record in records if record.span is not None]
    first, n = 0, len(spans)
    for last in range(1, n + 1):
        if last < n and spans[last].start_unix_s == spans[first].start_unix_s:
            continue
        if last - first > 1:
            tied = sorted(records[first:last], key=_tie)
            spans[first:last] = [record.span for record in tied if record.span is not None]
        first = last
    return spans


def _start(record: Record) -> float:
    return record.span.start_unix_s if record.span is not None else 0.0


def _tie(record: Record) -> tuple[bool, str, int, str, str, int, str, str]:
    e = record.seen
    return (record.kind != "turn", e.producer, e.seq, e.session_id, e.turn_id, e.attempt, record.kind, record.id)


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
        """Its records, each with its span."""
        if self.is_dirty:
            latest = max(self.attempts)
            for number, attempt in self.attempts.items():
                settle(attempt, is_superseded=number < latest)
            self.records = [record for attempt in self.attempts.values() for record in attempt.all()]
            self.is_dirty = False
        return self.records
