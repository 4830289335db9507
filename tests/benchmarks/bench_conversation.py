"""A conversation of 200 turns: what a turn costs early and late, and how much of it is the kernel's."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time

from hermes_nb.api.hermes import Hermes
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Say, ScriptedModel

N_TURNS = 200


def run() -> list[tuple[str, str]]:
    """Rows of (what, figure)."""
    wall_s, cpu_s = asyncio.run(_converse())
    rows = []
    for start, end in ((5, 25), (90, 110), (N_TURNS - 20, N_TURNS)):
        wall, cpu = (1000 * statistics.median(figures[start:end]) for figures in (wall_s, cpu_s))
        rows.append((f"turns {start} to {end}", f"{wall:.0f} ms, kernel {cpu:.1f} ms of CPU"))
    turns = range(5, N_TURNS)
    slope_ms = 1000 * statistics.linear_regression(turns, wall_s[5:]).slope
    cpu_ms = 1000 * statistics.linear_regression(turns, cpu_s[5:]).slope
    return [*rows, ("more for each past turn (2 messages)", f"{slope_ms:.2f} ms, kernel {cpu_ms:.3f} ms of CPU")]


async def _converse() -> tuple[list[float], list[float]]:
    wall_s, cpu_s = [], []
    with ScriptedModel(lambda request: Say("An answer of some length, as they are. " * 5)) as model:
        with tempfile.TemporaryDirectory() as folder:
            async with Hermes.local(state=folder) as hermes:
                bound = hermes.bind(Agent("talker", model=model.model))
                for n in range(N_TURNS):
                    began, before = time.perf_counter(), time.process_time()
                    await bound.run(f"Question {n}, of some length too.")
                    wall_s.append(time.perf_counter() - began)
                    cpu_s.append(time.process_time() - before)
    return wall_s, cpu_s
