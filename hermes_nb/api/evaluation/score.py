"""What a scorer says of an answer, in one form."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.model.event import Event

KIND = "evaluation.result"


@dataclass(frozen=True, slots=True)
class Score:
    """One word on one answer.

    Attributes:
        name: What was looked at.
        value: A number, 1 and 0 for right and wrong; None for a label or where the scorer failed.
        label: A word instead of a number; "pass" and "fail" for right and wrong.
        reason: Why; "" when it was not said.
        error: Why there is none; "" when there is one.
    """

    name: str
    value: float | None = None
    label: str = ""
    reason: str = ""
    error: str = ""

    def data(self, case: str, variant: str) -> dict[str, Any]:
        """Return the data of the event that keeps it; what is empty is left out."""
        known = {
            "name": self.name,
            "value": self.value,
            "label": self.label,
            "reason": self.reason,
            "error": self.error,
            "case": case,
            "variant": variant,
        }
        return {key: value for key, value in known.items() if value not in (None, "")}


def read(given: Any, name: str) -> Iterator[Score]:
    """Yield the scores in what a scorer returned.

    Args:
        given: A bool, a number, a text, a dict of these by name, a Score, a list of them, a pair of value and reason,
            something with `value` and `reason`, or None for none.
        name: The scorer's name.

    Raises:
        UsageError: It is something else.
    """
    if given is None:
        return
    if isinstance(given, Score):
        yield given
    elif isinstance(given, Mapping):
        for key, value in given.items():
            yield from read(value, str(key))
    elif isinstance(given, list):
        for value in given:
            yield from read(value, name)
    elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
        yield _plain(given[0], name, given[1])
    elif hasattr(given, "value") and hasattr(given, "reason"):
        yield _plain(given.value, name, str(given.reason or ""))
    else:
        yield _plain(given, name, "")


def _plain(value: Any, name: str, reason: str) -> Score:
    item = getattr(value, "item", None)  # of numpy
    if callable(item) and getattr(value, "ndim", 1) == 0:
        value = item()
    if isinstance(value, bool):
        return Score(name, float(value), "pass" if value else "fail", reason)
    if isinstance(value, int | float):
        if not math.isfinite(value):
            return Score(name, reason=reason, error=f"The score is {value}, which is no number to compare.")
        return Score(name, float(value), reason=reason)
    if isinstance(value, str):
        return Score(name, label=value, reason=reason)
    raise UsageError(
        f"Scorer {name!r} returned {type(value).__name__}. A score is True or False, a number, a text, or a dict of these by"
        " name; (value, reason) tells why."
    )


def is_kept(score: Score, case: str, variant: str, events: tuple[Event, ...]) -> bool:
    """Whether the log of a turn has this very score, of an earlier run of the evaluation."""
    data = score.data(case, variant)
    return any(e.kind == KIND and dict(e.data) == data for e in events)
