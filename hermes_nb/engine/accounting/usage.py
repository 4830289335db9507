"""What a turn has cost so far: calls, tokens, money. What is unknown stays unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any


class UsageCounter:
    """Counts of one line of conversation.

    Args:
        parent: Counts what this one counts, too (an agent's, for the work it delegated).
    """

    def __init__(self, parent: UsageCounter | None = None) -> None:
        self._parent = parent
        self._usage: Counter[str] = Counter()
        self._cost_usd: float | None = None
        self._is_cost_whole = True
        self._are_tokens_whole = True
        self.n_model_calls = 0
        self.n_tool_calls = 0

    def count_model_call(self, usage: Mapping[str, int] | None, cost_usd: float | None) -> None:
        """One more model call; usage and cost where they are known."""
        self.n_model_calls += 1
        self._is_cost_whole = self._is_cost_whole and cost_usd is not None
        self._are_tokens_whole = self._are_tokens_whole and bool(usage)
        self._spend(usage or {}, cost_usd)
        if self._parent is not None:
            self._parent.count_model_call(usage, cost_usd)

    def count_helper(self, spent: Mapping[str, Any]) -> None:
        """What a helper model of Hermes's cost (`usage`, `cost_usd`); it is no call of the conversation."""
        if spent:
            self._is_cost_whole = self._is_cost_whole and "cost_usd" in spent
            self._are_tokens_whole = self._are_tokens_whole and bool(spent.get("usage"))
            self._spend(spent.get("usage") or {}, spent.get("cost_usd"))
            if self._parent is not None:
                self._parent.count_helper(spent)

    def count_tool_call(self) -> None:
        """One more tool call."""
        self.n_tool_calls += 1
        if self._parent is not None:
            self._parent.count_tool_call()

    def _spend(self, usage: Mapping[str, int], cost_usd: float | None) -> None:
        self._usage.update(usage)
        self._cost_usd = self._cost_usd if cost_usd is None else (self._cost_usd or 0.0) + cost_usd

    @property
    def n_tokens(self) -> int:
        """Tokens sent and received, as far as they were reported."""
        return self._usage["input_tokens"] + self._usage["output_tokens"]

    @property
    def are_tokens_whole(self) -> bool:
        """Whether every call so far reported its tokens."""
        return self._are_tokens_whole

    @property
    def cost_usd(self) -> float | None:
        """What is known to have been spent; None when nothing is."""
        return self._cost_usd

    @property
    def is_cost_whole(self) -> bool:
        """Whether the cost of every call so far is known."""
        return self._is_cost_whole

    def totals(self) -> dict[str, Any]:
        """usage where there is any; cost_usd where that of every call is known."""
        found: dict[str, Any] = {"usage": dict(self._usage)} if self._usage else {}
        if self._cost_usd is not None and self._is_cost_whole:
            found["cost_usd"] = round(self._cost_usd, 9)
        return found
