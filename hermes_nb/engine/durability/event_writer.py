"""The one way out of a worker: numbers events, masks them, commits them to the journal, then sends them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.durability.journal import JournalError, KeepsSteps, Response, ToolResult
from hermes_nb.model.event import Event, EventNumberer
from hermes_nb.model.mask import Masker

if TYPE_CHECKING:
    from hermes_nb.model.message_sender import SendToKernel

Send = Callable[..., None]


class EventWriter:
    """Shared by all turns of a process; any thread may call.

    Args:
        producer: Name of this process in the log.
        journal: Where events are committed before they are sent; None records nothing (a warm-up turn).
        send: Writes one message to the wire.
        masker: The secrets to hide.
    """

    def __init__(self, producer: str, journal: KeepsSteps | None, send: Send, masker: Masker) -> None:
        self.journal = journal
        self.masker = masker
        self._send = send
        self._numberer = EventNumberer(producer, time.time)
        self._lock = threading.Lock()

    def emit(
        self,
        kind: str,
        *,
        session_id: str,
        turn_id: str,
        span_id: str,
        parent_id: str | None,
        attempt: int,
        data: Mapping[str, Any],
        kept: ToolResult | None = None,
        unrecorded: bool = False,
    ) -> Event:
        """Make one event, commit it (with `kept` in the same transaction), send it.

        `unrecorded` sends it even when the journal is broken: for the event that says so. The rest are an event's fields.

        Raises:
            JournalError: It was not committed, and not sent.
        """
        data = self.masker.data(dict(data))
        if kept is not None:
            kept = replace(kept, body=self.masker.data(kept.body), arguments=self.masker.text(kept.arguments))
        with self._lock:
            event = self._numberer.make(
                kind,
                session_id=session_id,
                turn_id=turn_id,
                span_id=span_id,
                parent_id=parent_id,
                attempt=attempt,
                data=data,
            )
            if self.journal is not None:
                try:
                    self.journal.commit([event], kept=kept)
                except JournalError:
                    if not unrecorded:
                        raise
                self._send("event", event=event.to_dict())
        return event

    def keep(self, response: Response) -> None:
        """Commit a response before anybody uses it.

        Raises:
            JournalError: It was not committed.
        """
        if self.journal is not None:
            self.journal.commit(kept=replace(response, body=self.masker.data(response.body)), at_unix_s=time.time())

    @property
    def send(self) -> SendToKernel:
        """Sends one message that is no event, masked."""
        return self._masked

    def _masked(self, kind: str, /, **keys: Any) -> None:
        self._send(kind, **self.masker.data(keys))
