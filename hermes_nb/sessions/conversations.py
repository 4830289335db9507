"""Conversations of a process: the store, opened at the first use, and the sessions kept in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_nb.errors import SessionNotFoundError, StoreError
from hermes_nb.model.identifier import given
from hermes_nb.sessions.session import Fork, Session
from hermes_nb.workers import journal

if TYPE_CHECKING:
    from hermes_nb._loop import IoLoop
    from hermes_nb.store.sqlite import Store
    from hermes_nb.workers.state_dir import StateDir

FORK_OF = "fork of "
ROW_TITLE = "map: "  # begins the titles of conversations about one row of a map; lists leave them out


class Conversations:
    """Keep the conversations of a process: those in memory, and the store, opened at the first use.

    All of it is for the IO loop.

    Args:
        state: The state folder.
        io: The loop that the store lives on.
        warn: Takes what was odd but survivable, as a code and a text.
        recover: Makes again what was deleted of the state folder; given the open store (None before there is one), tells
            whether that was deleted and has to be opened again.
        dropped: Told of a conversation that is kept no longer, by id; None stands for all.
    """

    def __init__(
        self,
        state: StateDir,
        io: IoLoop,
        *,
        warn: Callable[[str, str], None],
        recover: Callable[[Store | None], bool],
        dropped: Callable[[str | None], None],
    ) -> None:
        self._state, self._io = state, io
        self._warn, self._recover, self._dropped = warn, recover, dropped
        self.is_rebuilt = False
        self._sessions: dict[str, Session] = {}
        self._store: asyncio.Task[Store] | None = None

    def open_store_soon(self) -> asyncio.Task[Store]:
        """The task that opens the store, started at the first use; on the IO loop."""
        if self._store is None or (self._store.done() and self._store.exception() is not None):
            self._store = self._io.task(self._open_store())
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
        if self._recover(store) and store is not None:
            self._store = None
            with contextlib.suppress(StoreError):  # what it can't write any more is gone
                await store.close()

    def forget_sessions(self) -> None:
        """Forget the conversations that are kept in memory."""
        self._sessions.clear()
        self._dropped(None)

    async def close(self) -> None:
        """Close the store, if it was opened."""
        if self._store is not None:
            with contextlib.suppress(StoreError):  # never opened: nothing to close
                await (await self._store).close()

    async def _open_store(self) -> Store:
        from hermes_nb.store.sqlite import Store

        store = await Store.open(self._state.store)
        for text in store.warnings:
            self._warn("store", text)
        if store.is_new:  # lost, or set aside: the journals have what it had
            await self._ingest_journals(store)
        return store

    async def rebuild(self) -> None:
        """Bring into the store what journals hold and it does not; on the IO loop."""
        await self._ingest_journals(await self.opened_store())
        self.is_rebuilt = True

    async def _ingest_journals(self, store: Store) -> None:
        from hermes_nb.store.rebuild import rebuild

        for text in (await rebuild(store, journal.all_of(self._state.path))).warnings:
            self._warn("journal", text)

    async def new_session(self, agent: str, title: str) -> Session:
        """A new conversation; on the IO loop. It is stored with its first turn."""
        session = Session(agent, title=title)
        self._sessions[session.id] = session
        return session

    def unstored(self, session_id: str | None) -> Session | None:
        """The conversation of that id, when it was begun here and nothing of it was stored yet; from any thread.

        Nobody else can have taken, changed or deleted it, so that there is nothing to look up.
        """
        known = self._sessions.get(session_id) if isinstance(session_id, str) else None  # else it is refused by name, later
        return known if known is not None and known.is_new else None

    async def named_session(self, session_id: str | None, agent: str, title: str) -> Session:
        """The conversation of that id, made under it when there is none; None means a new one."""
        if session_id is None:
            return await self.new_session(agent, title)
        if session_id not in self._sessions:
            try:
                session = await Session.load(await self.opened_store(), session_id)
            except SessionNotFoundError:
                session = Session(agent, title=title, session_id=session_id)
            self._sessions[session_id] = session
        return self._sessions[session_id]

    async def fork(self, session_id: str, *, agent: str | None = None, at: str | None = None, title: str = "") -> Session:
        """A new conversation whose history is the beginning of another; on the IO loop. Nothing is asked for it.

        Args:
            session_id: The session to fork, as `open_session` takes it.
            agent: Who goes on with it; None means the same agent.
            at: The last turn, or step (`turn_id/span_id`, or a span's id), that both share; None means all so far.
            title: Its title; "" takes "fork of ..." and the other's.

        Raises:
            SessionNotFoundError: No such session, turn or step, or nothing to fork yet.
        """
        at = None if at is None else given(at, "at", attribute="turn_id")
        title = given(title, "title")
        parent = await self.open_session(session_id)
        last = at or parent.last_turn_id()
        if last is None:
            raise SessionNotFoundError(f"Session {parent.id} has no turn yet: there is nothing to fork. Ask it something.")
        first = parent.title.removeprefix(FORK_OF)  # a fork's fork is named once; the tree shows whose it is
        made = Session(
            agent or parent.agent,
            title=title or f"{FORK_OF}{first or parent.id}",
            parent=Fork.cut(parent.id, parent.events, last),
        )
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
        session_id = given(session_id, "session_id", attribute="session_id")
        known = self._sessions.get(session_id)
        if known is not None:  # another kernel may have deleted it since
            with contextlib.suppress(StoreError):  # a store that fails stops no conversation
                await self.refuse_forgotten(known.id)
        else:
            full_id = await self.full_id(session_id)
            if full_id not in self._sessions:
                self._sessions[full_id] = await Session.load(await self.opened_store(), full_id)
            return self._sessions[full_id]
        return self._sessions[session_id]

    async def refuse_forgotten(self, session_id: str) -> None:
        """See that a conversation was not deleted in another kernel; on the IO loop.

        Raises:
            SessionNotFoundError: It was. It is kept in memory no longer.
        """
        if await (await self.opened_store()).is_forgotten(session_id):
            self.drop_session(session_id)
            raise SessionNotFoundError(
                f"Session {session_id} was deleted, here or in another kernel. Begin a new one: %hermes run -s new, or New"
                " conversation in a chat."
            )

    def drop_session(self, session_id: str, *, is_deleted: bool = True) -> None:
        """Keep a conversation in memory no longer, unless a turn of it runs; on the IO loop."""
        known = self._sessions.get(session_id)
        if known is not None and not known.lock.locked():
            del self._sessions[session_id]
        if is_deleted:
            self._dropped(session_id)

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
        wanted = given(wanted, "session_id", attribute="session_id")
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
        is_id = wanted.startswith(("s-", "t-"))
        new = "" if is_id else " A new one is session_id=await bound.new_session(), in a cell -s new."
        raise SessionNotFoundError(f"No session {wanted!r}. `%hermes sessions` lists those there are.{new}")
