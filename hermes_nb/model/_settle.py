"""What the events of one attempt of a turn mean: the builder behind `Folder`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, get_args

from hermes_nb.model._record import Attempt, Record, as_count, as_text, is_before, when
from hermes_nb.model._span import MAX_OUTPUT_CHARS, OPERATIONS, USAGE_KEYS, Span, SpanDraft, freeze
from hermes_nb.model.event import Event, as_number
from hermes_nb.model.status import SpanStatus, ToolStatus

_TOOL_STATUSES: Mapping[str, SpanStatus] = {status: status for status in get_args(ToolStatus)}
_TURN_ENDS: Mapping[str, SpanStatus] = {"completed": "ok", "failed": "error"}
_DENIALS = frozenset({"deny", "denied", "no", "false", "reject", "rejected", "refuse", "refused"})
_MAX_DEPTH = 64
_CLOCK_SLACK_S = 1.0
_NOTHING: Mapping[str, Any] = {}

_Common: TypeAlias = tuple[
    str, str | None, str, str, int, str, str, str, str, float, float | None, float | None, SpanStatus, bool
]


def settle(attempt: Attempt, *, is_superseded: bool) -> None:
    """Build the spans that are missing or no longer right.

    Args:
        attempt: Its records get their `span`.
        is_superseded: A later attempt began: what still runs here was killed.
    """
    root = attempt.root
    over_at: float | None = None
    over: SpanStatus = "killed"
    if root is not None and root.end is not None:
        over_at, over = root.end.at_unix_s, "stopped" if root.end.kind == "turn.stopped" else "killed"
    elif is_superseded:
        over_at, over = attempt.last.at_unix_s, "killed"
    if attempt.is_stale:
        attempt.missing.clear()
        _assign_retries(attempt)
        for record in attempt.all():
            record.span = None
    elif attempt.state != (over_at, over):
        for record in attempt.all():
            if record.end is None:
                record.span = None
    attempt.is_stale = False
    attempt.state = (over_at, over)
    builder = _Builder(attempt, over_at, over)
    for record in attempt.all():
        if record.span is None and record is not root:
            record.span = builder.build(record)
    if root is not None:
        root.seen = attempt.first
        builder.build_turn(root)


def _assign_retries(attempt: Attempt) -> None:
    """Give each retry to its model call: by span, else to the latest call that had started."""
    models = list(attempt.records["model"].values())
    for record in models:
        record.retries = None
    attempt.has_loose_retries = any(e.span_id not in attempt.records["model"] for e in attempt.retries)
    if not attempt.retries or not models:
        return
    models.sort(key=lambda r: when(r.start or r.seen))
    starts = [when(r.start or r.seen) for r in models]
    for event in attempt.retries:
        named = attempt.records["model"].get(event.span_id)
        latest = models[max(0, bisect_right(starts, when(event)) - 1)]
        record = named or latest
        record.retries = [*(record.retries or ()), event]


class _Builder:
    """Makes spans of one attempt's records."""

    def __init__(self, attempt: Attempt, over_at: float | None, over: SpanStatus) -> None:
        self.attempt = attempt
        self.turn_id = attempt.turn_id
        self.over_at = over_at
        self.over = over
        root = attempt.root
        told = root.start.data if root is not None and root.start is not None else _NOTHING
        self.agent = as_text(told.get("agent"))
        self.model = as_text(told.get("model"))
        self.provider = as_text(told.get("provider"))
        self.agents: dict[str, str] = {}
        self.makers = {"model": self._model, "tool": self._tool, "agent": self._delegated, "wait": self._wait}

    def build(self, record: Record) -> Span:
        """The span of a record that is not the turn."""
        told = record.start.data if record.start is not None else _NOTHING
        got = record.end.data if record.end is not None else _NOTHING
        return freeze(self.makers[record.kind](record, told, got))

    def build_turn(self, root: Record) -> None:
        """The turn's own span; it counts what its children say."""
        children = [r.span for r in self.attempt.records["model"].values() if r.span is not None]
        told = root.start.data if root.start is not None else _NOTHING
        got = root.end.data if root.end is not None else _NOTHING
        text, outcome = as_text(got.get("text")), ""
        status: SpanStatus = "ok"
        if root.end is not None:
            ending = root.end.kind.removeprefix("turn.")
            outcome = as_text(got.get("status")) or ending
            status = _TURN_ENDS.get(ending, "stopped")
            if status == "stopped" and outcome == "timed_out":
                status = "timed_out"
        elif children:
            latest = max(children, key=lambda s: (s.start_unix_s, s.api_call, s.span_id))
            text = "" if latest.tool_calls else latest.text
        draft = SpanDraft(
            *self._common(root, got, root.id, None, self.agent, status),
            model=self.model or next((s.model for s in children if s.model), ""),
            provider=self.provider or next((s.provider for s in children if s.provider), ""),
            outcome=outcome,
            n_retries=len(self.attempt.retries),
            usage=_usage(got.get("usage")) or _sum_usage(children),
            cost_usd=as_number(got.get("cost_usd")),
            cost_status=as_text(got.get("cost_status")),
            prompt=as_text(told.get("prompt")),
            text=text or root.streamed("model.delta"),
            error=as_text(got.get("error")),
            error_type=as_text(got.get("error_type")),
            hint=as_text(got.get("hint")),
            reason=as_text(got.get("reason")),
            host=as_text(told.get("host")),
            runtime=as_text(told.get("runtime")),
            instructions=as_text(told.get("instructions")),
            offered=tuple(map(as_text, tools)) if isinstance(tools := told.get("tools"), list) else (),
        )
        span = freeze(draft)
        root.span = root.span if root.span == span else span

    def _model(self, record: Record, told: Mapping[str, Any], got: Mapping[str, Any]) -> Span:
        end = record.end
        is_done = end is not None and end.kind != "model.failed"
        is_live = got.get("replayed") is not True
        model = as_text(got.get("model")) or as_text(told.get("model")) or self.model
        calls = got.get("tool_calls")
        told_calls = [c for c in calls if isinstance(c, Mapping)] if isinstance(calls, list) else []
        return SpanDraft(
            *self._common(record, got, record.id, record.seen.parent_id, model, "ok" if is_done else "error"),
            model=model,
            provider=as_text(got.get("provider")) or as_text(told.get("provider")) or self.provider,
            n_retries=len(record.retries) if record.retries else 0,
            usage=_usage(got.get("usage")) if is_live else {},
            cost_usd=as_number(got.get("cost_usd")) if is_live else None,
            api_call=as_count(got.get("api_call")) or as_count(told.get("api_call")) or 0,
            n_messages=as_count(got.get("n_messages")) or as_count(told.get("n_messages")) or 0,
            tool_calls=tuple(as_text(c.get("name")) for c in told_calls),
            tool_call_ids=tuple(as_text(c.get("id")) for c in told_calls),
            finish_reason=as_text(got.get("finish_reason")),
            prompt=as_text(got.get("last_message")) or as_text(told.get("last_message")),
            prompt_chars=as_count(got.get("last_message_chars")) or as_count(told.get("last_message_chars")),
            text=as_text(got.get("text")) if is_done else record.streamed("model.delta"),
            reasoning=as_text(got.get("reasoning")) or record.streamed("reasoning.delta"),
            error=as_text(got.get("error")),
            error_type=as_text(got.get("error_type")),
            options=dict(options) if isinstance(options := told.get("options"), Mapping) else {},
        )

    def _tool(self, record: Record, told: Mapping[str, Any], got: Mapping[str, Any]) -> Span:
        output = record.streamed("tool.output")
        hint = record.chunks[0].data if record.chunks else _NOTHING
        error = as_text(got.get("error"))
        status = _TOOL_STATUSES.get(as_text(got.get("status"))) or ("error" if error else "ok")
        name = as_text(told.get("name")) or as_text(got.get("name")) or as_text(hint.get("name"))
        return SpanDraft(
            *self._common(record, got, record.id, record.seen.parent_id, name, status),
            tool_call_id=as_text(told.get("tool_call_id") or got.get("tool_call_id") or hint.get("tool_call_id")),
            arguments=as_text(told.get("arguments")) or as_text(got.get("arguments")),
            result=as_text(got.get("result")),
            result_chars=as_count(got.get("result_chars")),
            output=output[:MAX_OUTPUT_CHARS],
            output_chars=len(output),
            error=error,
            error_type=as_text(got.get("error_type")),
            builtin=(got.get("builtin") or told.get("builtin")) is True,
        )

    def _delegated(self, record: Record, told: Mapping[str, Any], got: Mapping[str, Any]) -> Span:
        name = as_text(told.get("name")) or as_text(got.get("name"))
        status = _TOOL_STATUSES.get(as_text(got.get("status"))) or ("error" if got.get("error") else "ok")
        return SpanDraft(
            *self._common(record, got, record.id, record.seen.parent_id, name, status),
            prompt=as_text(told.get("task")) or as_text(got.get("task")),
            text=as_text(got.get("text")),
            error=as_text(got.get("error")),
            error_type=as_text(got.get("error_type")),
        )

    def _wait(self, record: Record, told: Mapping[str, Any], got: Mapping[str, Any]) -> Span:
        """A wait's id is made of the span it was asked under and its request; that span is its parent if it had begun."""
        seen = record.seen
        parent_id = seen.parent_id
        shared = [r[seen.span_id] for kind, r in self.attempt.records.items() if kind != "wait" and seen.span_id in r]
        if not shared:
            self.attempt.missing.add(seen.span_id)
        elif not is_before(seen, shared[0].seen):
            parent_id = seen.span_id
        span_id = f"{seen.span_id}/{'wait' if record.id == seen.span_id else record.id}"
        name, answer = seen.kind.partition(".")[0], as_text(got.get("answer"))
        is_refused = name == "approval" and answer.strip().lower() in _DENIALS
        return SpanDraft(
            *self._common(record, got, span_id, parent_id, name, "denied" if is_refused else "ok"),
            prompt=as_text(told.get("question")) or as_text(told.get("name")),
            arguments=as_text(told.get("arguments")),
            result=answer,
        )

    def _common(
        self, record: Record, got: Mapping[str, Any], span_id: str, parent_id: str | None, name: str, status: SpanStatus
    ) -> _Common:
        """The fields every span has, in the order in which `Span` declares them; `status` is that of a finished one."""
        seen, kind = record.seen, record.kind
        if kind != "turn" and (parent_id is None or parent_id == span_id):
            parent_id = self.turn_id or None
        if kind == "agent":
            agent = name
        elif parent_id is None or parent_id == self.turn_id:
            agent = self.agent
        else:
            agent = self._agent(parent_id)
        replayed = False
        start, end = record.start, record.end
        if end is None:
            begin = start.at_unix_s if start is not None else seen.at_unix_s
            if self.over_at is None:
                finish, duration, status = None, None, "running"
            else:
                finish, status = max(begin, self.over_at), self.over
                duration = (finish - begin) * 1000
        else:
            replayed = got.get("replayed") is True
            begin, finish, duration = _interval(start, end, got, replayed=replayed)
        return (
            span_id,
            parent_id,
            seen.session_id,
            seen.turn_id,
            seen.attempt,
            kind,
            OPERATIONS[kind],
            name,
            agent,
            begin,
            finish,
            duration,
            status,
            replayed,
        )

    def _agent(self, parent_id: str) -> str:
        """Name of the nearest agent around a span."""
        known = self.agents.get(parent_id)
        if known is None:
            known = self.agents[parent_id] = self._walk(parent_id)
        return known

    def _walk(self, span_id: str) -> str:
        at: str | None = span_id
        records = self.attempt.records
        for _ in range(_MAX_DEPTH):
            if at is None or at == self.turn_id:
                break
            agent = records["agent"].get(at)
            if agent is not None:
                return as_text((agent.start or agent.end or agent.seen).data.get("name"))
            around = records["tool"].get(at) or records["model"].get(at)
            if around is None:
                self.attempt.missing.add(at)
                break
            at = around.seen.parent_id
        return self.agent


def _interval(
    start: Event | None, end: Event, got: Mapping[str, Any], *, replayed: bool
) -> tuple[float, float, float | None]:
    """Start, end, and duration as measured, of a span that completed."""
    duration = None if replayed else as_number(got.get("duration_ms"))
    own = as_number(got.get("started_at_unix_s"))
    # 0.0 stood for "never began" in logs of denied calls.
    if own and own <= end.at_unix_s + _CLOCK_SLACK_S:
        begin = own
    elif start is not None:
        begin = start.at_unix_s
    else:
        begin = end.at_unix_s - (duration or 0.0) / 1000
        own = None
        if duration is None:
            return begin, begin, None
    if duration is not None:
        return begin, begin + duration / 1000, duration
    finish = max(begin, end.at_unix_s)
    return begin, finish, None if replayed else (finish - begin) * 1000


def _usage(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping) or not value:
        return {}
    return {k: n for k in USAGE_KEYS if (n := as_count(value.get(k))) is not None}


def _sum_usage(spans: Iterable[Span]) -> dict[str, int]:
    total: dict[str, int] = {}
    for span in spans:
        for key, n in span.usage.items():
            total[key] = total.get(key, 0) + n
    return {k: total[k] for k in USAGE_KEYS if k in total}
