import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hermes_nb.model.event import Event
from hermes_nb.store.sqlite import Store

from .conftest import Process, event, line

NEVER_S = 3_600.0  # no looking again: only a wake-up helps


async def take(events: AsyncIterator[Event], n: int) -> list[int]:
    return [(await anext(events)).seq for _ in range(n)]


async def test_follow_gives_the_past_then_what_comes(store: Store) -> None:
    await store.ingest([event(1), event(2)])
    events = store.follow("s", poll_s=NEVER_S)
    assert await take(events, 2) == [1, 2]
    coming = asyncio.ensure_future(take(events, 3))
    for seq in (3, 4, 5):
        await store.ingest([event(seq), event(seq, session="other")])
    assert await coming == [3, 4, 5]
    await events.aclose()


async def test_follow_gives_each_event_once_in_order_of_arrival(store: Store) -> None:
    events = store.follow("s", poll_s=NEVER_S)
    coming = asyncio.ensure_future(take(events, 3_000))
    for start in range(1, 3_001, 100):
        batch = [event(seq) for seq in range(start, start + 100)]
        await store.ingest(batch)
        await store.ingest(batch)
    assert await coming == list(range(1, 3_001))
    await events.aclose()


async def test_follow_ends_when_the_store_closes(path: Path) -> None:
    store = await Store.open(path)
    await store.ingest([event(1)])

    async def all_of() -> list[int]:
        return [e.seq async for e in store.follow("s", poll_s=NEVER_S)]

    followers = [asyncio.ensure_future(all_of()) for _ in range(3)]
    while len(store._followers._waiting.get("s", ())) < 3:
        await asyncio.sleep(0)
    await store.close()
    assert all(seqs in ([], [1]) for seqs in await asyncio.gather(*followers))


async def test_a_follower_that_leaves_is_forgotten(store: Store) -> None:
    events = store.follow("s", poll_s=NEVER_S)
    coming = asyncio.ensure_future(anext(events))
    await store.ingest([event(1)])
    await coming
    await events.aclose()
    assert store._followers._waiting == {}


async def test_follow_sees_what_another_process_stores(store: Store, path: Path, python: Callable[..., Process]) -> None:
    other = python(
        """
        import asyncio, sys
        from pathlib import Path
        from hermes_nb.model.event import Event
        from hermes_nb.store.sqlite import Store
        async def main():
            store = await Store.open(Path(sys.argv[1]))
            print("open", flush=True)
            sys.stdin.readline()
            await store.ingest([Event(1, "other", 1, 1.0, "s", "t", "t", None, 1, "model.delta", {})])
            await store.close()
        asyncio.run(main())
        """,
        path,
    )
    assert line(other.stdout) == "open"
    events = store.follow("s")
    coming = asyncio.ensure_future(anext(events))
    assert other.stdin is not None
    other.stdin.write("\n")
    other.stdin.flush()
    assert (await coming).producer == "other"
    await events.aclose()


@pytest.mark.serial
async def test_follow_is_prompt(store: Store) -> None:
    events = store.follow("s", poll_s=NEVER_S)
    latencies_ms = []
    for seq in range(1, 21):
        coming = asyncio.ensure_future(anext(events))
        began_s = time.perf_counter()
        await store.ingest([event(seq)])
        await coming
        latencies_ms.append((time.perf_counter() - began_s) * 1_000)
    await events.aclose()
    assert sorted(latencies_ms)[10] < 100
