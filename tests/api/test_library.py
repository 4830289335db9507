"""Stored sessions: deleted for good, carried to another place, brought back when the store is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.api.library import tree
from hermes_nb.engine.durability.journal import Journal
from hermes_nb.errors import SessionNotFoundError, UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.model.event import Event
from hermes_nb.store.row import SessionRow
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.workers.journal import next_attempt

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


async def test_an_export_goes_on_elsewhere_with_the_same_messages(own: Hermes, make: Make, tmp_path: Path) -> None:
    bound, model = make([Say("one"), Say("two\u2028too"), Say("three")], on=own, name="teller")
    first = await bound.run("first \u2028 line")
    await bound.fork(at=first.turn_id)
    await bound.run("second")
    file = tmp_path / "talks.jsonl"
    assert own.library.export(file, bound.session_id) == 2
    with file.open(encoding="utf-8") as lines:
        head = json.loads(next(lines))
    assert (head["format"], head["version"]) == ("hermes-nb sessions", 1)
    assert "sk-scripted" not in file.read_text(encoding="utf-8")
    async with Hermes.local(state=tmp_path / "other") as other:
        n_sessions, n_new = other.library.load(file)
        assert n_sessions == 2
        assert n_new > 6
        assert other.library.load(file) == (2, 0)
        there = other.bind(Agent("teller", model=model.model))
        await there.open_session(str(bound.session_id))
        await there.run("third")
    sent = [(m["role"], m["content"]) for m in model.requests[-1].body["messages"][1:]]
    assert sent == [
        ("user", "first \u2028 line"),
        ("assistant", "one"),
        ("user", "second"),
        ("assistant", "two\u2028too"),
        ("user", "third"),
    ]


def test_a_file_that_is_none_is_named(own: Hermes, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    for text, message in (
        ("not json", "is not JSON lines"),
        ('{"a": 1}', "is no file of"),
        ("", "is no file of"),
        ('{"format": "hermes-nb sessions", "version": 99}', "Upgrade"),
        ('{"format": "hermes-nb sessions", "version": 1}\n{"event": {}}', "Line 2"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            own.library.load(file)


async def test_deleted_is_gone_from_store_and_journals(own: Hermes, make: Make) -> None:
    hang = Hang()
    bound, model = make([Say("kept"), Say("secret answer"), hang], on=own)
    kept = await bound.run("keep this")
    await bound.new_session()
    gone = await bound.run("forget this")
    assert own.library.delete(gone.session_id) == gone.session_id
    assert bound.session_id is None
    for journal in own.state_dir.glob("instances/*/journal.db*"):
        assert b"secret answer" not in journal.read_bytes() or journal.name.endswith("-wal")
    own.io.call(own.conversations.rebuild())
    assert [row.session_id for row in own.sessions()] == [kept.session_id]
    assert own.library.search("secret") == []
    with pytest.raises(SessionNotFoundError):
        own.library.delete(gone.session_id)
    turn = await bound.start("running")
    model.wait_for_requests(3)
    with pytest.raises(UsageError, match="running turn"):
        own.library.delete(turn.session_id)
    turn.stop()
    await turn.wait()


async def test_a_lost_store_is_made_from_the_journals(make: Make, tmp_path: Path) -> None:
    first = Hermes.open_local(state=tmp_path / "state")
    bound, model = make([Say("one"), Say("two")], on=first, name="keeper")
    session_id = (await bound.run("first")).session_id
    await first.aclose()
    for file in (tmp_path / "state").glob("store.db*"):
        file.unlink()
    second = Hermes.open_local(state=tmp_path / "state")
    try:
        (row,) = second.sessions()
        assert (row.session_id, row.agent, row.n_turns, row.input_tokens) == (session_id, "keeper", 1, 20)
        again = second.bind(Agent("keeper", model=model.model))
        await again.open_session(session_id)
        await again.run("second")
        assert [m["role"] for m in model.requests[-1].body["messages"]] == ["system", "user", "assistant", "user"]
    finally:
        await second.aclose()


def test_forks_stand_behind_their_parents() -> None:
    def row(session_id: str, parent: str | None = None) -> SessionRow:
        return SessionRow(session_id, "a", "", 0.0, 0.0, parent_session_id=parent)

    rows = [row("c", "b"), row("x"), row("b", "a"), row("a"), row("y", "gone"), row("d", "b")]
    assert [(depth, r.session_id) for depth, r in tree(rows)] == [
        (0, "x"),
        (0, "a"),
        (1, "b"),
        (2, "c"),
        (2, "d"),
        (0, "y"),
    ]


def test_what_a_worker_committed_and_could_not_say_makes_a_further_attempt(tmp_path: Path) -> None:
    written = Journal(tmp_path / "journal.db", "w1")
    assert next_attempt("t", tmp_path / "journal.db", 1) == 1
    written.commit([Event(1, "w1", 1, 0.0, "s", "t", "t", None, 1, "turn.started", {"prompt": "q"})])
    assert next_attempt("t", tmp_path / "journal.db", 1) == 2
    assert next_attempt("other", tmp_path / "journal.db", 1) == 1
    assert next_attempt("t", tmp_path / "none.db", 1) == 1
    written.close()


async def test_forks_of_a_lost_store_come_back_with_what_they_share(make: Make, tmp_path: Path) -> None:
    first = Hermes.open_local(state=tmp_path / "state")
    bound, model = make([Say(str(n)) for n in range(6)], on=first, name="keeper")
    start = await bound.run("a")
    await bound.run("b")
    child = await bound.fork(at=start.turn_id, title="The child")
    middle = await bound.run("c")
    grandchild = await bound.fork(at=middle.turn_id)
    await bound.run("d")
    await first.aclose()
    for file in (tmp_path / "state").glob("store.db*"):
        file.unlink()
    second = Hermes.open_local(state=tmp_path / "state")
    try:
        rows = {row.session_id: row for row in await asyncio.to_thread(second.sessions)}
        assert (rows[child].parent_session_id, rows[child].forked_at_turn_id) == (start.session_id, start.turn_id)
        assert rows[child].title == "The child"
        assert rows[grandchild].parent_session_id == child
        again = second.bind(Agent("keeper", model=model.model))
        await again.open_session(grandchild)
        await again.run("e")
        sent = [m["content"] for m in model.requests[-1].body["messages"][1:]]
        assert sent == ["a", "0", "c", "2", "d", "3", "e"]
    finally:
        await second.aclose()


async def test_a_fork_whose_beginning_is_gone_says_so(make: Make, tmp_path: Path) -> None:
    first = Hermes.open_local(state=tmp_path / "state")
    bound, model = make([Say(str(n)) for n in range(6)], on=first, name="keeper")
    start = await bound.run("a")
    await bound.fork()
    middle = await bound.run("b")
    grandchild = await bound.fork()
    assert (await first.conversations.open_session(grandchild)).title == "fork of a"  # not: fork of fork of a
    await bound.run("c")
    with pytest.raises(UsageError, match="lose their history"):
        await asyncio.to_thread(first.library.delete, start.session_id)
    await first.aclose()
    with contextlib.closing(sqlite3.connect(tmp_path / "state" / "store.db")) as db, db:  # as no command of ours does
        db.execute("DELETE FROM sessions WHERE session_id = ?", (start.session_id,))
        db.execute("DELETE FROM events WHERE session_id = ?", (start.session_id,))
    second = Hermes.open_local(state=tmp_path / "state")
    try:
        again = second.bind(Agent("keeper", model=model.model))
        await again.open_session(grandchild)
        results = [await again.run("d"), await again.run("e")]
        sent = [m["content"] for m in model.requests[-1].body["messages"][1:]]
        assert sent == ["b", "1", "c", "2", "d", "3", "e"]
        warnings = [[e.data for e in r.events if e.kind == "warning"] for r in results]
        assert [len(w) for w in warnings] == [1, 0]
        assert f"forked from {start.session_id}" in warnings[0][0]["message"]
        assert middle.session_id != start.session_id
    finally:
        await second.aclose()


_EVENT = {
    "v": 1,
    "producer": "w",
    "seq": 1,
    "at_unix_s": 5.0,
    "session_id": "s-a",
    "turn_id": "t",
    "span_id": "t",
    "parent_id": None,
    "attempt": 1,
    "kind": "turn.started",
    "data": {"prompt": "p", "agent": "a"},
}
_SESSION = {"session_id": "s-a", "agent": "a", "title": "T", "created_unix_s": 1.0, "last_used_unix_s": 2.0}


@pytest.mark.parametrize(
    "line",
    [
        {"session": [1]},
        {"session": None},
        {"session": {"agent": "a"}},
        {"event": [1]},
        {"event": None},
        *(
            {"session": {**_SESSION, k: v}}
            for k, v in (
                ("title", {"a": 1}),
                ("title", 5),
                ("session_id", 5),
                ("session_id", None),
                ("created_unix_s", "x"),
                ("created_unix_s", None),
                ("last_used_unix_s", float("nan")),
                ("last_used_unix_s", 1e18),
                ("parent_session_id", 1),
            )
        ),
        *(
            {"event": {**_EVENT, k: v}}
            for k, v in (
                ("at_unix_s", float("nan")),
                ("at_unix_s", 1e18),
                ("at_unix_s", "x"),
                ("seq", 2**70),
                ("attempt", None),
            )
        ),
        {"session": {**_SESSION, "parent_session_id": "s-a"}},
    ],
)
def test_a_file_with_an_odd_line_changes_nothing(own: Hermes, tmp_path: Path, line: object) -> None:
    file = tmp_path / "x.jsonl"
    head = {"format": "hermes-nb sessions", "version": 1}
    file.write_text("\n".join(json.dumps(x) for x in (head, {"session": _SESSION}, {"event": _EVENT}, line)))
    with pytest.raises(UsageError, match="Nothing was imported"):
        own.library.load(file)
    assert own.sessions() == []


@pytest.mark.parametrize("version", ["two", [1], None, {}])
def test_a_version_that_is_no_number_is_named(own: Hermes, tmp_path: Path, version: object) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps({"format": "hermes-nb sessions", "version": version}))
    with pytest.raises(UsageError, match="version"):
        own.library.load(file)


@pytest.mark.parametrize(
    "data",
    [
        {"messages": [1, None]},
        {"messages": {"a": 1}},
        {"tool_calls": [1]},
        {"tool_calls": [{}]},
        {"tool_calls": 7},
        {"usage": {"input_tokens": "x"}},
        {"cost_usd": {}},
        {"profile": [1]},
        {"text": {"a": 1}},
    ],
)
def test_odd_data_of_an_event_closes_no_session(own: Hermes, tmp_path: Path, data: dict[str, object]) -> None:
    file = tmp_path / "x.jsonl"
    head = {"format": "hermes-nb sessions", "version": 1}
    events = [
        {**_EVENT, "seq": n, "kind": kind, "data": {**data, "prompt": "p", "agent": "a"}}
        for n, kind in enumerate(("turn.started", "model.completed", "turn.completed"), 1)
    ]
    file.write_text("\n".join(json.dumps(x) for x in (head, {"session": _SESSION}, *({"event": e} for e in events))))
    assert own.library.load(file) == (1, 3)
    own.io.call(own.conversations.open_session("s-a")).history()
    assert [row.session_id for row in own.sessions()] == ["s-a"]
    assert len(own.library.turns()) == 1
    assert own.library.export(tmp_path / "y.jsonl") == 1
    own.library.delete("s-a")


def test_sessions_that_go_round_in_a_circle_are_shown_opened_and_deleted(own: Hermes, tmp_path: Path) -> None:
    def event(own_id: str, parent: str) -> Event:
        data = {"prompt": "p", "agent": "a", "fork": {"session_id": parent, "at": "t"}}
        return Event.from_dict({**_EVENT, "session_id": own_id, "data": data})

    own.io.call(_ingested(own, [event("s-a", "s-b"), event("s-b", "s-a")]))
    assert sorted((depth, row.session_id) for depth, row in tree(own.sessions())) == [(0, "s-a"), (0, "s-b")]
    assert own.io.call(own.conversations.open_session("s-a")).parent is not None
    for session_id in ("s-a", "s-b"):
        own.library.delete(session_id)
    assert own.sessions() == []


async def _ingested(hermes: Hermes, events: list[Event]) -> None:
    await (await hermes.conversations.opened_store()).ingest(events)


async def test_a_block_leaves_the_journal_that_an_earlier_kernel_left(own: Hermes, make: Make, tmp_path: Path) -> None:
    hang = Hang()
    bound, model = make([Call("step"), hang, Say("resumed")], on=own, name="worker", tools=[step])
    turn = await bound.start("question")
    await asyncio.to_thread(hang.wait_reached)
    await own.aclose()
    async with Hermes.local(state=own.state_dir) as block:
        block.bind(Agent("other", model=model.model))
    n_requests = len(model.requests)
    async with Hermes.local(state=own.state_dir) as third:
        again = third.bind(Agent("worker", model=model.model, tools=[step]))
        result = await (await again.resume(turn.id)).wait()
    assert result.text == "resumed"
    assert len(model.requests) == n_requests + 1
    assert [e.data.get("replayed") for e in result.events if e.kind.endswith(".completed")][:2] == [True, True]
    async with Hermes.local(state=tmp_path / "fresh") as block:
        block.bind(Agent("other", model=model.model))
    assert list((tmp_path / "fresh").glob("instances/*")) == []


@tool
def step() -> int:
    """Take a step."""
    return 1


@pytest.mark.parametrize("left", [b"", None])
async def test_a_store_of_no_bytes_is_made_from_the_journals(make: Make, tmp_path: Path, left: bytes | None) -> None:
    first = Hermes.open_local(state=tmp_path / "state")
    bound, _ = make([Say("one")], on=first, name="keeper")
    session_id = (await bound.run("first")).session_id
    await first.aclose()
    for file in (tmp_path / "state").glob("store.db*"):
        file.unlink()
    if left is not None:
        (tmp_path / "state" / "store.db").write_bytes(left)
    second = Hermes.open_local(state=tmp_path / "state")
    try:
        assert [row.session_id for row in second.sessions()] == [session_id]
    finally:
        await second.aclose()
