"""Tokens and cost of stored turns, summed by turn, session or day. What nobody reported stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hermes_nb.model.format import format_time
from hermes_nb.store.row import TurnRow

By = Literal["turn", "session", "day"]


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Sums of some turns; a figure is None when nothing reported it.

    Attributes:
        name: The turn's or session's id, or the day (local time) on which the turns began, YYYY-MM-DD.
        n_turns: How many.
        input_tokens: All that was sent, cached tokens included.
        cache_read_tokens: Of these, read from a cache.
        cache_write_tokens: Of these, written to one.
        output_tokens: All that was received, reasoning included.
        reasoning_tokens: Of these, reasoning.
        cost_usd: What is known of the cost.
        is_cost_whole: Whether that is all of it.
        partial: Names of the token counts to which a turn or a call added nothing known: lower bounds.
        about: What was asked in a turn; "" else.
    """

    name: str
    n_turns: int
    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    is_cost_whole: bool = True
    about: str = ""
    partial: frozenset[str] = frozenset()


_FIGURES = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
)


def summed(turns: Sequence[TurnRow], by: By) -> list[UsageRow]:
    """One row per turn, session or day, in the order of the first turn of each."""
    groups: dict[str, list[TurnRow]] = {}
    for turn in turns:
        groups.setdefault(_name(turn, by), []).append(turn)
    return [total(own, name, about=own[0].prompt or "" if by == "turn" else "") for name, own in groups.items()]


def total(turns: Sequence[TurnRow], name: str = "all", *, about: str = "") -> UsageRow:
    """The sum of turns."""
    sums: dict[str, Any] = {figure: _sum(getattr(turn, figure) for turn in turns) for figure in _FIGURES}
    partial = frozenset(figure for figure in _FIGURES[:-1] if any(_lacks(turn, figure) for turn in turns))
    is_cost_whole = all(t.is_cost_whole for t in turns)
    return UsageRow(name, len(turns), **sums, is_cost_whole=is_cost_whole, about=about, partial=partial)


def _lacks(turn: TurnRow, figure: str) -> bool:
    """Whether a call of a turn went without that figure; a turn that sent nothing lacks none."""
    is_sent = not (turn.are_tokens_whole and turn.input_tokens is None and turn.output_tokens is None)
    return is_sent and (not turn.are_tokens_whole or getattr(turn, figure) is None)


def _name(turn: TurnRow, by: By) -> str:
    if by == "day":
        return format_time(turn.started_unix_s)
    return turn.turn_id if by == "turn" else turn.session_id


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
