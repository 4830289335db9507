"""A turn that another kernel runs, seen from here: its events as they are stored, its result, and what happens if it dies.

Nothing is written for it from here: stopping the handle stops the waiting, not the turn. When the other kernel is gone
before the turn ended, one of the kernels that wait takes it over and goes on where it was cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hermes_nb.api._idempotency import look
from hermes_nb.errors import HermesNbError
from hermes_nb.model.event import Event
from hermes_nb.model.status import HandleStatus
from hermes_nb.store.claim import Claim
from hermes_nb.turns.runner import TurnRunner

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.sessions.session import Session
    from hermes_nb.turns.request import PreparedTurn

LOOK_S = 0.25  # how often to see whether the other kernel lives


class ObservedRunner(TurnRunner):
    """Follows the turn; stopping, steering and answering are for the kernel that runs it.

    Args:
        bound: The agent that is asked.
        session: The conversation.
        prepared: What is asked.
        claim: How the other kernel holds the turn.
    """

    def __init__(self, bound: BoundAgent, session: Session, prepared: PreparedTurn, claim: Claim) -> None:
        super().__init__(bound, session, prepared)
        self._bound, self.claim = bound, claim

    @property
    def is_here(self) -> bool:
        """Whether it was taken over."""
        return self.claim.owner == self.context.life.name

    @property
    def status(self) -> HandleStatus:
        """As of every turn; `running` while another kernel runs it."""
        return "running" if not self.is_here and not self.is_done and self._stop_reason is None else super().status

    async def _run(self) -> None:
        self._has_begun = True
        try:
            if self._stop_reason is not None:
                raise asyncio.CancelledError
            if await self._watch():
                self._leave_with(await self._events())
                return
        except asyncio.CancelledError:
            self._leave("turn.stopped", status=self._stop_status, reason=self._stop_reason or "closed")
            return
        except HermesNbError as exc:
            self._leave("turn.failed", error=str(exc), error_type=type(exc).__name__)
            return
        except Exception as exc:  # noqa: BLE001 - as in `TurnRunner._run`
            self._leave("turn.failed", error=f"Internal error: {exc!r}", error_type=type(exc).__name__)
            return
        await super()._run()

    async def _watch(self) -> bool:
        """True when the turn ended; False when it is this kernel's to go on with."""
        context = self.context
        while True:
            reading = self.io.task(self._read())
            try:
                while not reading.done():
                    await asyncio.wait({reading}, timeout=LOOK_S)
                    if not await asyncio.to_thread(context.life.is_alive, self.claim.owner):
                        break
                if reading.done():
                    reading.result()
                    return True
            finally:
                reading.cancel()
            found = await look(self._bound, self.claim.key, self.claim.body)
            if found is None:  # it died before its worker had taken the turn
                wanted = Claim(
                    self.claim.key, self.claim.body, self.session_id, self.id, await asyncio.to_thread(context.life.show)
                )
                self.claim = await (await context.conversations.opened_store()).claim(wanted, instead_of=self.claim)
                if self.claim == wanted:
                    return False
            elif found.elsewhere is not None:
                self.claim = found.elsewhere
            elif found.resumable is not None:
                self.claim = Claim(self.claim.key, self.claim.body, self.session_id, self.id, context.life.name)
                self.log.events.clear()
                self._session = found.session
                self._take_up(found.resumable)
                context.resuming.discard(self.id)
                return False
            else:
                return True

    async def _read(self) -> None:
        """Show what is stored of the turn until it ends."""
        store = await self.context.conversations.opened_store()
        last = 0
        async for event in store.follow(self.session_id):
            if event.turn_id != self.id:
                continue
            if event.attempt > last:
                last = event.attempt
                self.log.events.clear()
            if event.attempt == last:
                self.log.see(event)
            if event.is_turn_end and event.attempt == last:
                return

    async def _events(self) -> list[Event]:
        return await (await self.context.conversations.opened_store()).events(turn_id=self.id)

    def _leave_with(self, events: Sequence[Event]) -> None:
        last = max(e.attempt for e in events)
        self.log.events[:] = [e for e in events if e.attempt == last]
        self._hand_over()

    def _leave(self, kind: str, **data: Any) -> None:
        """End the handle alone; its last event stays here."""
        self.log.see(self.log.make(kind, {"text": self.log.partial_text(), **data}))
        self._hand_over()

    def _hand_over(self) -> None:
        result = self._ended_result()
        self.log.show_end()
        self._result = result
        self.wake.set()
