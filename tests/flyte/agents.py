"""Agents of the kinds that are promoted, and what every test of a promotion needs."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.model.agent import Agent
from hermes_nb.model.event import Event
from hermes_nb.testing import ScriptedModel
from hermes_nb.tools.decorator import tool

KEY = "sk-scripted-0123456789abcdef"
REMOTE: dict[str, Any] = {"secrets": {"HERMES_NB_MODEL_KEY": "model-key"}, "allow": ["loopback-model"]}
_NUMBERS = itertools.count(1)
_TABLE = {"Paris": 21, "Rome": 25}


def _weather() -> Any:
    table = dict(_TABLE)

    @tool
    def get_weather(city: str) -> dict[str, Any]:
        """Weather of a city."""
        print("looking up", city)
        return {"city": city, "celsius": table[city]}

    return get_weather


def bind(hermes: Hermes, model: ScriptedModel, *tools: Any, name: str = "", **options: Any) -> BoundAgent:
    """An agent bound in this process, of a name of its own."""
    name = name or f"analyst-{next(_NUMBERS)}"
    return hermes.bind(Agent(name, "Be brief.", model.model, tools=tools or [_weather()], **options))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Hermes]:
    """A Hermes for a block."""
    hermes = Hermes.open_local(state=path)
    try:
        yield hermes
    finally:
        hermes.close()


async def ask(bound: BoundAgent, prompt: str = "Weather in Paris and Rome?", **options: Any) -> Any:
    """The result of a promoted turn."""
    turn = await bound.promote(prompt, **(options if options.get("mode") == "local" else {**REMOTE, **options}))
    return await asyncio.wait_for(turn.wait(), 120)


def essence(events: Any) -> list[tuple[str, dict[str, Any]]]:
    """Events without ids, times and places."""
    passing = ("flyte.run", "flyte.log", "model.delta", "reasoning.delta", "warning")
    places = (
        "duration_ms",
        "started_at_unix_s",
        "runtime",
        "runtime_label",
        "instance",
        "tool_call_id",
        "fingerprint",
        "host",
    )
    kept: list[tuple[str, dict[str, Any]]] = []
    for event in events:
        if event.kind == "tool.output":
            if kept[-1][0] == "tool.output":  # a kernel tells it piece by piece
                kept[-1][1]["text"] += event.data["text"]
            else:
                kept.append((event.kind, {k: event.data[k] for k in ("name", "stream", "text")}))
        elif event.kind not in passing:
            data = {k: v for k, v in event.data.items() if k not in places and not (k.startswith("error") and not v)}
            if "tool_calls" in data:
                data["tool_calls"] = [{k: c[k] for k in ("name", "arguments")} for c in data["tool_calls"]]
            kept.append((event.kind, data))
    return kept


def of_run(events: Any) -> list[Event]:
    """The events that the run itself made, in its report's order."""
    return [e for e in events if ".a0." in e.producer and e.kind not in ("model.delta", "reasoning.delta")]


__all__ = ["KEY", "REMOTE", "Flyte", "ask", "bind", "essence", "of_run", "opened"]
