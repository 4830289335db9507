"""Transactions in one errand: whole or not at all, and whole also after a lock was waited for."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes_nb.errors import StoreError
from hermes_nb.store.connection import StoreConnection

_PUT = "INSERT INTO t (n) VALUES (?)"


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[StoreConnection]:
    made = await StoreConnection.open(tmp_path / "x.db", lock_timeout_s=10)
    await made.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    yield made
    await made.close()


async def test_statements_are_written_together(connection: StoreConnection) -> None:
    assert await connection.write((_PUT, ((n,) for n in range(3))), ("DELETE FROM t WHERE n = ?", [(0,)]), (_PUT, [])) == [
        3,
        1,
        0,
    ]
    assert [tuple(row) for row in await connection.rows("SELECT n FROM t")] == [(1,), (2,)]


async def test_a_statement_that_fails_undoes_those_before_it(connection: StoreConnection) -> None:
    with pytest.raises(StoreError):
        await connection.write((_PUT, [(1,)]), (_PUT, [(1,)]))
    assert await connection.rows("SELECT n FROM t") == []
    assert await connection.write((_PUT, [(2,)])) == [1]


async def test_rows_that_are_drawn_once_are_written_after_a_lock(connection: StoreConnection, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.ensure_future(connection.write((_PUT, ((n,) for n in range(3)))))
        await asyncio.wait({writing}, timeout=0.4)  # longer than one try
        assert not writing.done()
        other.execute("COMMIT")
        assert await writing == [3]
    finally:
        other.close()


async def test_a_closed_connection_says_so(tmp_path: Path) -> None:
    made = await StoreConnection.open(tmp_path / "x.db", lock_timeout_s=10)
    await made.close()
    with pytest.raises(StoreError, match="is closed"):
        await made.write((_PUT, [(1,)]))
