"""The two ends of the wire that write: a type checker holds the keys of each message against its kind."""

from __future__ import annotations

from typing import Literal, Protocol, Unpack, overload

from hermes_nb.model.message import (
    AgentKeys,
    AnswerKeys,
    BindFailedKeys,
    BindKeys,
    BoundKeys,
    BudgetAnswerKeys,
    BudgetAskKeys,
    CallKeys,
    EngineFoundKeys,
    EventKeys,
    FatalKeys,
    NoKeys,
    ReadyKeys,
    SteerResultKeys,
    StepKeptKeys,
    StepStoredKeys,
    TextKeys,
    ToolCallKeys,
    ToolResultKeys,
    TurnDoneKeys,
    TurnStartKeys,
    TurnSteerKeys,
    TurnStopKeys,
    WarmedKeys,
)


class SendToWorker(Protocol):
    """Writes one message to a worker; a type checker holds its keys against its kind."""

    @overload
    def __call__(self, kind: Literal["bind"], /, **keys: Unpack[BindKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["unbind", "warm"], /, **keys: Unpack[AgentKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["turn.start"], /, **keys: Unpack[TurnStartKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["turn.stop"], /, **keys: Unpack[TurnStopKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["turn.steer"], /, **keys: Unpack[TurnSteerKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["tool.result"], /, **keys: Unpack[ToolResultKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["step.stored"], /, **keys: Unpack[StepStoredKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["budget.answer"], /, **keys: Unpack[BudgetAnswerKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["answer"], /, **keys: Unpack[AnswerKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["shutdown"], /, **keys: Unpack[NoKeys]) -> None: ...


class SendToKernel(Protocol):
    """Writes one message to the kernel; a type checker holds its keys against its kind."""

    @overload
    def __call__(self, kind: Literal["engine.found"], /, **keys: Unpack[EngineFoundKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["engine.progress"], /, **keys: Unpack[TextKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["ready"], /, **keys: Unpack[ReadyKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["bound"], /, **keys: Unpack[BoundKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["bind.failed"], /, **keys: Unpack[BindFailedKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["warmed"], /, **keys: Unpack[WarmedKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["event"], /, **keys: Unpack[EventKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["step.kept"], /, **keys: Unpack[StepKeptKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["tool.call"], /, **keys: Unpack[ToolCallKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["tool.abandon", "budget.done"], /, **keys: Unpack[CallKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["budget.ask"], /, **keys: Unpack[BudgetAskKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["steer.result"], /, **keys: Unpack[SteerResultKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["turn.done"], /, **keys: Unpack[TurnDoneKeys]) -> None: ...
    @overload
    def __call__(self, kind: Literal["fatal"], /, **keys: Unpack[FatalKeys]) -> None: ...
