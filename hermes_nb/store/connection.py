"""One aiosqlite connection: pragmas, transactions, waiting for a lock, and an end that leaves no thread.

The only importer of aiosqlite. What is asked is elsewhere.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from hermes_nb._daemon import unheld
from hermes_nb._quiet import STORE_THREAD, hush
from hermes_nb.errors import StoreError
from hermes_nb.store import failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import aiosqlite

# sqlite waits this long inside one statement; between two tries the thread is free for others.
_TRY_S = 0.25

T = TypeVar("T")


class StoreConnection:
    """A connection that speaks StoreError.

    Args:
        path: The file.
        raw: An open aiosqlite connection.
        lock_timeout_s: How long a lock is waited for before its holder is named.
    """

    def __init__(self, path: Path, raw: aiosqlite.Connection, *, lock_timeout_s: float) -> None:
        self.path = path
        self._raw = raw
        self._lock_timeout_s = lock_timeout_s
        self._lock = asyncio.Lock()
        self._is_open = True

    @classmethod
    async def open(cls, path: Path, *, lock_timeout_s: float, reads_only: bool = False) -> StoreConnection:
        """A connection in WAL mode; one that only reads when `reads_only`."""
        import aiosqlite

        raw = aiosqlite.connect(path, isolation_level=None, timeout=_TRY_S)
        # aiosqlite's thread is not a daemon: a script that forgets close() would never end. No public switch;
        # the connection is the thread itself up to 0.21 and owns one since 0.22.
        thread = unheld(_thread(raw))
        thread.daemon, thread.name = True, STORE_THREAD
        hush("aiosqlite")
        connection = cls(path, await _translated(raw, path), lock_timeout_s=lock_timeout_s)
        try:
            writes = ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON")
            for pragma in ("query_only = ON",) if reads_only else writes:
                await connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            await connection.close()
            raise
        return connection

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run one statement; returns how many rows it changed."""
        cursor = await self._patiently(self._raw.execute, sql, parameters)
        await cursor.close()
        return cursor.rowcount

    async def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement for each row (drawn in sqlite's thread); returns how many rows were changed."""
        try:
            cursor = await self._raw.executemany(sql, rows)
            await cursor.close()
            return cursor.rowcount
        except sqlite3.Error as exc:
            raise failure.translate(exc, self.path) from exc

    async def write(self, *statements: tuple[str, Iterable[Sequence[Any]]]) -> list[int]:
        """Run statements, each for its rows (drawn in sqlite's thread), as one transaction; returns rows changed by each.

        One errand to sqlite's thread, where `transaction` takes one for each statement.
        """
        drawn: list[tuple[str, list[Sequence[Any]]]] = []

        def run(raw: sqlite3.Connection) -> list[int]:
            raw.execute("BEGIN IMMEDIATE")
            try:
                if not drawn:  # a second try has the rows of the first
                    drawn.extend((sql, list(rows)) for sql, rows in statements)
                n_changed = [raw.executemany(sql, rows).rowcount for sql, rows in drawn]
                raw.commit()
            except BaseException:
                with suppress(sqlite3.Error):
                    raw.rollback()
                raise
            return n_changed

        async def errand(_: str, __: Sequence[Any]) -> list[int]:
            # Private: aiosqlite has no public way to run a function in its thread. The same since 0.17.
            done: list[int] = await self._raw._execute(run, self._raw._conn)  # type: ignore[no-untyped-call]
            return done

        async with self._lock:
            return await self._patiently(errand, "", ())

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query."""
        return list(await self._patiently(self._raw.execute_fetchall, sql, parameters))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """All or nothing; one at a time per connection. The write lock is taken at the start and waited for."""
        async with self._lock:
            self._check_open()
            try:
                await self.execute("BEGIN IMMEDIATE")
                yield
                await self._commit()
            except BaseException:
                # Queued behind whatever still runs in sqlite's thread, so it also undoes a cancelled BEGIN.
                # Where sqlite undid it itself (a full disk), a fault of this must not hide the first one.
                with suppress(sqlite3.Error):
                    await self._raw.rollback()
                raise

    async def close(self) -> None:
        """Close when what runs has ended, and see the thread off."""
        async with self._lock:
            self._is_open = False
            await self._raw.close()
        _thread(self._raw).join(timeout=5)

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreError(f"The store {self.path} is closed. Open it again.")

    async def _commit(self) -> None:
        try:
            await self._raw.commit()
        except sqlite3.Error as exc:
            raise failure.translate(exc, self.path) from exc

    async def _patiently(self, run: Callable[[str, Sequence[Any]], Awaitable[T]], sql: str, parameters: Sequence[Any]) -> T:
        self._check_open()
        began_s = time.monotonic()
        while True:
            try:
                return await run(sql, parameters)
            except sqlite3.Error as exc:
                waited_s = time.monotonic() - began_s
                if not failure.is_busy(exc) or waited_s >= self._lock_timeout_s:
                    raise failure.translate(exc, self.path, waited_s=waited_s) from exc
                await asyncio.sleep(0.01)


async def _translated(raw: aiosqlite.Connection, path: Path) -> aiosqlite.Connection:
    try:
        return await raw
    except sqlite3.Error as exc:
        _thread(raw).join(timeout=5)
        raise failure.translate(exc, path) from exc


def _thread(raw: aiosqlite.Connection) -> threading.Thread:
    return raw if isinstance(raw, threading.Thread) else raw._thread
