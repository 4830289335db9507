"""A turn as the engine runs it, whose tools go through Flyte's adapter instead of to a kernel."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.durability.journal import ToolResult
from hermes_nb.engine.durability.recorder import Recorder
from hermes_nb.engine.hermes.agent import FLYTE_TOOLSET, WorkerAgent
from hermes_nb.engine.hermes.approval_policy import Door
from hermes_nb.engine.hermes.human_input import HumanInput
from hermes_nb.engine.hermes.outcome import Outcome
from hermes_nb.engine.tool_executor import Call, ToolExecutor, same_arguments
from hermes_nb.engine.turn import EngineTurn
from hermes_nb.model.toolspec import ToolSpec

if TYPE_CHECKING:
    from hermes_nb.model.message_part import AgentTold

_PASSED = ("status", "result_chars", "error_type", "error")


class Outcomes:
    """How calls of shipped tools ended, until the call that asked picks them up; thread-safe."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, str, Mapping[str, Any]]] = []
        self._lock = threading.Lock()

    def put(self, name: str, arguments: str, outcome: Mapping[str, Any]) -> None:
        """A call ended."""
        with self._lock:
            self._kept.append((name, arguments, outcome))

    def take(self, name: str, arguments: str) -> Mapping[str, Any] | None:
        """The oldest outcome of that call; None when the call never got as far as the tool."""
        with self._lock:
            for i, (n, a, outcome) in enumerate(self._kept):
                if n == name and same_arguments(a, arguments):
                    del self._kept[i]
                    return outcome
        return None


class ChildToolbox(ToolExecutor):
    """Calls of the agent's own tools go on through Hermes to the adapter, and are recorded on the way back."""

    def __init__(self, *args: Any, outcomes: Outcomes) -> None:
        super().__init__(*args)
        self._outcomes = outcomes

    def _let_in(self, call: Call, args: Mapping[str, Any]) -> contextlib.AbstractContextManager[None] | None:
        return contextlib.nullcontext() if call.name in self.specs else super()._let_in(call, args)

    def _asks_kernel(self, name: str) -> bool:
        return False

    def _mark(self, call: Call) -> dict[str, Any]:
        return {} if call.name in self.specs else super()._mark(call)

    def _told(self, call: Call, text: str) -> dict[str, Any]:
        if call.name not in self.specs:
            return super()._told(call, text)
        told = self._outcomes.take(call.name, call.arguments) or {"status": "error", "error": text[:500]}
        for stream, printed in told.get("printed") or ():
            data = {"tool_call_id": call.tool_call_id, "name": call.name, "stream": stream, "text": printed}
            self._recorder.emit("tool.output", data, span_id=call.span_id)
        return {k: told[k] for k in _PASSED if told.get(k)}


class Unattended(HumanInput):
    """Questions of a turn that nobody watches: refused, or allowed beforehand, and told either way.

    Args:
        is_allowed: Whether what asks for approval may run (`Flyte(yes=True)`).
    """

    def __init__(self, recorder: Recorder, *, is_allowed: bool) -> None:
        super().__init__(recorder)
        self._is_allowed = is_allowed
        self.close()

    def _ask(self, kind: str, data: dict[str, Any], *, default: str, span_id: str | None = None) -> Any:
        answer = "once" if kind == "approval" and self._is_allowed else default
        return super()._ask(kind, data, default=answer, span_id=span_id)


class FlyteTurn(EngineTurn):
    """One turn inside a task.

    Attributes:
        outcomes: Where the adapter's tools leave how they ended.
        end: How the turn ended; None while it runs.
    """

    def __init__(self, *args: Any) -> None:
        self.outcomes = Outcomes()
        self.end: Outcome | None = None
        self._is_of_memory = False
        super().__init__(*args)
        self._questions.close()  # nobody is there to answer

    def _make_toolbox(self, recorder: Recorder, kept: Mapping[str, ToolResult]) -> ToolExecutor:
        door = Door(self._questions, self.turn_id)
        return ChildToolbox(recorder, self._outbox, self._tools, kept, door, outcomes=self.outcomes)

    def _make_questions(self) -> HumanInput:
        return Unattended(self._recorder, is_allowed=bool(self._message.get("yes")))

    def remember(self, messages: list[dict[str, Any]]) -> None:
        """Go on from the memory store's conversation; the notebook takes it over with the turn's end."""
        self._history = messages
        self._is_of_memory = True

    def _other_messages(self, result: Mapping[str, Any], end: Outcome) -> dict[str, Any]:
        if self._is_of_memory:
            self._is_compressed = True  # the whole conversation is told, as after a compression
        return super()._other_messages(result, end)

    def _finish(self, end: Outcome, result: Mapping[str, Any], model: Any) -> None:
        self.end = end
        super()._finish(end, result, model)


class FlyteAgent(WorkerAgent):
    """A bound agent whose tools are registered by the adapter.

    Args:
        register: Registers a tool by name with the adapter.
    """

    def __init__(
        self,
        spec: AgentTold,
        hermes: SimpleNamespace,
        model: Any,
        endpoint: Any,
        configured: Any,
        *,
        register: Callable[[ToolSpec], None],
    ) -> None:
        super().__init__(spec, hermes, model, endpoint, configured)
        self._register_one = register

    def _register(self, tools: Mapping[str, ToolSpec]) -> list[str]:
        for spec in tools.values():
            self._register_one(spec)
        return [FLYTE_TOOLSET] if tools else []

    def take(self, session_id: str, tools: Mapping[str, ToolSpec], *, is_resumed: bool = False) -> Any:
        """An AIAgent for one turn, which sees its own tools of Flyte's toolset and no other agent's."""
        agent = super().take(session_id, tools, is_resumed=is_resumed)
        hidden = {
            name
            for name in agent.valid_tool_names - set(tools)
            if self._hermes.registry.get_toolset_for_tool(name) == FLYTE_TOOLSET
        }
        agent.tools = [d for d in agent.tools if d["function"]["name"] not in hidden]
        agent.valid_tool_names = agent.valid_tool_names - hidden
        return agent
