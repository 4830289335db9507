"""What a runtime is: configuration, and a way to open a connection to a worker it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Place:
    """Where one worker keeps its files.

    `home` is its HERMES_HOME, `journal` its sqlite journal, `log` takes its stdout and stderr, `working_dir` is where
    its file and terminal tools start.
    """

    producer: str
    home: Path
    journal: Path
    log: Path
    working_dir: Path


class Connection(Protocol):
    """An open connection to a worker. Everything but `send` is called on the IO loop."""

    pid: int | None

    def send(self, kind: str, /, **keys: Any) -> None:
        """Queue one message (see `hermes_nb.engine.wire`); any thread.

        Raises:
            WorkerDiedError: The worker is gone.
        """

    async def close(self, grace_s: float = 1.0) -> None:
        """End the worker: ask, wait `grace_s`, then kill it and everything it started."""

    def kill(self) -> None:
        """End the worker at once; `on_end` is called as for any end."""


class Runtime(Protocol):
    """A place agents can run. The dataclass fields are its configuration (seed 001, `Runtime`)."""

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain data, secrets left out."""

    async def open(
        self,
        place: Place,
        *,
        on_message: Callable[[dict[str, Any]], None],
        on_end: Callable[[str], None],
    ) -> Connection:
        """Start a worker; both callbacks run on the IO loop, `on_end(reason)` exactly once, after the last message.

        Raises:
            WorkerStartError: It could not be started.
            UnsupportedPlatformError: Not on this system.
        """
