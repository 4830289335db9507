"""What runs inside a turn's task: the turn, through the adapter, with our recorder around it."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import pickle
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hermes_nb import _settings
from hermes_nb.engine.durability.delta_batcher import DeltaPump
from hermes_nb.engine.durability.event_writer import EventWriter
from hermes_nb.engine.durability.journal import Journal
from hermes_nb.engine.hermes.agent import ModelRoute, resolve
from hermes_nb.engine.hermes.bootstrap import Bootstrap
from hermes_nb.engine.hermes.outcome import ModelIdentity
from hermes_nb.engine.hermes.reachability import Reachability
from hermes_nb.engine.tool_executor import same_arguments
from hermes_nb.flyte import _sdk
from hermes_nb.flyte.promotion.spec import Spec
from hermes_nb.flyte.task.call import masked_log, run_call
from hermes_nb.flyte.task.memory import Memory
from hermes_nb.flyte.task.middleware import seam
from hermes_nb.flyte.task.report import ReplayedRows, Reporter
from hermes_nb.flyte.task.turn import FlyteAgent, FlyteTurn
from hermes_nb.model.event import Event
from hermes_nb.model.mask import Masker
from hermes_nb.model.sentence import join
from hermes_nb.model.toolspec import ToolSpec
from hermes_nb.tools.builtin import ResultStore, more_tool
from hermes_nb.tools.call import denied
from hermes_nb.tools.secret import declare

if TYPE_CHECKING:
    from hermes_nb.model.message import TurnStart
    from hermes_nb.model.message_part import AgentTold, ModelTold

_FATAL = frozenset({"ModelAuthError", "UsageError", "ToolNameError", "UnknownNameError"})  # a retry ends the same way

Sink = Callable[[dict[str, Any]], None]
sinks: list[Sink] = []
"""Who hears every event at once, as a dict: a local run's way to the notebook."""
places: list[str] = []
"""Where the turns of this process put their report, by attempt."""

_attempts: dict[str, int] = {}  # of turns in this process; a cluster counts them itself
_pump = DeltaPump()


async def run_turn(spec_json: str, inline: bytes, children: Mapping[str, Any], prompt: str, request: str) -> str:
    """The answer of one turn.

    Args:
        spec_json: `Spec.to_json`.
        inline: Pickled list of the tools that run here.
        children: Tasks of the other tools, by name.
        prompt: What is asked.
        request: JSON: turn_id, session_id, history (messages), date, attempt, home (a folder for Hermes).

    Raises:
        RuntimeError: The turn failed; Flyte tries again, if it may. A failure that can't end otherwise is not tried again.
    """
    flyte = _sdk.sdk()
    spec, order = Spec.from_json(spec_json), json.loads(request)
    action = flyte.ctx().action
    places.append(str(flyte.ctx().output_path))
    attempt = _attempt(flyte.ctx(), str(order["turn_id"])) + int(order.get("attempt") or 1) - 1
    folder = Path(order.get("home") or Path(tempfile.gettempdir()) / "hermes-nb")
    declared = [v for name in (spec.key_variable, *spec.secrets) if name and (v := _settings.variable(name))]
    masker = Masker(_settings.secrets().values())
    declare(masker, declared)
    reporter = Reporter()
    await reporter.recall(flyte.ctx())
    ours = ReplayedRows() if flyte.ctx().mode == "local" else None

    def send(kind: str, /, **keys: Any) -> None:
        if kind == "event":
            event = Event.from_dict(keys["event"])
            reporter.add(event)
            if ours is not None:
                ours.add(event)
            for sink in sinks:
                sink(keys["event"])

    bootstrap = Bootstrap(folder / "home", masker)
    bootstrap.prepare()
    hermes = await asyncio.to_thread(bootstrap.hermes)
    await seam.open(hermes)
    producer = f"{action.run_name}.{action.name}.{attempt}"
    # A cluster's record is Flyte's; the journal answers a retry where Flyte keeps nothing.
    journal = order["turn_id"] if flyte.ctx().mode == "local" else producer
    outbox = EventWriter(producer, Journal(folder / f"{journal}.db", producer), send, masker)
    message = cast(
        "TurnStart",
        {
            **order,
            "prompt": order.get("prompt_parts") or prompt,
            "agent_id": spec.agent,
            "attempt": attempt,
            "tools": [_known(t) for t in spec.tools],
            "runtime": order.get("runtime") or "flyte",
        },
    )
    turn = FlyteTurn(message, outbox, _pump, Reachability())
    dispatch = _Dispatch(turn, children, _loads(inline), masker, declined=order.get("declined") or ())
    model, endpoint = _endpoint(hermes, spec)
    profile: AgentTold = {
        "name": spec.agent,
        "model": spec.model,
        "instructions": spec.instructions,
        "toolsets": list(spec.toolsets),
        "max_turns": spec.max_turns,
        "tools": message["tools"],
        "config": dict(spec.config),
    }
    memory = Memory(spec.memory_key, order.get("history") or [])
    await memory.seed()

    def bind() -> FlyteAgent:
        return FlyteAgent(profile, hermes, model, endpoint, bootstrap.configured, register=dispatch.register)

    conversation = Conversation(turn, bind, hermes, memory)
    seam.add(turn.turn_id, turn)
    try:
        with masked_log(masker):
            async with reporter.running():
                answer: str = await _sdk.adapter().run_agent(
                    prompt, agent=conversation, name=spec.agent, memory_key=spec.memory_key or None
                )
    finally:
        seam.remove(turn.turn_id)
    return _checked(flyte, turn, answer)


def _checked(flyte: Any, turn: FlyteTurn, answer: str) -> str:
    end = turn.end
    if end is None or end.status != "failed":
        return answer
    text = join(end.error, end.hint)
    if end.error_type in _FATAL:
        raise flyte.errors.NonRecoverableError(message=text)
    raise RuntimeError(text)


def _attempt(context: Any, turn_id: str) -> int:
    """1 for the first try: as the backend counts, else as often as this process has seen the turn."""
    _attempts[turn_id] = _attempts.get(turn_id, 0) + 1
    return max(int(context.attempt_number) + 1, _attempts[turn_id])


def _known(shipped: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in shipped.items() if k != "how"}


def _loads(data: bytes) -> dict[str, Any]:
    return {tool.name: tool for tool in pickle.loads(data)} if data else {}


def _endpoint(hermes: Any, spec: Spec) -> tuple[ModelIdentity, ModelRoute]:
    if spec.model["provider"] == "offline":
        from hermes_nb.offline_model.served import OfflineEndpoint

        base_url = OfflineEndpoint().start()
        return ModelIdentity(str(spec.model["id"]), "offline", base_url), ModelRoute("custom", base_url, "not-needed")
    key = _settings.variable(spec.key_variable) if spec.key_variable else None
    route: ModelTold = {**spec.model, "api_key": key or "not-needed" if spec.model["provider"] == "custom" else key}
    return resolve(hermes, route)


class Conversation:
    """What the adapter takes for an AIAgent: it runs the turn, on the adapter's thread, within its record."""

    def __init__(self, turn: FlyteTurn, bind: Callable[[], FlyteAgent], hermes: Any, memory: Memory) -> None:
        self._turn, self._bind, self._hermes, self._memory = turn, bind, hermes, memory

    def run_conversation(self, prompt: str, *, conversation_history: Any = None, **options: Any) -> dict[str, Any]:
        """The turn's answer, as the adapter wants it."""
        del prompt, options  # the turn has its prompt
        if self._memory.knows_more(conversation_history):
            self._turn.remember([dict(m) for m in conversation_history])
        bound: FlyteAgent | None = None
        problem: Exception | None = None
        try:
            bound = self._bind()
        except Exception as exc:  # noqa: BLE001 - the turn says it, with its cure
            problem = exc
        self._turn.run(bound, self._hermes if bound is not None else None, problem)
        return {"final_response": self._turn.end.text if self._turn.end is not None else ""}


class _Dispatch:
    """Runs a call of a shipped tool: as a child action, as the user's task, or right here."""

    def __init__(
        self,
        turn: FlyteTurn,
        children: Mapping[str, Any],
        inline: Mapping[str, Any],
        masker: Masker,
        *,
        declined: Iterable[Sequence[str]] = (),
    ) -> None:
        self._turn, self._children, self._inline, self._masker = turn, children, inline, masker
        self._declined = [(name, arguments) for name, arguments in declined]
        self._results = ResultStore()

    def register(self, spec: ToolSpec) -> None:
        """Hand a tool to the adapter, which registers it with Hermes and draws its row."""

        async def call(**arguments: Any) -> str:
            return await self._run(spec, arguments)

        # The model sees the schema compiled in the notebook; this one is only asked for by the adapter.
        call.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        call.__annotations__ = {}
        _sdk.adapter().tool(call, name=spec.name, description=spec.description)

    async def _run(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
        raw = json.dumps(arguments, ensure_ascii=False)
        child = self._children.get(spec.name)
        refused = next((d for d in self._declined if d[0] == spec.name and same_arguments(d[1], raw)), None)
        if refused is not None:
            self._declined.remove(refused)
            outcome: Mapping[str, Any] = asdict(denied("The user did not allow this call."))
        elif child is None and spec.name not in self._inline:
            outcome = await run_call(more_tool(self._results, max_result_chars=spec.max_result_chars), raw, self._masker)
        elif child is None:
            outcome = await run_call(self._inline[spec.name], raw, self._masker, results=self._results)
        elif spec.name in self._inline:  # the user's task: its arguments are built here, its result made text here
            task = replace(self._inline[spec.name], function=child.aio)
            outcome = await run_call(task, raw, self._masker, awaits=True, results=self._results)
        else:
            outcome = json.loads(await child.aio(raw))
            if outcome.get("kept"):
                self._results.restore(*pickle.loads(base64.b64decode(outcome["kept"])))
        self._turn.outcomes.put(spec.name, raw, outcome)
        return str(outcome["content"])
