"""The events of a running turn: kept, shown, and stored soon. Lives on the IO loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import StoreError
from hermes_nb.host.base import Sink
from hermes_nb.model.event import Event

if TYPE_CHECKING:
    from hermes_nb.sessions.hermes import Hermes

STORE_EVERY_S = 0.05
_AT_ONCE = frozenset({"approval.requested", "approval.responded"})  # what a person allowed must outlive the kernel


class TurnLog:
    """What happened in a turn so far.

    Args:
        hermes: Whose store.
        sink: Where the turn shows.
        session_id: Its session.
        turn_id: The turn.
        attempt: The number of this attempt.

    Attributes:
        events: All so far, in order of arrival.
        attempt: The number that events of the kernel's own get.
    """

    def __init__(self, hermes: Hermes, sink: Sink, *, session_id: str, turn_id: str, attempt: int) -> None:
        self._hermes, self._sink = hermes, sink
        self._session_id, self._turn_id, self.attempt = session_id, turn_id, attempt
        self._masker = hermes.masker()  # a worker has masked its events; what tools print comes from here
        self._unstored: list[Event] = []
        self._timer: asyncio.TimerHandle | None = None
        self._storing = asyncio.Lock()
        self._has_warned = False
        self.events: list[Event] = []

    def make(self, kind: str, data: Mapping[str, Any], *, span_id: str | None = None) -> Event:
        """An event of the kernel's own making, not taken yet."""
        return self._hermes.numberer.make(
            kind, session_id=self._session_id, turn_id=self._turn_id, span_id=span_id or self._turn_id,
            parent_id=self._turn_id if span_id else None, attempt=self.attempt, data=self._masker.data(dict(data)),
        )  # fmt: skip

    def take(self, event: Event) -> None:
        """Keep an event, show it, store it soon."""
        self.see(event)
        self._unstored.append(event)
        if event.kind in _AT_ONCE:
            self._flush_soon()
        elif self._timer is None:
            self._timer = self._hermes.io.loop.call_later(STORE_EVERY_S, self._flush_soon)

    def see(self, event: Event) -> None:
        """Keep an event and show it; it is stored already, or is not to be."""
        self.events.append(event)
        self._sink.feed(event)

    def _flush_soon(self) -> None:
        self._hermes.io.task(self.flush())

    async def flush(self) -> None:
        """Return when all so far is stored, also what was on its way; what can't be is said once, in the turn itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._storing:
            batch, self._unstored = self._unstored, []
            if not batch:
                return
            try:
                await (await self._hermes.opened_store()).ingest(batch)
            except StoreError as exc:
                self.warn_unstored(exc)

    def warn_unstored(self, error: StoreError) -> None:
        """Say, once, that the store fails; the answer is shown all the same."""
        self._hermes.warn(f"store-{error.errno}", str(error))
        if self._has_warned:
            return
        self._has_warned = True
        text = f"{error} The answer is shown, and the worker's journal has it."
        self.see(self.make("warning", {"code": "store", "message": text}))

    def partial_text(self) -> str:
        """What the model had said since its last call began."""
        text = ""
        for event in self.events:
            if event.kind == "model.started":
                text = ""
            elif event.kind == "model.delta":
                text += str(event.data.get("text", ""))
            elif event.kind == "model.completed":
                text = str(event.data.get("text", ""))
        return text
