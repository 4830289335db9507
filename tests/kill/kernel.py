"""A kernel to be killed: `python -m tests.kill.kernel STATE BASE_URL CALLS [DISK]`; hears and says JSON lines.

It runs turns of six steps, or goes on with one; the tools write each call into the file CALLS before they return.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.api.turn import Turn
from hermes_nb.errors import HermesNbError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.runtimes._base import WorkerConnection, WorkerFiles
from hermes_nb.runtimes.process import Process
from hermes_nb.tools.decorator import tool

TOOL_S = 0.03


class Far(Process):
    """Workers whose files are on a disk of their own.

    Args:
        disk: That disk.
    """

    shares_disk = False

    def __init__(self, disk: Path) -> None:
        super().__init__()
        self.disk = disk

    async def open(self, place: WorkerFiles, **heard: Any) -> WorkerConnection:
        assert not place.shares_disk
        return await super().open(replace(place, home=self.disk / place.producer / "home"), **heard)


def main() -> None:
    state, base_url, calls = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    pause = threading.Event()

    def note(name: str, run: int, n: int) -> str:
        with calls.open("a") as file:
            file.write(json.dumps({"name": name, "run": run, "n": n}) + "\n")
        pause.wait(TOOL_S)
        return f"{name} {n} of run {run}"

    @tool(idempotent=True)
    def look(run: int, n: int) -> str:
        """Look; may be done again."""
        return note("look", run, n)

    @tool
    def pay(run: int, n: int) -> str:
        """Pay; must not be done again unasked."""
        return note("pay", run, n)

    hermes = Hermes.open_local(state=state, runtime=Far(Path(sys.argv[4])) if len(sys.argv) > 4 else None)
    model = Model("scripted", "custom", base_url=base_url, api_key="sk-scripted-0123456789abcdef")
    bound = hermes.bind(Agent("worker", model=model, tools=[look, pay]))
    asyncio.run(_serve(hermes, bound))
    hermes.close()


async def _serve(hermes: Hermes, bound: BoundAgent) -> None:
    await bound.new_session()
    await hermes.io.awaited(bound.instance.worker.bound(bound.agent_id))
    _say("ready", worker=bound.instance.worker.pid)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        if "gone" in order:
            while (worker := bound.instance.worker).pid == order["gone"]:  # the turn's end may be heard before its worker's
                await asyncio.sleep(0.01)
            await hermes.io.awaited(worker.ensure())
            _say("ready", worker=worker.pid)
            continue
        if "run" in order:
            await bound.new_session()
            turn = await bound.start(f"run {order['run']}", show=False)
        else:
            try:
                turn = await bound.resume(order["resume"], show=False)
            except HermesNbError as exc:
                _say("started", turn=order["resume"], worker=bound.instance.worker.pid)
                _say("done", turn=order["resume"], status="refused", text="", error=str(exc))
                continue
        _say("started", turn=turn.id, session=turn.session_id, worker=bound.instance.worker.pid)
        await _finish(bound, turn)


async def _finish(bound: BoundAgent, turn: Turn) -> None:
    n_asked = 0
    while True:
        result = await turn.wait(until_asked=True)
        if turn.is_done:
            break
        for request in turn.pending:
            n_asked += 1
            turn.approve(request["request_id"])
    spans: list[Any] = [[s.kind, s.status, s.attempt, s.replayed] for s in result.spans]
    await asyncio.to_thread(bound.hermes.io.call, bound.instance.worker.ensure())
    _say(
        "done",
        turn=turn.id,
        status=result.status,
        text=result.text,
        error=result.error,
        n_asked=n_asked,
        spans=spans,
        worker=bound.instance.worker.pid,
    )


def _say(kind: str, **data: Any) -> None:
    os.write(1, (json.dumps({"kind": kind, **data}) + "\n").encode())


if __name__ == "__main__":
    main()
