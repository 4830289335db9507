"""Stops a turn before the model call that its budget does not allow any more.

What a call will cost is known when it is over. So that calls that run side by side overstep a limit by one call in all, a
call begins only when the limit would not be reached if all that run came to the most they can (`Bound`); else it waits for
them. Among the agents a turn delegates to this is settled here; among turns, workers and kernels by the kernel (`ask`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.accounting.usage import UsageCounter

if TYPE_CHECKING:
    from hermes_nb.model.message_part import LimitTold

_POLL_S = 0.05


class BudgetSpent(BaseException):
    """A limit is reached, or can't be kept; not an `Exception`, which Hermes would log and go on. `hint` is the cure."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Bound:
    """The most a call can come to; None where nobody can say: then it runs alone.

    Attributes:
        n_tokens: Tokens, sent and received.
        cost_usd: Dollars.
        is_free: Whether it costs nothing (the offline model): limits in dollars do not count for it.
    """

    n_tokens: int | None = None
    cost_usd: float | None = None
    is_free: bool = False


# Asks the kernel whether a call may begin; blocks. Returns what was spent so far, for each shared limit; None if unknown.
Ask = Callable[[str, Bound], Sequence[float | None]]


class Budget:
    """The limits of one turn and of what it delegates.

    Args:
        limits: The wire's `budget`: dicts with of, max_cost_usd or max_tokens, spent (before this attempt), cure, is_shared.
        tally: What the turn spends.
        is_stopping: Whether the turn is to end: nobody waits any longer.
        ask: For limits that other turns share; None when nobody shares any.
        told: Told of the end of a call that was asked for.
    """

    def __init__(
        self,
        limits: Sequence[LimitTold],
        tally: UsageCounter,
        *,
        is_stopping: Callable[[], bool] = lambda: False,
        ask: Ask | None = None,
        told: Callable[[str], None] = lambda call_id: None,
    ) -> None:
        self._limits = list(limits)
        self._shared = [limit for limit in self._limits if limit.get("is_shared")]
        self._tally = tally
        self._is_stopping = is_stopping
        self._ask = ask if self._shared else None
        self._told = told
        self._changed = threading.Condition()
        self._running: dict[str, Bound] = {}

    @property
    def is_any(self) -> bool:
        """Whether there is a limit."""
        return bool(self._limits)

    @contextmanager
    def spending(
        self, call_id: str, model: str, *, bound: Callable[[], Bound], knows_price: Callable[[], bool]
    ) -> Iterator[None]:
        """One more call, made and counted within the block; waits until it may begin.

        Args:
            call_id: Its span.
            model: Who would be asked, for the message.
            bound: The most it can come to; asked only when there is a limit.
            knows_price: Whether a call's cost will be known; asked only under a limit in dollars.

        Raises:
            BudgetSpent: It is not allowed.
            InterruptedError: The turn was stopped while it waited.
        """
        if not self._limits:
            yield
            return
        most = bound()
        self.check(model, is_free=most.is_free, knows_price=knows_price)
        with self._changed:
            while not self._fits():
                self._changed.wait(_POLL_S)
                if self._is_stopping():
                    raise InterruptedError("Stopped while it waited for other calls of its budget.")
                self.check(model, is_free=most.is_free, knows_price=knows_price)
            self._running[call_id] = most
        try:
            if self._ask is not None:
                spent = self._ask(call_id, most)
                for limit, so_far in zip(self._shared, spent, strict=False):
                    _check_shared(limit, so_far, is_free=most.is_free)
            yield
        finally:
            with self._changed:
                del self._running[call_id]
                self._changed.notify_all()
            if self._ask is not None:
                self._told(call_id)

    def check(self, model: str, *, is_free: bool, knows_price: Callable[[], bool]) -> None:
        """Return when one more call is allowed, by what this turn spent.

        Raises:
            BudgetSpent: It is not.
        """
        for limit in self._limits:
            if "max_cost_usd" in limit and not is_free and (not self._tally.is_cost_whole or not knows_price()):
                raise BudgetSpent(
                    f"The cost of a call of model {model!r} is not known, so the {limit['of']}'s budget of"
                    f" ${float(limit['max_cost_usd']):g} can't be kept; no further model call was made.",
                    "Limit tokens instead (max_tokens), or use a model whose price Hermes knows.",
                )
            if "max_tokens" in limit and not self._tally.are_tokens_whole:
                raise BudgetSpent(
                    f"Model {model!r} did not say how many tokens a call took, so the {limit['of']}'s budget of"
                    f" {limit['max_tokens']:,} tokens can't be kept; no further model call was made.",
                    "Limit model calls instead (the agent's max_turns), or use an endpoint that reports its usage.",
                )
            _check(limit, self._spent(limit), is_free=is_free)

    def _spent(self, limit: Mapping[str, Any]) -> float:
        own = self._tally.n_tokens if "max_tokens" in limit else self._tally.cost_usd or 0.0
        return float(limit["spent"]) + own

    def _fits(self) -> bool:
        """Whether one more call may begin beside those of this turn that run."""
        running = list(self._running.values())
        for limit in self._limits if running else ():
            most = [b.n_tokens if "max_tokens" in limit else 0.0 if b.is_free else b.cost_usd for b in running]
            known = [m for m in most if m is not None]
            if len(known) < len(most) or self._spent(limit) + sum(known) >= _most(limit):
                return False
        return True


def _most(limit: Mapping[str, Any]) -> float:
    return float(limit["max_tokens"] if "max_tokens" in limit else limit["max_cost_usd"])


def _check_shared(limit: Mapping[str, Any], spent: float | None, *, is_free: bool) -> None:
    if spent is not None:
        _check(limit, spent, is_free=is_free)
        return
    of, cure = _UNTOLD[str(limit["of"])]
    raise BudgetSpent(
        f"A model call of {of} did not say how many tokens it took, so the {limit['of']}'s budget of"
        f" {limit['max_tokens']:,} tokens can't be kept; no further model call was made.",
        cure,
    )


# By whose limit it is: where the call was that did not report its tokens, and the cure.
_UNTOLD = {
    "session": (
        "this session",
        "Start a new session with a model that reports its usage, or limit model calls instead (the agent's max_turns).",
    ),
    "day": (
        "today",
        "%hermes usage --by turn shows which one. Use a model that reports its usage from tomorrow on, or ask whoever set"
        " HERMES_NB_MAX_TOKENS to limit dollars instead (HERMES_NB_MAX_COST_USD).",
    ),
}


def _check(limit: Mapping[str, Any], spent: float, *, is_free: bool) -> None:
    if "max_tokens" in limit:
        if spent >= limit["max_tokens"]:
            raise BudgetSpent(
                f"The {limit['of']}'s budget of {limit['max_tokens']:,} tokens is spent ({spent:,.0f} used); no further"
                " model call was made.",
                f"{limit['cure']}.",
            )
    elif not is_free and spent >= limit["max_cost_usd"]:
        raise BudgetSpent(
            f"The {limit['of']}'s budget of ${float(limit['max_cost_usd']):g} is spent (${spent:.6g} used); no further model"
            " call was made.",
            f"{limit['cure']}.",
        )
