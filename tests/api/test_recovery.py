"""The state folder is deleted while it is used: it is made again, said once, and nothing is written into the void."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import SessionNotFoundError
from hermes_nb.testing import Say, ScriptedModel

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


async def test_a_deleted_folder_is_forgotten_said_once_and_made_again(own: Hermes, make: Make) -> None:
    bound, model = make([Say("one"), Say("two"), Say("three")], on=own)
    before = await bound.run("first")
    shutil.rmtree(own.state_dir)
    after = await bound.run("second")
    assert (after.status, after.text) == ("completed", "two")
    assert after.session_id != before.session_id
    warnings = [e.data["message"] for e in after.events if e.kind == "warning"]
    assert [w for w in warnings if "was deleted: earlier sessions are forgotten" in w] == warnings
    assert [m["content"] for m in model.requests[-1].messages if m["role"] == "user"] == ["second"]
    assert not [e for e in (await bound.run("third")).events if e.kind == "warning"]
    rows = await asyncio.to_thread(own.sessions)
    assert [r.session_id for r in rows] == [after.session_id]
    assert (own.state_dir / ".gitignore").read_text() == "*\n"
    assert (own.state_dir / "store.db").exists()
    with pytest.raises(SessionNotFoundError):
        await bound.run("again", session_id=before.session_id)
    # another process finds it, too
    other = Hermes.open_local(state=own.state_dir)
    try:
        assert [r.session_id for r in await asyncio.to_thread(other.sessions)] == [after.session_id]
    finally:
        other.close()


async def test_a_deleted_store_comes_back_from_the_journals(own: Hermes, make: Make) -> None:
    bound, _ = make([Say("one"), Say("two")], on=own)
    before = await bound.run("first")
    for file in own.state_dir.glob("store.db*"):
        file.unlink()
    after = await bound.run("second")
    assert after.session_id == before.session_id
    rows = await asyncio.to_thread(own.sessions)
    assert [(r.session_id, r.n_turns) for r in rows] == [(before.session_id, 2)]


async def test_a_deleted_home_of_a_worker_is_no_failure(own: Hermes, make: Make) -> None:
    bound, _ = make([Say("one"), Say("two")], on=own)
    before = await bound.run("first")
    shutil.rmtree(own.state_dir / "instances")
    after = await bound.run("second")
    assert (after.text, after.session_id) == ("two", before.session_id)
