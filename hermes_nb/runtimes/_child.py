"""The kernel's end of the two pipes of a child process: messages in both directions, and its end told once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from hermes_nb.engine import wire
from hermes_nb.environments.template import ForkedWorker
from hermes_nb.errors import WorkerDiedError, WorkerStartError
from hermes_nb.runtimes._base import WorkerFiles

if TYPE_CHECKING:
    from hermes_nb.model.message import OnMessage, WorkerMessage

# Where the system has no pidfd (macOS, old Linux): how often a worker is looked at, before and after its pipe has closed.
EXIT_POLL_S = 0.25
SOON_POLL_S = 0.005


def open_log(place: WorkerFiles) -> int:
    try:
        place.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as exc:
        raise WorkerStartError(
            f"The worker's folder {str(place.journal.parent)!r} can't be written: {exc.strerror}. It is to hold the journal,"
            " without which nothing is run. Free space or make it writable, or set HERMES_NB_HOME and restart the kernel."
        ) from exc


class ChildPipes:
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
        self._on_end(reason(code))

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


def reason(code: int) -> str:
    """How the worker ended, for people."""
    if code >= 0:
        return f"it exited with status {code}"
    try:
        return f"it was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was killed by signal {-code}"
