"""Asks an agent about each row: several rows at once, each in a conversation of its own, until all have an outcome."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hermes_nb.api._run import run_awaited
from hermes_nb.api.batch import outcome
from hermes_nb.api.batch.outcome import Outcome
from hermes_nb.api.batch.pace import Pace
from hermes_nb.errors import HermesNbError, UsageError
from hermes_nb.sessions.conversations import ROW_TITLE
from hermes_nb.turns.agent_digest import profile
from hermes_nb.turns.limit import NO_LIMITS, Limits
from hermes_nb.turns.request import TurnRequest

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.turns.result import RunResult

STORE_EVERY_S = 1.0  # nobody follows a single row; its end is stored at once


@dataclass(frozen=True, slots=True)
class Terms:
    """How rows are asked.

    Attributes:
        returns: The type of each answer; None for text.
        n_parallel: Most rows at once.
        n_retries: How often a row is asked again after a limit, a server's error or a broken connection.
        limits: What the whole may cost.
        checkpoint: The name under which answers are kept and found again; None keeps none.
        unique: Ask rows with the same prompt once.
        timeout_s: Seconds per row; None for no limit.
        metadata: Kept in the log of each turn.

    Raises:
        UsageError: A value is none that the field can have.
    """

    returns: Any = None
    n_parallel: int = 8
    n_retries: int = 2
    limits: Limits = NO_LIMITS
    checkpoint: str | None = None
    unique: bool = False
    timeout_s: float | None = 300.0
    metadata: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, least in (("n_parallel", 1), ("n_retries", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"{name} is a whole number, {least} or more, not {value!r}.")
        seconds = self.timeout_s
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0):
            raise UsageError(f"timeout_s is a number of seconds above 0, or None for no limit, not {seconds!r}.")
        if self.checkpoint is not None and not (isinstance(self.checkpoint, str) and self.checkpoint.strip()):
            raise UsageError(f"checkpoint is a name, e.g. 'reviews-1', not {self.checkpoint!r}.")


@dataclass(slots=True)
class Progress:
    """How far a map is.

    Attributes:
        n_rows: All rows.
        counts: Rows by status.
        n_kept: Rows whose answer was there before.
        n_tokens: Sent and received so far, as far as known.
        cost_usd: Dollars so far, as far as known.
        began_s: When it began, seconds of the monotonic clock.
    """

    n_rows: int
    counts: Counter[str] = field(default_factory=Counter)
    n_kept: int = 0
    n_tokens: int = 0
    cost_usd: float = 0.0
    is_cost_known: bool = False
    began_s: float = field(default_factory=time.monotonic)

    @property
    def n_done(self) -> int:
        """Rows that have an outcome."""
        return self.counts.total()

    def left_s(self) -> float | None:
        """Return the seconds that the rest will take at the speed so far; None before it can be told."""
        asked = self.n_done - self.n_kept - self.counts[outcome.MISSING]
        rest = self.n_rows - self.n_done
        return None if asked < 1 or not rest else (time.monotonic() - self.began_s) / asked * rest

    def add(self, made: Outcome, n_rows: int = 1) -> None:
        """Count an outcome of so many rows."""
        self.counts[made.status] += n_rows
        self.n_kept += n_rows if made.is_kept else n_rows - 1
        if not made.is_kept:
            self.n_tokens += made.n_tokens or 0
            self.cost_usd += made.cost_usd or 0.0
            self.is_cost_known |= made.cost_usd is not None


class BatchRun:
    """One map.

    Args:
        bound: The agent that is asked.
        prompts: The prompt of each row; None for a row without one.
        terms: How.
        show: Told of the progress after each row.
        on_result: Told of the result of each row that was asked, also of one that was answered before.

    Attributes:
        outcomes: Of each row, in order; those of rows that were not begun yet have the status `not_asked`.
    """

    def __init__(
        self,
        bound: BoundAgent,
        prompts: Sequence[str | None],
        terms: Terms,
        *,
        show: Callable[[Progress], None],
        on_result: Callable[[int, RunResult], None] | None = None,
    ) -> None:
        self._bound, self._terms, self._show, self._on_result = bound, terms, show, on_result
        self.outcomes = [Outcome(outcome.NOT_ASKED if p is not None else outcome.MISSING) for p in prompts]
        self.progress = Progress(len(prompts))
        self._places: dict[Any, list[int]] = {}
        for i, prompt in enumerate(prompts):
            if prompt is not None:
                self._places.setdefault(prompt if terms.unique else i, []).append(i)
        self._prompts = prompts
        self._todo = deque(self._places.values())
        self._pace = Pace(terms.n_parallel, clock=time.monotonic)
        self._digest = self._agent_digest() if terms.checkpoint is not None else ""
        self._seen: Counter[str] = Counter()  # rows with the same prompt have keys of their own
        self._stop_reason = ""

    async def run(self) -> None:
        """Ask all rows; `outcomes` has what became of them, also after a cancellation.

        Raises:
            asyncio.CancelledError: The task was cancelled: turns that ran are stopped, what was answered is kept.
        """
        for made in self.outcomes:
            if made.status == outcome.MISSING:
                self.progress.add(made)
        self._show(self.progress)
        asking = [asyncio.ensure_future(self._ask_rows()) for _ in range(min(self._terms.n_parallel, len(self._todo)))]
        try:
            await asyncio.gather(*asking)
        except BaseException:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
            raise
        why = f"Not asked: {self._stop_reason}" if self._stop_reason else None
        for i, made in enumerate(self.outcomes):
            if made.status == outcome.NOT_ASKED:
                self.outcomes[i] = replace(made, error=why)
        self._show(self.progress)

    async def _ask_rows(self) -> None:
        while self._todo and not self._stop_reason:
            async with self._pace.turn():
                if not self._todo or self._left() is None:
                    return
                rows = self._todo.popleft()
                made = await self._ask(rows[0])
            if made is None:
                return
            for place, i in enumerate(rows):
                self.outcomes[i] = made if place == 0 else replace(made, is_kept=True)
            self.progress.add(made, len(rows))
            self._show(self.progress)

    def _left(self) -> Limits | None:
        """What the next row may cost; None when nothing is left."""
        limits, spent = self._terms.limits, self.progress
        if limits.max_cost_usd is not None and spent.cost_usd >= limits.max_cost_usd:
            self._stop_reason = f"max_cost_usd={limits.max_cost_usd:g} is reached. Raise it and run again."
        elif limits.max_tokens is not None and spent.n_tokens >= limits.max_tokens:
            self._stop_reason = f"max_tokens={limits.max_tokens} is reached. Raise it and run again."
        if self._stop_reason:
            return None
        return Limits(
            None if limits.max_cost_usd is None else limits.max_cost_usd - spent.cost_usd,
            None if limits.max_tokens is None else limits.max_tokens - spent.n_tokens,
        )

    async def _ask(self, i: int) -> Outcome | None:
        """Ask about a row, again while that may help; None when the limit of the whole is reached in between."""
        prompt = self._prompts[i]
        assert prompt is not None
        name = self._name(prompt)
        n_tries, begun_s = 0, time.monotonic()
        while True:
            left = self._left()
            if left is None:
                return None
            try:
                result, is_kept = await self._one(prompt, left, f"{name}:{n_tries}" if name else None)
            except HermesNbError as exc:
                return Outcome("failed", error=str(exc), n_tries=n_tries + 1, duration_s=time.monotonic() - begun_s)
            n_tries += 1
            if is_kept and result.status != "completed":
                continue  # what failed in an earlier run of the cell is asked anew
            duration_s = None if is_kept else time.monotonic() - begun_s
            made = Outcome.of(result, n_tries=0 if is_kept else n_tries, duration_s=duration_s, is_kept=is_kept)
            if made.is_answered and not outcome.is_limited(result):
                self._pace.answered()
            if outcome.is_limited(result):
                self._pace.limited(outcome.retry_after_s(result))
            if made.is_answered or not outcome.may_pass(result) or n_tries > self._terms.n_retries:
                if self._on_result is not None:
                    self._on_result(i, result)
                return made
            if not outcome.is_limited(result):
                await asyncio.sleep(min(30.0, 2.0 ** (n_tries - 1)))

    async def _one(self, prompt: str, left: Limits, key: str | None) -> tuple[RunResult, bool]:
        """One turn in a conversation of its own; its result, and whether it ended before this run of the cell."""
        bound, hermes = self._bound, self._bound.hermes
        conversations = hermes.conversations
        wanted = None if key is None else f"s-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        title = f"{ROW_TITLE}{self._terms.checkpoint or bound.name}"
        session = await hermes.io.awaited(conversations.named_session(wanted, bound.name, title))
        is_kept = key is not None and any(e.is_turn_end for e in session.events)
        request = TurnRequest(
            prompt=prompt,
            session_id=session.id,
            timeout_s=self._terms.timeout_s,
            show=False,
            idempotency_key=key,
            limits=left,
            metadata=self._terms.metadata,
            store_every_s=STORE_EVERY_S,
        )
        try:
            result = await run_awaited(bound, request, self._terms.returns)
            if result.status in ("awaiting_approval", "needs_confirmation"):
                await self._give_up(result.turn_id)
            return result, is_kept
        finally:
            hermes.forget_turns(session.id, key)
            bound.definitions.pinned.drop(session.id)

    async def _give_up(self, turn_id: str) -> None:
        """Stop a turn that asks: nobody sits at each of a thousand rows."""
        for turn in self._bound.hermes.turns:
            if turn.id == turn_id and not turn.is_done:
                turn.stop("user")
                await turn.wait()

    def _name(self, prompt: str) -> str | None:
        """The row's name in the checkpoint: the same prompt to the same agent has the same, its second row another."""
        if self._terms.checkpoint is None:
            return None
        body = hashlib.sha256(json.dumps([prompt, self._digest]).encode()).hexdigest()[:20]
        self._seen[body] += 1
        return f"map:{self._terms.checkpoint}:{body}:{self._seen[body]}"

    def _agent_digest(self) -> str:
        definitions = self._bound.definitions
        told = profile(self._bound, definitions.offered_in("", only=None))
        kind = getattr(self._terms.returns, "__qualname__", None) or str(self._terms.returns)
        return hashlib.sha256(json.dumps([told, kind], sort_keys=True, default=str).encode()).hexdigest()[:16]
