"""What a turn needs of the process that runs it and of its agent: the border between `turns` and what people hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

if TYPE_CHECKING:
    from hermes_nb._loop import IoLoop
    from hermes_nb.host.base import Host
    from hermes_nb.model.agent import Agent, Model
    from hermes_nb.model.event import Event, EventNumberer
    from hermes_nb.model.mask import Masker
    from hermes_nb.model.message import ToolResultKeys
    from hermes_nb.model.message_part import AgentDigest
    from hermes_nb.model.notice import Notices
    from hermes_nb.model.status import StopReason
    from hermes_nb.sessions.conversations import Conversations
    from hermes_nb.tools.decorator import Tool
    from hermes_nb.turns.tool_definitions import ToolDefinitions
    from hermes_nb.workers.client import WorkerClient
    from hermes_nb.workers.liveness import KernelLease


class TurnContext(Protocol):
    """The process that runs turns; `hermes_nb.api.hermes.Hermes` is one.

    Attributes:
        io: The loop that turns live on.
        host: Where tools run and turns show.
        conversations: The sessions, and the store.
        state_dir: Folder of the store and of the workers' files.
        numberer: Numbers the events that the kernel makes.
        life: Shows other kernels that this one lives.
        resuming: Ids of turns that are about to continue.
    """

    io: IoLoop
    host: Host
    conversations: Conversations
    state_dir: Path
    numberer: EventNumberer
    life: KernelLease
    resuming: set[str]

    @property
    def tape(self) -> TurnTape | None:
        """The recording that is being made; None when there is none."""

    @property
    def runners(self) -> Sequence[RunningTurn]:
        """The turns of this process, oldest first."""

    @property
    def workers(self) -> Sequence[WorkerClient]:
        """The workers of this process."""

    def masker(self) -> Masker:
        """Return what takes the keys of this process out of a text."""

    def warn(self, code: str, text: str) -> None:
        """Keep a warning."""

    def log(self, text: str) -> None:
        """Write to the log of the kernel's side."""

    async def forgotten_meanwhile(self, session_id: str, events: Sequence[Event]) -> str:
        """Take out what a turn left of a session that another kernel deleted meanwhile; returns what to say, "" else."""


class TurnAgent(Protocol):
    """The agent that is asked; `hermes_nb.api.bound_agent.BoundAgent` is one.

    Attributes:
        agent_id: Its id in the worker.
        config: Its declaration.
        definitions: The tools that it may call, and what each session was told of them.
        notices: What has to be said with its next turn.
        always_allowed: Calls that were allowed for a session: its id, the tool, the arguments.
    """

    agent_id: str
    config: Agent
    definitions: ToolDefinitions
    notices: Notices
    always_allowed: set[tuple[str, str, str]]

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def tools(self) -> list[Tool]:
        """The notebook functions it may call."""

    @property
    def model(self) -> Model:
        """The model that answers."""

    @property
    def runtime_name(self) -> str:
        """Name of the runtime it runs on, e.g. `process`."""

    @property
    def ownership(self) -> dict[str, Any]:
        """What a turn's first event says of whose it is: `instance` and, where it is not the default, `owner`."""

    @property
    def context(self) -> TurnContext:
        """The process it belongs to."""

    @property
    def worker(self) -> WorkerClient:
        """The worker that hosts it."""


class CallNames(Protocol):
    """Knows the calls of a turn by their spans."""

    def tool_call_id(self, span_id: str) -> str:
        """Return the model's id of the call whose span that is."""


class TurnTape(Protocol):
    """A recording that is being made."""

    async def keep(self, turns: Iterable[RunningTurn]) -> int:
        """Write what these turns have come to; returns how many there are in the file."""


class RunningTurn(Protocol):
    """A turn, as its parts and the other turns of its process know it; `hermes_nb.turns.runner.TurnRunner` is one.

    Attributes:
        id, prompt, session_id, agent_name: Its id, what was asked, the conversation, the agent's name.
        io: The loop it lives on.
        masker: What takes secrets out of what it tells.
    """

    id: str
    prompt: str
    session_id: str
    agent_name: str
    io: IoLoop
    masker: Masker
    is_sent: bool

    @property
    def agent(self) -> TurnAgent:
        """The agent that is asked."""

    @property
    def context(self) -> TurnContext:
        """The process that runs it."""

    @property
    def worker(self) -> WorkerClient:
        """The worker that is asked."""

    @property
    def log(self) -> CallNames:
        """Its events."""

    @property
    def events(self) -> list[Event]:
        """The events so far, in order of arrival."""

    @property
    def is_here(self) -> bool:
        """Whether this kernel runs it."""

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""

    @property
    def is_replay(self) -> bool:
        """Whether it is answered from a recording."""

    @property
    def is_resumed(self) -> bool:
        """Whether it continues an earlier attempt."""

    @property
    def attempt(self) -> int:
        """1, or more when it was resumed."""

    @property
    def stop_reason(self) -> StopReason | None:
        """Why it was asked to stop; None if it was not."""

    @property
    def first_day(self) -> str:
        """The day its session began."""

    @property
    def profile(self) -> AgentDigest:
        """Model, instructions and tools it was asked with, in a few hashes."""

    def emit(self, kind: str, data: Mapping[str, Any], *, span_id: str | None = None) -> None:
        """Add an event of the kernel's own making."""

    def asked(self) -> None:
        """Note that somebody must answer a request before the turn continues."""

    def open_question(self) -> str:
        """Return the oldest open request in words; "" when there is none."""

    def held_up_by(self, turn: RunningTurn) -> None:
        """Say, once, that a turn of this session waits for an answer, and this one for it."""

    def tool_result(self, **keys: Unpack[ToolResultKeys]) -> None:
        """Hand a tool's result to the worker."""
