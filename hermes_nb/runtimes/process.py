"""The default runtime: a worker process of this machine, over two pipes.

The worker has its own session (a kernel's interrupt does not reach it), an allow-listed environment, no standard input, and
a log file as stdout and stderr. It ends when the kernel's end of the pipe closes; that half is `hermes_nb.engine`'s.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb import _api_key, _settings
from hermes_nb._near import suggesting, unknown_options
from hermes_nb.environments import boot, discovery, template
from hermes_nb.environments.discovery import Engine
from hermes_nb.environments.template import ForkedWorker
from hermes_nb.errors import HermesNbError, UnsupportedPlatformError, UsageError, WorkerStartError
from hermes_nb.model.mask import MASK
from hermes_nb.runtimes._base import WorkerConnection, WorkerFiles
from hermes_nb.runtimes._child import ChildPipes, open_log

if TYPE_CHECKING:
    from hermes_nb.model.message import OnMessage


@suggesting
@dataclass(repr=False)
class Process:
    """Runs agents in a worker process beside the kernel.

    Args:
        executable: A Python interpreter that has hermes-agent, or a `hermes` script, whose first line names one; it needs no
            hermes_nb. "hermes" takes the first that is found (see `hermes_nb.environments.discovery`), and makes an
            environment for it where there is none.
        options: `environment` (dict of str) is laid over the worker's allow-listed environment. Its values are not
            printed; keys (`..._API_KEY`) are freed of white space, quotes and `Bearer ` around them.

    Raises:
        UsageError: An option is unknown, or a variable's value is no text or a key that can't be sent.

    The `hermes` command itself has no way to call a notebook's functions in place, so the worker is that command's
    interpreter, which gets the engine over its pipe (`hermes_nb.environments.boot`).
    """

    executable: str = "hermes"
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.options, dict):
            raise UsageError(f"Process: options takes a dict, e.g. {{'environment': {{...}}}}, not {self.options!r}.")
        said = unknown_options("Process: options", self.options, ["environment"])
        if said is not None:
            raise UsageError(said)
        for name, value in dict(self.options.get("environment") or {}).items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise UsageError(
                    f"Process: the environment variable {name!r} must be a text, not of type {type(value).__name__}."
                )
            said = _api_key.problem(_api_key.clean(value), f"Process: the key in {name}")
            if said is not None and _api_key.is_variable(name):
                raise UsageError(said)

    def __repr__(self) -> str:
        names = self.options.get("environment") or {}
        shown = {**self.options, **({"environment": dict.fromkeys(names, MASK)} if names else {})}
        return f"Process(executable={self.executable!r}, options={shown!r})"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of `options`, as a worker gets them."""
        given = dict(self.options.get("environment") or {})
        return {name: _api_key.clean(value) if _api_key.is_variable(name) else value for name, value in given.items()}

    def engine_text(self) -> str:
        """Which Hermes a worker would be started with and why that one, or why none can be, in words; starts nothing."""
        try:
            engine = discovery.find(self.executable)
        except HermesNbError as exc:
            return str(exc)
        return engine.text if engine is not None else "hermes-agent; an environment for it is made at the first run"

    def problem(self) -> str | None:
        """Why no worker can be started with what `executable` names, in words; None when nothing is known against it."""
        try:
            discovery.find(self.executable)
        except HermesNbError as exc:
            return str(exc)
        return None

    def worker_variables(self) -> dict[str, str]:
        """The environment that a worker started now would get; one that has another is replaced before its next turn."""
        return _settings.worker_environment(self.environment)

    def to_dict(self) -> dict[str, Any]:
        """`{"type": "process", "executable": ..., "options": ...}`, environment values left out."""
        options = {k: v for k, v in self.options.items() if k != "environment"}
        return {"type": "process", "executable": self.executable, "options": options}

    async def open(
        self,
        place: WorkerFiles,
        *,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> WorkerConnection:
        """Start the worker process (see `Runtime.open`)."""
        if os.name != "posix":
            raise UnsupportedPlatformError(
                "The Process runtime needs a POSIX system (Linux, macOS, WSL); this is Windows."
                " Run the notebook's kernel in WSL, or in a container."
            )
        loop = asyncio.get_running_loop()

        def on_progress(text: str) -> None:
            loop.call_soon_threadsafe(lambda: on_message({"kind": "engine.progress", "text": text}))

        engine = await asyncio.to_thread(discovery.find_or_create, self.executable, on_progress)
        python = str(engine.interpreter.path)
        on_message({"kind": "engine.found", "source": engine.source, "hermes": engine.text, "python": python})
        preamble = await asyncio.to_thread(boot.preamble, python=engine.interpreter.python[:2])
        environment = {"HERMES_HOME": str(place.home), "PYTHONUNBUFFERED": "1", **self.worker_variables()}
        shared = None if self.environment else await asyncio.to_thread(template.socket_path, engine.interpreter, environment)
        process, read_fd, write_fd = await asyncio.to_thread(self._spawn, place, engine, environment, shared)
        pipes = ChildPipes(process, read_fd, write_fd, on_message, on_end)
        if isinstance(process, subprocess.Popen):
            pipes.write(preamble)
            if shared is not None:
                pipes.later(template.START_AFTER_S, lambda: template.start(shared, engine, environment))
        return pipes

    def _spawn(
        self, place: WorkerFiles, engine: Engine, environment: dict[str, str], shared: Path | None
    ) -> tuple[subprocess.Popen[bytes] | ForkedWorker, int, int]:
        python = str(engine.interpreter.path)
        log_fd = open_log(place)
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        arguments = ["--home", str(place.home), "--journal", place.journal_argument]
        arguments += ["--producer", place.producer, "--log", str(place.log)]
        process: subprocess.Popen[bytes] | ForkedWorker | None = None
        try:
            if shared is not None and place.working_dir.is_dir():
                descriptors = (read_there, write_there, log_fd)
                process = template.fork(shared, arguments, environment, place.working_dir, descriptors)
            if process is None:
                process = subprocess.Popen(
                    [*engine.command, "-c", boot.BOOT, *arguments],
                    stdin=read_there,
                    stdout=write_there,
                    stderr=log_fd,
                    env=environment,
                    cwd=place.working_dir,
                    start_new_session=True,
                )
        except OSError as exc:
            os.close(read_here)
            os.close(write_here)
            is_place = exc.filename == str(place.working_dir)
            what = f"in the folder {str(place.working_dir)!r}" if is_place else f"with {python!r}"
            cure = "Make it again, or restart the kernel elsewhere." if is_place else "Check Process(executable=...)."
            raise WorkerStartError(f"The worker could not be started {what}: {exc.strerror}. {cure}") from exc
        finally:
            for descriptor in (read_there, write_there, log_fd):
                os.close(descriptor)
        return process, read_here, write_here


def lack() -> str:
    """What is missing to run a worker on this machine; "" when nothing is, or when it is made at the first run."""
    from hermes_nb.environments.discovery import find
    from hermes_nb.errors import HermesNbError

    try:
        find()
    except HermesNbError as exc:
        return str(exc)
    return ""
