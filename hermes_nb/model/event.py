"""The event: what everything shown is a function of. One turn is a stream of them.

The producer (a worker, a kernel's host, a Flyte attempt) numbers its own events and measures durations with its
monotonic clock. Kinds and the keys of `data`, `?` where a key may be missing (missing stays missing, never 0):

| kind | data |
|---|---|
| `turn.started` | prompt, agent, model, provider, host, runtime, tools (names), n_history_messages, replaces? (turn id), instance? (whose agent answers), owner? (names, where they were given), metadata? (given by the user), only_tools? (names) |
| `model.started` | api_call (1, 2, ...), n_messages, model, provider, last_message (head), fingerprint, options? (temperature ... of `Model`) |
| `model.delta` | text |
| `reasoning.delta` | text |
| `model.completed` | api_call, text, reasoning?, tool_calls ([{id, name, arguments (raw JSON text)}]), finish_reason?, usage?, cost_usd?, duration_ms?, model, n_messages, last_message, fingerprint, occurrence, replayed? |
| `model.failed` | api_call, error, error_type, status_code?, duration_ms |
| `model.retried` | reason, wait_s?, n_retry?, n_retries_max?, status_code? |
| `tool.started` | tool_call_id, name, arguments (raw JSON text) |
| `tool.output` | tool_call_id, name, stream (`stdout`, `stderr`, `display`), text, mime_types? |
| `tool.completed` | tool_call_id, name, status (`ok`, `error`, `stopped`, `timed_out`, `denied`, `skipped`), result (text the model gets), result_chars, duration_ms?, started_at_unix_s?, error_type?, error?, builtin?, replayed?, arguments? (of a call without `tool.started`) |
| `approval.requested`, `clarify.requested` | request_id, question, name?, arguments?, choices? |
| `approval.responded`, `clarify.responded` | request_id, answer |
| `steer.received` | text, applied (bool) |
| `home.changed` | id, home, path (`memories/MEMORY.md`, `skills/x/SKILL.md`), diff (`+` came, `-` went) |
| `context.compressed` | n_messages_before, n_messages_after, usage? |
| `agent.started`, `agent.completed` | name, task?, text?, duration_ms? |
| `warning` | message, code |
| `evaluation.result` | name, value?, label?, reason?, error?, case, variant; a score of the turn's answer, after its end |
| `flyte.run` | phase, run?, attempt?, url?, report? (a local run's file); told by the notebook's side of a run of Flyte |
| `flyte.log` | lines: the last ones of the run's log, which replace those of the event before |
| `turn.completed` | text, status (`completed`, `max_turns`, ...), usage?, cost_usd?, cost_status?, started_at_unix_s?, duration_ms, n_model_calls, n_tool_calls |
| `turn.failed` | text (partial), error, error_type, hint?, code?, started_at_unix_s?, duration_ms, usage? |
| `turn.stopped` | text (partial), status (`stopped`, `timed_out`), reason, started_at_unix_s?, duration_ms, usage? |

`usage` holds counts of tokens: input_tokens (all that was sent, cached included), output_tokens (reasoning included),
cache_read_tokens?, cache_write_tokens?, reasoning_tokens?. An unknown kind is kept and shown, never dropped.

Span ids: a turn's span is its `turn_id`; a model call's and a tool call's span has that turn as `parent_id`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VERSION = 1

KINDS = frozenset(
    "turn.started model.started model.delta reasoning.delta model.completed model.failed model.retried tool.started"
    " tool.output tool.completed approval.requested approval.responded clarify.requested clarify.responded"
    " steer.received context.compressed home.changed agent.started agent.completed warning evaluation.result flyte.run"
    " flyte.log turn.completed"
    " turn.failed turn.stopped".split()
)
TURN_ENDS = frozenset({"turn.completed", "turn.failed", "turn.stopped"})
# Years 1 to 9999, as calendars have them, and whole numbers as stores have them.
EARLIEST_UNIX_S, LATEST_UNIX_S, MOST = -62_135_510_400.0, 253_402_214_400.0, 2**63 - 1
# Clocks that nobody set begin in 1970: a time before 1971 says nothing.
KNOWN_UNIX_S = 31_536_000.0


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a turn.

    Attributes:
        v: Version of this form.
        producer: Who numbered it; unique per process (or Flyte attempt).
        seq: The producer's own count, from 1, without gaps.
        at_unix_s: Wall-clock time, seconds since the epoch.
        session_id: Conversation.
        turn_id: Turn.
        span_id: Span it belongs to.
        parent_id: Span that contains it; None for a turn's own span.
        attempt: 1 for the first try of a turn, one more for each resume or retry.
        kind: See the table above.
        data: Its payload, JSON values only.
    """

    v: int
    producer: str
    seq: int
    at_unix_s: float
    session_id: str
    turn_id: str
    span_id: str
    parent_id: str | None
    attempt: int
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int, int]:
        """(session_id, producer, attempt, seq): the same key is the same event, however often it arrives."""
        return (self.session_id, self.producer, self.attempt, self.seq)

    @property
    def id(self) -> str:
        """Its name within its session, `producer:attempt:seq`: what `session.events(after=)` begins behind."""
        return f"{self.producer}:{self.attempt}:{self.seq}"

    @property
    def is_turn_end(self) -> bool:
        """True for the last event of a turn."""
        return self.kind in TURN_ENDS

    def to_dict(self) -> dict[str, Any]:
        """Plain data, JSON-ready."""
        return {
            "v": self.v,
            "producer": self.producer,
            "seq": self.seq,
            "at_unix_s": self.at_unix_s,
            "session_id": self.session_id,
            "turn_id": self.turn_id,
            "span_id": self.span_id,
            "parent_id": self.parent_id,
            "attempt": self.attempt,
            "kind": self.kind,
            "data": dict(self.data),
        }

    def to_json(self) -> str:
        """One line of valid JSON; a lone surrogate is written as '?', NaN and infinities are refused."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Event:
        """The event a `to_dict` came from.

        Raises:
            ValueError: A field is missing, of the wrong type, or out of bounds (a time that no calendar has).
        """
        try:
            return cls(
                v=_whole(data["v"]),
                producer=_valid(data["producer"]),
                seq=_whole(data["seq"]),
                at_unix_s=_time(data["at_unix_s"]),
                session_id=_valid(data["session_id"]),
                turn_id=_valid(data["turn_id"]),
                span_id=_valid(data["span_id"]),
                parent_id=None if data.get("parent_id") is None else _valid(data["parent_id"]),
                attempt=_whole(data.get("attempt", 1)),
                kind=_valid(data["kind"]),
                data=dict(data.get("data") or {}),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as exc:
            raise ValueError(f"Not an event: {exc!r} in {str(data)[:200]!r}.") from exc

    @classmethod
    def from_json(cls, line: str) -> Event:
        """The event a `to_json` came from.

        Raises:
            ValueError: Not JSON, or not an event.
        """
        return cls.from_dict(json.loads(line))


def _whole(value: Any) -> int:
    number = int(value)
    if not -MOST <= number <= MOST:
        raise ValueError(f"{value} is too large")
    return number


def _time(value: Any) -> float:
    at_unix_s = float(value)
    if not math.isfinite(at_unix_s) or not EARLIEST_UNIX_S <= at_unix_s <= LATEST_UNIX_S:
        raise ValueError(f"{value} is no time")
    return at_unix_s


def _valid(value: Any) -> str:
    """A text without lone surrogates, which no store, page or wire takes."""
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def as_number(value: object) -> float | None:
    """A finite number, 0 or more; None for anything else: whoever wrote a log, words and truths are no figure."""
    if type(value) is float or type(value) is int:
        return float(value) if 0 <= value < math.inf else None
    return None


class EventNumberer:
    """Makes events of one producer, numbered from 1. Not thread-safe: its owner holds the lock.

    Args:
        producer: Name of the producer, unique per process.
        clock: Returns seconds since the epoch.
    """

    def __init__(self, producer: str, clock: Any) -> None:
        self.producer = producer
        self._clock = clock
        self._seq = 0

    def make(
        self,
        kind: str,
        *,
        session_id: str,
        turn_id: str,
        span_id: str,
        parent_id: str | None = None,
        attempt: int = 1,
        data: Mapping[str, Any] | None = None,
    ) -> Event:
        """The next event."""
        self._seq += 1
        return Event(
            VERSION,
            self.producer,
            self._seq,
            self._clock(),
            session_id,
            turn_id,
            span_id,
            parent_id,
            attempt,
            kind,
            data or {},
        )
