import asyncio
import json

import pytest

from hermes_nb.errors import StoreError
from hermes_nb.store.sqlite import Store

from .conftest import event, turn_events


async def test_ingest_counts_what_is_new(store: Store) -> None:
    assert await store.ingest([event(1), event(2)]) == 2
    assert await store.ingest([event(1), event(2)]) == 0
    assert await store.ingest([event(2), event(3)]) == 1
    assert [e.seq for e in await store.events("s")] == [1, 2, 3]


async def test_ingest_of_nothing_is_nothing(store: Store) -> None:
    assert await store.ingest([]) == 0


async def test_the_same_event_twice_in_one_batch_is_stored_once(store: Store) -> None:
    assert await store.ingest([event(1), event(1)]) == 1


async def test_another_attempt_or_producer_is_another_event(store: Store) -> None:
    assert await store.ingest([event(1), event(1, attempt=2), event(1, producer="host"), event(1, session="z")]) == 4


async def test_an_event_comes_back_as_it_went_in(store: Store) -> None:
    given = event(7, "tool.completed", result="ä\u0000€ 🙂", n=1, ratio=0.5, none=None, nested={"a": [1, True]})
    await store.ingest([given])
    assert await store.events() == [given]


async def test_odd_values_cost_no_event(store: Store) -> None:
    odd = event(1, text="lone \ud800 surrogate", ratio=float("nan"), path=complex(1, 2), inner=({"x": float("inf")},))
    assert await store.ingest([odd, event(2)]) == 2
    stored, _ = await store.events("s")
    assert stored.data == {"text": "lone ? surrogate", "ratio": None, "path": "(1+2j)", "inner": [{"x": None}]}
    assert json.loads(stored.to_json())["data"] == stored.data


async def test_events_of_a_batch_keep_their_order(store: Store) -> None:
    seqs = [5, 3, 9, 1]
    await store.ingest([event(seq) for seq in seqs])
    assert [e.seq for e in await store.events("s")] == seqs


async def test_a_batch_is_stored_whole_or_not_at_all(store: Store) -> None:
    broken = event(2, producer=None)
    with pytest.raises(StoreError, match=r"store\.db failed: NOT NULL"):
        await store.ingest([event(1), broken])
    assert await store.events() == []
    assert await store.ingest([event(1)]) == 1


async def test_tasks_that_ingest_at_once_do_not_meet(store: Store) -> None:
    batches = [[event(seq, producer=f"p{p}") for seq in range(1, 101)] for p in range(8)]
    assert await asyncio.gather(*(store.ingest(batch) for batch in batches)) == [100] * 8
    assert len(await store.events("s")) == 800


async def test_a_cancelled_ingest_leaves_the_store_usable(store: Store) -> None:
    for n_steps in range(8):  # cancelled at each of its awaits in turn
        task = asyncio.ensure_future(store.ingest([event(seq, producer=f"p{n_steps}") for seq in range(1, 50)]))
        for _ in range(n_steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert len([e for e in await store.events("s") if e.producer == f"p{n_steps}"]) in (0, 49)
    assert await store.ingest([event(1)]) == 1


async def test_a_session_appears_with_its_first_event(store: Store) -> None:
    await store.ingest(turn_events(prompt="  Which   customers?\nAll of them."))
    row = await store.session("s")
    assert (row.agent, row.title, row.n_turns) == ("analyst", "Which customers?", 1)
    assert row.created_unix_s == 1_700_000_001.0
    assert row.last_used_unix_s == 1_700_000_002.0
    assert row.first_day.startswith("2023-11-1")


async def test_a_long_prompt_gives_a_short_title(store: Store) -> None:
    await store.ingest(turn_events(prompt="word " * 50))
    title = (await store.session("s")).title
    assert len(title) <= 60
    assert title.endswith("…")


async def test_what_a_log_says_oddly_of_its_session_costs_no_event(store: Store) -> None:
    for n, (at, fork) in enumerate(
        [
            (1e18, {}),
            (1e308, 5),
            (0.0, {"session_id": [1], "at": {}, "first_day": 7}),
            (0.0, {"session_id": "s3", "at": "t"}),
        ]
    ):
        assert await store.ingest([event(1, "turn.started", session=f"s{n}", at=at, prompt="p", fork=fork)]) == 1
    assert {row.parent_session_id for row in await store.sessions()} == {None}
