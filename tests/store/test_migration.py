import sqlite3
from pathlib import Path

import pytest

from hermes_nb.errors import StoreError
from hermes_nb.store import migration
from hermes_nb.store.sqlite import Store

from .conftest import event, turn_events


def recorded(path: Path) -> list[tuple[int, str]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT version, name FROM migrations ORDER BY version").fetchall()
    finally:
        connection.close()


async def opened_and_closed(path: Path) -> None:
    await (await Store.open(path)).close()


async def test_each_step_is_recorded_once(path: Path) -> None:
    for _ in range(2):
        await opened_and_closed(path)
    assert recorded(path) == [(n, name) for n, (name, _) in enumerate(migration.STEPS, start=1)]


async def test_an_older_file_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(migration, "STEPS", migration.STEPS[:1])
        store = await Store.open(path)
        await store.ingest([event(1)])
        await store.close()
    store = await Store.open(path)
    assert await store.ingest([event(1), *turn_events(2)]) == 2
    assert len(await store.search("which")) == 1
    await store.close()


async def test_a_step_and_its_record_are_one_transaction(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (*migration.STEPS, ("bad", ("CREATE TABLE half (x)", "CREATE TABLE half (x)")))
    with monkeypatch.context() as broken:
        broken.setattr(migration, "STEPS", steps)
        with pytest.raises(StoreError, match="half already exists"):
            await Store.open(path)
    assert len(recorded(path)) == len(migration.STEPS)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    connection.close()
    await opened_and_closed(path)


async def test_a_file_of_a_newer_version_is_refused_untouched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(migration, "STEPS", (*migration.STEPS, ("later", ("CREATE TABLE later (x)",))))
        await opened_and_closed(path)
    n = len(migration.STEPS)
    with pytest.raises(StoreError, match=rf"newer hermes_nb \(schema {n + 1}, this one knows {n}\)\. Upgrade"):
        await Store.open(path)
    assert len(recorded(path)) == n + 1
