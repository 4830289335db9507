"""How fast events go into the store, come out, and reach a follower."""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hermes_nb.model.event import Event
from hermes_nb.sessions.session import Session
from hermes_nb.store.sqlite import Store

N_EVENTS, N_BATCH, N_SESSION = 200_000, 1_000, 10_000
N_PROCESSES, N_EACH = 4, 5_000

INGEST = """
import asyncio, sys
from pathlib import Path
from tests.benchmarks.bench_store import batches
from hermes_nb.store.sqlite import Store
async def main():
    store = await Store.open(Path(sys.argv[1]))
    for batch in batches(sys.argv[2], int(sys.argv[3]), 100):
        await store.ingest(batch)
    await store.close()
asyncio.run(main())
"""


def batches(session_id: str, n_events: int, n_batch: int) -> Iterator[list[Event]]:
    """Events of one session, as a streaming turn makes them."""
    for start in range(1, n_events + 1, n_batch):
        yield [
            Event(1, session_id, seq, 1e9 + seq, session_id, "t1", "t1", None, 1, "model.delta", {"text": "word " * 8})
            for seq in range(start, min(start + n_batch, n_events + 1))
        ]


def run() -> list[tuple[str, str]]:
    """Rows of (what, figure)."""
    with tempfile.TemporaryDirectory() as folder:
        return [*asyncio.run(_alone(Path(folder) / "one.db")), *asyncio.run(_together(Path(folder) / "four.db"))]


async def _alone(path: Path) -> list[tuple[str, str]]:
    store = await Store.open(path)
    for batch in batches("s", N_SESSION, N_BATCH):
        await store.ingest(batch)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began_s = time.perf_counter()
    for batch in batches("big", N_EVENTS, N_BATCH):
        await store.ingest(batch)
    ingest_s = time.perf_counter() - began_s
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - rss) / 1024
    began_s = time.perf_counter()
    n_read = len(await store.events("s"))
    open_s = time.perf_counter() - began_s
    began_s = time.perf_counter()
    await Session.load(store, "s")
    load_s = time.perf_counter() - began_s
    singles_s = []
    for batch in batches("single", 200, 1):
        began_s = time.perf_counter()
        await store.ingest(batch)
        singles_s.append(time.perf_counter() - began_s)
    latencies_s = await _latencies(store)
    await store.close()
    return [
        (f"ingest of {N_EVENTS:,} events, {N_BATCH:,} a batch", f"{N_EVENTS / ingest_s:,.0f} events/s"),
        ("memory grown meanwhile", f"{grown_mb:.1f} MB"),
        ("ingest of one event, median", f"{statistics.median(singles_s) * 1e3:.2f} ms"),
        (f"a session of {n_read:,} events opens, among {N_EVENTS:,}", f"{open_s * 1e3:.0f} ms"),
        ("the same as a conversation that goes on", f"{load_s * 1e3:.0f} ms"),
        ("follow: from ingest asked to event had, median", f"{statistics.median(latencies_s) * 1e3:.2f} ms"),
        ("follow: the same, slowest of 200", f"{max(latencies_s) * 1e3:.2f} ms"),
    ]


async def _latencies(store: Store) -> list[float]:
    events = store.follow("live")
    found = []
    for (event,) in batches("live", 200, 1):
        coming = asyncio.ensure_future(anext(events))
        began_s = time.perf_counter()
        await store.ingest([event])
        await coming
        found.append(time.perf_counter() - began_s)
    return found


async def _together(path: Path) -> list[tuple[str, str]]:
    await (await Store.open(path)).close()
    began_s = time.perf_counter()
    workers = [
        subprocess.Popen([sys.executable, "-c", INGEST, str(path), f"kernel{i}", str(N_EACH)]) for i in range(N_PROCESSES)
    ]
    for worker in workers:
        worker.wait()
    elapsed_s = time.perf_counter() - began_s
    store = await Store.open(path)
    stored = await store.events()
    await store.close()
    in_order = all(
        [e.seq for e in stored if e.producer == f"kernel{i}"] == list(range(1, N_EACH + 1)) for i in range(N_PROCESSES)
    )
    lost = N_PROCESSES * N_EACH - len(stored)
    return [
        (
            f"{N_PROCESSES} processes x {N_EACH:,} events into one store",
            f"lost {lost}, order {'kept' if in_order else 'BROKEN'}, {elapsed_s:.1f} s with start-up",
        )
    ]
