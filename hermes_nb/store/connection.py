"""One aiosqlite connection: pragmas, transactions, waiting for a lock, and an end that leaves no thread.

The only importer of aiosqlite. What is asked is elsewhere.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hermes_nb.errors import StoreError
from hermes_nb.store import failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import aiosqlite

# sqlite waits this long inside one statement; between two tries the thread is free for others.
_TRY_S = 0.25


class Connection:
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

    @classmethod
    async def open(cls, path: Path, *, lock_timeout_s: float, reads_only: bool = False) -> Connection:
        """A connection in WAL mode; one that only reads when `reads_only`."""
        import aiosqlite

        raw = aiosqlite.connect(path, isolation_level=None, timeout=_TRY_S)
        # aiosqlite's thread is not a daemon: a script that forgets close() would never end. No public switch;
        # the connection is the thread itself up to 0.21 and owns one since 0.22.
        _thread(raw).daemon = True
        connection = cls(path, await _translated(raw, path), lock_timeout_s=lock_timeout_s)
        try:
            for pragma in ("query_only = ON",) if reads_only else ("journal_mode = WAL", "synchronous = NORMAL"):
                await connection._patiently(f"PRAGMA {pragma}", ())
        except BaseException:
            await connection.close()
            raise
        return connection

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run one statement; returns how many rows it changed."""
        cursor = await self._patiently(sql, parameters)
        try:
            return cursor.rowcount
        finally:
            await cursor.close()

    async def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement for each row (drawn in sqlite's thread); returns how many rows were changed."""
        try:
            cursor = await self._raw.executemany(sql, rows)
            await cursor.close()
            return cursor.rowcount
        except sqlite3.Error as exc:
            raise failure.translate(exc, self.path) from exc

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query."""
        cursor = await self._patiently(sql, parameters)
        try:
            return list(await cursor.fetchall())
        except sqlite3.Error as exc:
            raise failure.translate(exc, self.path) from exc
        finally:
            await cursor.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """All or nothing; one at a time per connection. The write lock is taken at the start and waited for."""
        async with self._lock:
            try:
                await self.execute("BEGIN IMMEDIATE")
                yield
                await self._commit()
            except BaseException:
                # Queued behind whatever still runs in sqlite's thread, so it also undoes a cancelled BEGIN.
                await self._raw.rollback()
                raise

    async def close(self) -> None:
        """Close, and see the thread off."""
        thread = _thread(self._raw)
        await self._raw.close()
        thread.join(timeout=5)

    async def _commit(self) -> None:
        try:
            await self._raw.commit()
        except sqlite3.Error as exc:
            raise failure.translate(exc, self.path) from exc

    async def _patiently(self, sql: str, parameters: Sequence[Any]) -> aiosqlite.Cursor:
        began_s = time.monotonic()
        while True:
            try:
                return await self._raw.execute(sql, parameters)
            except ValueError as exc:
                raise StoreError(f"The store {self.path} is closed. Open it again.") from exc
            except sqlite3.Error as exc:
                waited_s = time.monotonic() - began_s
                if not failure.is_busy(exc) or waited_s >= self._lock_timeout_s:
                    raise failure.translate(exc, self.path, waited_s=waited_s) from exc
                await asyncio.sleep(0.01)


async def _translated(raw: aiosqlite.Connection, path: Path) -> aiosqlite.Connection:
    try:
        return await raw
    except sqlite3.Error as exc:
        raise failure.translate(exc, path) from exc


def _thread(raw: aiosqlite.Connection) -> threading.Thread:
    return raw if isinstance(raw, threading.Thread) else raw._thread
