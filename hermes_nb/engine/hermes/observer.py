"""What a turn hears of its agent in passing: waits, summaries, compression, and what helper models cost meanwhile."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from hermes_nb.engine.hermes.line.private_name import has

_WAIT = re.compile(r"(?:Retrying in|Waiting) ([\d.]+)s(?: \(attempt (\d+)/(\d+)\))?")


class Spent:
    """What Hermes's helper models cost meanwhile (compression, vision, web pages); stands where its accounting goes."""

    def __init__(self) -> None:
        self.usage: Counter[str] = Counter()
        self.cost_usd: float | None = None

    def record_auxiliary_usage(self, session_id: str, task: str, **counts: Any) -> None:
        """Called by `agent.aux_accounting` for each response."""
        del session_id, task
        cached = counts.get("cache_read_tokens", 0), counts.get("cache_write_tokens", 0)
        self.usage["input_tokens"] += counts.get("input_tokens", 0) + sum(cached)
        for name in ("output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"):
            if counts.get(name):
                self.usage[name] += counts[name]
        cost = counts.get("estimated_cost_usd")
        self.cost_usd = self.cost_usd if cost is None else (self.cost_usd or 0.0) + cost

    def data(self) -> dict[str, Any]:
        """usage and cost_usd, where there are any."""
        found: dict[str, Any] = {"usage": dict(self.usage)} if self.usage else {}
        return found | ({} if self.cost_usd is None else {"cost_usd": self.cost_usd})


@contextlib.contextmanager
def spending() -> Iterator[Spent]:
    """Count what helper models cost within the block, on this thread and those Hermes gives its context."""
    spent = Spent()
    if not has("agent.aux_accounting"):  # 0.18 counts none
        yield spent
        return
    accounting: Any = importlib.import_module("agent.aux_accounting")
    token = accounting.set_accounting_context(spent, "hermes_nb")
    try:
        yield spent
    finally:
        accounting.reset_accounting_context(token)


class TurnObserver(Protocol):
    """Who hears what Hermes says in passing; called on the turn's thread, `on_reconnect` also on Hermes's own."""

    def on_wait(self, wait_s: float, n_retry: int, n_retries_max: int) -> None:
        """Hermes waits before it asks the model again."""

    def on_reconnect(self, reason: str, n_retry: int, n_retries_max: int) -> None:
        """The stream broke; Hermes asks again at once. 0 where it does not count."""

    @property
    def is_stopping(self) -> bool:
        """Whether the turn is to end."""

    def call_model(self, request: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]) -> Any:
        """The limit of model calls is reached; Hermes asks for a summary, on a client of its own."""

    def on_unseen_summary(self) -> None:
        """The same, by a way that can't be recorded."""

    def on_compressing(self) -> None:
        """The conversation is about to be shortened, by a model call; may raise a BaseException to prevent it."""

    def call_helper(self, request: Mapping[str, Any], send: Callable[[], Any]) -> Any:
        """The answer of the model that shortens the conversation: `send` asks it."""

    def on_compressed(self, n_before: int, n_after: int, spent: Spent, *, is_shorter: bool) -> None:
        """The conversation was shortened, or could not be (`is_shorter` false), by a model call that cost `spent`."""


def same_words(before: list[dict[str, Any]], after: list[Any]) -> bool:
    """Whether nothing of a conversation was left out or put otherwise."""
    if len(before) != len(after):
        return False
    return all(isinstance(m, Mapping) and m.get("content") == b.get("content") for b, m in zip(before, after, strict=True))


def _reconnect(text: str) -> tuple[str, int, int]:
    """(reason, n_retry, n_retries_max) of what Hermes says about a stream that broke or fell silent."""
    broke = re.search(r"stream drop.*?\((\w+)\).*?retry (\d+)/(\d+)", text)
    if broke:
        return f"The stream broke ({broke[1]}).", int(broke[2]) - 1, int(broke[3]) - 1
    silent = re.search(r"No response from provider for (\d+)s", text)
    return (f"No answer for {silent[1]} s." if silent else " ".join(text.split())), 0, 0


def hear(text: str, listener: TurnObserver) -> None:
    """Tell `listener` what Hermes says of a wait or of a stream that broke."""
    found = _WAIT.search(text)
    if found:
        n_retry = int(found[2] or 1) - (found[0].startswith("Waiting"))
        listener.on_wait(float(found[1]), max(n_retry, 1), int(found[3] or 0))
    elif "reconnecting" in text.lower():
        listener.on_reconnect(*_reconnect(text))
