"""The span and the note: plain data, and the wall time they cover. Public through `hermes_nb.model.span`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Any

from hermes_nb.model.format import format_ms
from hermes_nb.model.status import SpanStatus

# OpenTelemetry's GenAI operation of each kind; waiting for a person has none there.
OPERATIONS = {"turn": "invoke_agent", "agent": "invoke_agent", "model": "chat", "tool": "execute_tool", "wait": "wait"}
USAGE_KEYS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")
MAX_OUTPUT_CHARS = 20_000


@dataclass(frozen=True, slots=True, repr=False)
class Span:
    """Something that took time: a turn, a model call, a tool call, a delegated agent, a wait for a person.

    Attributes:
        span_id: Its id, unique within (session_id, turn_id, attempt).
        parent_id: The span that contains it, of the same turn and attempt; None for a turn.
        session_id: Conversation.
        turn_id: Turn.
        attempt: 1 for the first try of the turn; each attempt has a turn span of its own.
        kind: `turn`, `model`, `tool`, `agent` (delegated) or `wait` (approval or question).
        operation: OpenTelemetry's GenAI name: `invoke_agent`, `chat`, `execute_tool`; `wait` for a wait.
        name: Agent, model or tool; `approval` or `clarify` for a wait.
        agent: The agent it worked for: the nearest turn or delegated agent around it.
        start_unix_s: Start. The body's own start where the tool's host measured it.
        end_unix_s: End: start plus the measured duration, else when its last event came; None while running. For a
            killed span, the last sign of life of its attempt.
        duration_ms: Length; None while running, for a replayed step, and where only the end is known.
        status: `running`, `ok`, `error`, `stopped`, `timed_out`, `denied`, `skipped`, or `killed` (its turn ended, or a
            later attempt began, without a completion; of a turn that was stopped: `stopped`).
        replayed: Answered from a recording: no duration, no usage.
        model: Model id, "" where there is none.
        provider: Provider of the model, "" where there is none.
        outcome: A turn's own word: `completed`, `max_turns`, `failed`, `stopped`, ...; "" for other kinds.
        n_retries: Retries the model's endpoint needed; a turn counts all of its attempt.
        usage: Tokens by name (`USAGE_KEYS`); for a turn what its end reported, else the sum of its model calls.
        cost_usd: Cost; None when unknown.
        cost_status: How Hermes came by the cost, "" when it did not say.
        api_call: Number of the model call in its turn, 0 for other kinds.
        n_messages: Messages sent with a model call, 0 when unknown.
        tool_calls: Names of the tools a model call asked for.
        finish_reason: Why the model stopped.
        prompt: A turn's prompt, a model call's newest message, a wait's question, a delegated agent's task.
        prompt_chars: Length of a model call's newest message where `prompt` is only its head; None when unknown.
        tool_call_id: The model's id of a tool call.
        arguments: A tool call's arguments, raw JSON text.
        result: What the model got from a tool; the answer to a wait.
        result_chars: Length of the result before it was cut; None when unknown.
        text: What a model call or a turn answered; while it runs, what has streamed so far (of a turn: since its last
            tool calls).
        reasoning: The model's reasoning, where the provider gives it.
        output: What a tool printed, the first 20,000 characters.
        output_chars: How much it printed.
        error: Error message.
        error_type: Its class.
        hint: What to do about it.
        reason: Why a turn was stopped.
        builtin: True for a tool of Hermes itself.
        host: Where the requests of a turn go.
        runtime: Runtime of a turn.
        instructions: What the agent of a turn was told of its job, the first 20,000 characters; "" in older logs.
        offered: Names of the tools that a turn offered.
        tool_call_ids: The model's ids of `tool_calls`, in the same order.
        options: Options that a model call was sent with, by `Model`'s names of them; only those that are set.
    """

    span_id: str
    parent_id: str | None
    session_id: str
    turn_id: str
    attempt: int
    kind: str
    operation: str
    name: str
    agent: str
    start_unix_s: float
    end_unix_s: float | None
    duration_ms: float | None
    status: SpanStatus
    replayed: bool = False
    model: str = ""
    provider: str = ""
    outcome: str = ""
    n_retries: int = 0
    usage: Mapping[str, int] = field(default_factory=dict)
    cost_usd: float | None = None
    cost_status: str = ""
    api_call: int = 0
    n_messages: int = 0
    tool_calls: tuple[str, ...] = ()
    finish_reason: str = ""
    prompt: str = ""
    prompt_chars: int | None = None
    tool_call_id: str = ""
    arguments: str = ""
    result: str = ""
    result_chars: int | None = None
    text: str = ""
    reasoning: str = ""
    output: str = ""
    output_chars: int = 0
    error: str = ""
    error_type: str = ""
    hint: str = ""
    reason: str = ""
    builtin: bool = False
    host: str = ""
    runtime: str = ""
    instructions: str = ""
    offered: tuple[str, ...] = ()
    tool_call_ids: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        length = "" if self.duration_ms is None else f", {format_ms(self.duration_ms)}"
        return f"Span({self.kind} {self.name!r}, {self.status}{length})"

    @property
    def key(self) -> tuple[str, str, int, str]:
        """(session_id, turn_id, attempt, span_id): unique over any set of logs."""
        return (self.session_id, self.turn_id, self.attempt, self.span_id)

    @property
    def parent_key(self) -> tuple[str, str, int, str] | None:
        """The parent's `key`; None for a turn."""
        return None if self.parent_id is None else (self.session_id, self.turn_id, self.attempt, self.parent_id)

    @property
    def is_running(self) -> bool:
        """True until it ended in any way."""
        return self.status == "running"

    @property
    def otel_name(self) -> str:
        """OpenTelemetry's span name: the operation and what it was on, as `execute_tool top_customers`."""
        return f"{self.operation} {self.name}".rstrip()


# A frozen dataclass sets each field through `object.__setattr__`: 6 us for this many, a third of a fold. So the folder
# fills a twin with the same slots that is not frozen, then makes a span of it.
if TYPE_CHECKING:
    SpanDraft = Span
else:
    SpanDraft = make_dataclass("SpanDraft", [(f.name, f.type, f) for f in fields(Span)], slots=True, eq=False, repr=False)


def freeze(draft: Span) -> Span:
    """The span a `SpanDraft` becomes; the same object."""
    draft.__class__ = Span
    return draft


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened at a moment: a retry, a warning, a steer, a compressed context, an unknown kind.

    Attributes:
        at_unix_s: When.
        kind: The event's kind.
        text: For people: one line, or the lines of a log.
        session_id: Conversation.
        turn_id: Turn.
        attempt: Attempt of the turn.
        span_id: Span it belongs to.
        url: Where there is more of it; "" when nowhere.
        data: The event's, of a score; None for others.
    """

    at_unix_s: float
    kind: str
    text: str
    session_id: str
    turn_id: str
    attempt: int
    span_id: str
    url: str = ""
    data: Mapping[str, object] | None = None


def busy_ms(spans: Iterable[Span], *, until_unix_s: float | None = None) -> float:
    """Wall time covered by any of the spans, in milliseconds: the union of their intervals.

    Args:
        spans: Any spans; of several sessions too.
        until_unix_s: Where a running span is cut; None leaves running spans out.
    """
    total = 0.0
    covered_to = float("-inf")
    ends = ((s.start_unix_s, until_unix_s if s.end_unix_s is None else s.end_unix_s) for s in spans)
    for start, end in sorted((a, b) for a, b in ends if b is not None):
        if end > covered_to:
            total += end - max(start, covered_to)
            covered_to = end
    return total * 1000
