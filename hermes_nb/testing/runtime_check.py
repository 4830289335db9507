"""What every runtime must hold, as one assertion for its author's test: real workers, real turns, the offline model."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb.engine import wire
from hermes_nb.errors import WorkerDiedError
from hermes_nb.model.toolspec import ToolSpec
from hermes_nb.runtimes._base import Runtime, WorkerConnection, WorkerFiles, shares_disk
from hermes_nb.workers import wire_journal

if TYPE_CHECKING:
    from hermes_nb.model.message import WorkerMessage
    from hermes_nb.model.message_part import AgentTold

STEP_S = 30.0
_ADD = ToolSpec(
    "add",
    "Add two numbers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)


async def assert_runtime_conforms(runtime: Runtime, folder: Path, *, start_s: float = 60.0) -> None:
    """Check a runtime by running workers in it. Call it on a loop of its own; it takes some seconds.

    Its configuration is plain data; a worker says `ready` and who it is; an agent binds; a turn's events come in order
    and its tool is run here; messages may be sent from any thread; a message of an unknown kind does no harm; a stop
    ends a turn that waits for a tool and the next one works; the end is told once, after the last message, however it
    came; then sending raises; a new worker starts in the same place; `close` leaves no process.

    Args:
        runtime: The runtime, configured.
        folder: An empty folder for the workers' files.
        start_s: How long a worker may take to be ready.

    Raises:
        AssertionError: Names the runtime and what does not hold.
    """
    name = type(runtime).__name__
    _assert_plain(runtime, name)
    async with _Worker(runtime, folder, f"{name}-1", name) as worker:
        await worker.check_ready(start_s)
        await worker.bind()
        await worker.check_turn("turn-1", "add(2, 3)", {"a": 2, "b": 3})
        worker.connection.send("no.such.kind", anything=[1, {"a": None}])  # type: ignore[call-overload]
        await worker.check_turn("turn-2", "What is 20 plus 22?", {"a": 20, "b": 22}, thread=True)
        await worker.check_stop("turn-3")
        await worker.check_turn("turn-4", "add(4, 5)", {"a": 4, "b": 5})
        worker.connection.kill()
        await worker.check_end("kill()")
    async with _Worker(runtime, folder, f"{name}-2", name) as again:
        await again.check_ready(start_s)
        await again.bind()
        await again.check_turn("turn-5", "add(6, 7)", {"a": 6, "b": 7})
        await again.within(again.connection.close(), "close() does not return")
        await again.check_end("close()")
        await again.within(again.connection.close(), "close() a second time does not return")


def _assert_plain(runtime: Runtime, name: str) -> None:
    first = runtime.to_dict()
    try:
        told = json.loads(json.dumps(first, allow_nan=False))
    except (TypeError, ValueError) as exc:
        raise AssertionError(f"{name}.to_dict() is not plain data: {exc}") from exc
    assert told == first == runtime.to_dict(), f"{name}.to_dict() is not the same twice, or not as JSON has it: {first}."
    assert isinstance(told.get("type"), str), f"{name}.to_dict() has no 'type' that names the runtime: {told}."


class _Worker:
    """One worker and what it said, on the loop; killed at the end, however that came."""

    def __init__(self, runtime: Runtime, folder: Path, producer: str, name: str) -> None:
        self.name, self._runtime = name, runtime
        self.place = WorkerFiles(
            producer, folder / "home", folder / "journal.sqlite", folder / "worker.log", folder, shares_disk(runtime)
        )
        self.connection: WorkerConnection
        self.messages: list[dict[str, Any]] = []
        self.ends: list[tuple[str, int]] = []  # (reason, messages before it)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> _Worker:
        on_message, on_end, attach = wire_journal.between(self.place, self._on_message, self._on_end)
        opened = self._runtime.open(self.place, on_message=on_message, on_end=on_end)
        self.connection = attach(await self.within(opened, "open() does not return"))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exc_info: object) -> None:
        if kind is not None:
            self.connection.kill()
            await self.within(self.connection.close(), "close() after kill() does not return")

    def _on_message(self, message: WorkerMessage) -> None:
        self._assert_on_loop("on_message")
        self.messages.append(dict(message))
        self._changed.set()

    def _on_end(self, reason: str) -> None:
        self._assert_on_loop("on_end")
        self.ends.append((reason, len(self.messages)))
        self._changed.set()

    def _assert_on_loop(self, callback: str) -> None:
        try:
            is_here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            is_here = False
        if not is_here:
            self.ends.append((f"{callback} ran off the loop", -1))
            self._loop.call_soon_threadsafe(self._changed.set)

    async def within(self, awaitable: Any, fault: str, timeout_s: float = STEP_S) -> Any:
        try:
            async with asyncio.timeout(timeout_s):
                return await awaitable
        except TimeoutError:
            raise AssertionError(f"{self.name}: {fault} within {timeout_s:g} s.{self._tail()}") from None

    def _tail(self) -> str:
        log = self.place.log.read_text(errors="replace")[-1500:] if self.place.log.exists() else ""
        return f" Last messages: {[m.get('kind') for m in self.messages[-8:]]}, ends: {self.ends}. Its log ends:\n{log}"

    async def message(self, fits: Callable[[dict[str, Any]], bool], what: str, timeout_s: float = STEP_S) -> dict[str, Any]:
        """The first message that fits, past or to come."""

        async def find() -> dict[str, Any]:
            n_seen = 0
            while True:
                for message in self.messages[n_seen:]:
                    if fits(message):
                        return message
                n_seen = len(self.messages)
                assert not self.ends, f"{self.name}: the worker ended before {what}.{self._tail()}"
                self._changed.clear()
                await self._changed.wait()

        found: dict[str, Any] = await self.within(find(), f"no {what}", timeout_s)
        return found

    async def check_ready(self, start_s: float) -> None:
        ready = await self.message(lambda m: m.get("kind") == "ready", "message 'ready'", start_s)
        assert ready.get("protocol") == wire.VERSION, f"{self.name}: the worker speaks another protocol: {ready}."
        assert ready.get("producer") == self.place.producer, f"{self.name}: the worker has another name: {ready}."

    async def bind(self) -> None:
        agent: AgentTold = {
            "name": "checker",
            "instructions": "",
            "model": {"id": "hermes-nb-offline", "provider": "offline", "base_url": None, "api_key": None},
            "tools": [_ADD.to_dict()],
            "toolsets": [],
            "max_turns": None,
            "config": {},
        }
        self.connection.send("bind", agent_id="a1", agent=agent)
        said = await self.message(
            lambda m: str(m.get("kind")).startswith("bind.") or m.get("kind") == "bound", "'bound'", 60
        )
        assert said["kind"] == "bound", f"{self.name}: the agent could not be bound: {said.get('error')}.{self._tail()}"

    def _start_turn(self, turn_id: str, prompt: str) -> None:
        self.connection.send(
            "turn.start",
            turn_id=turn_id,
            session_id="s1",
            agent_id="a1",
            prompt=prompt,
            history=[],
            attempt=1,
            date="2026-01-02",
            tools=[_ADD.to_dict()],
            timeout_s=None,
            runtime=self.name.lower(),
            n_prior_turns=0,
        )

    async def check_turn(self, turn_id: str, prompt: str, arguments: dict[str, int], *, thread: bool = False) -> None:
        if thread:
            sender = threading.Thread(target=self._start_turn, args=(turn_id, prompt))
            sender.start()
            sender.join()
        else:
            self._start_turn(turn_id, prompt)
        call = await self._tool_call(turn_id)
        got = json.loads(call["arguments"])
        assert got == arguments, f"{self.name}: the tool call arrived as {got}, not {arguments}."
        total = str(sum(arguments.values()))
        self.connection.send(
            "tool.result",
            turn_id=turn_id,
            call_id=call["call_id"],
            status="ok",
            result=total,
            result_chars=len(total),
            started_at_unix_s=time.time(),
            duration_ms=1.0,
        )
        done = await self._done(turn_id)
        assert done["status"] == "completed", f"{self.name}: {turn_id} ended as {done['status']}: {done.get('error')}."
        assert total in done["text"], f"{self.name}: the answer of {turn_id} lacks the tool's result: {done['text']!r}."
        self._check_events(turn_id, "turn.completed")

    async def check_stop(self, turn_id: str) -> None:
        self._start_turn(turn_id, "add(1, 1)")
        await self._tool_call(turn_id)
        self.connection.send("turn.stop", turn_id=turn_id, reason="user")
        done = await self._done(turn_id)
        assert done["status"] == "stopped", f"{self.name}: a stopped turn ended as {done['status']!r}."
        self._check_events(turn_id, "turn.stopped")

    async def _tool_call(self, turn_id: str) -> dict[str, Any]:
        fits = {"kind": "tool.call", "turn_id": turn_id}
        return await self.message(lambda m: fits.items() <= m.items(), f"'tool.call' of {turn_id}")

    async def _done(self, turn_id: str) -> dict[str, Any]:
        fits = {"kind": "turn.done", "turn_id": turn_id}
        return await self.message(lambda m: fits.items() <= m.items(), f"'turn.done' of {turn_id}")

    def _check_events(self, turn_id: str, last: str) -> None:
        events = [m["event"] for m in self.messages if m.get("kind") == "event"]
        own = [e for e in events if e["turn_id"] == turn_id]
        assert own, f"{self.name}: no events of {turn_id}."
        assert [own[0]["kind"], own[-1]["kind"]] == ["turn.started", last], (
            f"{self.name}: the events of {turn_id} begin with {own[0]['kind']} and end with {own[-1]['kind']}."
        )
        seqs = [e["seq"] for e in events]
        assert seqs == list(range(1, len(seqs) + 1)), f"{self.name}: events are lost, doubled or out of order: {seqs[:50]}."
        odd = [m for m in self.messages if m.get("kind") == "malformed"]
        assert not odd, f"{self.name}: something else was written to the wire: {odd[0]}."

    async def check_end(self, what: str) -> None:
        async def ended() -> None:
            while not self.ends:
                self._changed.clear()
                await self._changed.wait()

        await self.within(ended(), f"on_end is not called after {what}", 10)
        for _ in range(3):
            await asyncio.sleep(0)  # a second call would come from callbacks that are due
        assert len(self.ends) == 1, f"{self.name}: on_end is called {len(self.ends)} times after {what}: {self.ends}."
        reason, n_before = self.ends[0]
        assert reason, f"{self.name}: on_end is called without a reason after {what}."
        assert n_before == len(self.messages), f"{self.name}: messages come after on_end({reason!r})."
        try:
            self.connection.send("shutdown")
        except WorkerDiedError:
            pass
        else:
            raise AssertionError(f"{self.name}: send() does not raise WorkerDiedError after {what}.")
        pid = self.connection.pid
        assert pid is None or not _is_alive(pid), f"{self.name}: process {pid} lives on after {what}."


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
