"""One question of many rows, beside a gather over the openai client (and chatlas, where it is installed).

python -m tests.benchmarks.bench_map 10000 64     so many rows, so many at once; on a quiet machine
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import psutil

DELAY_S = 0.1
N_ROWS, N_PARALLEL = 1_000, 64
_CHATLAS = "HERMES_NB_BENCH_CHATLAS"  # an interpreter that has chatlas
_CHATLAS_SCRIPT = """
import asyncio, sys, time
from chatlas import ChatOpenAICompletions, parallel_chat
url, n_rows, n_parallel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chat = ChatOpenAICompletions(model="scripted", base_url=url, api_key="k")
began_s, cpu_s = time.perf_counter(), time.process_time()
asyncio.run(parallel_chat(chat, [f"Row {i}" for i in range(n_rows)], max_active=n_parallel, rpm=10**9))
print(time.perf_counter() - began_s, time.process_time() - cpu_s)
"""


@contextlib.contextmanager
def _endpoint() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.benchmarks.latency_server", str(DELAY_S)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


async def _ours(url: str, n_rows: int, n_parallel: int) -> list[tuple[str, str]]:
    from hermes_nb import Agent, Hermes, Model

    hermes = Hermes.open_local(state=tempfile.mkdtemp())
    bound = hermes.bind(Agent("row", "Be brief.", model=Model("scripted", "custom", url, api_key="k")))
    await bound.map([f"Warm {i}" for i in range(n_parallel)], n_parallel=n_parallel, show=False)
    me = psutil.Process()
    before_bytes, cpu_s, began_s = me.memory_info().rss, time.process_time(), time.perf_counter()
    workers = {p.pid: sum(p.cpu_times()[:2]) for p in me.children(recursive=True)}
    out = await bound.map([f"Row {i}" for i in range(n_rows)], n_parallel=n_parallel, show=False)
    took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    assert (out.status == "completed").all(), out.status.value_counts()
    grown_mb = (me.memory_info().rss - before_bytes) / 1e6
    beside_s = sum(sum(p.cpu_times()[:2]) - workers.get(p.pid, 0.0) for p in me.children(recursive=True))
    await hermes.aclose()
    return [
        (f"map, {n_rows:,} rows, {n_parallel} at once", _figure(took_s, cpu_s, n_rows, n_parallel)),
        ("its worker and the endpoint, CPU a row", f"{beside_s / n_rows * 1000:.2f} ms"),
        ("growth of the kernel's memory", f"{grown_mb:.1f} MB"),
    ]


async def _gathered(url: str, n_rows: int, n_parallel: int) -> str:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
        places = asyncio.Semaphore(n_parallel)

        async def one(i: int) -> None:
            async with places:
                await client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": f"Row {i}"}])

        await asyncio.gather(*(one(i) for i in range(n_parallel)))
        began_s, cpu_s = time.perf_counter(), time.process_time()
        await asyncio.gather(*(one(i) for i in range(n_rows)))
        return _figure(time.perf_counter() - began_s, time.process_time() - cpu_s, n_rows, n_parallel)


def _chatlas(url: str, n_rows: int, n_parallel: int) -> str:
    python = os.environ.get(_CHATLAS)
    if python is None:
        return f"not run: set {_CHATLAS} to an interpreter that has chatlas"
    command = [python, "-c", _CHATLAS_SCRIPT, url, str(n_rows), str(n_parallel)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        return f"failed: {ran.stderr.strip().splitlines()[-1][:200]}"
    took_s, cpu_s = map(float, ran.stdout.split()[-2:])
    return _figure(took_s, cpu_s, n_rows, n_parallel)


def _figure(took_s: float, cpu_s: float, n_rows: int, n_parallel: int) -> str:
    ideal_s = -(-n_rows // n_parallel) * DELAY_S
    return (
        f"{took_s:.1f} s, {ideal_s / took_s:.2f} of the ideal {ideal_s:.1f} s, {cpu_s / n_rows * 1000:.2f} ms of CPU a row"
    )


def run(n_rows: int = N_ROWS, n_parallel: int = N_PARALLEL) -> list[tuple[str, str]]:
    """The figures of all, in one run."""
    with _endpoint() as url:
        return [
            *asyncio.run(_ours(url, n_rows, n_parallel)),
            ("asyncio.gather over openai's client", asyncio.run(_gathered(url, n_rows, n_parallel))),
            ("chatlas parallel_chat", _chatlas(url, n_rows, n_parallel)),
        ]


if __name__ == "__main__":
    for what, figure in run(*map(int, sys.argv[1:3])):
        print(f"{what:<48} {figure}")
