"""What became of one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hermes_nb.turns.result import RunResult

# Besides the statuses of a turn.
MISSING = "missing"  # nothing to ask about
NOT_ASKED = "not_asked"  # the limit of the whole was reached, or the map was stopped before
# Codes of a turn's end after which the same question may do better.
_PASSING = frozenset({"429", "408", "409", "wait", "unreachable", "malformed", "empty", "timeout"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one row.

    Attributes:
        status: A turn's status; `missing` for a row without a prompt, `not_asked` for one that was not begun.
        text: The answer; None without one.
        value: What `returns` asked for; None without it.
        error: Why there is no answer, in one line; None when there is one.
        cost_usd: In dollars; None when unknown.
        n_tokens: Sent and received; None when unknown.
        duration_s: From its begin to its end; None when it was not begun here.
        turn_id: Its turn; None when it was not begun.
        n_tries: How often it was asked.
        is_kept: Whether the answer was there before: from the checkpoint, or of a row with the same prompt.
    """

    status: str
    text: str | None = None
    value: Any = None
    error: str | None = None
    cost_usd: float | None = None
    n_tokens: int | None = None
    duration_s: float | None = None
    turn_id: str | None = None
    n_tries: int = 0
    is_kept: bool = False

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer of the kind asked for."""
        return self.status == "completed"

    @classmethod
    def of(cls, result: RunResult, *, n_tries: int, duration_s: float | None, is_kept: bool = False) -> Outcome:
        """Return the outcome that a turn gave."""
        usage = result.usage
        n_tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0) if usage else None
        is_answered = result.status == "completed"
        return cls(
            result.status,
            text=result.text if is_answered else None,
            value=result.value if is_answered else None,
            error=None if is_answered else (result.problem or result.error or f"The turn ended as {result.status}."),
            cost_usd=result.cost_usd,
            n_tokens=n_tokens,
            duration_s=duration_s,
            turn_id=result.turn_id,
            n_tries=n_tries,
            is_kept=is_kept,
        )


def may_pass(result: RunResult) -> bool:
    """Whether the same question may be answered when it is asked again: limits, server errors, broken connections."""
    code = _code(result)
    return result.status == "failed" and (code in _PASSING or (code.isdecimal() and int(code) >= 500))


def is_limited(result: RunResult) -> bool:
    """Whether a provider limited the requests of a turn, also when it answered after a retry."""
    return _code(result) == "429" or any(
        e.kind == "model.retried" and e.data.get("status_code") == 429 for e in result.events
    )


def retry_after_s(result: RunResult) -> float | None:
    """Return the longest wait in seconds that a provider asked for during a turn; None when it named none."""
    waits = [e.data.get("wait_s") for e in result.events if e.kind == "model.retried" and e.data.get("status_code") == 429]
    known = [float(w) for w in waits if isinstance(w, int | float)]
    return max(known) if known else None


def _code(result: RunResult) -> str:
    end = next((e for e in reversed(result.events) if e.is_turn_end), None)
    return "" if end is None else str(end.data.get("code") or "")
