import asyncio
import sqlite3
import stat
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_nb.errors import StoreError
from hermes_nb.store.sqlite import Store

from .conftest import Process, event, line, turn_events

HOLD_THE_LOCK = """
    import sqlite3, sys
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE sessions SET title = title")
    print("locked", flush=True)
    sys.stdin.readline()
    connection.execute("COMMIT")
    print("free", flush=True)
    sys.stdin.readline()
"""

STORE_FIVE_THOUSAND = """
    import asyncio, sys
    from pathlib import Path
    from hermes_nb.model.event import Event
    from hermes_nb.store.sqlite import Store
    async def main():
        store = await Store.open(Path(sys.argv[1]))
        for start in range(1, 5001, 50):
            n_new = await store.ingest([
                Event(1, sys.argv[2], seq, float(seq), "s", "t", "t", None, 1, "model.delta", {"text": "x" * 20})
                for seq in range(start, start + 50)
            ])
            assert n_new == 50
        await store.close()
        print("done")
    asyncio.run(main())
"""


async def test_close_leaves_no_thread_and_no_side_file(path: Path) -> None:
    before = set(threading.enumerate())
    store = await Store.open(path)
    await store.ingest(turn_events())
    assert set(threading.enumerate()) > before
    await store.close()
    assert set(threading.enumerate()) == before
    assert [p.name for p in path.parent.iterdir()] == ["store.db"]
    await store.close()


async def test_a_failed_opening_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    (tmp_path / "store.db").mkdir()
    with pytest.raises(StoreError, match=r"store\.db can't be opened or created.*HERMES_NB_HOME"):
        await Store.open(tmp_path / "store.db")
    assert set(threading.enumerate()) == before


async def test_a_script_that_forgets_to_close_ends(path: Path, python: Callable[..., Process]) -> None:
    script = python(
        """
        import asyncio, sys
        from pathlib import Path
        from hermes_nb.store.sqlite import Store
        kept = []
        async def main():
            kept.append(await Store.open(Path(sys.argv[1])))
        asyncio.run(main())
        print("last line")
        """,
        path,
    )
    out, _ = script.communicate(timeout=60)
    assert out == "last line\n"


async def test_a_closed_store_says_so(path: Path) -> None:
    store = await Store.open(path)
    await store.close()
    for asked in (store.ingest([event(1)]), store.events(), store.sessions()):
        with pytest.raises(StoreError, match=r"store\.db is closed\. Open it again\."):
            await asked


async def test_folder_and_files_are_private(path: Path) -> None:
    store = await Store.open(path)
    await store.ingest([event(1)])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()} == {
        "store.db": 0o600,
        "store.db-wal": 0o600,
        "store.db-shm": 0o600,
    }
    await store.close()


async def test_what_was_stored_is_there_after_reopening(path: Path) -> None:
    for n in (1, 2):
        store = await Store.open(path)
        assert store.is_new == (n == 1)
        await store.ingest(turn_events(n))
        await store.close()
    store = await Store.open(path)
    assert [turn.turn_id for turn in await store.turns("s")] == ["t1", "t2"]
    assert store.warnings == []
    await store.close()


async def test_two_stores_on_one_file_see_each_other(path: Path, store: Store) -> None:
    other = await Store.open(path)
    await store.ingest([event(1)])
    assert await other.ingest([event(1), event(2)]) == 1
    assert [e.seq for e in await store.events("s")] == [1, 2]
    await other.close()
    assert await store.ingest([event(3)]) == 1


async def test_many_open_a_new_file_at_once(path: Path) -> None:
    stores = await asyncio.gather(*(Store.open(path) for _ in range(6)))
    assert await asyncio.gather(*(s.ingest([event(1, producer=f"p{i}")]) for i, s in enumerate(stores))) == [1] * 6
    await asyncio.gather(*(s.close() for s in stores))


async def test_four_processes_lose_nothing_and_keep_their_order(path: Path, python: Callable[..., Process]) -> None:
    producers = [f"kernel{i}" for i in range(4)]
    for process in [python(STORE_FIVE_THOUSAND, path, producer) for producer in producers]:
        out, err = process.communicate(timeout=120)
        assert out == "done\n", err
    store = await Store.open(path)
    stored = await store.events("s")
    await store.close()
    for producer in producers:
        assert [e.seq for e in stored if e.producer == producer] == list(range(1, 5_001))


async def test_a_lock_is_waited_for(store: Store, path: Path, python: Callable[..., Process]) -> None:
    holder = python(HOLD_THE_LOCK, path)
    assert line(holder.stdout) == "locked"
    waiting = asyncio.ensure_future(store.ingest([event(1)]))
    assert await store.events() == []  # a reader does not wait
    assert not waiting.done()
    assert holder.stdin is not None
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert await waiting == 1


async def test_a_lock_that_stays_is_an_error_that_names_its_holder(path: Path, python: Callable[..., Process]) -> None:
    store = await Store.open(path, lock_timeout_s=0.3)
    holder = python(HOLD_THE_LOCK, path)
    assert line(holder.stdout) == "locked"
    with pytest.raises(StoreError, match=r"stayed locked for \d\.\d s by .*End that process") as caught:
        await store.ingest([event(1)])
    if sys.platform == "linux":
        assert f"(process {holder.pid})" in str(caught.value)
    holder.kill()
    holder.wait()
    assert await store.ingest([event(1)]) == 1
    await store.close()


async def test_a_full_disk_is_named_and_nothing_of_before_is_lost(store: Store) -> None:
    await store.ingest(turn_events())
    (n_pages,) = (await store._writer.rows("PRAGMA page_count"))[0]
    await store._writer.execute(f"PRAGMA max_page_count = {n_pages}")
    big = [event(seq, text="x" * 1_000) for seq in range(10, 200)]
    with pytest.raises(StoreError, match=r"The disk that holds the store .*store\.db is full\. Free some space"):
        await store.ingest(big)
    assert len(await store.events("s")) == 2
    await store._writer.execute("PRAGMA max_page_count = 1000000")
    assert await store.ingest(big) == len(big)


READ_ONLY = """
    import aiosqlite, asyncio, os, sys  # aiosqlite: that other user may not be able to read it
    from pathlib import Path
    from hermes_nb.errors import StoreError
    from hermes_nb.store.sqlite import Store
    if os.getuid() == 0:
        os.setuid(65534)
    async def main():
        try:
            await Store.open(Path(sys.argv[1]))
        except StoreError as exc:
            print(exc)
    asyncio.run(main())
"""


@pytest.mark.parametrize("exists", [True, False], ids=["of an earlier run", "new"])
async def test_a_read_only_folder_is_named_with_its_cure(exists: bool, python: Callable[..., Process]) -> None:
    # Not tmp_path: its parents are closed to the other user this test becomes when it runs as root.
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name, "store.db")
        if exists:
            await (await Store.open(path)).close()
            path.chmod(0o444)
        folder.chmod(0o555)
        out, err = python(READ_ONLY, path).communicate(timeout=60)
        folder.chmod(0o755)
    assert str(path) in out, err
    assert "HERMES_NB_HOME" in out


async def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"folder of the store .*can't be made.*HERMES_NB_HOME"):
        await Store.open(tmp_path / "file" / "store.db")


def test_opening_in_a_second_event_loop_works(path: Path) -> None:
    async def once(seq: int) -> int:
        store = await Store.open(path)
        n_new = await store.ingest([event(seq)])
        await store.close()
        return n_new

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [asyncio.run(once(seq)) for seq in (1, 2, 2)] == [1, 1, 0]


async def test_no_descriptor_is_left(path: Path) -> None:
    def n_open() -> int:
        return sum(1 for _ in Path("/dev/fd").iterdir())

    before = n_open()
    for _ in range(3):
        store = await Store.open(path)
        await store.ingest([event(1)])
        await store.close()
    assert n_open() == before


def test_sqlite_tool_and_store_agree(path: Path) -> None:
    async def fill() -> None:
        store = await Store.open(path)
        await store.ingest(turn_events())
        await store.close()

    asyncio.run(fill())
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
