"""What a turn may still spend: limits of the turn, of its session, and of the day for everybody in this state folder.

The engine stops before the model call that would come after the limit (`hermes_nb.engine.accounting.budget`). Calls that run
side by side, also in other kernels, reserve the most they can come to (`reservation`): a limit is exceeded by one call.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hermes_nb import _settings
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import session_options_problem

if TYPE_CHECKING:
    from hermes_nb.model.message_part import LimitTold
    from hermes_nb.store.row import TurnRow
    from hermes_nb.store.sqlite import Store

RAISE = "Raise max_cost_usd or max_tokens of the run (--max-cost, --max-tokens)"


@dataclass(frozen=True, slots=True)
class Limits:
    """Most dollars and most tokens (sent and received); None for no limit."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None

    @property
    def is_any(self) -> bool:
        """Whether there is one."""
        return self.max_cost_usd is not None or self.max_tokens is not None


NO_LIMITS = Limits()


def checked(*, max_cost_usd: Any = None, max_tokens: Any = None, where: str = "") -> Limits:
    """Limits as given by people.

    Raises:
        UsageError: Not a number of 0 or more.
    """
    for name, value in (("max_cost_usd", max_cost_usd), ("max_tokens", max_tokens)):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0
        ):
            raise UsageError(f"{where}{name} must be a number of 0 or more, not {value!r}.")
    return Limits(None if max_cost_usd is None else float(max_cost_usd), None if max_tokens is None else int(max_tokens))


def of_session(options: Mapping[str, Any]) -> Limits:
    """The limits among an agent's `session_options`.

    Raises:
        UsageError: They were changed into what the declaration would have refused.
    """
    said = session_options_problem(options)
    if said is not None:
        raise UsageError(said)
    return checked(max_cost_usd=options.get("max_cost_usd"), max_tokens=options.get("max_tokens"), where="session_options: ")


def of_day() -> Limits:
    """The limits of the environment: HERMES_NB_MAX_COST_USD and HERMES_NB_MAX_TOKENS, for a class or a shared machine.

    Raises:
        UsageError: A variable holds no number.
    """
    found: dict[str, float | None] = {}
    for name in ("max_cost_usd", "max_tokens"):
        text = _settings.variable(f"HERMES_NB_{name.upper()}")
        try:
            found[name] = None if text is None else float(text)
        except ValueError:
            raise UsageError(f"HERMES_NB_{name.upper()} is {text!r}, which is no number. Set one, or unset it.") from None
    return checked(max_cost_usd=found["max_cost_usd"], max_tokens=found["max_tokens"], where="HERMES_NB_: ")


async def for_wire(store: Store | None, *, turn: Limits, session: Limits, session_id: str, turn_id: str) -> list[LimitTold]:
    """The limits that hold for a turn, with what was spent before it (or by its earlier attempts).

    Args:
        store: Where the past is; None when it can't be opened (then nothing was spent that we know of).
        turn: The turn's own limits.
        session: Its session's.
        session_id: Its session.
        turn_id: The turn.

    Returns: one for each number; those of the session and the day are shared with other turns.
    """
    day = of_day()
    wire: list[LimitTold] = []
    if not (turn.is_any or session.is_any or day.is_any):
        return wire
    own = await store.turns(session_id) if store is not None else []
    today = datetime.datetime.combine(datetime.date.today(), datetime.time()).timestamp()
    of_today = await store.turns(None, since_unix_s=today) if store is not None and day.is_any else []
    of: Literal["turn", "session", "day"]
    for of, limits, rows, cure in (
        ("turn", turn, [r for r in own if r.turn_id == turn_id], RAISE),
        ("session", session, own, "Start a new session, or raise the limit in the agent's session_options"),
        ("day", day, of_today, "Wait for tomorrow, or ask whoever set HERMES_NB_MAX_COST_USD or HERMES_NB_MAX_TOKENS"),
    ):
        if limits.max_cost_usd is not None:
            cost = sum(r.cost_usd or 0.0 for r in rows)
            wire.append({"of": of, "max_cost_usd": limits.max_cost_usd, "spent": cost, "cure": cure})
        if limits.max_tokens is not None:
            wire.append({"of": of, "max_tokens": limits.max_tokens, "spent": _tokens(rows), "cure": cure})
    for one in wire:
        if one["of"] != "turn":
            one["is_shared"] = True
        if one["of"] == "day":
            one["since_unix_s"] = today
    return wire


def _tokens(rows: Iterable[TurnRow]) -> int:
    return sum((r.input_tokens or 0) + (r.output_tokens or 0) for r in rows)
