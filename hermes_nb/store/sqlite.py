"""The store: opened, kept open by several kernels at once, set aside when damaged, closed without a trace.

The journals of the workers are the log of record; this file is their index and can be rebuilt from them. Two
connections: one writes, one reads, so that a lock that is waited for stops no reading and nothing uncommitted is seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hermes_nb.errors import StoreError
from hermes_nb.model.event import Event
from hermes_nb.store import claim as claims
from hermes_nb.store import damage, forget, read, reservation, search
from hermes_nb.store.claim import Claim
from hermes_nb.store.connection import StoreConnection
from hermes_nb.store.failure import DamagedStoreError
from hermes_nb.store.follow import POLL_S, Followers
from hermes_nb.store.ingest import ingest
from hermes_nb.store.migration import migrate
from hermes_nb.store.reservation import Reservation, SharedLimit
from hermes_nb.store.row import RunRow, SearchHit, SessionRow, TurnRow

LOCK_TIMEOUT_S = 10.0
_RECOVER_S = 2.0  # how long to wait for other processes to let go of a damaged file

T = TypeVar("T")


class Store:
    """All sessions of one state folder. Made by `Store.open`; belongs to the event loop that opened it.

    Attributes:
        path: The file.
        is_new: Whether the file was made, or a damaged one replaced, by this opening: the journals may hold more.
        warnings: What the user should hear about the opening; e.g. that a damaged file was set aside, and where.
    """

    def __init__(
        self,
        path: Path,
        writer: StoreConnection,
        reader: StoreConnection,
        *,
        presence: damage.Presence,
        is_new: bool,
        warnings: Sequence[str],
    ) -> None:
        self.path = path
        self.is_new = is_new
        self.warnings = list(warnings)
        self._writer = writer
        self._reader = reader
        self._presence = presence
        self._file = _identity(path)
        self._followers = Followers()

    @classmethod
    async def open(cls, path: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> Store:
        """The store in that file, created and brought up to date where needed.

        Args:
            path: The file; missing folders are made, for this user alone.
            lock_timeout_s: How long a lock of another process is waited for, here and at each ingest.

        Raises:
            StoreError: It can't be opened, created or written, is locked, or a newer hermes_nb wrote it; the message
                names the file and the cure. A damaged file is no error: it is set aside (see `warnings`), unless
                another process has it open.
        """
        path = Path(path).absolute()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            presence = damage.Presence(path.parent)
        except OSError as exc:
            raise StoreError(
                f"The folder of the store {path} can't be made or read ({exc.strerror or exc})."
                " Set HERMES_NB_HOME to a folder you may write."
            ) from exc
        try:
            await presence.share()
            is_new = not path.exists() or path.stat().st_size == 0  # a full disk leaves an empty one
            try:
                writer, reader = await _connect(path, lock_timeout_s)
                warnings: list[str] = []
            except DamagedStoreError:
                writer, reader, warnings = await _recover(path, presence, lock_timeout_s)
        except BaseException:
            presence.close()
            raise
        is_new = is_new or bool(warnings)
        return cls(path, writer, reader, presence=presence, is_new=is_new, warnings=warnings)

    async def ingest(self, events: Sequence[Event]) -> int:
        """Store events; returns how many were new. All or none; the same event twice is stored once.

        Raises:
            StoreError: Full disk, read-only, locked for too long, damaged, closed.
        """
        try:
            return await self._guarded(ingest(self._writer, events))
        finally:
            self._followers.wake({event.session_id for event in events})

    async def events(
        self,
        session_id: str | None = None,
        *,
        turn_id: str | None = None,
        after_rowid: int = 0,
        limit: int | None = None,
    ) -> list[Event]:
        """Events in order of arrival, of one session, one turn, or all.

        Args:
            session_id: None for all sessions.
            turn_id: None for all turns.
            after_rowid: Only what arrived after that row.
            limit: At most so many; None for all.
        """
        found = read.events(self._reader, session_id, turn_id=turn_id, after_rowid=after_rowid, limit=limit)
        return [event for _, event in await self._guarded(found)]

    async def news(self, session_id: str, *, after_rowid: int = 0, without: Iterable[str] = ()) -> list[tuple[int, Event]]:
        """(rowid, event) of a session that arrived after a row, in order of arrival; kinds in `without` left out."""
        return await self._guarded(read.news(self._reader, session_id, after_rowid=after_rowid, without=without))

    async def put_session(self, row: SessionRow) -> None:
        """Create or update a session. An empty agent, title or day changes nothing; totals are not looked at."""
        await self._guarded(read.put_session(self._writer, row))

    async def session(self, session_id: str) -> SessionRow:
        """The session of that id, else the only one of that title.

        Raises:
            SessionNotFoundError: There is none, or several have that title; the message lists ids.
        """
        return await self._guarded(read.session(self._reader, session_id))

    async def sessions(
        self, *, limit: int = 50, agent: str | None = None, without_title: str | None = None
    ) -> list[SessionRow]:
        """Sessions, of one agent or all, the last used first; without those whose title begins with `without_title`."""
        return await self._guarded(read.sessions(self._reader, limit=limit, agent=agent, without_title=without_title))

    async def turns(self, session_id: str | None, *, since_unix_s: float | None = None) -> list[TurnRow]:
        """Turns of a session (None: of all), oldest first; [] for an unknown one.

        Args:
            session_id: None for all sessions.
            since_unix_s: Only turns that began, answered or ended then or later; None for all.
        """
        return await self._guarded(read.turns(self._reader, session_id, since_unix_s=since_unix_s))

    async def runs(self, *, limit: int = 20) -> list[RunRow]:
        """Remote runs as they were last heard of, the newest word first."""
        return await self._guarded(read.runs(self._reader, limit=limit))

    async def turn_of_key(self, key: str) -> str | None:
        """The turn that was begun under an idempotency key; None when none was."""
        return await self._guarded(read.turn_of_key(self._reader, key))

    async def claim(self, wanted: Claim, *, instead_of: Claim | None = None) -> Claim:
        """Take an idempotency key for a kernel, unless another has it; how it is held now, by whomever.

        Args:
            wanted: How it is to be held.
            instead_of: How it is held by a kernel that is gone: then it is taken over, by one of those who try.
        """
        return await self._guarded(claims.claim(self._writer, wanted, instead_of=instead_of))

    async def claim_of(self, key: str) -> Claim | None:
        """How an idempotency key is held; None when it is free."""
        return await self._guarded(claims.claim_of(self._reader, key))

    async def unclaim(self, held: Claim) -> None:
        """Free a key whose turn never began."""
        await self._guarded(claims.unclaim(self._writer, held))

    async def reserve(
        self, wanted: Reservation, limits: Sequence[SharedLimit], is_alive: Callable[[str], bool]
    ) -> list[float | None] | None:
        """Reserve what a model call can come to, in one transaction; see `reservation.reserve`."""
        return await self._guarded(reservation.reserve(self._writer, wanted, limits, is_alive))

    async def release(self, *, call_id: str | None = None, turn_id: str | None = None) -> None:
        """Let go of what a call, or all calls of a turn, had reserved."""
        await self._guarded(reservation.release(self._writer, call_id=call_id, turn_id=turn_id))

    async def delete_session(self, session_id: str) -> bool:
        """Forget a session and its events for good: it is refused from now on, and the file is written anew without it.

        Returns: False when the write-ahead log can't be emptied yet, as another process reads it.

        Raises:
            SessionNotFoundError: There is none of that id.
            UsageError: Others were forked from it.
        """
        await self._guarded(read.delete_session(self._writer, session_id))
        return await self._guarded(forget.overwrite(self._writer))

    async def is_forgotten(self, session_id: str) -> bool:
        """Whether a session was deleted, here or in another kernel; what is stored for it is left out."""
        return await self._guarded(forget.is_forgotten(self._reader, session_id))

    async def readmit(self, session_ids: Iterable[str]) -> None:
        """Take sessions again that were deleted: their user imports them."""
        await self._guarded(forget.readmit(self._writer, session_ids))

    async def forks_of(self, session_id: str) -> list[str]:
        """Sessions that were forked from one, and would lose their beginning with it."""
        return await self._guarded(read.forks_of(self._reader, session_id))

    async def search(self, text: str, limit: int = 20) -> list[SearchHit]:
        """Prompts and answers with every word of `text`, the best first; see `SearchHit`."""
        return await self._guarded(search.search(self._reader, text, limit))

    async def rowid_of(self, key: tuple[str, str, int, int]) -> int | None:
        """The row of an event, by its key; None when it is not stored."""
        return await self._guarded(read.rowid_of(self._reader, key))

    def follow(self, session_id: str, *, after_rowid: int = 0, poll_s: float = POLL_S) -> AsyncIterator[Event]:
        """What is stored of a session, then what comes, without end; ends when it is deleted, or the store closed.

        Args:
            session_id: May be unknown as yet.
            after_rowid: Only what arrived after that row.
            poll_s: How often to look for what other processes stored; this process's own events need no looking.
        """
        return self._followers.follow(self._reader, session_id, after_rowid=after_rowid, poll_s=poll_s)

    @property
    def is_there(self) -> bool:
        """Whether the file is still in its place; what is written to one that was deleted is lost in the end."""
        return self._file is not None and _identity(self.path) == self._file

    async def close(self) -> None:
        """End the follows, close the file and leave no thread. Closing twice is fine."""
        if self._followers.is_closed:
            return
        self._followers.close()
        try:
            await self._reader.close()
        finally:
            await self._writer.close()
            self._presence.close()

    async def _guarded(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        except DamagedStoreError:
            damage.mark_suspect(self.path)
            raise


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


async def _connect(path: Path, lock_timeout_s: float) -> tuple[StoreConnection, StoreConnection]:
    # Private also where the folder is not. Only a missing file is touched: closing a file drops every lock this process
    # has on it. Whatever else is wrong, sqlite finds out next and says it better.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    writer = await StoreConnection.open(path, lock_timeout_s=lock_timeout_s)
    try:
        await damage.check(writer, path)
        await migrate(writer, path)
        return writer, await StoreConnection.open(path, lock_timeout_s=lock_timeout_s, reads_only=True)
    except BaseException:
        await writer.close()
        raise


async def _recover(
    path: Path, presence: damage.Presence, lock_timeout_s: float
) -> tuple[StoreConnection, StoreConnection, list[str]]:
    # Two kernels may find the damage at the same time: one moves the file, the other then finds the fresh one.
    until_s = time.monotonic() + _RECOVER_S
    while True:
        is_alone = presence.try_alone()
        try:
            return *await _connect(path, lock_timeout_s), []
        except DamagedStoreError as exc:
            if is_alone:
                moved = damage.move(path, str(exc))
                return *await _connect(path, lock_timeout_s), [moved]
            if time.monotonic() > until_s:
                raise StoreError(
                    f"The store {path} is damaged and still open in another process. Shut down the other kernels that"
                    " use this folder, then restart this one: the file is then set aside and a fresh store is begun."
                ) from exc
        finally:
            await presence.share()
        await asyncio.sleep(0.05)
