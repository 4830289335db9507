"""A session as it grows: what is stored, then what comes. Woken by the ingest of this process.

Events that another process stores have no signal that reaches us; for them alone the session is looked at again
after `POLL_S` without a wake-up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from hermes_nb.errors import StoreError
from hermes_nb.model.event import Event
from hermes_nb.store import read
from hermes_nb.store.connection import StoreConnection
from hermes_nb.store.forget import is_forgotten

POLL_S = 0.05
_PAGE = 1_000


class Followers:
    """Who waits for which session. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self.is_closed = False

    def wake(self, session_ids: Iterable[str]) -> None:
        """Something new is stored for these sessions."""
        for session_id in session_ids:
            for event in self._waiting.get(session_id, ()):
                event.set()

    def close(self) -> None:
        """End every follow."""
        self.is_closed = True
        self.wake(list(self._waiting))

    async def follow(
        self, connection: StoreConnection, session_id: str, *, after_rowid: int = 0, poll_s: float = POLL_S
    ) -> AsyncIterator[Event]:
        """Events of a session in order of arrival, without end; ends when the session is deleted, or the store closed."""
        wake = asyncio.Event()
        self._waiting.setdefault(session_id, set()).add(wake)
        try:
            while not self.is_closed:
                wake.clear()
                try:
                    page = await read.events(connection, session_id, after_rowid=after_rowid, limit=_PAGE)
                    if not page and await is_forgotten(connection, session_id):
                        return
                except StoreError:
                    if self.is_closed:
                        return
                    raise
                for rowid, event in page:
                    after_rowid = rowid
                    yield event
                if not page:
                    await _wait(wake, poll_s)
        finally:
            waiting = self._waiting[session_id]
            waiting.discard(wake)
            if not waiting:
                del self._waiting[session_id]


async def _wait(wake: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await wake.wait()
    except TimeoutError:
        return
