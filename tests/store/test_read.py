from collections.abc import Sequence

import pytest

from hermes_nb.errors import SessionNotFoundError
from hermes_nb.model.event import Event
from hermes_nb.store.row import SessionRow, TurnRow
from hermes_nb.store.sqlite import Store

from .conftest import event, turn_events


async def turns(store: Store, events: Sequence[Event]) -> list[TurnRow]:
    await store.ingest(events)
    return await store.turns("s")


async def test_events_are_chosen_by_session_turn_row_and_limit(store: Store) -> None:
    await store.ingest([event(1), event(2, turn="t2"), event(3, session="other"), event(4)])
    assert [e.seq for e in await store.events()] == [1, 2, 3, 4]
    assert [e.seq for e in await store.events("s")] == [1, 2, 4]
    assert [e.seq for e in await store.events("s", turn_id="t1")] == [1, 4]
    assert [e.seq for e in await store.events(after_rowid=1, limit=2)] == [2, 3]


async def test_a_turn_row_is_computed_from_its_events(store: Store) -> None:
    usage = {"input_tokens": 12, "output_tokens": 5}
    (row,) = await turns(store, turn_events(usage=usage, cost_usd=0.25, duration_ms=81.5))
    assert row == TurnRow(
        "t1",
        "s",
        "completed",
        "Which?",
        "This one.",
        1_700_000_001.0,
        81.5,
        input_tokens=12,
        output_tokens=5,
        cost_usd=0.25,
    )


async def test_what_was_not_reported_is_none_never_zero(store: Store) -> None:
    (row,) = await turns(store, turn_events())
    assert (row.input_tokens, row.output_tokens, row.cost_usd, row.duration_ms) == (None, None, None, None)
    session = await store.session("s")
    assert (session.input_tokens, session.output_tokens, session.cost_usd) == (None, None, None)


async def test_a_turn_without_an_end_is_running(store: Store) -> None:
    (row,) = await turns(store, turn_events()[:1])
    assert (row.status, row.text, row.prompt) == ("running", None, "Which?")


@pytest.mark.parametrize(
    ("kind", "data", "status"),
    [
        ("turn.completed", {"status": "max_turns"}, "max_turns"),
        ("turn.stopped", {"status": "timed_out"}, "timed_out"),
        ("turn.stopped", {}, "stopped"),
        ("turn.failed", {"error": "401"}, "failed"),
    ],
)
async def test_status_is_what_the_end_says(store: Store, kind: str, data: dict[str, str], status: str) -> None:
    (row,) = await turns(store, [event(1, "turn.started", prompt="p"), event(2, kind, text="part", **data)])
    assert (row.status, row.text) == (status, "part")


async def test_a_resumed_turn_is_one_row_with_the_figures_of_all_attempts(store: Store) -> None:
    first = [
        event(1, "turn.started", prompt="p"),
        event(2, "model.completed", usage={"input_tokens": 10, "output_tokens": 1}, cost_usd=0.5),
    ]
    second = [
        event(1, "turn.started", attempt=2, producer="b", prompt="p", at=1_700_000_900.0),
        event(2, "model.completed", attempt=2, producer="b", replayed=True, at=1_700_000_901.0),
        event(3, "turn.completed", attempt=2, producer="b", text="done", usage={"input_tokens": 7, "output_tokens": 2}),
    ]
    (row,) = await turns(store, [*first, *second])
    assert (row.status, row.text) == ("completed", "done")
    assert (row.input_tokens, row.output_tokens, row.cost_usd) == (17, 3, 0.5)
    assert row.started_unix_s == 1_700_000_001.0


async def test_a_resumed_turn_is_running_again(store: Store) -> None:
    (row,) = await turns(store, [*turn_events(), event(9, "turn.started", attempt=2, prompt="Which?")])
    assert row.status == "running"


async def test_session_totals_are_the_sum_of_its_turns(store: Store) -> None:
    for n, usage in enumerate(({"input_tokens": 3, "output_tokens": 1}, {}, {"input_tokens": 4}), start=1):
        await store.ingest(turn_events(n, usage=usage))
    row = await store.session("s")
    assert (row.n_turns, row.input_tokens, row.output_tokens, row.cost_usd) == (3, 7, 1, None)
    assert [turn.turn_id for turn in await store.turns("s")] == ["t1", "t2", "t3"]


async def test_sessions_are_listed_last_used_first(store: Store) -> None:
    for name, at in (("old", 10.0), ("new", 30.0), ("mid", 20.0)):
        await store.ingest([event(1, "turn.started", session=name, at=at, agent="a" if name == "mid" else "b")])
    assert [row.session_id for row in await store.sessions()] == ["new", "mid", "old"]
    assert [row.session_id for row in await store.sessions(limit=1)] == ["new"]
    assert [row.session_id for row in await store.sessions(agent="a")] == ["mid"]


async def test_a_session_put_before_or_after_its_events_is_one(store: Store) -> None:
    await store.put_session(SessionRow("s", "analyst", "Mine", 5.0, 5.0, "parent", "t0", "2024-02-29"))
    await store.ingest(turn_events())
    row = await store.session("s")
    assert (row.title, row.first_day, row.parent_session_id, row.forked_at_turn_id) == (
        "Mine",
        "2024-02-29",
        "parent",
        "t0",
    )
    assert (row.created_unix_s, row.last_used_unix_s, row.n_turns) == (5.0, 1_700_000_002.0, 1)
    await store.put_session(SessionRow("s", "", "Renamed", 9.0, 9.0))
    row = await store.session("s")
    assert (row.agent, row.title, row.first_day, row.created_unix_s) == ("analyst", "Renamed", "2024-02-29", 5.0)


async def test_a_session_is_found_by_its_title_when_only_one_has_it(store: Store) -> None:
    for name in ("one", "two"):
        await store.put_session(SessionRow(name, "a", "Same" if name == "one" else "Other", 1.0, 1.0))
    assert (await store.session("Same")).session_id == "one"
    await store.put_session(SessionRow("three", "a", "Same", 1.0, 1.0))
    with pytest.raises(SessionNotFoundError, match=r"2 sessions are titled 'Same': one, three"):
        await store.session("Same")


async def test_an_unknown_session_is_an_error_that_lists_the_known(store: Store) -> None:
    with pytest.raises(SessionNotFoundError, match=r"'nope'.*store is empty"):
        await store.session("nope")
    await store.ingest(turn_events())
    with pytest.raises(SessionNotFoundError, match=r"'nope'\. Last used: s\."):
        await store.session("nope")
    assert await store.turns("nope") == []


async def test_a_deleted_session_is_gone_from_every_answer(store: Store) -> None:
    await store.ingest([*turn_events(), *turn_events(session="kept")])
    await store.delete_session("s")
    assert [row.session_id for row in await store.sessions()] == ["kept"]
    assert await store.events("s") == []
    assert [hit.session_id for hit in await store.search("which")] == ["kept"]
    with pytest.raises(SessionNotFoundError):
        await store.delete_session("s")


async def test_rows_are_never_numbered_twice(store: Store) -> None:
    await store.ingest([event(1, session="kept"), event(1)])
    await store.delete_session("s")
    await store.ingest([event(2, session="kept")])
    assert [e.seq for e in await store.events(after_rowid=2)] == [2]


async def test_remote_runs_are_listed_by_their_newest_word(store: Store) -> None:
    await store.ingest(turn_events())
    said = [("r1", "queued"), ("r2", "running"), ("r1", "succeeded")]
    await store.ingest([event(10 + i, "flyte.run", run=run, phase=phase) for i, (run, phase) in enumerate(said)])
    await store.ingest([event(20, "flyte.run", session="other", run="r3", phase="failed", url="https://flyte/r3")])
    assert [(r.run, r.phase, r.session_id, r.agent, r.url) for r in await store.runs()] == [
        ("r3", "failed", "other", "", "https://flyte/r3"),
        ("r1", "succeeded", "s", "analyst", ""),
        ("r2", "running", "s", "analyst", ""),
    ]
    assert [r.run for r in await store.runs(limit=1)] == ["r3"]
    await store.ingest([event(21, "flyte.run", phase="submitting"), event(22, "flyte.run", run="", phase="submitting")])
    assert [r.run for r in await store.runs()] == ["r3", "r1", "r2"], "what has no name yet is no run"


async def test_a_session_says_how_its_last_turn_ended(store: Store) -> None:
    await store.ingest(turn_events())
    assert (await store.session("s")).last_status == "completed"
    await store.ingest([event(3, "turn.started", turn="t2", prompt="And?")])
    assert (await store.session("s")).last_status == "running"


@pytest.mark.parametrize("odd", ["x", {"a": 1}, [1], -5, float("1e400")])
@pytest.mark.parametrize("key", ["cost_usd", "duration_ms", "usage", "status", "text", "input_tokens"])
async def test_a_figure_that_is_none_hides_no_session(store: Store, key: str, odd: object) -> None:
    data = {"usage": {key: odd, "output_tokens": 3}} if key == "input_tokens" else {key: odd}
    calls = [event(n, "model.completed", turn="t2", **data) for n in (3, 4)]
    await store.ingest([*turn_events(usage={"input_tokens": 2}), *calls, event(5, "turn.completed", turn="t2", **data)])
    odd_turn = (await store.turns("s"))[-1]
    assert odd_turn.input_tokens is None
    assert odd_turn.cost_usd is odd_turn.duration_ms is None
    assert [(s.session_id, s.n_turns, s.input_tokens) for s in await store.sessions()] == [("s", 2, 2)]
    await store.delete_session("s")


async def test_sessions_that_come_from_each_other_can_be_deleted(store: Store) -> None:
    for own, parent in (("a", "b"), ("b", "a"), ("c", "b"), ("d", "d")):
        await store.put_session(SessionRow(own, "agent", own, 0.0, 0.0, parent_session_id=parent, forked_at_turn_id="t"))
    assert await store.forks_of("b") == ["c"]
    for session_id in "cabd":
        await store.delete_session(session_id)
    assert await store.sessions() == []
