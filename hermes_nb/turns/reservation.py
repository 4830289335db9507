"""Lets model calls begin under a limit that turns share: of a session or a day, also with other kernels on the same folder.

The worker asks before each such call and waits (`hermes_nb.engine.accounting.budget`). Its kernel answers when the call fits
beside all that run, by the store, in which each call that runs has reserved the most it can come to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_nb.errors import StoreError
from hermes_nb.store.reservation import Reservation, SharedLimit
from hermes_nb.turns.event_log import EventLog

if TYPE_CHECKING:
    from hermes_nb.model.message import BudgetAsked
    from hermes_nb.model.message_part import LimitTold
    from hermes_nb.turns.context import TurnContext

_AGAIN_S = 0.05


class Reservations:
    """The calls of one turn; lives on the IO loop.

    Args:
        context: Whose store.
        log: The turn's events.
        session_id: Its session.
        turn_id: The turn.
    """

    def __init__(self, context: TurnContext, log: EventLog, *, session_id: str, turn_id: str) -> None:
        self._context, self._log = context, log
        self._session_id, self._turn_id = session_id, turn_id
        self._limits: list[SharedLimit] = []
        self._is_over = False
        self._has_reserved = False

    def hold(self, limits: Sequence[LimitTold]) -> None:
        """Hold to the shared ones among the limits that the worker is told (see `budget.for_wire`)."""
        self._limits = [
            SharedLimit(
                limit["max_cost_usd"] if "max_cost_usd" in limit else float(limit["max_tokens"]),
                is_cost="max_cost_usd" in limit,
                session_id=self._session_id if limit["of"] == "session" else None,
                since_unix_s=limit.get("since_unix_s"),
            )
            for limit in limits
            if limit.get("is_shared")
        ]

    async def ask(self, message: BudgetAsked) -> list[float | None]:
        """Return when a call may begin, or may not any more: what was spent, by each shared limit; None if unknown.

        A store that fails stops nobody: [] then, and the worker goes by what it knows.
        """
        limits = self._limits
        if message.get("is_free"):
            limits = [SharedLimit(x.most, x.is_cost, x.session_id, x.since_unix_s, counts=not x.is_cost) for x in limits]
        try:
            life = self._context.life
            wanted = Reservation(
                str(message["call_id"]),
                self._turn_id,
                self._session_id,
                await asyncio.to_thread(life.show),
                message.get("n_tokens"),
                message.get("cost_usd"),
            )
            while not self._is_over:
                await self._log.flush()
                store = await self._context.conversations.opened_store()
                self._has_reserved = True
                spent = await store.reserve(wanted, limits, life.is_alive)
                if spent is not None:
                    return spent
                await asyncio.sleep(_AGAIN_S)
        except StoreError as exc:
            self._log.warn_unstored(exc)
        return []

    async def done(self, call_id: str) -> None:
        """A call is over; its events have arrived."""
        await self._release(call_id=call_id)

    async def end(self) -> None:
        """The turn is over; its events are stored."""
        self._is_over = True
        if self._has_reserved:
            await self._release(turn_id=self._turn_id)

    async def _release(self, **which: str) -> None:
        try:
            await self._log.flush()
            await (await self._context.conversations.opened_store()).release(**which)
        except StoreError as exc:
            self._log.warn_unstored(exc)
