"""What events said, span by span and attempt by attempt, before anything is concluded from it (`_settle.py`)."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_nb.model._span import OPERATIONS, Note, Span
from hermes_nb.model.event import MOST, Event, as_number


def when(event: Event) -> tuple[float, str, int]:
    """Order of events over all producers: by clock, and by each producer's own count where clocks agree."""
    return (event.at_unix_s, event.producer, event.seq)


def is_before(one: Event, other: Event) -> bool:
    """`when(one) < when(other)`, at the cost of one comparison in all but ties."""
    at, other_at = one.at_unix_s, other.at_unix_s
    return at < other_at or (at == other_at and when(one) < when(other))


class Record:
    """What the events of one span said."""

    __slots__ = ("chunks", "end", "id", "kind", "retries", "seen", "span", "start")

    def __init__(self, span_id: str, kind: str, seen: Event) -> None:
        self.id = span_id
        self.kind = kind
        self.seen = seen
        self.start: Event | None = None
        self.end: Event | None = None
        self.chunks: list[Event] | None = None
        self.retries: list[Event] | None = None
        self.span: Span | None = None

    def add_chunk(self, event: Event) -> None:
        """Keep a piece of streamed text in its producer's order."""
        chunks = self.chunks
        if chunks is None:
            self.chunks = [event]
            return
        last = chunks[-1]
        chunks.append(event)
        if (event.producer, event.seq) < (last.producer, last.seq):
            chunks.sort(key=lambda e: (e.producer, e.seq))

    def streamed(self, kind: str) -> str:
        """Text that streamed in, without what a retry made void."""
        if self.chunks is None:
            return ""
        pieces: Iterable[Event] = self.chunks
        if self.retries:
            after = max(map(when, self.retries))
            pieces = (e for e in self.chunks if when(e) > after)
        return "".join(as_text(e.data.get("text")) for e in pieces if e.kind == kind)


class Attempt:
    """One try of a turn.

    Attributes:
        is_stale: Something happened that may change any of its spans.
        has_loose_retries: A retry named no model call, so that the call it belongs to may still turn up.
        missing: Spans that others pointed to when they were built, and that no event has spoken of yet.
    """

    __slots__ = ("first", "has_loose_retries", "is_stale", "last", "missing", "records", "retries", "state", "turn_id")

    def __init__(self, event: Event) -> None:
        self.turn_id = event.turn_id
        self.first = event
        self.last = event
        self.records: dict[str, dict[str, Record]] = {kind: {} for kind in OPERATIONS}
        self.retries: list[Event] = []
        self.is_stale = True
        self.has_loose_retries = False
        self.missing: set[str] = set()
        self.state: tuple[float | None, str] = (None, "killed")
        if event.turn_id:
            self.records["turn"][event.turn_id] = Record(event.turn_id, "turn", event)

    @property
    def root(self) -> Record | None:
        """The record of the turn itself; None for events outside any turn."""
        return self.records["turn"].get(self.turn_id)

    def all(self) -> list[Record]:
        """Every record."""
        return [record for of_kind in self.records.values() for record in of_kind.values()]

    def saw(self, event: Event) -> None:
        """Note the first and the last sign of life."""
        if is_before(self.last, event):
            self.last = event
        elif is_before(event, self.first):
            self.first = event
            self.is_stale = True

    def record(self, kind: str, event: Event) -> Record:
        """The record an event belongs to, marked as changed."""
        span_id = event.span_id
        if kind == "turn":
            span_id = event.turn_id
        elif kind == "wait":
            span_id = as_text(event.data.get("request_id")) or span_id
        record = self.records[kind].get(span_id)
        if record is None:
            record = self.records[kind][span_id] = Record(span_id, kind, event)
            if span_id in self.missing:
                self.is_stale = True
        elif is_before(event, record.seen):
            record.seen = event
            self.is_stale = self.is_stale or bool(self.records["wait"])
        if kind == "model" and self.has_loose_retries:
            self.is_stale = True
        record.span = None
        return record


def note(event: Event) -> Note:
    """One line for people about an event that is no part of a span."""
    data, url = event.data, ""
    if event.kind == "model.retried":
        wait = as_number(data.get("wait_s"))
        tries = "/".join(str(n) for k in ("n_retry", "n_retries_max") if (n := as_count(data.get(k))) is not None)
        parts = (tries, as_text(data.get("reason")), f"waits {wait:g} s" if wait is not None else "")
        text = " · ".join(p for p in parts if p)
    elif event.kind == "warning":
        text = as_text(data.get("message")) or as_text(data.get("code"))
    elif event.kind == "steer.received":
        text = as_text(data.get("text")) + ("" if data.get("applied", True) else " (not applied)")
    elif event.kind == "context.compressed":
        text = f"{as_text(data.get('n_messages_before')) or '?'} → {as_text(data.get('n_messages_after')) or '?'} msgs"
    elif event.kind == "evaluation.result":
        value = as_number(data.get("value"))
        said = as_text(data.get("label")) or ("" if value is None else f"{value:g}") or as_text(data.get("error"))
        text = " · ".join(p for p in (f"{as_text(data.get('name'))}: {said}", as_text(data.get("reason"))) if p)
    elif event.kind == "home.changed":
        changed = [line for line in as_text(data.get("diff")).splitlines() if not line.startswith("@@")]
        text = "\n".join([as_text(data.get("path")), *changed])
    elif event.kind == "flyte.run":
        text = " · ".join(t for key in ("phase", "run") if (t := as_text(data.get(key))))
        url = as_text(data.get("url"))
    elif event.kind == "flyte.log":
        lines = data.get("lines")
        text = "\n".join(map(as_text, lines)) if isinstance(lines, list) else ""
    else:
        text = ", ".join(f"{k}={v}" for k, v in list(data.items())[:8])[:500]
    kept = dict(data) if event.kind == "evaluation.result" else None
    where = (event.session_id, event.turn_id, event.attempt, event.span_id)
    return Note(event.at_unix_s, event.kind, text, *where, url, kept)


def as_text(value: object) -> str:
    """A string; "" for None."""
    return value if type(value) is str else "" if value is None else str(value)


def as_count(value: object) -> int | None:
    """A whole number, 0 or more and as large as stores and frames hold; None for anything else."""
    if type(value) is int:
        return value if 0 <= value <= MOST else None
    number = as_number(value)
    return None if number is None or number > MOST else int(number)
