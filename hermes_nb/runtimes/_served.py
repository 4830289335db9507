"""Functions of the notebook for programs of the user's: a turn that asks no model, and whose calls come from MCP clients.

It lasts until it is stopped. So everything a turn has holds for such calls: rows, approvals, the main thread, the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hermes_nb._version import __version__
from hermes_nb.engine import wire
from hermes_nb.errors import HermesNbError, WorkerDiedError
from hermes_nb.model.event import EventNumberer
from hermes_nb.model.mask import Masker
from hermes_nb.runtimes._acp_turn import AcpTurn
from hermes_nb.runtimes._base import WorkerConnection, WorkerFiles
from hermes_nb.runtimes._notebook_call import NotebookCalls, Offer
from hermes_nb.tool_host.binding import Client
from hermes_nb.tools.name import OUR_NAMES

if TYPE_CHECKING:
    from hermes_nb.model.message import KernelMessage, OnMessage, ReadyKeys, TurnStartKeys, WorkerMessage
    from hermes_nb.model.message_part import ModelSaid
    from hermes_nb.model.message_sender import SendToKernel

FILE = "mcp.json"  # beside the worker's log: the address and what opens it, as MCP clients have them in their settings
_CHOICES = ("once", "always", "deny")


@dataclass
class Served:
    """Serves the functions of an agent to MCP clients, on loopback.

    Args:
        port: The port; 0 takes a free one.
    """

    port: int = 0

    def to_dict(self) -> dict[str, Any]:
        """`{"type": "served", "port": ...}`."""
        return {"type": "served", "port": self.port}

    def own_model(self, told: ReadyKeys | None) -> dict[str, str]:
        """What a card says of the model: whatever a client uses."""
        return {"model": "its clients'", "provider": "mcp", "host": "127.0.0.1", "notice": ""}

    async def open(self, place: WorkerFiles, *, on_message: OnMessage, on_end: Callable[[str], None]) -> WorkerConnection:
        """Be there; nothing listens before a turn begins."""
        return _Connection(self, place, on_message, on_end)


@dataclass(slots=True)
class _Question:
    """Whether a client may call: what was asked, and who waits for the answer."""

    request_id: str
    answer: asyncio.Future[str]


class _Connection:
    """What sessions take for a worker; lives on the IO loop."""

    pid: int | None = None

    def __init__(
        self,
        runtime: Served,
        place: WorkerFiles,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> None:
        self._runtime, self._path = runtime, place.log.with_name(FILE)
        self._on_message, self._on_end = on_message, on_end
        self._loop = asyncio.get_running_loop()
        self._numberer = EventNumberer(place.producer, time.time)
        self._masker = Masker([])
        self._calls: NotebookCalls | None = None
        self._turn: AcpTurn | None = None
        self._offer: Offer | None = None
        self._questions: dict[str, _Question] = {}  # by the client
        self._names: dict[str, str] = {}
        self._is_gone = False
        self._tasks: set[asyncio.Task[None]] = set()
        ready: ReadyKeys = {
            "pid": os.getpid(),
            "producer": place.producer,
            "protocol": wire.VERSION,
            "python": "",
            "missing": [],
            "distribution": "hermes-nb",
            "hermes_agent": __version__,
            "capabilities": ["tools", "approve"],
            "problem": "",
        }
        self._loop.call_soon(lambda: self._tell("ready", **ready))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def _tell(self) -> SendToKernel:
        return self._say

    def _say(self, kind: str, /, **keys: Any) -> None:
        if not self._is_gone:
            self._on_message(cast("WorkerMessage", {"kind": kind, **self._masker.data(keys)}))

    def send(self, kind: str, /, **keys: Any) -> None:
        """Hear the kernel; any thread."""
        if self._is_gone:
            raise WorkerDiedError("Nothing is served any more. %hermes serve does it again.")
        self._loop.call_soon_threadsafe(self._take, cast("KernelMessage", {"kind": kind, **keys}))

    def _take(self, message: KernelMessage) -> None:
        if message["kind"] == "bind":
            agent_id = message["agent_id"]
            self._names[agent_id] = message["agent"]["name"] or "served"
            model: ModelSaid = {"id": "", "provider": "mcp", "base_url": ""}
            self._tell("bound", agent_id=agent_id, host="MCP clients", toolsets=[], model=model)
        elif message["kind"] == "warm":
            self._tell("warmed", agent_id=message["agent_id"], duration_ms=0.0, is_ok=True)
        elif message["kind"] == "turn.start":
            self._spawn(self._serve(message))
        elif message["kind"] == "turn.stop":
            if self._turn is not None and self._turn.turn_id == message["turn_id"]:
                self._end(message["reason"])
        elif message["kind"] == "turn.steer":
            self._tell("steer.result", turn_id=message["turn_id"], is_applied=False, text=message["text"])
        elif message["kind"] == "tool.result":
            if self._calls is not None:
                self._calls.answer(message)
        elif message["kind"] == "answer":
            for question in self._questions.values():
                if question.request_id == message["request_id"] and not question.answer.done():
                    question.answer.set_result(message["answer"])

    async def _serve(self, start: TurnStartKeys) -> None:
        name, tools = self._names.get(start["agent_id"], "served"), start["tools"]
        names = frozenset(str(tool["name"]) for tool in tools)
        turn = AcpTurn(
            self._emitter(start), start, name=name, agent="MCP clients", model="", provider="mcp", served=(names, "")
        )
        turn.begin()
        if self._turn is not None:
            self._tell(
                "turn.done", **turn.end("", {}, "Functions are served already. Stop that first: %hermes serve --stop.")
            )
            return
        self._calls, self._offer = NotebookCalls(self._tell, port=self._runtime.port), Offer(lambda: self._turn)
        self._offer.tools, self._offer.admit, self._turn = tools, self._admit, turn
        try:
            url = await self._calls.serve(self._offer)
            await asyncio.to_thread(_write, self._path, url, self._opening())
        except (HermesNbError, OSError) as exc:
            self._turn = None
            self._tell("turn.done", **turn.end("", {}, f"Nothing is served: {exc}"))
            return
        said = (
            f"Served on {url}: {self._names_text()}. What an MCP client needs, with the key, is in {self._path}; the first"
            " call of each client is asked about here. %hermes serve --stop ends it, and the key is worth nothing then."
        )
        self._emitter(start)("warning", {"code": "served", "message": said})

    def _opening(self) -> str:
        assert self._offer is not None
        assert self._offer.binding is not None
        self._masker.add(self._offer.binding.capability)
        return self._offer.binding.capability

    def _names_text(self) -> str:
        """The functions by name, without ours that read on in a cut result."""
        return ", ".join(sorted(self._offer.names - OUR_NAMES.keys())) if self._offer is not None else ""

    async def _admit(self, client: Client) -> bool:
        """Whether a client may call; its first call is asked about, and the answer holds until the end."""
        question = self._questions.get(client.id)
        if question is None:
            question = self._questions[client.id] = _Question(uuid.uuid4().hex[:16], self._loop.create_future())
            assert self._turn is not None
            text = f"May {client.name!r} call functions of this notebook ({self._names_text()})?"
            asked = {"request_id": question.request_id, "question": text, "name": "serve", "arguments": client.name}
            emit = self._emitter(self._turn.start)
            emit("approval.requested", {**asked, "choices": list(_CHOICES)}, question.request_id)
            answer = await asyncio.shield(question.answer)
            emit("approval.responded", {"request_id": question.request_id, "answer": answer}, question.request_id)
        return await asyncio.shield(question.answer) != "deny"

    def _emitter(self, start: TurnStartKeys) -> Callable[..., None]:
        turn_id, session_id, attempt = str(start["turn_id"]), str(start["session_id"]), int(start.get("attempt") or 1)

        def emit(kind: str, data: Mapping[str, Any], span_id: str | None = None) -> None:
            event = self._numberer.make(
                kind,
                session_id=session_id,
                turn_id=turn_id,
                span_id=span_id or turn_id,
                parent_id=turn_id if span_id is not None else None,
                attempt=attempt,
                data=self._masker.data(dict(data)),
            )
            if not self._is_gone:
                self._on_message({"kind": "event", "event": event.to_dict()})

        return emit

    def _end(self, reason: str) -> None:
        """Serve nothing any more, at once."""
        turn, self._turn = self._turn, None
        if self._calls is not None and self._offer is not None:
            self._calls.release(self._offer)
            self._calls.close()
        self._path.unlink(missing_ok=True)
        for question in self._questions.values():
            if not question.answer.done():
                question.answer.set_result("deny")
        self._questions.clear()
        if turn is not None and self._calls is not None:
            self._calls.end(turn)
            turn.stop(reason)
            self._tell("turn.done", **turn.end("cancelled", {}))

    def kill(self) -> None:
        """Be gone at once."""
        self._end("closed")
        if not self._is_gone:
            self._is_gone = True
            self._on_end("closed")

    async def close(self, grace_s: float = 1.0) -> None:
        """Be gone."""
        self.kill()


def _write(path: Path, url: str, capability: str) -> None:
    """Keep what a client needs where only its user can read it."""
    server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {capability}"}}
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"mcpServers": {"notebook": server}}, file, indent=2)
