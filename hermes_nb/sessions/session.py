"""A conversation: its history, its order. Rebuilt from the log, kept in memory while it is used."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hermes_nb.errors import SessionNotFoundError, StoreError
from hermes_nb.model.event import Event
from hermes_nb.model.history import messages
from hermes_nb.model.identifier import new_id
from hermes_nb.model.owner import DEFAULT_OWNER
from hermes_nb.store.row import SessionRow
from hermes_nb.store.sqlite import Store

# Kinds that a history is not made of; they are the bulk of a log.
_NOT_HISTORY = frozenset({"model.delta", "reasoning.delta", "tool.output", "model.retried"})
_TITLE_CHARS = 60


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a session was forked from.

    Attributes:
        session_id: The session it was forked from.
        at: The last thing it shares: a turn's id, or `turn_id/span_id` for a step within a turn. A turn that had not
            completed has `@n` behind its id: what a later attempt than the n-th made of it is not shared.
        events: What they share.
        lost: This fork, or one that session goes back to, when what was shared is in the store no more; None else.
    """

    session_id: str
    at: str
    events: tuple[Event, ...]
    lost: Fork | None = None

    @classmethod
    def cut(cls, session_id: str, events: Sequence[Event], at: str) -> Fork:
        """A fork of these events after a turn or a step.

        Raises:
            SessionNotFoundError: There is no such turn or step.
        """
        turn_id, _, span_id = at.partition("/")
        turn_id, n_attempts = _attempt_of(turn_id, events)
        if not span_id and all(e.turn_id != turn_id for e in events):
            turn_id, span_id = next((e.turn_id for e in events if e.span_id == at), ""), at
        n_attempts = n_attempts or _n_attempts(turn_id, events)
        if n_attempts:
            events = [e for e in events if e.turn_id != turn_id or e.attempt <= n_attempts]
        marks = [
            i
            for i, e in enumerate(events)
            if e.turn_id == turn_id and (not span_id or (e.span_id == span_id and e.kind.endswith(".completed")))
        ]
        if not marks:
            raise SessionNotFoundError(f"Session {session_id} has no finished turn or step {at!r} to fork at.")
        kept = tuple(events[: marks[-1] + 1])
        if not span_id:  # turns may overlap in a log: later ones that began before this one ended stay out
            order = list(dict.fromkeys(e.turn_id for e in events))
            shared = set(order[: order.index(turn_id) + 1])
            kept = tuple(e for e in kept if e.turn_id in shared)
        turn = f"{turn_id}@{n_attempts}" if n_attempts else turn_id
        return cls(session_id, f"{turn}/{span_id}" if span_id else turn, kept)

    @classmethod
    async def load(cls, store: Store, session_id: str, at: str | None, *, below: frozenset[str] = frozenset()) -> Fork:
        """The fork as it was made; a parent that is gone gives an empty one that says so, as does one that claims to come
        from its own fork (`below`: the sessions that go back to it)."""
        try:
            if session_id in below:
                raise SessionNotFoundError(f"Session {session_id} is said to be a fork of its own fork.")
            parent = await Session.load(store, session_id, below=below)
            found = cls.cut(session_id, parent.events, at or "")
            return replace(found, lost=parent.parent.lost if parent.parent is not None else None)
        except SessionNotFoundError:
            return cls(session_id, at or "", (), lost=cls(session_id, at or "", ()))


def _attempt_of(turn: str, events: Sequence[Event]) -> tuple[str, int]:
    """A turn's id and the attempt behind it, 0 for none."""
    turn_id, _, number = turn.rpartition("@")
    if turn_id and number.isdecimal() and all(e.turn_id != turn for e in events):
        return turn_id, int(number)
    return turn, 0


def _n_attempts(turn_id: str, events: Sequence[Event]) -> int:
    """How often a turn that may still go on was tried; 0 for one that completed."""
    own = [e for e in events if e.turn_id == turn_id]
    last = max((e.attempt for e in own), default=0)
    ends = [e for e in own if e.is_turn_end and e.attempt == last]
    is_complete = any(e.kind == "turn.completed" and e.data.get("status", "completed") == "completed" for e in ends)
    return 0 if is_complete else last


class Session:
    """One conversation of one agent; lives on the IO loop. Its turns run in the order they were submitted."""

    def __init__(self, agent: str, *, title: str = "", session_id: str | None = None, parent: Fork | None = None) -> None:
        self.id = session_id or new_id("s")
        self.agent = agent
        self.title = title
        self.first_day = datetime.date.today().isoformat()
        self.created_unix_s = time.time()
        self.lock = asyncio.Lock()
        self.parent = parent
        self._events: list[Event] = []
        self._turn_ids: set[str] = set()
        self._seen_rowid = 0
        self._has_told = False
        self._is_stored = False

    @property
    def is_new(self) -> bool:
        """Whether it was begun here, and nothing of it was stored yet."""
        return not (self._is_stored or self._events or self.parent)

    @property
    def n_turns(self) -> int:
        """Turns that were begun here; those of the session it was forked from are not among them."""
        return len(self._turn_ids)

    @classmethod
    async def load(cls, store: Store, session_id: str, *, below: frozenset[str] = frozenset()) -> Session:
        """A stored conversation; `below` are sessions that go back to it.

        Raises:
            SessionNotFoundError: The store has none of that id.
        """
        row = await store.session(session_id)
        parent = None
        if row.parent_session_id:
            below |= {row.session_id}
            parent = await Fork.load(store, row.parent_session_id, row.forked_at_turn_id, below=below)
        session = cls(row.agent, title=row.title, session_id=row.session_id, parent=parent)
        session.first_day, session.created_unix_s = row.first_day, row.created_unix_s
        await session.catch_up(store)
        session._is_stored = True
        return session

    async def catch_up(self, store: Store, *, without: str = "") -> None:
        """Take in what other kernels stored of it since it was looked at last, in the order of the store.

        Args:
            store: Where it is.
            without: A turn of this kernel, which adds its events itself.
        """
        new = await store.news(self.id, after_rowid=self._seen_rowid, without=_NOT_HISTORY)
        known = {e.key for e in self._events}
        if any(e.key not in known and e.turn_id != without for _, e in new):
            new = await store.news(self.id, without=_NOT_HISTORY)
            kept = [e for _, e in new if e.turn_id != without]
            there = {e.key for e in kept}
            own = [e for e in self._events if e.key not in there]  # the store could not take them
            self._events, self._turn_ids = [], set()
            self.add([*kept, *own])
        self._seen_rowid = new[-1][0] if new else self._seen_rowid

    def add(self, events: Iterable[Event]) -> None:
        """Take the events of an ended turn into the history."""
        kept = [e for e in events if e.kind not in _NOT_HISTORY]
        self._events += kept
        self._turn_ids |= {e.turn_id for e in kept if e.kind == "turn.started"}

    @property
    def events(self) -> list[Event]:
        """What the history is made of, that of the session it was forked from first."""
        return [*(self.parent.events if self.parent else ()), *self._events]

    def history(self, *, without: str | None = None, before: str | None = None) -> list[dict[str, Any]]:
        """The conversation so far as Hermes messages.

        Args:
            without: A turn that is being replaced; it is left out, as are turns replaced earlier.
            before: A turn that is being resumed; it and what came after it are left out.
        """
        events = self.events
        if before is not None:
            turn_ids = list(dict.fromkeys(e.turn_id for e in events))
            later = set(turn_ids[turn_ids.index(before) :]) if before in turn_ids else set()
            events = [e for e in events if e.turn_id not in later]
        gone = {str(e.data["replaces"]) for e in events if e.kind == "turn.started" and e.data.get("replaces")}
        if without:
            gone.add(without)
        return messages(e for e in events if e.turn_id not in gone)

    @property
    def instances(self) -> set[str]:
        """Names of the instances whose agents answered its own turns (see `Instance.scope`), as far as its log says."""
        started = (e.data.get("instance") for e in self._events if e.kind == "turn.started")
        return {str(name) for name in started if name}

    @property
    def owners(self) -> list[dict[str, str]]:
        """Whose its turns are, those included that it shares with the session it was forked from, as far as its log says."""
        started = (e.data for e in self.events if e.kind == "turn.started")
        told = [d.get("owner") or DEFAULT_OWNER for d in started if d.get("owner") or d.get("instance")]
        found: list[dict[str, str]] = []
        for owner in told:
            if isinstance(owner, Mapping) and dict(owner) not in found:
                found.append(dict(owner))
        return found

    def told(self) -> dict[str, Any]:
        """What its turns say of it: where it was forked, so that journals alone can tell; {} when it was not."""
        if self.parent is None:
            return {}
        fork = {"session_id": self.parent.session_id, "at": self.parent.at, "title": self.title, "first_day": self.first_day}
        return {"fork": fork}

    def take_notices(self) -> list[tuple[str, str]]:
        """Notices (code, text) for the next turn, once."""
        lost = self.parent.lost if self.parent is not None else None
        if lost is None or self._has_told:
            return []
        self._has_told = True
        text = (
            f"This session was forked from {lost.session_id} at {lost.at}, which is not in the store any more: the model"
            " does not see what was said before the fork. Import that session, or tell it what it has to know."
        )
        return [("fork", text)]

    def last_turn_id(self) -> str | None:
        """The newest turn of the history, which a fork may have from the session it was forked from; None for none."""
        return next((e.turn_id for e in reversed(self.events) if e.kind == "turn.started"), None)

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
            parent_session_id=self.parent.session_id if self.parent else None,
            forked_at_turn_id=self.parent.at if self.parent else None,
        )

    def rename(self, title: str) -> None:
        """Give the session a title; stored with the next turn."""
        self.title, self._is_stored = title, False


def _title(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"
