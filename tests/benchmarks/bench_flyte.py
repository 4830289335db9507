"""Submitting to Flyte beside plain `flyte.run`, the preflight, and the report's size.

On the loopback plane, so that no image is built. The plain task is what a notebook would submit by hand: one function of its
own, in two environments with the same image, which the SDK looks for in both cases (that is most of the time).
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_nb.api.hermes import Hermes
from hermes_nb.flyte.promotion.preflight import checked, preflight
from hermes_nb.flyte.promotion.submit import request_of, submit
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.flyte.task.report import render, render_whole
from hermes_nb.model.event import Event, EventNumberer
from hermes_nb.testing import Say, ScriptedModel
from tests.flyte.agents import REMOTE, bind
from tests.flyte.loopback import LoopbackPlane

N = 7


def a_log(n_spans: int) -> list[Event]:
    """A turn of `n_spans` model calls, each with an answer of a usual length."""
    numberer = EventNumberer("bench.a0.1", time.time)
    events = [numberer.make("turn.started", session_id="s", turn_id="t", span_id="t", data={"prompt": "Hi", "agent": "a"})]
    for i in range(n_spans):
        data = {
            "api_call": i,
            "text": "An answer of some forty characters or so.",
            "tool_calls": [],
            "model": "m",
            "n_messages": 2,
            "duration_ms": 12.5,
            "usage": {"input_tokens": 20, "output_tokens": 10},
        }
        for kind in ("model.started", "model.completed"):
            events.append(numberer.make(kind, session_id="s", turn_id="t", span_id=f"m{i}", parent_id="t", data=data))
    return events


async def medians() -> dict[str, float]:
    """Seconds and bytes by name."""
    import flyte

    from hermes_nb.flyte.task.definition import default_image

    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, LoopbackPlane(secrets={"model-key": "x"}) as plane:
        await flyte.init.aio(**plane.init_kwargs(root_dir=Path(__file__).parents[2]))
        hermes = Hermes.open_local(state=Path(folder) / "state")
        with ScriptedModel(lambda request: Say("Hi.")) as model:
            bound = bind(hermes, model)
            config = Flyte(**REMOTE)

            image = default_image(checked(bound, config).spec)
            tools = flyte.TaskEnvironment("plain-tools", image=image)
            env = flyte.TaskEnvironment("plain", image=image, depends_on=[tools])

            @env.task
            async def by_hand(prompt: str, request: str) -> str:
                return prompt + request

            async def plain() -> None:
                runner = flyte.with_runcontext(mode="remote", interactive_mode=True)
                await (await runner.run.aio(by_hand, prompt="Hi", request="{}")).abort.aio()

            async def ours() -> None:
                plan = await asyncio.to_thread(checked, bound, config)
                run = await submit(plan, prompt="Hi", request=request_of({"turn_id": "t", "session_id": "s"}))
                await run.abort.aio()

            async def looked() -> None:
                await preflight(bound, config)

            for name, act in (("plain flyte.run", plain), ("promote: look and submit", ours), ("preflight", looked)):
                found[f"{name}, s"] = await _median(act)
        hermes.close()
    found["promote over plain flyte.run, s"] = found["promote: look and submit, s"] - found["plain flyte.run, s"]
    for n_spans in (50, 1_000):
        for when, view in (("while it runs", render), ("at the end", render_whole)):
            found[f"Timeline tab of {n_spans:,} spans {when}, kB"] = len(view(a_log(n_spans)).encode()) / 1000
    return found


async def _median(act: Callable[[], Any]) -> float:
    times = []
    for _ in range(N + 1):  # the first one warms up
        began_s = time.perf_counter()
        await act()
        times.append(time.perf_counter() - began_s)
    return statistics.median(times[1:])


def run() -> list[tuple[str, str]]:
    """The table's rows."""
    found = asyncio.run(medians())
    return [(what, f"{value:.3f}" if what.endswith(" s") else f"{value:.0f}") for what, value in found.items()]
