"""20,000 deltas through `%%hermes run` in a real kernel: shown nowhere, as a widget, and as Markdown for a client without.

Medians of rounds in one kernel. What a row costs beyond the quiet one is the showing; read that, and the ratio.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_nb.testing import Say, ScriptedModel
from tests.magics.kernel import Cell, Kernel

N_DELTAS = 20_000
N_ROUNDS = 5
SETUP = """
import time
%load_ext hermes_nb
from hermes_nb import Agent, Model
from hermes_nb.widgets._comm import load
load()  # as binding an agent does where a browser asks
one = Agent("one", model=Model("scripted", "custom", {url!r}, "k"))
%hermes agent one --default
"""


def run() -> Iterator[tuple[str, str]]:
    """Kernel CPU and what reaches the front end."""
    words = [f"word {i} " for i in range(N_DELTAS)]
    with ScriptedModel(lambda request: Say("".join(words), deltas=words)) as model, tempfile.TemporaryDirectory() as folder:
        kernel = Kernel(Path(folder))
        try:
            kernel.ok(SETUP.format(url=model.base_url))
            kernel.ok("%%hermes run --quiet\nWarm up.", timeout_s=120)
            rounds: dict[str, list[Turn]] = {"quiet": [], "widget": [], "markdown": []}
            for _ in range(N_ROUNDS):
                for what, turns in rounds.items():
                    turns.append(_turn(kernel, what))
            quiet_s = statistics.median(turn.cpu_s for turn in rounds["quiet"])
            for what, turns in rounds.items():
                yield what, _figures(turns, quiet_s)
        finally:
            kernel.close()


@dataclass
class Turn:
    """What one turn cost."""

    cpu_s: float
    took_s: float
    n_messages: int
    n_bytes: int


def _figures(turns: list[Turn], quiet_s: float) -> str:
    cpu_s = statistics.median(turn.cpu_s for turn in turns)
    took_s = statistics.median(turn.took_s for turn in turns)
    n_messages = statistics.median(turn.n_messages for turn in turns)
    rate = statistics.median(turn.n_bytes / turn.took_s for turn in turns)
    return (
        f"{cpu_s:.2f} s kernel CPU ({cpu_s / quiet_s:.2f} x quiet) in {took_s:.1f} s;"
        f" {n_messages:.0f} messages, {rate / 1000:.0f} kB/s"
    )


def _turn(kernel: Kernel, what: str) -> Turn:
    draws = what == "widget"
    kernel.ok("began_s, began_cpu_s = time.perf_counter(), time.process_time()")
    options = " --quiet" if what == "quiet" else ""
    cell = kernel.start(f"%%hermes run{options}\nSay very much.", allow_stdin=draws)
    if draws:
        kernel.until(lambda: _comm_of(cell) is not None)
        content = {"comm_id": _comm_of(cell), "data": {"method": "custom", "content": {"t": "ready", "keeps": True}}}
        kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", content))
    kernel.finish(cell, timeout_s=200)
    told = kernel.ok("print(time.perf_counter() - began_s, time.process_time() - began_cpu_s)").out.split()
    took_s, cpu_s = float(told[0]), float(told[1])
    n_bytes = sum(len(json.dumps(m["content"], default=str)) for m in cell.messages)
    n_messages = len(cell.messages)
    return Turn(cpu_s, took_s, n_messages, n_bytes)


def _comm_of(cell: Cell) -> Any:
    for message in cell.messages:
        data = message["content"].get("data") or {}
        if message["header"]["msg_type"] == "comm_open" and (data.get("state") or {}).get("kind") == "turn":
            return message["content"]["comm_id"]
    return None
