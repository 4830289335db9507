"""Turns in a real kernel beside a plain script that uses AIAgent on the same endpoint."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

HERE = Path(__file__).parent
N_FIRST = 3

LOAD = """
import time
%load_ext hermes_nb
from hermes_nb import Agent, Model, tool
@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
one = Agent("one", model=Model("scripted", "custom", {url!r}, "k"), tools=[add])
began_s = time.perf_counter()
%hermes agent one
"""
MARK = "import time; began_s = time.perf_counter()"
RUN = "%%hermes run -a one -o answer\n{prompt}"
SHOW = "print(time.perf_counter() - began_s, answer.status)"
# The turn alone, as the kernel sees it, without the messages between cells.
TIMED = """
import statistics
seconds = []
for _ in range({n}):
    began_s = time.perf_counter()
    answer = await bound.run({prompt!r}, session_id=await bound.new_session(), show=True)
    seconds.append(time.perf_counter() - began_s)
    assert answer.status == "completed"
print(statistics.median(seconds))
"""
FOUR = """
import asyncio
hermes = bound.hermes
four = [bound, *(hermes.bind(Agent(name, model=bound.model)) for name in ("two", "three", "four"))]
for one in four:
    await one.run("hello", show=False)
async def timed(at_once):
    began_s = time.perf_counter()
    if at_once:
        await asyncio.gather(*(one.run("slow", show=False) for one in four))
    else:
        for one in four:
            await one.run("slow", show=False)
    return time.perf_counter() - began_s
print(await timed(False), await timed(True))
"""
DELTAS = """
import os
runs = []
for _ in range(3):
    cpu_s, began_s = time.process_time(), time.perf_counter()
    answer = await bound.run("deltas", session_id=await bound.new_session(), show=True)
    runs.append((time.perf_counter() - began_s, time.process_time() - cpu_s))
print(sorted(runs)[1][0], sorted(runs)[1][1], len(answer.text))
"""
MEMORY = """
import psutil
worker = psutil.Process(bound.instance.worker.pid)
print(psutil.Process().memory_info().rss / 1e6, worker.memory_info().rss / 1e6)
"""


@contextmanager
def _server() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.model_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


class _Kernel:
    """A fresh kernel in a folder of its own; `run` gives what a cell printed."""

    def __init__(self, folder: str) -> None:
        self.manager = KernelManager()
        self.manager.start_kernel(cwd=folder)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.n_bytes = 0

    def run(self, code: str) -> str:
        printed: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] in ("display_data", "update_display_data"):
                self.n_bytes += sum(len(str(v)) for v in content["data"].values())
            if message["msg_type"] == "stream":
                printed.append(content["text"])
            if message["msg_type"] == "error":
                raise RuntimeError(f"{content['ename']}: {content['evalue']}")

        self.client.execute_interactive(code, output_hook=hear, timeout=120)
        return "".join(printed)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@contextmanager
def _kernel() -> Iterator[_Kernel]:
    with tempfile.TemporaryDirectory() as folder:
        kernel = _Kernel(folder)
        try:
            yield kernel
        finally:
            kernel.close()


def _plain(url: str, what: str) -> dict[str, float]:
    command = [sys.executable, "-P", str(HERE / "plain.py"), url, what]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _first(url: str, *, wait_s: float) -> float:
    with _kernel() as kernel:
        kernel.run(LOAD.format(url=url))
        if wait_s:
            kernel.run(f"time.sleep({wait_s})")
            kernel.run(MARK)
        kernel.run(RUN.format(prompt="hello"))
        seconds, status = kernel.run(SHOW).split()[-2:]
        assert status == "completed"
        return float(seconds)


def _pair(what: str, plain: float, ours: float) -> tuple[str, str]:
    return what, f"{ours:7.3f} s beside {plain:7.3f} s plain: {ours / plain:5.2f}x"


def run() -> Iterator[tuple[str, str]]:
    """Rows of (what, figure); medians."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages are compiled: so is this one, on both sides
    with _server() as url:
        _plain(url, "first")
        _first(url, wait_s=0)
        rows = [
            (_plain(url, "first")["first"], *(_first(url, wait_s=wait_s) for wait_s in (0, 4, 8))) for _ in range(N_FIRST)
        ]
        plain_first, at_once, bound_before, warmed = (statistics.median(column) for column in zip(*rows, strict=True))
        yield _pair("first answer, agent bound and run at once", plain_first, at_once)
        yield _pair("first answer, agent bound 4 s before", plain_first, bound_before)
        yield _pair("first answer, bound 8 s before (warmed up when idle)", plain_first, warmed)
        plain = _plain(url, "turns")
        with _kernel() as kernel:
            kernel.run(LOAD.format(url=url))
            kernel.run("from hermes_nb.magics import context; bound = context(get_ipython()).hermes.agents['one']")
            kernel.run(RUN.format(prompt="hello"))
            yield _pair("warm turn", plain["warm"], float(kernel.run(TIMED.format(n=15, prompt="hello"))))
            yield _pair("one-tool turn", plain["tool"], float(kernel.run(TIMED.format(n=15, prompt="tool"))))
            kernel.n_bytes = 0
            seconds, cpu, chars = (float(x) for x in kernel.run(DELTAS).split())
            yield _pair("20,000 deltas", plain["deltas"], seconds)
            rate = kernel.n_bytes / (3 * seconds) / 1e6
            yield "20,000 deltas: kernel CPU, to the front end", f"{cpu:.2f} s, {rate:.3f} MB/s"
            assert chars >= 6 * 20_000 - 1  # the last blank may be stripped
            in_turn, at_once = (float(x) for x in kernel.run(FOUR).split())
            yield "four agents at 1 s, at once over one after another", f"{in_turn / at_once:.2f}x faster ({at_once:.2f} s)"
            yield "plain: the same", f"{plain['four in turn'] / plain['four at once']:.2f}x"
            kernel_mb, worker_mb = kernel.run(MEMORY).split()
            yield (
                "memory, kernel + worker beside plain",
                (f"{float(kernel_mb):.0f} + {float(worker_mb):.0f} MB beside {plain['rss_mb']:.0f} MB"),
            )
