"""The events of a running turn: kept, shown, and stored soon. Lives on the IO loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import StoreError
from hermes_nb.host.base import Sink
from hermes_nb.host.output.bandwidth import NullSink
from hermes_nb.model.event import Event
from hermes_nb.model.place import shortened
from hermes_nb.model.sentence import join
from hermes_nb.turns.request import STORE_EVERY_S

if TYPE_CHECKING:
    from hermes_nb.turns.context import TurnContext

_AT_ONCE = frozenset({"approval.requested", "approval.responded"})  # what a person allowed must outlive the kernel


class EventLog:
    """What happened in a turn so far.

    Args:
        context: Whose store.
        sink: Where the turn shows.
        session_id: Its session.
        turn_id: The turn.
        attempt: The number of this attempt.
        store_every_s: How long an event may wait for others, to be stored with them.

    Attributes:
        events: All so far, in order of arrival.
        masker: What takes secrets out of it.
        attempt: The number that events of the kernel's own get.
    """

    def __init__(
        self,
        context: TurnContext,
        sink: Sink,
        session_id: str,
        turn_id: str,
        *,
        attempt: int,
        store_every_s: float = STORE_EVERY_S,
    ) -> None:
        self._context, self._sink = context, sink
        self._session_id, self._turn_id, self.attempt = session_id, turn_id, attempt
        self.masker = context.masker()  # a worker has masked its events; what tools print comes from here
        self._store_every_s = store_every_s
        self._unstored: list[Event] = []
        self._timer: asyncio.TimerHandle | None = None
        self._storing = asyncio.Lock()
        self._store_error: StoreError | None = None
        self.events: list[Event] = []

    def make(self, kind: str, data: Mapping[str, Any], *, span_id: str | None = None) -> Event:
        """An event of the kernel's own making, not taken yet."""
        return self._context.numberer.make(
            kind,
            session_id=self._session_id,
            turn_id=self._turn_id,
            span_id=span_id or self._turn_id,
            parent_id=self._turn_id if span_id else None,
            attempt=self.attempt,
            data=self.masker.data(dict(data)),
        )

    def take(self, event: Event) -> None:
        """Keep an event, show it, store it soon."""
        self.see(event)
        self._unstored.append(event)
        if event.kind in _AT_ONCE:
            self._flush_soon()
        elif self._timer is None:
            self._timer = self._context.io.loop.call_later(self._store_every_s, self._flush_soon)

    def see(self, event: Event) -> None:
        """Keep an event and show it; it is stored already, or is not to be."""
        if event.is_turn_end and self._store_error is not None:
            self._say_unstored(self._store_error, event)
        self.events.append(event)
        self._sink.feed(event)

    def show_end(self) -> None:
        """Replace what streamed by the final form, where somebody looks."""
        if isinstance(self._sink, NullSink):
            return
        from hermes_nb.views._bundle import bundle

        try:
            self._sink.finish(bundle(self.events))
        except Exception as exc:  # noqa: BLE001 - a front end that can't show must not lose the result
            text = f"Turn {self._turn_id} could not be shown: {exc!r}. Its result is in the session."
            self._context.warn("display", text)

    def _flush_soon(self) -> None:
        self._context.io.task(self.flush())

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
                await (await self._context.conversations.opened_store()).ingest(batch)
            except StoreError as exc:
                self.warn_unstored(exc)

    def warn_unstored(self, error: StoreError) -> None:
        """Say, once, that the store fails; the answer is shown all the same. Where it is kept is known at the turn's end."""
        self._context.warn("store", str(error))
        if self._store_error is not None:
            return
        self._store_error = error
        end = next((e for e in reversed(self.events) if e.is_turn_end), None)
        if end is not None:
            self._say_unstored(error, end)

    def _say_unstored(self, error: StoreError, end: Event) -> None:
        where = "The answer is shown, and the worker's journal has it."
        if end.data.get("code") == "journal":
            where = "The worker's journal can't be written either: this turn is shown here, and kept nowhere."
        warning = self.make("warning", {"code": "store", "message": shortened(join(error, where))})
        self.events.append(warning)
        self._sink.feed(warning)

    def tool_call_id(self, span_id: str) -> str:
        """Return the model's id of the call whose span that is; models may use an id twice, spans are unique."""
        started = (e for e in reversed(self.events) if e.kind == "tool.started" and e.span_id == span_id)
        return next((str(e.data.get("tool_call_id", "")) for e in started), "")

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
