"""A session that one kernel deleted does not come back from another that still has it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import SessionNotFoundError, UsageError
from hermes_nb.store.rebuild import rebuild
from hermes_nb.store.sqlite import Store
from hermes_nb.testing import Hang, Say, ScriptedModel
from tests.api.test_erasure import files_with

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


@pytest.fixture
def other(own: Hermes) -> Iterator[Hermes]:
    """Another kernel on the same state folder."""
    other = Hermes.open_local(state=own.state_dir)
    yield other
    other.close()


def _said(model: ScriptedModel) -> str:
    return str(model.requests[-1].messages)


async def _delete(hermes: Hermes, session_id: str) -> None:
    await asyncio.to_thread(hermes.library.delete, session_id)


async def test_the_next_question_begins_a_new_session_and_says_so(own: Hermes, other: Hermes, make: Make) -> None:
    bound, model = make([Say("one"), Say("two"), Say("three")], on=own)
    first = await bound.run("Questionword")
    await _delete(other, first.session_id)

    second = await bound.run("What now?")

    assert second.status == "completed"
    assert second.session_id != first.session_id
    assert "Questionword" not in _said(model)
    told = [e.data["message"] for e in second.events if e.kind == "warning"]
    gone, new = first.session_id, second.session_id
    assert told == [f"Session {gone} was deleted, here or in another kernel. Session {new} begins anew."]
    third = await bound.run("And?")
    assert third.session_id == second.session_id
    assert [row.session_id for row in await asyncio.to_thread(other.sessions)] == [second.session_id]


async def test_what_names_the_deleted_session_is_refused(own: Hermes, other: Hermes, make: Make) -> None:
    bound, model = make([Say("one"), Say("two")], on=own)
    first = await bound.run("Questionword")
    await _delete(other, first.session_id)

    with pytest.raises(SessionNotFoundError, match="was deleted"):
        await bound.run("On", session_id=first.session_id)
    with pytest.raises(SessionNotFoundError):
        await bound.fork(first.session_id)
    with pytest.raises((SessionNotFoundError, UsageError)):
        await bound.resume(first.turn_id)
    with pytest.raises(SessionNotFoundError):
        await asyncio.to_thread(own.library.export, own.state_dir / "x.jsonl", first.session_id)
    assert len(model.requests) == 1
    assert files_with(own.state_dir, "Questionword") == []


async def test_a_turn_that_runs_meanwhile_ends_and_is_kept_nowhere(own: Hermes, other: Hermes, make: Make) -> None:
    hang = Hang()
    bound, model = make([Say("one"), hang], on=own)
    first = await bound.run("Questionword")
    turn = await bound.start("Secondword")
    await asyncio.to_thread(model.wait_for_requests, 2)
    await _delete(other, first.session_id)
    turn.stop()
    result = await turn.wait()

    assert result.status == "stopped"
    assert "deleted in another kernel" in str([e.data for e in result.events if e.kind == "warning"])
    assert await asyncio.to_thread(other.sessions) == []
    for word in ("Questionword", "Secondword"):
        assert files_with(own.state_dir, word) == [], word


async def test_journals_do_not_bring_it_back_and_an_import_does(
    own: Hermes, other: Hermes, make: Make, tmp_path: Path
) -> None:
    bound, _ = make([Say("one"), Say("two")], on=own)
    first = await bound.run("Questionword")
    await asyncio.to_thread(own.library.export, tmp_path / "talk.jsonl")
    kept = tmp_path / "journal.db"
    kept.write_bytes((bound.instance.worker.folder.journal).read_bytes())
    kept.with_name("journal.db-wal").write_bytes(
        bound.instance.worker.folder.journal.with_name("journal.db-wal").read_bytes()
    )
    await _delete(other, first.session_id)

    store = await Store.open(tmp_path / "state" / "store.db")
    try:
        assert (await rebuild(store, [kept])).n_new == 0
        assert await store.sessions() == []
    finally:
        await store.close()

    assert await asyncio.to_thread(other.library.load, tmp_path / "talk.jsonl") == (1, len(first.events))
    again = await bound.run("And?", session_id=first.session_id)
    assert again.text == "two"


async def test_a_chat_of_the_deleted_session_says_so(own: Hermes, other: Hermes, make: Make) -> None:
    bound, model = make([Say("one"), Say("two")], on=own)
    first = await bound.run("Questionword")
    chat = bound.chat_widget()
    await _delete(other, first.session_id)

    with pytest.raises(SessionNotFoundError, match="was deleted"):
        await asyncio.to_thread(chat.send, "On")
    assert len(model.requests) == 1
