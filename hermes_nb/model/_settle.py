"""What the events of one attempt of a turn mean: the builder behind `Folder`."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from hermes_nb.model._span import MAX_OUTPUT_CHARS, OPERATIONS, USAGE_KEYS, Note, Span
from hermes_nb.model.event import Event

_TOOL_STATUSES = frozenset({"ok", "error", "stopped", "timed_out", "denied", "skipped"})
_DENIALS = frozenset({"deny", "denied", "no", "false", "reject", "rejected", "refuse", "refused"})
_RANKS = {"turn": 0, "agent": 1, "model": 2, "tool": 2, "wait": 3}
_MAX_DEPTH = 64
_CLOCK_SLACK_S = 1.0
_NOTHING: Mapping[str, Any] = {}


def when(event: Event) -> tuple[float, str, int]:
    """Order of events over all producers: by clock, and by each producer's own count where clocks agree."""
    return (event.at_unix_s, event.producer, event.seq)


class Record:
    """What the events of one span said."""

    __slots__ = ("chunks", "end", "id", "kind", "order", "retries", "seen", "span", "start")

    def __init__(self, span_id: str, kind: str, seen: Event) -> None:
        self.id = span_id
        self.kind = kind
        self.seen = seen
        self.start: Event | None = None
        self.end: Event | None = None
        self.chunks: list[Event] = []
        self.retries: list[Event] = []
        self.span: Span | None = None
        self.order: tuple[float, int, str, int, str, str, int, str] = (0.0, 0, "", 0, "", "", 0, "")

    def add_chunk(self, event: Event) -> None:
        """Keep a piece of streamed text in its producer's order."""
        chunks = self.chunks
        chunks.append(event)
        if len(chunks) > 1 and (event.producer, event.seq) < (chunks[-2].producer, chunks[-2].seq):
            chunks.sort(key=lambda e: (e.producer, e.seq))

    def streamed(self, kind: str) -> str:
        """Text that streamed in, without what a retry made void."""
        after = max(map(when, self.retries)) if self.retries else None
        return "".join(
            _text(e.data.get("text")) for e in self.chunks if e.kind == kind and (after is None or when(e) > after)
        )


class Attempt:
    """One try of a turn.

    Attributes:
        is_stale: Something happened that may change any of its spans.
    """

    __slots__ = ("first", "is_stale", "last", "records", "retries", "session_id", "state", "turn_id")

    def __init__(self, event: Event) -> None:
        self.session_id = event.session_id
        self.turn_id = event.turn_id
        self.first = event
        self.last = event
        self.records: dict[tuple[str, str], Record] = {}
        self.retries: list[Event] = []
        self.is_stale = True
        self.state: tuple[float | None, str] = (None, "")
        if event.turn_id:
            self.records["turn", event.turn_id] = Record(event.turn_id, "turn", event)

    @property
    def root(self) -> Record | None:
        """The record of the turn itself; None for events outside any turn."""
        return self.records.get(("turn", self.turn_id))

    def saw(self, event: Event) -> None:
        """Note the first and the last sign of life."""
        if when(event) < when(self.first):
            self.first = event
            self.is_stale = True
        elif when(event) > when(self.last):
            self.last = event

    def record(self, kind: str, event: Event) -> Record:
        """The record an event belongs to, marked as changed."""
        span_id = event.span_id
        if kind == "turn":
            span_id = event.turn_id
        elif kind == "wait":
            span_id = _text(event.data.get("request_id")) or span_id
        record = self.records.get((kind, span_id))
        if record is None:
            record = self.records[kind, span_id] = Record(span_id, kind, event)
            self.is_stale = self.is_stale or kind == "wait"
        elif when(event) < when(record.seen):
            record.seen = event
        record.span = None
        return record


def settle(attempt: Attempt, *, is_superseded: bool) -> None:
    """Build the spans that are missing or no longer right.

    Args:
        attempt: Its records get their `span` and `order`.
        is_superseded: A later attempt began: what still runs here was killed.
    """
    root = attempt.root
    over_at, over = None, ""
    if root is not None and root.end is not None:
        over_at, over = root.end.at_unix_s, "stopped" if root.end.kind == "turn.stopped" else "killed"
    elif is_superseded:
        over_at, over = attempt.last.at_unix_s, "killed"
    if attempt.is_stale:
        _assign_retries(attempt)
        for record in attempt.records.values():
            record.span = None
    elif attempt.state != (over_at, over):
        for record in attempt.records.values():
            if record.end is None:
                record.span = None
    attempt.is_stale = False
    attempt.state = (over_at, over)
    builder = _Builder(attempt, over_at, over)
    for record in attempt.records.values():
        if record.span is None and record is not root:
            record.span = builder.build(record)
    if root is not None:
        builder.build_turn(root)


def note(event: Event) -> Note:
    """One line for people about an event that is no part of a span."""
    data = event.data
    if event.kind == "model.retried":
        wait = _number(data.get("wait_s"))
        tries = "/".join(str(n) for k in ("n_retry", "n_retries_max") if (n := _count(data.get(k))) is not None)
        parts = [f"retry {tries}".rstrip(), _text(data.get("reason"))]
        parts.append(f"waits {wait:g} s" if wait is not None else "")
        text = " · ".join(p for p in parts if p)
    elif event.kind == "warning":
        text = _text(data.get("message")) or _text(data.get("code"))
    elif event.kind == "steer.received":
        text = f"steered: {_text(data.get('text'))}" + ("" if data.get("applied", True) else " (not applied)")
    elif event.kind == "context.compressed":
        text = f"context compressed: {data.get('n_messages_before', '?')} -> {data.get('n_messages_after', '?')} msgs"
    else:
        text = f"{event.kind}: {', '.join(f'{k}={v}' for k, v in list(data.items())[:8])}"[:500]
    return Note(
        event.at_unix_s, event.kind, text, event.session_id, event.turn_id, event.attempt, event.span_id
    )  # fmt: skip


def _assign_retries(attempt: Attempt) -> None:
    """Give each retry to its model call: by span, else to the latest call that had started."""
    models = [r for r in attempt.records.values() if r.kind == "model"]
    for record in models:
        record.retries = []
    if not attempt.retries or not models:
        return
    models.sort(key=lambda r: when(r.start or r.seen))
    starts = [when(r.start or r.seen) for r in models]
    for event in attempt.retries:
        named = attempt.records.get(("model", event.span_id))
        latest = models[max(0, bisect_right(starts, when(event)) - 1)]
        (named or latest).retries.append(event)


class _Builder:
    """Makes spans of one attempt's records."""

    def __init__(self, attempt: Attempt, over_at: float | None, over: str) -> None:
        self.attempt = attempt
        self.over_at = over_at
        self.over = over
        root = attempt.root
        told = root.start.data if root is not None and root.start is not None else _NOTHING
        self.agent = _text(told.get("agent"))
        self.model = _text(told.get("model"))
        self.provider = _text(told.get("provider"))
        self.agents: dict[str, str] = {}
        self.taken = {r.id for r in attempt.records.values() if r.kind != "wait"} if _has_waits(attempt) else set()

    def build(self, record: Record) -> Span:
        """The span of a record that is not the turn."""
        kind = record.kind
        told = record.start.data if record.start is not None else _NOTHING
        got = record.end.data if record.end is not None else _NOTHING
        seen = record.seen
        span_id, parent_id = record.id, seen.parent_id
        if kind == "wait":
            shared = seen.span_id in self.taken
            parent_id = seen.span_id if shared else seen.parent_id
            span_id = f"{seen.span_id}/{record.id}" if shared else seen.span_id
        if parent_id is None or parent_id == span_id:
            parent_id = self.attempt.turn_id or None
        fields = self._interval(record, got)
        if kind == "model":
            fields |= self._model_fields(record, told, got)
        elif kind == "tool":
            fields |= _tool_fields(record, told, got)
        elif kind == "agent":
            fields |= _agent_fields(told, got)
        else:
            fields |= _wait_fields(record, told, got)
        name = fields.pop("name")
        return self._span(record, span_id, parent_id, name, name if kind == "agent" else self._agent(parent_id), fields)

    def build_turn(self, root: Record) -> None:
        """The turn's own span; it counts what its children say."""
        children = [r.span for r in self.attempt.records.values() if r is not root and r.span is not None]
        models = [s for s in children if s.kind == "model"]
        told = root.start.data if root.start is not None else _NOTHING
        got = root.end.data if root.end is not None else _NOTHING
        fields = self._interval(root, got)
        usage = _usage(got.get("usage")) if root.end is not None else {}
        text = _text(got.get("text"))
        if root.end is None and models:
            latest = max(models, key=lambda s: (s.start_unix_s, s.api_call, s.span_id))
            text = latest.text
        if root.end is not None:
            outcome = root.end.kind.removeprefix("turn.")
            fields["status"] = {"completed": "ok", "failed": "error"}.get(outcome, "stopped")
            stated = _text(got.get("status"))
            if outcome == "stopped" and stated == "timed_out":
                fields["status"] = "timed_out"
            fields["outcome"] = stated or outcome
        fields |= {
            "model": self.model or next((s.model for s in models if s.model), ""),
            "provider": self.provider or next((s.provider for s in models if s.provider), ""),
            "prompt": _text(told.get("prompt")),
            "host": _text(told.get("host")),
            "runtime": _text(told.get("runtime")),
            "text": text or root.streamed("model.delta"),
            "usage": usage or _sum_usage(models),
            "cost_usd": _number(got.get("cost_usd")),
            "cost_status": _text(got.get("cost_status")),
            "n_retries": len(self.attempt.retries),
            "error": _text(got.get("error")),
            "error_type": _text(got.get("error_type")),
            "hint": _text(got.get("hint")),
            "reason": _text(got.get("reason")),
        }
        span = self._span(root, root.id, None, self.agent, self.agent, fields)
        root.span = root.span if root.span == span else span

    def _span(
        self, record: Record, span_id: str, parent_id: str | None, name: str, agent: str, fields: dict[str, Any]
    ) -> Span:
        seen = record.seen
        span = Span(
            span_id=span_id,
            parent_id=parent_id,
            session_id=seen.session_id,
            turn_id=seen.turn_id,
            attempt=seen.attempt,
            kind=record.kind,
            operation=OPERATIONS[record.kind],
            name=name,
            agent=agent,
            **fields,
        )
        record.order = (
            span.start_unix_s, _RANKS[record.kind], seen.producer, seen.seq, seen.session_id, seen.turn_id,
            seen.attempt, span_id,
        )  # fmt: skip
        return span

    def _interval(self, record: Record, got: Mapping[str, Any]) -> dict[str, Any]:
        """Start, end, duration, and the status as far as time tells it."""
        start, end = record.start, record.end
        first = self.attempt.first if record.kind == "turn" else record.seen
        if end is None:
            begin = start.at_unix_s if start is not None else first.at_unix_s
            if self.over_at is None:
                return {"start_unix_s": begin, "end_unix_s": None, "duration_ms": None, "status": "running"}
            finish = max(begin, self.over_at)
            return {
                "start_unix_s": begin,
                "end_unix_s": finish,
                "duration_ms": (finish - begin) * 1000,
                "status": self.over,
            }
        replayed = got.get("replayed") is True
        duration = None if replayed else _number(got.get("duration_ms"))
        own = _number(got.get("started_at_unix_s"))
        if own is not None and own > end.at_unix_s + _CLOCK_SLACK_S:
            own = None
        if own is not None:
            begin = own
        elif start is not None:
            begin = start.at_unix_s
        else:
            begin = end.at_unix_s - (duration or 0.0) / 1000
        finish = begin + duration / 1000 if duration is not None else max(begin, end.at_unix_s)
        if duration is None and not replayed and (own is not None or start is not None):
            duration = (finish - begin) * 1000
        return {
            "start_unix_s": begin,
            "end_unix_s": finish,
            "duration_ms": duration,
            "status": "ok",
            "replayed": replayed,
        }

    def _agent(self, parent_id: str | None) -> str:
        """Name of the nearest agent around a span, itself included."""
        if parent_id is None or parent_id == self.attempt.turn_id:
            return self.agent
        known = self.agents.get(parent_id)
        if known is None:
            known = self.agents[parent_id] = self._walk(parent_id)
        return known

    def _walk(self, span_id: str) -> str:
        at: str | None = span_id
        for _ in range(_MAX_DEPTH):
            if at is None or at == self.attempt.turn_id:
                break
            agent = self.attempt.records.get(("agent", at))
            if agent is not None:
                source = agent.start or agent.end or agent.seen
                return _text(source.data.get("name"))
            around = self.attempt.records.get(("tool", at)) or self.attempt.records.get(("model", at))
            at = around.seen.parent_id if around is not None else None
        return self.agent

    def _model_fields(self, record: Record, told: Mapping[str, Any], got: Mapping[str, Any]) -> dict[str, Any]:
        model = _text(got.get("model")) or _text(told.get("model")) or self.model
        failed = record.end is not None and record.end.kind == "model.failed"
        is_done = record.end is not None and not failed
        calls = got.get("tool_calls")
        names = [_text(c.get("name")) for c in calls if isinstance(c, Mapping)] if isinstance(calls, list) else []
        fields: dict[str, Any] = {
            "name": model,
            "model": model,
            "provider": _text(got.get("provider")) or _text(told.get("provider")) or self.provider,
            "api_call": _count(got.get("api_call")) or _count(told.get("api_call")) or 0,
            "n_messages": _count(got.get("n_messages")) or _count(told.get("n_messages")) or 0,
            "prompt": _text(got.get("last_message")) or _text(told.get("last_message")),
            "text": _text(got.get("text")) if is_done else record.streamed("model.delta"),
            "reasoning": _text(got.get("reasoning")) or (record.streamed("reasoning.delta") if record.chunks else ""),
            "tool_calls": tuple(n for n in names if n),
            "finish_reason": _text(got.get("finish_reason")),
            "n_retries": len(record.retries),
            "error": _text(got.get("error")),
            "error_type": _text(got.get("error_type")),
        }
        if got.get("replayed") is not True:
            fields["usage"] = _usage(got.get("usage"))
            fields["cost_usd"] = _number(got.get("cost_usd"))
        if failed:
            fields["status"] = "error"
        return fields


def _tool_fields(record: Record, told: Mapping[str, Any], got: Mapping[str, Any]) -> dict[str, Any]:
    output = record.streamed("tool.output") if record.chunks else ""
    hint = record.chunks[0].data if record.chunks else _NOTHING
    fields: dict[str, Any] = {
        "name": _text(told.get("name")) or _text(got.get("name")) or _text(hint.get("name")),
        "arguments": _text(told.get("arguments")) or _text(got.get("arguments")),
        "result": _text(got.get("result")),
        "result_chars": _count(got.get("result_chars")),
        "output": output[:MAX_OUTPUT_CHARS],
        "output_chars": len(output),
        "error": _text(got.get("error")),
        "error_type": _text(got.get("error_type")),
        "builtin": (got.get("builtin") or told.get("builtin")) is True,
    }
    status = _text(got.get("status"))
    if record.end is not None:
        fields["status"] = status if status in _TOOL_STATUSES else ("error" if fields["error"] else "ok")
    return fields


def _agent_fields(told: Mapping[str, Any], got: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": _text(told.get("name")) or _text(got.get("name")),
        "prompt": _text(told.get("task")) or _text(got.get("task")),
        "text": _text(got.get("text")),
        "error": _text(got.get("error")),
        "error_type": _text(got.get("error_type")),
        **({"status": "error"} if got.get("error") else {}),
    }


def _wait_fields(record: Record, told: Mapping[str, Any], got: Mapping[str, Any]) -> dict[str, Any]:
    answer = _text(got.get("answer"))
    fields: dict[str, Any] = {
        "name": record.seen.kind.partition(".")[0],
        "prompt": _text(told.get("question")) or _text(told.get("name")),
        "arguments": _text(told.get("arguments")),
        "result": answer,
    }
    if record.end is not None and fields["name"] == "approval" and answer.strip().lower() in _DENIALS:
        fields["status"] = "denied"
    return fields


def _has_waits(attempt: Attempt) -> bool:
    return any(r.kind == "wait" for r in attempt.records.values())


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _number(value: object) -> float | None:
    """A finite number, 0 or more; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)


def _count(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _usage(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        return {}
    return {k: n for k in USAGE_KEYS if (n := _count(value.get(k))) is not None}


def _sum_usage(spans: Iterable[Span]) -> dict[str, int]:
    total: dict[str, int] = {}
    for span in spans:
        for key, n in span.usage.items():
            total[key] = total.get(key, 0) + n
    return {k: total[k] for k in USAGE_KEYS if k in total}
