"""A store or a journal that fails: the answer is shown, the reason is said, nothing goes on unrecorded."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import StoreError
from hermes_nb.model.agent import Agent
from hermes_nb.model.event import Event
from hermes_nb.testing import Hang, Say, ScriptedModel

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


async def test_a_full_store_shows_the_answer_and_says_so(own: Hermes, make: Make) -> None:
    bound, _ = make([Say("kept"), Say("shown all the same")], on=own)
    kept = await bound.run("first")

    async def pages(most: str) -> None:
        await (await own.conversations.opened_store())._writer.execute(f"PRAGMA max_page_count = {most}")

    await own.io.awaited(pages("1"))  # the size it has: sqlite then reports SQLITE_FULL, as on a full disk
    result = await bound.run("x" * 20_000)
    assert (result.text, result.status) == ("shown all the same", "completed")
    (warning,) = [e.data for e in result.events if e.kind == "warning"]
    assert warning["code"] == "store"
    assert "is full. Free some space" in warning["message"]
    assert "The answer is shown, and the worker's journal has it." in warning["message"]
    await own.io.awaited(pages("1000000"))
    await own.io.awaited(own.conversations.rebuild())
    turns = await asyncio.to_thread(own.library.turns, kept.session_id)
    assert [t.text for t in turns] == ["kept", "shown all the same"]


@pytest.mark.parametrize("paid", [False, True], ids=["before the call", "during the call"])
async def test_a_full_disk_under_store_and_journal_is_said_without_promises(own: Hermes, make: Make, paid: bool) -> None:
    journal = own.state_dir / "instances" / "default" / "journal.db"

    def fill() -> None:
        with contextlib.closing(sqlite3.connect(journal, timeout=10)) as other, other:
            other.execute("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'disk full'); END")
            other.execute("CREATE TRIGGER fuller BEFORE INSERT ON responses BEGIN SELECT RAISE(ABORT, 'disk full'); END")

    def answer(request: object) -> Say:
        if paid and len(model.requests) > 1:
            fill()
        return Say("paid for")

    bound, model = make(answer, on=own)
    await bound.run("first")

    async def pages(most: str) -> None:
        await (await own.conversations.opened_store())._writer.execute(f"PRAGMA max_page_count = {most}")

    await own.io.awaited(pages("1"))
    if not paid:
        fill()
    result = await bound.run("x" * 20_000)
    assert (result.status, result.text, len(model.requests)) == ("failed", "paid for" if paid else "", 1 + paid)
    assert str(result.error).count("Free space") == 1
    assert "can't be written: disk full" in str(result.error)
    (warning,) = [e.data["message"] for e in result.events if e.kind == "warning"]
    assert "the worker's journal has it" not in warning
    assert warning.endswith("The worker's journal can't be written either: this turn is shown here, and kept nowhere.")


async def test_what_is_said_of_a_full_disk_names_places_as_the_notebook_sees_them(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is saved with the notebook: the text of the turn, its warnings, and what doctor shows of the kernel's."""
    monkeypatch.chdir(tmp_path)
    hermes = Hermes.open_local(state=tmp_path / ".hermes-nb")
    try:
        bound, _ = make([Say("kept"), Say("lost")], on=hermes)
        await bound.run("first")
        hermes.record("talk.jsonl")
        (tmp_path / ".talk.jsonl.draft").mkdir()  # the recording can't be written any more, nor can the rest
        for name in ("store.db", "instances/default/journal.db"):
            with contextlib.closing(sqlite3.connect(tmp_path / ".hermes-nb" / name, timeout=10)) as other, other:
                other.execute("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        result = await bound.run("second")
        warnings = [str(e.data["message"]) for e in result.events if e.kind == "warning"]
        said = [str(result.error), *warnings, *(f"{code}: {text}" for _, code, text in hermes.warnings)]
        assert "The journal .hermes-nb/instances/default/journal.db can't be written: disk full." in said[0]
        assert any("The file 'talk.jsonl' can't be written" in text for text in said)
        assert any(text.startswith("store: ") for text in said)
        assert [text for text in said if str(tmp_path) in text] == []
    finally:
        await hermes.aclose()


async def test_a_store_that_cant_be_opened_costs_no_answer(make: Make, tmp_path: Path) -> None:
    (tmp_path / "state" / "store.db").mkdir(parents=True)
    hermes = Hermes.open_local(state=tmp_path / "state")
    try:
        bound, _ = make([Say("one"), Say("two")], on=hermes)
        results = [await bound.run("first"), await bound.run("second")]
        assert [(r.text, r.status) for r in results] == [("one", "completed"), ("two", "completed")]
        for result in results:
            (warning,) = [e.data for e in result.events if e.kind == "warning"]
            assert "can't be opened or created" in warning["message"]
        with pytest.raises(StoreError, match=r"store\.db"):
            hermes.sessions()
    finally:
        await hermes.aclose()


async def test_an_unwritable_journal_ends_the_turn_with_the_reason(own: Hermes, make: Make) -> None:
    hang = Hang(text="Half of it", then=" and the rest")
    bound, model = make([hang, Say("never asked")], on=own)
    turn = await bound.start("question")
    await asyncio.to_thread(hang.wait_reached)
    while "Half of" not in "".join(str(e.data.get("text")) for e in turn.events if e.kind == "model.delta"):
        await asyncio.to_thread(turn._runner.wake.wait, 0.01)
    journal = next(own.state_dir.glob("instances/*/journal.db"))
    with contextlib.closing(sqlite3.connect(journal)) as db:
        db.execute("BEGIN IMMEDIATE")  # another process holds it for good
        hang.release()
        result = await turn.wait()
        db.execute("ROLLBACK")
    assert result.status == "failed"
    assert "journal" in str(result.error)
    assert "Nothing was run unrecorded" in str(result.error)
    assert "Half of" in result.text
    assert len(model.requests) == 1
    model.extend([Say("again")])
    assert (await bound.run("next")).status == "completed"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("no right to mount a small file system")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


async def test_a_full_disk_ends_the_turn_with_the_reason(small_disk: Path, tmp_path: Path) -> None:
    with ScriptedModel([Say("fits"), Say("word " * 40_000, deltas=400), Say("fits again")]) as model:
        hermes = Hermes.open_local(state=small_disk / "state")
        try:
            bound = hermes.bind(Agent("a", model=model.model))
            first = await bound.run("first")
            assert (first.text, first.status) == ("fits", "completed")
            filler = small_disk / "filler"
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 4096)
            result = await bound.run("second")
            assert result.status == "failed"
            assert "can't be written" in str(result.error) or "full" in str(result.error)
            filler.unlink()
            await bound.new_session()
            model.extend([Say("fits again")])
            assert (await bound.run("third")).status == "completed"
        finally:
            await hermes.aclose()


async def test_a_disk_that_fills_up_shows_what_there_was(small_disk: Path) -> None:
    hang = Hang(text="Half of it", then=" " + "more" * 100_000)
    with ScriptedModel([Say("fits"), hang]) as model:
        hermes = Hermes.open_local(state=small_disk / "state")
        try:
            bound = hermes.bind(Agent("a", model=model.model))
            await bound.run("first")
            turn = await bound.start("second")
            await asyncio.to_thread(hang.wait_reached)
            while "Half of" not in "".join(str(e.data.get("text")) for e in turn.events if e.kind == "model.delta"):
                await asyncio.to_thread(turn._runner.wake.wait, 0.01)
            with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 4096)
            hang.release()
            result = await turn.wait()
            assert result.status == "failed"
            assert result.text.startswith("Half of it")
            assert "journal" in str(result.error)
            assert "Free space" in str(result.error)
            (small_disk / "filler").unlink()
            model.extend([Say("fits again")])
            resumed = await (await bound.resume(result.turn_id)).wait()
            assert (resumed.text, resumed.status) == ("fits again", "completed")
        finally:
            await hermes.aclose()


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder cannot be written meanwhile, not even by root; what is open stays open."""
    commands = (["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder])
    for command in commands:
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no right to make a folder read-only for root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


async def test_a_folder_that_becomes_read_only_is_said_and_costs_no_session(tmp_path: Path) -> None:
    with ScriptedModel([Say("one"), Say("two"), Say("three")]) as model:
        hermes = Hermes.open_local(state=tmp_path / "state")
        try:
            bound = hermes.bind(Agent("a", model=model.model))
            await bound.run("first")
            with read_only(tmp_path / "state"):
                with pytest.raises(StoreError, match=r"can't be written.*HERMES_NB_HOME"):
                    Hermes.open_local(state=tmp_path / "state")
                pid = bound.instance.worker.pid
                assert pid is not None
                os.kill(pid, signal.SIGKILL)  # the next worker can't open its journal
                result = await bound.run("second")
                assert result.status == "failed"
                assert "journal" in str(result.error)
                assert "can't be written" in str(result.error)
                assert len(model.requests) == 1
            again = await bound.run("third")
            assert (again.text, again.status) == ("two", "completed")
            assert [m["content"] for m in model.requests[-1].body["messages"][1:]] == ["first", "one", "third"]
        finally:
            await hermes.aclose()


async def test_a_read_only_store_costs_no_answer(tmp_path: Path) -> None:
    first = Hermes.open_local(state=tmp_path / "state")
    with ScriptedModel([Say("one"), Say("two")]) as model:
        await first.bind(Agent("a", model=model.model)).run("first")
        await first.aclose()
        with read_only(tmp_path / "state" / "store.db"):
            second = Hermes.open_local(state=tmp_path / "state")
            try:
                result = await second.bind(Agent("a", model=model.model)).run("second")
            finally:
                await second.aclose()
        assert (result.text, result.status) == ("two", "completed")
        (warning,) = [e.data for e in result.events if e.kind == "warning"]
        assert "read-only" in warning["message"] or "can't be opened" in warning["message"]
        assert "HERMES_NB_HOME" in warning["message"]
        third = Hermes.open_local(state=tmp_path / "state")
        try:
            await third.io.awaited(third.conversations.rebuild())
            assert sum(row.n_turns for row in await asyncio.to_thread(third.sessions)) == 2
        finally:
            await third.aclose()


async def test_a_result_is_handed_over_when_all_of_it_is_stored(
    own: Hermes, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await own.io.awaited(own.conversations.opened_store())
    ingest, may_go_on = store.ingest, asyncio.Event()

    async def held_up(events: list[Event]) -> int:
        await may_go_on.wait()  # a store that another kernel keeps waiting
        return await ingest(events)

    monkeypatch.setattr(store, "ingest", held_up)
    bound, _ = make([Say("answer")], on=own)
    turn = await bound.start("question")
    while not any(e.is_turn_end for e in turn.events):
        await asyncio.to_thread(turn._runner.wake.wait, 0.01)
    assert not turn.is_done
    own.io.soon(may_go_on.set)
    result = await turn.wait()
    stored = await own.io.awaited(store.events(turn_id=result.turn_id))
    assert [e.key for e in stored] == [e.key for e in result.events]
