"""A conversation: its history, its order. Rebuilt from the log, kept in memory while it is used."""

from __future__ import annotations

import asyncio
import datetime
import time
import uuid
from collections.abc import Iterable
from typing import Any

from hermes_nb.errors import StoreError
from hermes_nb.model.event import Event
from hermes_nb.model.history import messages
from hermes_nb.store.row import SessionRow
from hermes_nb.store.sqlite import Store

# Kinds that a history is not made of; they are the bulk of a log.
_NOT_HISTORY = frozenset({"model.delta", "reasoning.delta", "tool.output", "model.retried"})
_TITLE_CHARS = 60


def new_id(kind: str) -> str:
    """A short unique id such as `s-3f2a9c01b7`."""
    return f"{kind}-{uuid.uuid4().hex[:10]}"


class Session:
    """One conversation of one agent; lives on the IO loop. Its turns run in the order they were submitted."""

    def __init__(self, agent: str, *, title: str = "", session_id: str | None = None) -> None:
        self.id = session_id or new_id("s")
        self.agent = agent
        self.title = title
        self.first_day = datetime.date.today().isoformat()
        self.created_unix_s = time.time()
        self.lock = asyncio.Lock()
        self._events: list[Event] = []
        self._is_stored = False
        self.n_turns = 0

    @classmethod
    async def load(cls, store: Store, session_id: str) -> Session:
        """A stored conversation.

        Raises:
            SessionNotFoundError: The store has none of that id.
        """
        row = await store.session(session_id)
        session = cls(row.agent, title=row.title, session_id=row.session_id)
        session.first_day, session.created_unix_s = row.first_day, row.created_unix_s
        session.add(await store.events(session_id))
        session._is_stored = True
        return session

    def add(self, events: Iterable[Event]) -> None:
        """Take the events of an ended turn into the history."""
        kept = [e for e in events if e.kind not in _NOT_HISTORY]
        self._events += kept
        self.n_turns += len({e.turn_id for e in kept if e.kind == "turn.started"})

    def history(self, *, without: str | None = None) -> list[dict[str, Any]]:
        """The conversation so far as Hermes messages.

        Args:
            without: A turn that is being replaced; it is left out, as are turns replaced earlier.
        """
        gone = {str(e.data["replaces"]) for e in self._events if e.kind == "turn.started" and e.data.get("replaces")}
        if without:
            gone.add(without)
        return messages(e for e in self._events if e.turn_id not in gone)

    def last_turn_id(self) -> str | None:
        """The newest turn of the history; None when there is none."""
        return next((e.turn_id for e in reversed(self._events) if e.kind == "turn.started"), None)

    async def keep(self, store: Store, *, title: str) -> None:
        """Write the session's row once; the first prompt names it."""
        if self._is_stored:
            return
        self.title = self.title or _title(title)
        try:
            await store.put_session(self.row())
        except StoreError:
            return  # the turn's own ingest meets the same store and says so
        self._is_stored = True

    def row(self) -> SessionRow:
        """The session as the store lists it, sums left to the store."""
        return SessionRow(
            session_id=self.id,
            agent=self.agent,
            title=self.title,
            created_unix_s=self.created_unix_s,
            last_used_unix_s=time.time(),
            first_day=self.first_day,
        )

    def rename(self, title: str) -> None:
        """Give the session a title; stored with the next turn."""
        self.title, self._is_stored = title, False


def _title(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"

