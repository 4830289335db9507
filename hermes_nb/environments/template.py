"""Workers forked from a process that has imported Hermes: found, asked, and started for the next ones.

The other end is `hermes_nb.engine.template`. Linux only (pidfd, SO_PEERCRED); HERMES_NB_TEMPLATE=0 forbids it. A template is
shared by the kernels of one user on one machine, and serves workers that are equal in all that an import can see:
interpreter, engine source, environment, umask, control group and namespaces stand in the name of its socket. A worker with
an environment of its own (`Process(options=...)`) is started the ordinary way, so that no template ever has a key. Whatever
goes wrong, the ordinary way is taken, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes_nb import _settings
from hermes_nb.environments import boot, source
from hermes_nb.environments.discovery import Engine
from hermes_nb.environments.interpreter import Interpreter

ENTRY = "hermes_nb.engine.template"
# Seconds after a worker's start before a template for the next ones is made: its first turn has the processor to itself.
START_AFTER_S = 3.0
IDLE_S = 600.0
# It holds about 100 MB while it waits.
LEAST_FREE_BYTES = 1_000_000_000
# Of one user: each Python, source and set of variables has its own.
MOST = 3
_ANSWER_S = 2.0
_REAP_S = 0.5


class ForkedWorker:
    """A worker that a template forked, with what `subprocess.Popen` has that its owner uses."""

    def __init__(self, pid: int, pidfd: int, connection: socket.socket) -> None:
        self.pid = pid
        self._pidfd = pidfd
        self._connection = connection
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit status, as Popen's; None while it runs."""
        if self._code is None:
            self._connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                self._take()
        return self._code

    def wait(self) -> int:
        """Block until it has ended; its pid may be another's from then on."""
        if self._code is None:
            self._connection.setblocking(True)
            self._take()
        return self._code if self._code is not None else 1

    def kill(self) -> None:
        """End it at once.

        Raises:
            ProcessLookupError: It has ended.
        """
        if self._code is None:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def _take(self) -> None:
        try:
            data = self._connection.recv(4096)
        except BlockingIOError:
            raise
        except OSError:
            data = b""
        # Without a word the template itself was killed; its worker goes on until its pipe closes, and init reaps it.
        self._code = int(json.loads(data)["code"]) if data else -signal.SIGKILL
        with contextlib.suppress(OSError):  # the template reaps it, and closes
            self._connection.settimeout(_REAP_S)
            self._connection.send(b"reap")
            self._connection.recv(1)
        self._connection.close()
        os.close(self._pidfd)


def socket_path(interpreter: Interpreter, environment: Mapping[str, str]) -> Path | None:
    """Where a template for such workers listens; None where there can be none.

    Args:
        interpreter: Of the workers.
        environment: Of the workers.
    """
    if not sys.platform.startswith("linux") or not _settings.may_use_template():
        return None
    try:
        folder = _folder()
        seen = {
            "python": [str(interpreter.path), interpreter.path.stat().st_mtime_ns],
            "engine": source.digest(source.archive()),
            "environment": sorted((k, v) for k, v in environment.items() if k != "HERMES_HOME"),
            "umask": [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask")],
            "cgroup": Path("/proc/self/cgroup").read_text(),
            "namespaces": sorted(str(path.readlink()) for path in Path("/proc/self/ns").iterdir()),
        }
    except OSError:
        return None
    path = folder / f"{hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:20]}.sock"
    return path if len(str(path)) < 100 else None  # what an address of a Unix socket can hold


def survey() -> list[str]:
    """The templates of this user that run, in words; [] where there are none."""
    try:
        return [f"{path.stem}, in {path.parent}" for path in sorted(_folder().glob("*.sock")) if _is_there(path)]
    except OSError:
        return []


def _folder() -> Path:
    """A folder that nobody else can enter, made where it is missing.

    Raises:
        OSError: It can't be made, or is somebody else's.
    """
    folder = Path(tempfile.gettempdir()) / f"hermes-nb-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{folder} is not this user's alone")
    return folder


def fork(
    path: Path, arguments: Sequence[str], environment: Mapping[str, str], working_dir: Path, descriptors: Sequence[int]
) -> ForkedWorker | None:
    """Ask a template for a worker; None when there is none, or it did not answer.

    Args:
        path: Its socket.
        arguments: Of the worker, as on its command line.
        environment: All of its variables.
        working_dir: Where it runs.
        descriptors: Its standard input, standard output and log; they stay the caller's.
    """
    if not path.exists():
        return None
    request = {"arguments": list(arguments), "environment": dict(environment), "working_dir": str(working_dir)}
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    with contextlib.suppress(OSError, ValueError):
        connection.settimeout(_ANSWER_S)
        connection.connect(str(path))
        socket.send_fds(connection, [json.dumps(request).encode()], list(descriptors))
        data, received, _, _ = socket.recv_fds(connection, 4096, 1)
        if len(received) == 1:
            return ForkedWorker(int(json.loads(data)["pid"]), received[0], connection)
    connection.close()
    return None


def start(path: Path, engine: Engine, environment: Mapping[str, str]) -> bool:
    """Start a template for the workers to come, unless one listens, `MOST` run or memory is short; returns whether it did.

    Blocks until it runs by itself, which is before it has imported Hermes.
    """
    if _is_there(path) or len(survey()) >= MOST or _free_bytes() < LEAST_FREE_BYTES:
        return False
    variables = {name: value for name, value in environment.items() if name != "HERMES_HOME"}
    command = [*engine.command, "-c", boot.BOOT, "--socket", str(path), "--idle-s", str(IDLE_S)]
    try:
        with open(path.with_suffix(".log"), "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=variables,
                cwd=path.parent,
                start_new_session=True,
            )
            process.communicate(boot.preamble(python=engine.interpreter.python[:2], entry=ENTRY), timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    return process.returncode == 0


def _is_there(path: Path) -> bool:
    """Whether a template runs, or is being made, for this socket: it holds the lock. A killed one leaves its socket."""
    with path.with_suffix(".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _free_bytes() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return 0
