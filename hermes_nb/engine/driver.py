"""Obeys the wire: binds agents, starts and steers turns, hands them what the kernel answers.

The thread that reads never works: binding and turns have threads of their own, so a stop is heard at once.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.durability.delta_batcher import DeltaPump
from hermes_nb.engine.durability.event_writer import EventWriter
from hermes_nb.engine.durability.journal import JournalError
from hermes_nb.engine.durability.recorder import new_id
from hermes_nb.engine.hermes import mcp_client
from hermes_nb.engine.hermes.agent import BindError, ModelRoute, WorkerAgent, kind_of, resolve
from hermes_nb.engine.hermes.bootstrap import Bootstrap, secrets_in
from hermes_nb.engine.hermes.outcome import ModelIdentity
from hermes_nb.engine.hermes.reachability import Reachability
from hermes_nb.engine.turn import EngineTurn
from hermes_nb.model.credential import hide
from hermes_nb.model.message import bare_agent, bare_turn
from hermes_nb.offline_model.endpoint import ChatServer as ChatEndpoint

if TYPE_CHECKING:
    from hermes_nb.model.message import BindKeys, KernelMessage, TurnStart
    from hermes_nb.model.message_part import AgentTold, ModelTold

_STOP_POLL_S = 0.05  # while Hermes is being imported


class _Binding:
    """An agent that is bound, or about to be."""

    def __init__(self) -> None:
        self.is_decided = threading.Event()
        self.agent: WorkerAgent | None = None
        self.problem: Exception | None = None


class Driver:
    """All agents and turns of a worker.

    Args:
        bootstrap: Hermes.
        outbox: The way out.
    """

    def __init__(self, bootstrap: Bootstrap, outbox: EventWriter) -> None:
        self._bootstrap = bootstrap
        self._outbox = outbox
        self._pump = DeltaPump()
        self._reach = Reachability()
        self._lock = threading.Lock()
        self._bind_lock = threading.Lock()
        self._build_lock = threading.Lock()
        self._bindings: dict[str, _Binding] = {}
        self._turns: dict[str, EngineTurn] = {}
        self._delegated: dict[str, EngineTurn] = {}
        self._offline: Any = None
        self._is_hooked = False

    def handle(self, message: KernelMessage) -> None:
        """Obey one message. One of an unknown kind (a newer kernel's) is ignored; one that lacks something is answered."""
        try:
            self._obey(message)
        except (KeyError, TypeError, ValueError, AttributeError, JournalError) as exc:
            kind = message.get("kind")
            said = f"{exc}" if isinstance(exc, JournalError) else f"The message {kind!r} can't be obeyed: {exc!r}."
            self._refuse(message, said, "StoreError" if isinstance(exc, JournalError) else "WireError")

    def _obey(self, message: KernelMessage) -> None:
        if message["kind"] == "bind":
            self._bind(message)
        elif message["kind"] == "unbind":
            self._unbind(message["agent_id"])
        elif message["kind"] == "warm":
            self._warm(message["agent_id"])
        elif message["kind"] == "turn.start":
            self._start(message)
        elif message["kind"] == "shutdown" or message["kind"] == "malformed":
            pass
        elif (turn := self._turn(message.get("turn_id"))) is not None:
            self._of_turn(turn, message)

    def _of_turn(self, turn: EngineTurn, message: KernelMessage) -> None:
        if message["kind"] == "turn.stop":
            turn.stop(message.get("reason") or "user")
        elif message["kind"] == "turn.steer":
            turn.steer(message.get("text") or "")
        elif message["kind"] == "tool.result":
            turn.on_tool_result(message)
        elif message["kind"] == "budget.answer":
            turn.on_budget_answer(message)
        elif message["kind"] == "answer":
            turn.answer(message["request_id"], message.get("answer"))

    def _turn(self, turn_id: object) -> EngineTurn | None:
        with self._lock:
            return self._turns.get(str(turn_id))

    def _refuse(self, message: KernelMessage, error: str, error_type: str) -> None:
        print(error, file=sys.stderr)
        if message["kind"] == "bind":
            self._outbox.send(
                "bind.failed", agent_id=str(message.get("agent_id")), error=error, error_type=error_type, hint=""
            )
        elif message["kind"] == "turn.start":
            self._outbox.send(
                "turn.done",
                turn_id=str(message.get("turn_id")),
                status="failed",
                text="",
                usage=None,
                cost_usd=None,
                error=error,
                error_type=error_type,
                hint="",
                n_model_calls=0,
                exit_reason="refused",
                raw={},
            )

    # -- agents ----------------------------------------------------------------------------------------------------

    def _bind(self, message: BindKeys) -> None:
        spec = message["agent"]
        binding = _Binding()
        told = spec.get("model") or {}
        self._outbox.masker.add(*secrets_in(spec.get("config")))
        for server in (spec.get("mcp") or {}).values():
            self._outbox.masker.add(*mcp_client.values(server))
        for route in (told, *(told.get("fallbacks") or ())):
            self._outbox.masker.add(str(route.get("api_key") or ""))
            hide(self._outbox.masker, route.get("base_url"))
        with self._lock:
            old = self._bindings.pop(str(message["agent_id"]), None)
            self._bindings[str(message["agent_id"])] = binding  # the last one of the dict
        self._thread("bind", lambda: self._decide(str(message["agent_id"]), spec, binding, old))

    def _decide(self, agent_id: str, spec: AgentTold, binding: _Binding, old: _Binding | None) -> None:
        try:
            with self._bind_lock:
                hermes = self._bootstrap.hermes()
                self._hook(hermes)
                model, endpoint = self._endpoint(hermes, spec.get("model") or {})
                self._outbox.masker.add(endpoint.api_key)
                hide(self._outbox.masker, endpoint.base_url)
                binding.agent = WorkerAgent(spec, hermes, model, endpoint, self._bootstrap.configured)
        except Exception as exc:  # noqa: BLE001 - told to the kernel, with its cure
            binding.problem = exc
        finally:
            binding.is_decided.set()
        if old is not None and old.agent is not None:
            old.agent.close()
        if binding.agent is not None:
            self._outbox.send(
                "bound",
                agent_id=agent_id,
                host=binding.agent.model.host,
                toolsets=binding.agent.toolsets,
                tools_by_toolset=binding.agent.offered,
                model={
                    "id": binding.agent.model.id,
                    "provider": binding.agent.model.provider,
                    "base_url": binding.agent.model.base_url,
                },
            )
        else:
            problem = binding.problem
            self._outbox.send(
                "bind.failed",
                agent_id=agent_id,
                error=str(problem),
                error_type=kind_of(problem),
                hint=getattr(problem, "hint", ""),
            )
        self._build_ahead(agent_id, binding)

    def _build_ahead(self, agent_id: str, binding: _Binding) -> None:
        """Build what the first turn needs while the user types: of agents bound in a row, for the last one alone."""
        with self._build_lock:
            with self._lock:
                is_wanted = not self._turns and next(reversed(self._bindings), None) == agent_id
                is_wanted = is_wanted and self._bindings[agent_id] is binding
            if is_wanted and binding.agent is not None:
                binding.agent.build_ahead()

    def _endpoint(self, hermes: Any, model: ModelTold) -> tuple[ModelIdentity, ModelRoute]:
        if str(model.get("provider")) != "offline":
            return resolve(hermes, model)
        if self._offline is None:
            endpoint = _offline_endpoint()
            self._offline = (endpoint, endpoint.start())
        base_url = str(self._offline[1])
        return ModelIdentity(str(model.get("id") or "hermes-nb-offline"), "offline", base_url), ModelRoute(
            "custom", base_url, "not-needed"
        )

    def _unbind(self, agent_id: str) -> None:
        with self._lock:
            binding = self._bindings.pop(agent_id, None)
        if binding is not None and binding.agent is not None:
            binding.agent.close()

    # -- turns -----------------------------------------------------------------------------------------------------

    def _start(self, message: TurnStart) -> None:
        turn = EngineTurn(message, self._outbox, self._pump, self._reach)
        with self._lock:
            self._turns[turn.turn_id] = turn
            binding = self._bindings.get(turn.agent_id)
        self._thread(f"turn-{turn.turn_id[:8]}", lambda: self._run(turn, binding))

    def _run(self, turn: EngineTurn, binding: _Binding | None) -> None:
        try:
            if binding is None:
                turn.run(None, None, BindError(f"No agent {turn.agent_id!r} is bound in this worker.", kind="WorkerError"))
                return
            turn.start_clock()
            while not binding.is_decided.wait(_STOP_POLL_S) and not turn.is_stopping:
                continue
            hermes = self._bootstrap.hermes() if binding.agent is not None else None
            turn.run(binding.agent, hermes, binding.problem)
        finally:
            with self._lock:
                if self._turns.get(turn.turn_id) is turn:  # a resumed turn has the same id
                    del self._turns[turn.turn_id]
                self._delegated = {s: t for s, t in self._delegated.items() if t is not turn}

    # -- Hermes's side ---------------------------------------------------------------------------------------------

    def _hook(self, hermes: Any) -> None:
        """One dispatcher per process: Hermes has no unregister."""
        if self._is_hooked:
            return
        self._is_hooked = True
        hermes.plugins.register_middleware("llm_execution", self._llm)
        hermes.plugins.register_middleware("tool_execution", self._tool)
        hermes.plugins.register_hook("subagent_start", self._on_delegated)
        hermes.plugins.register_hook("subagent_stop", self._on_returned)

    def _turn_of(self, context: Mapping[str, Any]) -> EngineTurn | None:
        with self._lock:
            return self._turns.get(str(context.get("task_id"))) or self._delegated.get(str(context.get("session_id")))

    def _on_delegated(self, **context: Any) -> None:
        parent, child = str(context.get("parent_session_id")), str(context.get("child_session_id"))
        turn_id = str(context.get("parent_turn_id"))
        with self._lock:
            turn = self._delegated.get(parent) or next((t for t in self._turns.values() if t.turn_id in turn_id), None)
            if turn is None:
                return
            self._delegated[child] = turn
        turn.on_delegated(child, parent, str(context.get("child_role") or "agent"), str(context.get("child_goal") or ""))

    def _on_returned(self, **context: Any) -> None:
        child = str(context.get("child_session_id"))
        with self._lock:
            turn = self._delegated.pop(child, None)
        if turn is not None:
            turn.on_returned(child, str(context.get("child_summary") or ""), str(context.get("child_status") or ""))

    def _llm(self, request: Any, next_call: Callable[..., Any], **context: Any) -> Any:
        turn = self._turn_of(context)
        return next_call(request) if turn is None else turn.call_model(request, next_call, context)

    def _tool(self, tool_name: str, args: Any, next_call: Callable[..., Any], **context: Any) -> Any:
        turn = self._turn_of(context)
        return next_call(args) if turn is None else turn.call_tool(tool_name, args, next_call, context)

    # -- warming ---------------------------------------------------------------------------------------------------

    def _warm(self, agent_id: str) -> None:
        with self._lock:
            binding = self._bindings.get(agent_id)
        self._thread("warm", lambda: self._warm_up(agent_id, binding))

    def _warm_up(self, agent_id: str, binding: _Binding | None) -> None:
        """One turn against an endpoint of our own, by the same code, recorded nowhere; not while a turn runs."""
        started = time.monotonic()
        problem = ""
        if binding is None or not binding.is_decided.wait() or binding.agent is None:
            problem = "its agent is not bound"
        elif not self._turns:
            endpoint = ChatEndpoint(lambda request: ["Ready."], model="warm-up", name="hermes-nb-warm-up")
            try:
                base_url = endpoint.start()
                hermes = self._bootstrap.hermes()
                model = ModelIdentity("warm-up", "custom", base_url)
                spec = bare_agent("warm-up", {"id": "warm-up", "provider": "custom"})
                agent = WorkerAgent(spec, hermes, model, ModelRoute("custom", base_url, "-"), self._bootstrap.configured)
                problem = self._run_unseen(agent, hermes)
                agent.close()
            finally:
                endpoint.close()
        duration_ms = round((time.monotonic() - started) * 1000, 3)
        self._outbox.send("warmed", agent_id=agent_id, duration_ms=duration_ms, is_ok=not problem, error=problem or None)

    def _run_unseen(self, agent: WorkerAgent, hermes: Any) -> str:
        """Run that turn; returns why it failed, "" when it did not."""
        ends: list[Mapping[str, Any]] = []
        outbox = EventWriter("", None, lambda kind, **keys: ends.append(keys), self._outbox.masker)
        start = bare_turn(f"warm-{new_id()}", session_id="warm-up", agent_id="", prompt="Ready?")
        turn = EngineTurn(start, outbox, self._pump, self._reach)
        with self._lock:
            self._turns[turn.turn_id] = turn
        try:
            turn.run(agent, hermes, None)
        finally:
            with self._lock:
                self._turns.pop(turn.turn_id, None)
        done: Mapping[str, Any] = ends[-1] if ends else {}
        return "" if done.get("status") == "completed" else str(done.get("error") or "it did not end")

    def _thread(self, name: str, target: Callable[[], None]) -> None:
        threading.Thread(target=target, name=f"hermes-nb-{name}", daemon=True).start()

    def close(self) -> None:
        """Stop what runs, let go of what is held."""
        with self._lock:
            turns = list(self._turns.values())
        for turn in turns:
            turn.stop("closed")
        mcp_client.end_all()
        if self._offline is not None:
            self._offline[0].close()


def _offline_endpoint() -> Any:
    """The embedded model's endpoint; imported when needed, it carries a thesaurus."""
    return importlib.import_module("hermes_nb.offline_model.served").OfflineEndpoint()
