import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_nb.errors import StoreError
from hermes_nb.store import damage, sqlite
from hermes_nb.store.sqlite import Store

from .conftest import Process, event, line, turn_events

OPEN_AND_WAIT = """
    import asyncio, sys
    from pathlib import Path
    from hermes_nb.store.sqlite import Store
    async def main():
        store = await Store.open(Path(sys.argv[1]))
        print(len(store.warnings), flush=True)
        sys.stdin.readline()
        await store.close()
    asyncio.run(main())
"""


async def filled(path: Path, n_events: int = 500) -> None:
    store = await Store.open(path)
    await store.ingest([event(seq, text="x" * 200) for seq in range(1, n_events)])
    await store.close()


def spoil(path: Path) -> bytes:
    """Overwrite the middle of the file; returns what it holds then."""
    content = bytearray(path.read_bytes())
    content[8_192:40_960] = b"\xa5" * (40_960 - 8_192)
    path.write_bytes(content)
    return bytes(content)


def aside(path: Path) -> list[Path]:
    return sorted(p for p in path.parent.iterdir() if p.name.startswith("store.db.damaged-"))


async def test_a_file_that_is_no_database_is_set_aside_and_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, but somebody's " * 100)
    store = await Store.open(path)
    (moved,) = aside(path)
    assert moved.read_bytes().startswith(b"not a database")
    (warning,) = store.warnings
    assert store.is_new
    assert str(path) in warning
    assert moved.name in warning
    assert await store.ingest(turn_events()) == 2
    await store.close()


async def test_a_damaged_page_is_found_at_opening(path: Path) -> None:
    await filled(path)
    content = spoil(path)
    store = await Store.open(path)
    (moved,) = aside(path)
    assert moved.read_bytes() == content
    assert await store.events() == []
    await store.close()
    store = await Store.open(path)
    assert store.warnings == []
    await store.close()


async def test_a_second_damage_does_not_overwrite_the_first(path: Path) -> None:
    path.parent.mkdir()
    for text in (b"first ", b"second "):
        path.write_bytes(text * 1_000)
        await (await Store.open(path)).close()
    assert {p.read_bytes()[:5] for p in aside(path)} == {b"first", b"secon"}


async def test_damage_of_a_large_file_is_met_while_reading_and_set_aside_at_the_next_opening(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damage, "CHECK_BYTES", 1_000)
    await filled(path)
    spoil(path)
    store = await Store.open(path)
    assert store.warnings == []
    with pytest.raises(StoreError, match=r"store\.db is damaged .*restart the kernel"):
        await store.events()
    await store.close()
    store = await Store.open(path)
    assert len(store.warnings) == 1
    await store.close()
    assert len(aside(path)) == 1
    assert not path.with_name("store.db.suspect").exists()


async def test_a_false_suspicion_costs_nothing(path: Path) -> None:
    await filled(path)
    damage.mark_suspect(path)
    store = await Store.open(path)
    assert store.warnings == []
    assert len(await store.events()) == 499
    await store.close()
    assert not path.with_name("store.db.suspect").exists()


async def test_kernels_that_find_the_damage_together_end_in_one_fresh_store(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"junk" * 4_000)
    stores = await asyncio.gather(*(Store.open(path) for _ in range(4)))
    assert sum(len(store.warnings) for store in stores) == 1
    assert await asyncio.gather(*(s.ingest([event(1, producer=f"p{i}")]) for i, s in enumerate(stores))) == [1] * 4
    assert len(await stores[0].events()) == 4
    await asyncio.gather(*(store.close() for store in stores))
    assert len(aside(path)) == 1


async def test_a_file_another_process_has_open_is_not_moved(
    path: Path, python: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_RECOVER_S", 0.1)
    await filled(path)
    other = python(OPEN_AND_WAIT, path)
    assert line(other.stdout) == "0"
    spoil(path)
    with pytest.raises(StoreError, match=r"damaged and still open in another process\. Shut down the other kernels"):
        await Store.open(path)
    assert aside(path) == []
    other.communicate("\n", timeout=60)
    store = await Store.open(path)
    assert len(store.warnings) == 1
    await store.close()


async def test_the_set_aside_file_can_still_be_read_by_repair_tools(path: Path) -> None:
    await filled(path, n_events=2_000)
    content = bytearray(path.read_bytes())
    content[-4_096 * 3 :] = b"\x00" * 4_096 * 3
    path.write_bytes(content)
    await (await Store.open(path)).close()
    (moved,) = aside(path)
    connection = sqlite3.connect(moved)
    assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
    connection.close()
