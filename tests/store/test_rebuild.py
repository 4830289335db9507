import sqlite3
from pathlib import Path

from hermes_nb.engine.durability.journal import Journal
from hermes_nb.model.event import Event
from hermes_nb.store.rebuild import rebuild
from hermes_nb.store.sqlite import Store

from .conftest import event, turn_events


def journal(path: Path, events: list[Event]) -> Path:
    written = Journal(path, "worker")
    written.commit(events)
    written.close()
    return path


async def test_a_lost_store_comes_back_from_the_journals(store: Store, tmp_path: Path) -> None:
    one = journal(tmp_path / "a" / "journal.db", turn_events(1))
    two = journal(tmp_path / "b" / "journal.db", [event(seq, session="big", turn="t9") for seq in range(1, 5_001)])
    found = await rebuild(store, [one, two])
    assert (found.n_events, found.n_new, found.warnings) == (5_002, 5_002, [])
    assert await store.events("s") == turn_events(1)
    assert [e.seq for e in await store.events("big")] == list(range(1, 5_001))
    assert [row.text for row in await store.turns("s")] == ["This one."]


async def test_a_second_rebuild_adds_nothing(store: Store, tmp_path: Path) -> None:
    one = journal(tmp_path / "journal.db", turn_events(1))
    await store.ingest(turn_events(1))
    assert (await rebuild(store, [one])).n_new == 0


async def test_a_journal_in_use_can_be_read(store: Store, tmp_path: Path) -> None:
    used = Journal(tmp_path / "journal.db", "worker")
    used.commit(turn_events(1))
    assert (await rebuild(store, [tmp_path / "journal.db"])).n_new == 2
    used.commit(turn_events(2))
    used.close()


async def test_what_can_not_be_read_is_named_and_the_rest_is_kept(store: Store, tmp_path: Path) -> None:
    good = journal(tmp_path / "good.db", turn_events(1))
    connection = sqlite3.connect(good)
    connection.execute("UPDATE events SET body = 'no event' WHERE seq = 1")
    connection.commit()
    connection.close()
    (tmp_path / "junk.db").write_bytes(b"junk" * 1_000)
    found = await rebuild(store, [good, tmp_path / "junk.db", tmp_path / "gone.db"])
    assert found.n_new == 1
    assert [name for name in ("gone.db", "good.db", "junk.db") if any(name in w for w in found.warnings)] == [
        "gone.db",
        "good.db",
        "junk.db",
    ]
    assert (tmp_path / "junk.db").read_bytes() == b"junk" * 1_000
