"""What a runtime is: configuration, and a way to open a connection to a worker it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hermes_nb.engine.wire import KERNELS_JOURNAL

if TYPE_CHECKING:
    from hermes_nb.model.message import OnMessage
    from hermes_nb.model.message_part import Json
    from hermes_nb.model.message_sender import SendToWorker


@dataclass(frozen=True, slots=True)
class WorkerFiles:
    """Where one worker keeps its files.

    `home` is its HERMES_HOME, `journal` its sqlite journal, `log` takes its stdout and stderr, `working_dir` is where
    its file and terminal tools start. Where `shares_disk` is false, `journal` is the kernel's: the worker is started with
    `--journal -`, and what it keeps comes over the wire.
    """

    producer: str
    home: Path
    journal: Path
    log: Path
    working_dir: Path
    shares_disk: bool = True

    @property
    def journal_argument(self) -> str:
        """What the engine is started with as its `--journal`."""
        return str(self.journal) if self.shares_disk else KERNELS_JOURNAL


class WorkerConnection(Protocol):
    """An open connection to a worker. Everything but `send` is called on the IO loop."""

    pid: int | None

    @property
    def send(self) -> SendToWorker:
        """Queues one message (see `hermes_nb.model.message`); any thread. Raises WorkerDiedError when the worker is gone."""

    async def close(self, grace_s: float = 1.0) -> None:
        """End the worker: ask, wait `grace_s`, then kill it and everything it started."""

    def kill(self) -> None:
        """End the worker at once; `on_end` is called as for any end."""


@runtime_checkable
class Runtime(Protocol):
    """A place agents can run; implement it to supply another. The dataclass fields are its configuration."""

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain data, secrets left out."""

    async def open(
        self,
        place: WorkerFiles,
        *,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> WorkerConnection:
        """Start a worker; both callbacks run on the IO loop, `on_end(reason)` exactly once, after the last message.

        Raises:
            WorkerStartError: It could not be started.
            UnsupportedPlatformError: Not on this system.
        """


@runtime_checkable
class ToolRuntime(Protocol):
    """A runtime to which an agent's functions travel: they run where its turns do, and a turn has a journal of its own."""

    async def open_for(
        self,
        agent_of: Callable[[str], Any],
        place: WorkerFiles,
        *,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> WorkerConnection:
        """As `Runtime.open`; `agent_of` gives the bound agent of an id, whose functions travel.

        A `turn.start` may carry a `plan`: what the runtime itself prepared for that turn.
        """


@runtime_checkable
class NamedRuntime(Protocol):
    """A runtime that a turn's log can name, so that another kernel makes it again."""

    def label(self) -> Json:
        """Return what a turn's log keeps of it: names and numbers, no values of variables."""

    @classmethod
    def from_label(cls, label: Mapping[str, Any]) -> Runtime:
        """Return the runtime that `label` tells of."""


def shares_disk(runtime: Runtime) -> bool:
    """Whether its workers' files are on this disk, and stay when they end; a runtime says no by `shares_disk = False`."""
    return bool(getattr(runtime, "shares_disk", True))


def label_of(runtime: Runtime) -> Json:
    """What a turn's first event says of a runtime that can be made again from it; {} where its name is enough."""
    return {"runtime_label": runtime.label()} if isinstance(runtime, NamedRuntime) else {}
