"""The default runtime: a worker process of this machine, over two pipes.

The worker has its own session (a kernel's interrupt does not reach it), an allow-listed environment, no standard input, and
a log file as stdout and stderr. It ends when the kernel's end of the pipe closes; that half is `hermes_nb.engine`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hermes_nb import _api_key, _settings
from hermes_nb._near import suggesting, unknown_options
from hermes_nb.engine import wire
from hermes_nb.environments import boot, discovery, template
from hermes_nb.environments.discovery import Engine
from hermes_nb.environments.template import ForkedWorker
from hermes_nb.errors import HermesNbError, UnsupportedPlatformError, UsageError, WorkerDiedError, WorkerStartError
from hermes_nb.model.mask import MASK
from hermes_nb.runtimes._base import WorkerConnection, WorkerFiles

if TYPE_CHECKING:
    from hermes_nb.model.message import OnMessage, WorkerMessage

# Where the system has no pidfd (macOS, old Linux): how often a worker is looked at, before and after its pipe has closed.
EXIT_POLL_S = 0.25
SOON_POLL_S = 0.005


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
        pipes = _Pipes(process, read_fd, write_fd, on_message, on_end)
        if isinstance(process, subprocess.Popen):
            pipes.write(preamble)
            if shared is not None:
                pipes.later(template.START_AFTER_S, lambda: template.start(shared, engine, environment))
        return pipes

    def _spawn(
        self, place: WorkerFiles, engine: Engine, environment: dict[str, str], shared: Path | None
    ) -> tuple[subprocess.Popen[bytes] | ForkedWorker, int, int]:
        python = str(engine.interpreter.path)
        log_fd = _open_log(place)
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


def _open_log(place: WorkerFiles) -> int:
    try:
        place.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as exc:
        raise WorkerStartError(
            f"The worker's folder {str(place.journal.parent)!r} can't be written: {exc.strerror}. It is to hold the journal,"
            " without which nothing is run. Free space or make it writable, or set HERMES_NB_HOME and restart the kernel."
        ) from exc


class _Pipes:
    """The kernel's end of the two pipes; lives on the IO loop."""

    def __init__(
        self,
        process: subprocess.Popen[bytes] | ForkedWorker,
        read_fd: int,
        write_fd: int,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> None:
        self.pid: int | None = process.pid
        self._process = process
        self._read_fd, self._write_fd = read_fd, write_fd
        self._on_message, self._on_end = on_message, on_end
        self._loop = asyncio.get_running_loop()
        self._splitter = wire.LineSplitter()
        self._outgoing = bytearray()
        self._is_writing = False
        self._is_gone = False
        self._is_closed_there = asyncio.Event()
        self._ended = asyncio.Event()
        self._later: asyncio.TimerHandle | None = None
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self._loop.add_reader(read_fd, self._read)
        self._watcher = self._loop.create_task(self._watch())

    # -- reading -------------------------------------------------------------------------------------------------
    def _read(self) -> None:
        try:
            data = os.read(self._read_fd, wire.READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._read_fd)
            self._is_closed_there.set()
            return
        for message in self._messages(data):
            self._on_message(message)

    def _messages(self, data: bytes) -> Iterator[WorkerMessage]:
        for line in self._splitter.feed(data):
            try:
                yield cast("WorkerMessage", wire.decode(line))
            except ValueError:
                yield {"kind": "malformed", "line": line[:500].decode("utf-8", "replace")}

    def _drain(self) -> None:
        """What a dead worker left in the pipe; its forked children may still hold the other end."""
        while True:
            try:
                data = os.read(self._read_fd, wire.READ_SIZE)
            except BlockingIOError:
                return
            if not data:
                return
            for message in self._messages(data):
                self._on_message(message)

    # -- writing -------------------------------------------------------------------------------------------------
    def send(self, kind: str, /, **keys: Any) -> None:
        line = wire.encode(kind, **keys)
        if self._is_gone:
            raise WorkerDiedError("The worker is gone; the next run starts a new one.")
        try:
            is_here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            is_here = False
        if is_here:
            self._write(line)
        else:
            self._loop.call_soon_threadsafe(self._write, line)

    def write(self, data: bytes) -> None:
        """Queue bytes before any message; on the IO loop."""
        self._write(data)

    def _write(self, line: bytes) -> None:
        if self._is_gone:
            return
        self._outgoing += line
        if not self._is_writing:
            self._flush()

    def _flush(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._write_fd, self._outgoing[: wire.READ_SIZE])]
        except BlockingIOError:
            if not self._is_writing:
                self._is_writing = True
                self._loop.add_writer(self._write_fd, self._flush)
            return
        except BrokenPipeError:
            self._outgoing.clear()
        if self._is_writing:
            self._is_writing = False
            self._loop.remove_writer(self._write_fd)

    def later(self, delay_s: float, call: Callable[[], object]) -> None:
        """Call in a thread after a while, if the worker is there then."""
        self._later = self._loop.call_later(delay_s, lambda: self._loop.run_in_executor(None, call))

    # -- end -----------------------------------------------------------------------------------------------------
    async def _watch(self) -> None:
        await self._exited()
        self._is_gone = True
        if self._later is not None:
            self._later.cancel()
        self._loop.remove_reader(self._read_fd)
        if self._is_writing:
            self._loop.remove_writer(self._write_fd)
        self._drain()
        # The worker is not reaped yet, or was a moment ago: its process group's id is not another's.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        os.close(self._read_fd)
        os.close(self._write_fd)
        self._ended.set()
        self._on_end(_reason(code))

    async def _exited(self) -> None:
        """Return when the process has ended."""
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            while self._process.poll() is None:
                await self._pause()
            return
        exited = asyncio.Event()
        self._loop.add_reader(descriptor, exited.set)
        try:
            await exited.wait()
        finally:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)

    async def _pause(self) -> None:
        """Until it is time to look whether the process has ended: soon after its pipe has closed."""
        if self._is_closed_there.is_set():
            await asyncio.sleep(SOON_POLL_S)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_POLL_S):
                await self._is_closed_there.wait()

    def kill(self) -> None:
        if not self._is_gone:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def close(self, grace_s: float = 1.0) -> None:
        if not self._is_gone:
            with contextlib.suppress(WorkerDiedError):
                self.send("shutdown")
            try:
                async with asyncio.timeout(grace_s):
                    await self._ended.wait()
            except TimeoutError:
                self.kill()
        await self._watcher


def _reason(code: int) -> str:
    """How the worker ended, for people."""
    if code >= 0:
        return f"it exited with status {code}"
    try:
        return f"it was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was killed by signal {-code}"


def lack() -> str:
    """What is missing to run a worker on this machine; "" when nothing is, or when it is made at the first run."""
    from hermes_nb.environments.discovery import find
    from hermes_nb.errors import HermesNbError

    try:
        find()
    except HermesNbError as exc:
        return str(exc)
    return ""
