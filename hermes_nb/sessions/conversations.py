"""Conversations of a process: the store, opened at the first use, and the sessions kept in memory."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_nb.errors import SessionNotFoundError, StoreError
from hermes_nb.sessions import journal, lost_state
from hermes_nb.sessions.io_loop import IoLoop
from hermes_nb.sessions.session import Fork, Session
from hermes_nb.sessions.state_dir import StateDir

if TYPE_CHECKING:
    from hermes_nb.sessions.agent import BoundAgent
    from hermes_nb.sessions.instance import Instance
    from hermes_nb.store.row import SessionRow
    from hermes_nb.store.sqlite import Store

FORK_OF = "fork of "


class Conversations(ABC):
    """The half of `Hermes` that keeps conversations; the other half has the agents they are with."""

    @property
    @abstractmethod
    def agents(self) -> dict[str, BoundAgent]:
        """Every bound agent by name."""

    @abstractmethod
    def warn(self, code: str, text: str) -> None:
        """Keep a warning."""

    def __init__(self, state: StateDir) -> None:
        self._state = state
        self.state_dir: Path = state.path
        self.io = IoLoop()
        self.is_rebuilt = False
        self.instances: dict[str, Instance] = {}
        self._sessions: dict[str, Session] = {}
        self._store: asyncio.Task[Store] | None = None

    def open_store_soon(self) -> asyncio.Task[Store]:
        """The task that opens the store, started at the first use; on the IO loop."""
        if self._store is None or (self._store.done() and self._store.exception() is not None):
            self._store = self.io.task(self._open_store())
        return self._store

    async def opened_store(self) -> Store:
        """The store, opened at the first use; on the IO loop.

        Raises:
            StoreError: It can't be opened.
        """
        await self.check_state()
        return await asyncio.shield(self.open_store_soon())

    async def check_state(self) -> None:
        """See that the state folder was not deleted; on the IO loop (see `lost_state`)."""
        task = self._store
        store = None if task is None or not task.done() or task.exception() is not None else task.result()
        if lost_state.begin_anew(self, self._state, store) and store is not None:
            self._store = None
            with contextlib.suppress(StoreError):  # what it can't write any more is gone
                await store.close()

    def forget_sessions(self) -> None:
        """Forget the conversations that are kept in memory."""
        self._sessions.clear()
        for bound in self.agents.values():
            bound.session_id = None

    async def _open_store(self) -> Store:
        from hermes_nb.store.sqlite import Store

        store = await Store.open(self._state.store)
        for text in store.warnings:
            self.warn("store", text)
        if store.is_new:  # lost, or set aside: the journals have what it had
            await self._ingest_journals(store)
        return store

    async def rebuild(self) -> None:
        """Bring into the store what journals hold and it does not; on the IO loop."""
        await self._ingest_journals(await self.opened_store())
        self.is_rebuilt = True

    async def _ingest_journals(self, store: Store) -> None:
        from hermes_nb.store.rebuild import rebuild

        for text in (await rebuild(store, journal.all_of(self.state_dir))).warnings:
            self.warn("journal", text)

    async def new_session(self, agent: str, title: str) -> Session:
        """A new conversation; on the IO loop. It is stored with its first turn."""
        session = Session(agent, title=title)
        self._sessions[session.id] = session
        return session

    async def fork(
        self, session_id: str, *, agent: str | None = None, at: str | None = None, title: str = ""
    ) -> Session:
        """A new conversation whose history is the beginning of another; on the IO loop. Nothing is asked for it.

        Args:
            session_id: The session to fork, as `open_session` takes it.
            agent: Who goes on with it; None means the same agent.
            at: The last turn, or step (`turn_id/span_id`, or a span's id), that both share; None means all so far.
            title: Its title; "" takes "fork of ..." and the other's.

        Raises:
            SessionNotFoundError: No such session, turn or step, or nothing to fork yet.
        """
        parent = await self.open_session(session_id)
        last = at or parent.last_turn_id() or ""
        first = parent.title.removeprefix(FORK_OF)  # a fork's fork is named once; the tree shows whose it is
        made = Session(
            agent or parent.agent, title=title or f"{FORK_OF}{first or parent.id}",
            parent=Fork.cut(parent.id, parent.events, last),
        )  # fmt: skip
        made.first_day = parent.first_day
        await made.keep(await self.opened_store(), title=made.title)
        self._sessions[made.id] = made
        return made

    async def adopt_session(self, session_id: str, agent: str, day: str) -> Session:
        """The conversation of that id, made here under it when the store has none; on the IO loop."""
        try:
            return await self.open_session(session_id)
        except SessionNotFoundError:
            session = self._sessions[session_id] = Session(agent, session_id=session_id)
            session.first_day = day or session.first_day
            return session

    async def open_session(self, session_id: str) -> Session:
        """A conversation by id, a unique start of one, or its title; on the IO loop.

        Raises:
            SessionNotFoundError: None fits, or several do.
        """
        if session_id not in self._sessions:
            full_id = await self.full_id(session_id)
            if full_id not in self._sessions:
                self._sessions[full_id] = await Session.load(await self.opened_store(), full_id)
            return self._sessions[full_id]
        return self._sessions[session_id]

    def drop_session(self, session_id: str, *, is_deleted: bool = True) -> None:
        """Keep a conversation in memory no longer, unless a turn of it runs; on the IO loop."""
        known = self._sessions.get(session_id)
        if known is not None and not known.lock.locked():
            del self._sessions[session_id]
        for bound in self.agents.values():
            if is_deleted and bound.session_id == session_id:
                bound.session_id = None

    async def reload_session(self, session_id: str) -> Session:
        """A conversation as the store has it now, when none of its turns is running; on the IO loop."""
        known = self._sessions.get(session_id)
        if known is None or not known.lock.locked():
            self._sessions[session_id] = await Session.load(await self.opened_store(), session_id)
        return self._sessions[session_id]

    async def full_id(self, wanted: str) -> str:
        """A session's whole id from an id, a unique start of one, or a title; on the IO loop.

        Raises:
            SessionNotFoundError: None fits, or several do.
        """
        rows = await (await self.opened_store()).sessions(limit=1000)
        for fits in (
            [r for r in rows if r.session_id == wanted],
            [r for r in rows if r.session_id.startswith(wanted)],
            [r for r in rows if r.title == wanted],
        ):
            if len(fits) == 1:
                return fits[0].session_id
            if fits:
                raise SessionNotFoundError(
                    f"Session {wanted!r} is not unique: {', '.join(r.session_id for r in fits[:5])}. Write more of the id."
                )
        raise SessionNotFoundError(f"No session {wanted!r}. `%hermes sessions` lists those there are.")

    def sessions(self, limit: int = 20, *, agent: str | None = None) -> list[SessionRow]:
        """Stored conversations, of one agent or all, last used first."""

        async def rows() -> list[SessionRow]:
            return await (await self.opened_store()).sessions(limit=limit, agent=agent)

        return self.io.call(rows())
