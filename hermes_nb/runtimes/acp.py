"""Agents that speak the Agent Client Protocol: a Hermes of any version (`hermes acp`), or another program.

The program is a child of the kernel; its model, keys and tools are its own, from its own configuration. What the protocol
has no word for can't be had, and stands on the card: replay, budgets, single model calls. Functions of the notebook are on
an MCP server of this process, on loopback (`_notebook_call`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from hermes_nb import _settings
from hermes_nb._near import suggesting
from hermes_nb._version import __version__
from hermes_nb.engine import wire
from hermes_nb.errors import HermesNbError, UnsupportedPlatformError, UsageError, WorkerDiedError, WorkerStartError
from hermes_nb.model.event import EventNumberer
from hermes_nb.model.mask import Masker
from hermes_nb.runtimes._acp_turn import AcpTurn, prompt_parts, used
from hermes_nb.runtimes._base import WorkerConnection, WorkerFiles
from hermes_nb.runtimes._json_rpc import MOST_BYTES, JsonRpc, RpcError
from hermes_nb.runtimes._notebook_call import NotebookCalls, Offer, lack_of_host

if TYPE_CHECKING:
    from hermes_nb.model.message import KernelMessage, OnMessage, ReadyKeys, TurnStartKeys, WorkerMessage
    from hermes_nb.model.message_part import AgentTold, ModelSaid
    from hermes_nb.model.message_sender import SendToKernel

PROTOCOL = 1
END_S = 1.0
START_S = 60.0  # a Hermes imports its tools before it answers
CAPABILITIES = ("approve", "usage")  # `images` and `steer` depend on who is there
HERMES = "hermes-agent"
_NO_OFFER = Offer(lambda: None)
_UNSEEN = (
    "{agent} did not ask for the functions of the notebook. A Hermes needs the package mcp for them, in its own environment:"
    " pip install 'hermes-agent[mcp]'."
)


@suggesting
@dataclass(repr=False)
class ACP:
    """Asks an agent by the Agent Client Protocol.

    Args:
        command: The program and its arguments, e.g. ["hermes", "acp"].
        environment: Variables laid over the allow-listed environment, e.g. HERMES_HOME or a key. Values are not printed.

    Raises:
        UsageError: The command is empty, or no list of texts.
    """

    command: list[str] = field(default_factory=lambda: ["hermes", "acp"])
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        is_list = isinstance(self.command, (list, tuple)) and all(isinstance(word, str) for word in self.command)
        if not is_list or not self.command or not self.command[0].strip():
            raise UsageError(f"ACP: command takes a list of texts, e.g. ['hermes', 'acp'], not {self.command!r}.")
        self.command = list(self.command)
        for name, value in dict(self.environment).items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise UsageError(f"ACP: the variable {name!r} must be a text, not of type {type(value).__name__}.")

    @classmethod
    def from_name(cls, text: str) -> ACP:
        """Return the runtime that `--on acp:TEXT` means; `acp` alone is `hermes acp`."""
        try:
            words = shlex.split(text)
        except ValueError as exc:
            raise UsageError(f"--on acp:{text}: the command can't be read: {exc}.") from exc
        return cls(words) if words else cls()

    def __repr__(self) -> str:
        names = f", environment={sorted(self.environment)}" if self.environment else ""
        return f"ACP(command={self.command!r}{names})"

    def to_dict(self) -> dict[str, Any]:
        """`{"type": "acp", "command": [...]}`."""
        return {"type": "acp", "command": list(self.command)}

    def engine_text(self) -> str:
        """Which program is asked, in words; starts nothing."""
        return f"{shlex.join(self.command)}, by the Agent Client Protocol, with the model of its own configuration"

    def own_model(self, told: ReadyKeys | None) -> dict[str, str]:
        """What a card says of the model: it is the program's own. `told` is what the program said of itself, if it has."""
        is_known = told is not None and told.get("distribution")
        host = f"{told.get('distribution')} {told.get('hermes_agent')}" if told is not None and is_known else self.command[0]
        return {"model": "its own", "provider": "acp", "host": host.strip(), "notice": ""}

    async def open(
        self,
        place: WorkerFiles,
        *,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> WorkerConnection:
        """Start the program (see `Runtime.open`)."""
        if os.name != "posix":
            raise UnsupportedPlatformError("The ACP runtime needs a POSIX system (Linux, macOS, WSL); this is Windows.")
        environment = _settings.worker_environment(self.environment)
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
                cwd=place.working_dir,
                start_new_session=True,
                limit=MOST_BYTES,
            )
        except OSError as exc:
            raise WorkerStartError(
                f"{self.command[0]!r} can't be started: {exc.strerror}. Name the program of an agent that speaks ACP:"
                " ACP(command=['/path/to/hermes', 'acp'])."
            ) from exc
        return _Connection(self, process, place, on_message, on_end)


Acp = ACP  # the name by which a plug-in's dataclass is looked for


class _Connection:
    """What sessions take for a worker; lives on the IO loop."""

    def __init__(
        self,
        runtime: ACP,
        process: asyncio.subprocess.Process,
        place: WorkerFiles,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> None:
        self.pid: int | None = process.pid
        self._runtime, self._process, self._place = runtime, process, place
        self._on_message, self._on_end = on_message, on_end
        self._loop = asyncio.get_running_loop()
        assert process.stdout is not None
        assert process.stdin is not None
        self._rpc = JsonRpc(process.stdout, process.stdin, self._notice, self._request)
        self._numberer = EventNumberer(place.producer, time.time)
        self._masker = Masker(list(runtime.environment.values()))
        self._names: dict[str, str] = {}
        self._told: dict[str, AgentTold] = {}  # agent id -> what it was bound as
        self._sessions: dict[str, str] = {}  # ours -> theirs
        self._used: dict[str, dict[str, int]] = {}
        self._turns: dict[str, AcpTurn] = {}  # by their session
        self._calls = NotebookCalls(self._tell)
        self._offers: dict[str, Offer] = {}  # by their session
        self._tasks: set[asyncio.Task[None]] = set()
        self._binding: set[asyncio.Task[None]] = set()
        self._agent, self._model = "", ""
        self._is_gone = False
        self._has_steering = self._takes_servers = False
        self._ready: asyncio.Future[str] = self._loop.create_future()
        self._spawn(self._start())
        self._spawn(self._keep_log(process.stderr))
        self._ending = self._loop.create_task(self._run())

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def _tell(self) -> SendToKernel:
        return self._say

    def _say(self, kind: str, /, **keys: Any) -> None:
        if not self._is_gone:
            self._on_message(cast("WorkerMessage", {"kind": kind, **self._masker.data(keys)}))

    # -- life ------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        await self._rpc.run()
        code = await self._process.wait()
        if self._binding:  # who waits for an answer hears why there is none before the end
            await asyncio.wait(self._binding, timeout=END_S)
        for task in list(self._tasks):
            task.cancel()
        self._calls.close()
        if not self._is_gone:
            self._is_gone = True
            self._on_end(f"signal {-code}" if code < 0 else f"exit code {code}")

    async def _keep_log(self, lines: asyncio.StreamReader | None) -> None:
        """What it prints until it is ready goes into the log; later it tells of prompts and answers, which no log holds."""
        while lines is not None and (line := await lines.readline()):
            if not self._ready.done():
                text = self._masker.text(line.decode("utf-8", "replace"))
                with contextlib.suppress(OSError), self._place.log.open("a", encoding="utf-8") as log:
                    log.write(text)

    async def _start(self) -> None:
        params = {
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
            "clientInfo": {"name": "hermes-nb", "version": __version__},
        }
        problem = ""
        told: Mapping[str, Any] = {}
        try:
            async with asyncio.timeout(START_S):
                told = await self._rpc.request("initialize", params) or {}
        except TimeoutError:
            problem = f"did not answer within {START_S:.0f} s"
        except (RpcError, WorkerDiedError) as exc:
            problem = str(exc)
        if not problem and told.get("protocolVersion") != PROTOCOL:
            problem = f"speaks version {told.get('protocolVersion')} of the protocol, and {PROTOCOL} is needed"
        info = told.get("agentInfo") or {}
        self._agent = str(info.get("name") or self._runtime.command[0])
        can = told.get("agentCapabilities") or {}
        self._has_steering = self._agent == HERMES
        more = ["images"] if (can.get("promptCapabilities") or {}).get("image") else []
        more += ["steer"] if self._has_steering else []
        # Hermes takes servers at addresses, and does not say so.
        self._takes_servers = self._agent == HERMES or bool((can.get("mcpCapabilities") or {}).get("http"))
        more += ["tools"] if self._takes_servers and not lack_of_host() else []
        self._tell(
            "ready",
            pid=self.pid,
            producer=self._place.producer,
            protocol=wire.VERSION,
            python="",
            distribution=self._agent,
            hermes_agent=str(info.get("version") or ""),
            capabilities=[] if problem else [*CAPABILITIES, *more],
            missing=[],
            problem=problem,
        )
        if not self._ready.done():
            self._ready.set_result(problem)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def close(self, grace_s: float = 1.0) -> None:
        self._calls.close()
        if self._process.stdin is not None:
            self._process.stdin.close()  # the end of its input ends it
        try:
            async with asyncio.timeout(grace_s):
                await asyncio.shield(self._ending)
        except TimeoutError:
            self.kill()
            await self._ending

    # -- what the kernel says ----------------------------------------------------------------------------------------

    def send(self, kind: str, /, **keys: Any) -> None:
        if self._is_gone:
            raise WorkerDiedError("The agent is gone; the next run starts it again.")
        self._loop.call_soon_threadsafe(self._take, cast("KernelMessage", {"kind": kind, **keys}))

    def _take(self, message: KernelMessage) -> None:
        if message["kind"] == "bind":
            self._binding.add(self._spawn(self._bind(message["agent_id"], message["agent"])))
        elif message["kind"] == "warm":
            self._tell("warmed", agent_id=message["agent_id"], duration_ms=0.0, is_ok=True)
        elif message["kind"] == "turn.start":
            self._spawn(self._ask(message))
        elif message["kind"] == "turn.stop":
            self._stop(message["turn_id"], message["reason"])
        elif message["kind"] == "turn.steer":
            self._spawn(self._steer(message["turn_id"], message["text"]))
        elif message["kind"] == "answer" and (found := self._turn(message["turn_id"])) is not None:
            found[1].answer(message["request_id"], message["answer"])
        elif message["kind"] == "tool.result":
            self._calls.answer(message)

    def _turn(self, turn_id: str) -> tuple[str, AcpTurn] | None:
        return next(((theirs, turn) for theirs, turn in self._turns.items() if turn.turn_id == turn_id), None)

    async def _bind(self, agent_id: str, agent: AgentTold) -> None:
        self._told[agent_id] = agent
        problem = await asyncio.shield(self._ready)
        if problem:
            error = f"{self._runtime.command[0]} can't be asked by the Agent Client Protocol: {problem}."
            self._tell("bind.failed", agent_id=agent_id, error=error, error_type="UsageError", hint="")
            return
        model: ModelSaid = {"id": self._model or self._agent, "provider": "acp", "base_url": ""}
        self._tell("bound", agent_id=agent_id, host=self._agent, toolsets=[], model=model)

    async def _session(self, start: TurnStartKeys) -> tuple[str, bool]:
        """Their session for one of ours, and whether it is new."""
        ours = str(start["session_id"])
        if ours not in self._sessions:
            offer = Offer(lambda: self._turns.get(self._sessions.get(ours, "")), tools=start.get("tools") or ())
            servers = [await self._server(offer)] if offer.tools else []
            made = await self._rpc.request("session/new", {"cwd": str(self._place.working_dir), "mcpServers": servers})
            self._model = str((made.get("models") or {}).get("currentModelId") or "")
            self._sessions[ours] = str(made["sessionId"])
            self._offers[ours] = offer
            return self._sessions[ours], True
        self._offers[ours].tools = start.get("tools") or ()
        return self._sessions[ours], False

    async def _server(self, offer: Offer) -> dict[str, Any]:
        """The MCP server of an offer, as `session/new` takes it."""
        url = await self._calls.serve(offer)
        assert offer.binding is not None
        self._masker.add(offer.binding.capability)
        offer.server = f"notebook{len(self._sessions) or ''}"  # Hermes knows servers by name, in all sessions of its process
        headers = [{"name": "Authorization", "value": f"Bearer {offer.binding.capability}"}]
        return {"type": "http", "name": offer.server, "url": url, "headers": headers}

    async def _ask(self, start: TurnStartKeys) -> None:
        agent = self._told.get(start["agent_id"])
        name, instructions = ("agent", "") if agent is None else (agent["name"] or "agent", agent["instructions"])
        theirs, is_new, problem = "", False, ""
        try:
            theirs, is_new = await self._session(start)
        except (RpcError, HermesNbError, KeyError) as exc:
            problem = f"It opened no session: {exc}"
        offer, emit = self._offers.get(str(start["session_id"]), _NO_OFFER), self._emitter(start)
        turn = AcpTurn(
            emit,
            start,
            name=name,
            agent=self._agent,
            model=self._model,
            served=(offer.names, offer.server),
        )
        turn.begin()
        result: Mapping[str, Any] = {}
        if not problem:
            self._turns[theirs] = turn
            prompt = prompt_parts(start, instructions if is_new else "", with_history=is_new)
            try:
                result = await self._rpc.request("session/prompt", {"sessionId": theirs, "prompt": prompt}) or {}
            except RpcError as exc:
                problem = str(exc)
            finally:
                self._turns.pop(theirs, None)
                self._calls.end(turn)
            if offer.tools and not offer.is_listed:
                emit("warning", {"code": "tools", "message": _UNSEEN.format(agent=self._agent)})
        usage = used(result.get("usage"), self._used.setdefault(theirs, {}))
        self._tell("turn.done", **turn.end(str(result.get("stopReason") or ""), usage, problem))

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

    def _stop(self, turn_id: str, reason: str) -> None:
        found = self._turn(turn_id)
        if found is not None:
            found[1].stop(reason)
            self._rpc.notify("session/cancel", {"sessionId": found[0]})

    async def _steer(self, turn_id: str, text: str) -> None:
        """Hermes takes a second prompt that begins with /steer for a word to the one that runs."""
        found, is_applied = self._turn(turn_id), False
        if found is not None and self._has_steering and text.strip():
            params = {"sessionId": found[0], "prompt": [{"type": "text", "text": f"/steer {text}"}]}
            with contextlib.suppress(RpcError, WorkerDiedError):
                await self._rpc.request("session/prompt", params)
                is_applied = self._turn(turn_id) is not None
        if found is not None:
            self._emitter(found[1].start)("steer.received", {"text": text, "applied": is_applied})
        self._tell("steer.result", turn_id=turn_id, is_applied=is_applied, text=text)

    # -- what the agent says -----------------------------------------------------------------------------------------

    def _notice(self, method: str, params: Mapping[str, Any]) -> None:
        turn = self._turns.get(str(params.get("sessionId")))
        if method == "session/update" and turn is not None:
            turn.on_update(params.get("update") or {})

    async def _request(self, method: str, params: Mapping[str, Any]) -> Any:
        if method != "session/request_permission":
            raise LookupError(method)
        turn = self._turns.get(str(params.get("sessionId")))
        return {"outcome": {"outcome": "cancelled"}} if turn is None else await turn.ask(params)


def lack() -> str:
    """What is missing to run on it; "" when nothing is. The program is named by whoever makes one."""
    return ""
