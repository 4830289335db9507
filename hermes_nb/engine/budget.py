"""Stops a turn before the model call that its budget does not allow any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes_nb.engine.tally import Tally


class BudgetSpent(BaseException):
    """A limit is reached, or can't be kept; not an `Exception`, which Hermes would log and go on. `hint` is the cure."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Budget:
    """The limits of one turn and of what it delegates.

    Args:
        limits: The wire's `budget`: dicts with of, max_cost_usd or max_tokens, spent (before this attempt), cure.
        tally: What the turn spends.
    """

    def __init__(self, limits: Sequence[Mapping[str, Any]], tally: Tally) -> None:
        self._limits = limits
        self._tally = tally

    def check(self, model: str, *, is_free: bool, knows_price: Callable[[], bool]) -> None:
        """Return when one more call is allowed.

        Args:
            model: Who would be asked, for the message.
            is_free: Whether it costs nothing (the offline model).
            knows_price: Whether a call's cost will be known; asked only under a limit in dollars.

        Raises:
            BudgetSpent: It is not.
        """
        for limit in self._limits:
            if "max_tokens" in limit:
                spent = int(limit["spent"]) + self._tally.n_tokens
                if spent >= limit["max_tokens"]:
                    raise BudgetSpent(
                        f"The {limit['of']}'s budget of {limit['max_tokens']:,} tokens is spent ({spent:,} used); no further"
                        " model call was made.",
                        f"{limit['cure']}.",
                    )
            elif not is_free:
                self._check_cost(limit, model, knows_price)

    def _check_cost(self, limit: Mapping[str, Any], model: str, knows_price: Callable[[], bool]) -> None:
        most = float(limit["max_cost_usd"])
        if not self._tally.is_cost_whole or not knows_price():
            raise BudgetSpent(
                f"The cost of a call of model {model!r} is not known, so the {limit['of']}'s budget of ${most:g} can't be"
                " kept; no further model call was made.",
                "Limit tokens instead (max_tokens), or use a model whose price Hermes knows.",
            )
        spent = float(limit["spent"]) + (self._tally.cost_usd or 0.0)
        if spent >= most:
            raise BudgetSpent(
                f"The {limit['of']}'s budget of ${most:g} is spent (${spent:.6g} used); no further model call was made.",
                f"{limit['cure']}.",
            )
