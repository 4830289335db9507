"""Stands in for a session: a thread that submits tool calls to a host, as the IO loop does."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from hermes_nb.host.base import ToolCall, WakeUp
from hermes_nb.tools.decorator import Tool, as_tool

_ids = itertools.count(1)


class FakeTurn:
    """Submits its calls one after another (or all at once) and is over when the last outcome is there, or at a stop."""

    def __init__(
        self,
        host: Any,
        *functions: Callable[..., Any] | Tool,
        blocks: bool = False,
        background: bool = False,
        at_once: bool = False,
        begin: bool = True,
    ) -> None:
        self.id = f"turn-{next(_ids)}"
        self.host = host
        self.tools = [as_tool(f) for f in functions]
        self.caller = host.caller(blocks=blocks, background=background)
        self.at_once = at_once
        self.wake = WakeUp()
        self.outcomes: list[Any] = []
        self.outputs: list[tuple[str, str, tuple[str, ...]]] = []
        self.n_interrupts = 0
        self.is_stopped = False
        self.is_done = False
        self.running = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        if begin:
            self.thread.start()

    def _run(self) -> None:
        calls = [
            ToolCall(self.id, f"call-{n}", tool, "{}", lambda s, t, m: self.outputs.append((s, t, tuple(m))))
            for n, tool in enumerate(self.tools)
        ]
        if self.at_once:
            futures = [self.host.submit(c, self.caller) for c in calls]
            self.running.set()
            self.outcomes = [f.result() for f in futures]
        else:
            for call in calls:
                if self.is_stopped:
                    break
                future = self.host.submit(call, self.caller)
                self.running.set()
                self.outcomes.append(future.result())
        self.is_done = True
        self.wake.set()

    def on_interrupt(self) -> None:
        self.n_interrupts += 1
        self.stop()

    def stop(self) -> list[str]:
        self.is_stopped = True
        return self.host.stop_tools(self.id)

    def wait_blocking(self) -> FakeTurn:
        self.host.wait_blocking(lambda: self.is_done, self.wake, self.on_interrupt)
        return self

    async def wait(self) -> FakeTurn:
        await self.host.wait_async(lambda: self.is_done, self.wake, self.on_interrupt)
        return self

    @property
    def statuses(self) -> list[str]:
        """Statuses of the outcomes; waits for the thread, so call it when the turn is about to end."""
        if self.thread.ident is not None:
            self.thread.join(10)
        return [o.status for o in self.outcomes]
