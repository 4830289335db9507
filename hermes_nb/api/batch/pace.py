"""How many rows are asked at once: fewer while a provider limits requests, more again while it answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

FIRST_WAIT_S = 1.0
MOST_WAIT_S = 60.0


class Pace:
    """Let up to `n_most` through at once, all slower together after a limit was met.

    Args:
        n_most: Most rows at once.
        clock: Returns seconds; monotonic.
        sleep: Waits so many seconds.
    """

    def __init__(
        self, n_most: int, *, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.n_allowed, self._n_most = float(n_most), n_most
        self._clock, self._sleep = clock, sleep
        self._n_running = 0
        self._not_before = 0.0
        self._n_limits = 0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a place, and hold it."""
        async with self._freed:
            await self._freed.wait_for(lambda: self._n_running < max(1, int(self.n_allowed)))
            self._n_running += 1
        try:
            while (wait_s := self._not_before - self._clock()) > 0:
                await self._sleep(wait_s)
            yield
        finally:
            async with self._freed:
                self._n_running -= 1
                self._freed.notify_all()

    def limited(self, retry_after_s: float | None = None) -> float:
        """Note that the provider limits requests; returns for how long, in seconds, no row is begun."""
        self._n_limits += 1
        backoff_s = min(MOST_WAIT_S, FIRST_WAIT_S * 2 ** (self._n_limits - 1)) * random.uniform(1.0, 1.25)
        wait_s = backoff_s if retry_after_s is None else max(retry_after_s, 0.0)
        self._not_before = max(self._not_before, self._clock() + wait_s)
        self.n_allowed = max(1.0, self.n_allowed / 2)
        return wait_s

    def answered(self) -> None:
        """Note that a row was answered: one more may be asked at once, after as many as are allowed now."""
        self._n_limits = 0
        self.n_allowed = min(float(self._n_most), self.n_allowed + 1 / max(1.0, self.n_allowed))
