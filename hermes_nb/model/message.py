"""The messages between a kernel and its worker, as types: what crosses the wire, in both directions.

`hermes_nb.engine.wire` carries them. Each kind has one class, with `kind` as its tag, so that a type checker knows the keys
of a message once its kind is known; `hermes_nb.model.message_sender` has the two ends that write. Keys that an older or
newer end may leave out are `NotRequired`. All times are seconds since 1970 (`..._unix_s`), durations milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from hermes_nb.model.message_part import (
    AgentTold,
    ChatMessage,
    ImageTold,
    Json,
    KeptTold,
    LimitTold,
    ModelSaid,
    ModelTold,
    ReplayTold,
    ToolsetSaid,
)
from hermes_nb.model.status import Answer, StopReason, TurnStatus


# -- from the kernel, without `v` and `kind` -----------------------------------------------------------------------------
class BindKeys(TypedDict):
    """An agent is bound, or bound anew."""

    agent_id: str
    agent: AgentTold


class AgentKeys(TypedDict):
    """An agent is unbound, or is to be warmed up by a throw-away turn."""

    agent_id: str


class TurnStartKeys(TypedDict):
    """A turn begins.

    `prompt` is a text or content parts, `history` the conversation before it, `date` the session's first day, `tools` are
    `ToolSpec` dicts, `labels` go into `turn.started`. Of a turn that continues: `is_changed` says that its agent is another
    by now, `declined` names calls that are not to run again, `kept` is what earlier attempts kept, for a worker that has no
    journal of its own. `plan` is what a runtime prepared for it.
    """

    turn_id: str
    session_id: str
    agent_id: str
    prompt: str | list[Json]
    history: list[ChatMessage]
    attempt: int
    date: str
    tools: list[Json]
    timeout_s: float | None
    runtime: str
    n_prior_turns: int
    labels: NotRequired[Json]
    budget: NotRequired[list[LimitTold]]
    is_changed: NotRequired[bool]
    declined: NotRequired[list[tuple[str, str]]]
    kept: NotRequired[KeptTold]
    plan: NotRequired[Any]
    replay: NotRequired[ReplayTold]


class TurnStopKeys(TypedDict):
    """A turn is to end; ignored when it does not run."""

    turn_id: str
    reason: StopReason


class TurnSteerKeys(TypedDict):
    """A word to the model while it works."""

    turn_id: str
    text: str


class ToolResultKeys(TypedDict):
    """How a call of a notebook tool ended; `result_chars` is its length before it was cut."""

    turn_id: str
    call_id: str
    status: str
    result: str
    result_chars: int
    started_at_unix_s: NotRequired[float]
    duration_ms: NotRequired[float | None]
    error_type: NotRequired[str | None]
    error: NotRequired[str | None]
    images: NotRequired[list[ImageTold]]


class StepStoredKeys(TypedDict):
    """That step is on the kernel's disk; `error` says why it can't be."""

    step: int
    error: NotRequired[str]


class BudgetAnswerKeys(TypedDict):
    """A call may begin, unless a limit is reached: what was spent of each shared limit, in the order of `budget`.

    None where a call did not report its tokens.
    """

    turn_id: str
    call_id: str
    spent: Sequence[float | None]


class AnswerKeys(TypedDict):
    """A person answered an approval or a question."""

    turn_id: str
    request_id: str
    answer: Answer | str


class NoKeys(TypedDict):
    """Nothing besides the kind."""


# -- from the worker, without `v` and `kind` -----------------------------------------------------------------------------
class EngineFoundKeys(TypedDict):
    """Which Hermes a worker is started with, and where it was found."""

    source: str
    hermes: str
    python: str


class TextKeys(TypedDict):
    """A line on an engine environment that is being made."""

    text: str


class ReadyKeys(TypedDict):
    """The worker answers; what its Hermes is, can do and lacks. `problem` is why it can't be used, or ""."""

    producer: str
    pid: NotRequired[int | None]
    protocol: NotRequired[int]
    python: NotRequired[str]
    distribution: NotRequired[str]
    hermes_agent: NotRequired[str]
    capabilities: NotRequired[list[str]]
    missing: NotRequired[list[str]]
    problem: NotRequired[str]


class BoundKeys(TypedDict):
    """An agent is bound: its model and host, the toolsets it declared, and which tools they give."""

    agent_id: str
    host: str
    toolsets: Sequence[str]
    model: ModelSaid
    tools_by_toolset: NotRequired[Mapping[str, ToolsetSaid]]


class BindFailedKeys(TypedDict):
    """An agent can't be bound; `hint` is what to do."""

    agent_id: str
    error: str
    error_type: str
    hint: str


class WarmedKeys(TypedDict):
    """The throw-away turn is over."""

    agent_id: str
    duration_ms: float
    is_ok: bool
    error: NotRequired[str | None]


class EventKeys(TypedDict):
    """An event (`hermes_nb.model.event`), committed to the journal before it is sent."""

    event: Json


class StepKeptKeys(TypedDict):
    """A step to keep, of a worker whose journal is the kernel's: it waits for `step.stored` before it uses it."""

    step: int
    table: Literal["responses", "tool_results"]
    fields: Json
    at_unix_s: float


class ToolCallKeys(TypedDict):
    """The model asks for a notebook tool; `arguments` is raw JSON text, `call_id` the span of the call."""

    turn_id: str
    call_id: str
    name: str
    arguments: str
    session_id: NotRequired[str]
    span_id: NotRequired[str]


class CallKeys(TypedDict):
    """A call that nobody waits for any more, or that is over under a shared limit."""

    turn_id: str
    call_id: str


class BudgetAskKeys(TypedDict):
    """A model call under a shared limit waits for `budget.answer`: the most it can come to, None when unknown."""

    turn_id: str
    call_id: str
    n_tokens: int | None
    cost_usd: float | None
    is_free: bool


class SteerResultKeys(TypedDict):
    """Whether a word to the model was heard."""

    turn_id: str
    is_applied: bool
    text: str


class TurnDoneKeys(TypedDict):
    """A turn is over, after its last event and with the same outcome; `raw` is Hermes's own result without messages."""

    turn_id: str
    status: TurnStatus
    text: str
    usage: Mapping[str, int] | None
    cost_usd: float | None
    error: str | None
    error_type: str | None
    hint: str | None
    n_model_calls: int
    exit_reason: str
    raw: Json


class FatalKeys(TypedDict):
    """The worker ends after this."""

    error: str
    error_type: str


# -- as they are read ----------------------------------------------------------------------------------------------------
class Bind(BindKeys):
    """The message `bind`, as it is read."""

    kind: Literal["bind"]


class Unbind(AgentKeys):
    """The message `unbind`, as it is read."""

    kind: Literal["unbind"]


class Warm(AgentKeys):
    """The message `warm`, as it is read."""

    kind: Literal["warm"]


class TurnStart(TurnStartKeys):
    """The message `turn.start`, as it is read."""

    kind: Literal["turn.start"]


class TurnStop(TurnStopKeys):
    """The message `turn.stop`, as it is read."""

    kind: Literal["turn.stop"]


class TurnSteer(TurnSteerKeys):
    """The message `turn.steer`, as it is read."""

    kind: Literal["turn.steer"]


class ToolResult(ToolResultKeys):
    """The message `tool.result`, as it is read."""

    kind: Literal["tool.result"]


class StepStored(StepStoredKeys):
    """The message `step.stored`, as it is read."""

    kind: Literal["step.stored"]


class BudgetAnswer(BudgetAnswerKeys):
    """The message `budget.answer`, as it is read."""

    kind: Literal["budget.answer"]


class AnswerTold(AnswerKeys):
    """The message `answer`, as it is read."""

    kind: Literal["answer"]


class Shutdown(TypedDict):
    """The message `shutdown`, as it is read."""

    kind: Literal["shutdown"]


class Malformed(TypedDict):
    """A line that is no message."""

    kind: Literal["malformed"]
    line: str


KernelMessage = (
    Bind
    | Unbind
    | Warm
    | TurnStart
    | TurnStop
    | TurnSteer
    | ToolResult
    | StepStored
    | BudgetAnswer
    | AnswerTold
    | Shutdown
    | Malformed
)


class EngineFound(EngineFoundKeys):
    """The message `engine.found`, as it is read."""

    kind: Literal["engine.found"]


class EngineProgress(TextKeys):
    """The message `engine.progress`, as it is read."""

    kind: Literal["engine.progress"]


class Ready(ReadyKeys):
    """The message `ready`, as it is read."""

    kind: Literal["ready"]


class Bound(BoundKeys):
    """The message `bound`, as it is read."""

    kind: Literal["bound"]


class BindFailed(BindFailedKeys):
    """The message `bind.failed`, as it is read."""

    kind: Literal["bind.failed"]


class Warmed(WarmedKeys):
    """The message `warmed`, as it is read."""

    kind: Literal["warmed"]


class EventSaid(EventKeys):
    """The message `event`, as it is read."""

    kind: Literal["event"]


class StepKept(StepKeptKeys):
    """The message `step.kept`, as it is read."""

    kind: Literal["step.kept"]


class ToolCalled(ToolCallKeys):
    """The message `tool.call`, as it is read."""

    kind: Literal["tool.call"]


class ToolAbandoned(CallKeys):
    """The message `tool.abandon`, as it is read."""

    kind: Literal["tool.abandon"]


class BudgetAsked(BudgetAskKeys):
    """The message `budget.ask`, as it is read."""

    kind: Literal["budget.ask"]


class BudgetDone(CallKeys):
    """The message `budget.done`, as it is read."""

    kind: Literal["budget.done"]


class SteerResult(SteerResultKeys):
    """The message `steer.result`, as it is read."""

    kind: Literal["steer.result"]


class TurnDone(TurnDoneKeys):
    """The message `turn.done`, as it is read."""

    kind: Literal["turn.done"]


class Fatal(FatalKeys):
    """The message `fatal`, as it is read."""

    kind: Literal["fatal"]


WorkerMessage = (
    EngineFound
    | EngineProgress
    | Ready
    | Bound
    | BindFailed
    | Warmed
    | EventSaid
    | StepKept
    | ToolCalled
    | ToolAbandoned
    | BudgetAsked
    | BudgetDone
    | SteerResult
    | TurnDone
    | Fatal
    | Malformed
)
OnMessage = Callable[[WorkerMessage], None]


# -- the least of each ---------------------------------------------------------------------------------------------------
def bare_agent(name: str, model: ModelTold) -> AgentTold:
    """An agent with a model and nothing else."""
    return {
        "name": name,
        "instructions": "",
        "model": model,
        "tools": [],
        "toolsets": [],
        "max_turns": None,
        "config": {},
    }


def bare_turn(turn_id: str, *, session_id: str, agent_id: str, prompt: str) -> TurnStart:
    """A first turn with a prompt and nothing else."""
    return {
        "kind": "turn.start",
        "turn_id": turn_id,
        "session_id": session_id,
        "agent_id": agent_id,
        "prompt": prompt,
        "history": [],
        "attempt": 1,
        "date": "",
        "tools": [],
        "timeout_s": None,
        "runtime": "",
        "n_prior_turns": 0,
    }
