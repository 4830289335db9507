"""A process that has imported Hermes and is forked for each worker, so that a further worker of this machine need not.

Linux only. It holds no key: it runs in the allow-listed environment of a worker without options, and serves workers of the
very same environment alone (the kernel's side, `hermes_nb.environments.template`, names its socket after all that has to be
equal). It listens on a Unix socket in a folder of its user, has one thread, and ends when nothing asked it for a while and
none of its workers runs.

A request is one packet, a JSON object with `arguments` (those of the worker), `environment` and `working_dir`, and three
descriptors: the worker's standard input, standard output and log. The answer is `{"pid": ...}` with a pidfd of the worker;
when the worker ends, `{"code": ...}` follows. The worker stays a zombie, its pid nobody else's, until the kernel says
`reap`, closes the connection or ends (a forked child of the kernel may hold the connection open).

Hermes computes paths from HERMES_HOME while it is imported. The template imports it under a home of its own, and
`Relocation` gives a worker's modules the worker's home; whether it finds all of them is checked before the first worker
(`unmoved`). What a first turn imports besides is seen in a copy that runs one on the offline model.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_nb.engine.driver import Driver
from hermes_nb.engine.durability.event_writer import EventWriter
from hermes_nb.engine.durability.journal import Journal
from hermes_nb.engine.hermes.bootstrap import Bootstrap
from hermes_nb.engine.relocation import Relocation, unmoved
from hermes_nb.model.mask import Masker
from hermes_nb.model.message import bare_agent, bare_turn

LARGEST_REQUEST = 1 << 17


@dataclass
class _Worker:
    """A worker that runs, or has ended and is still to be reaped."""

    pid: int
    pidfd: int
    kernel_pidfd: int
    connection: socket.socket | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Import Hermes and serve, detached from the caller; returns at once where another template has the socket."""
    parser = argparse.ArgumentParser(description="Forks workers that have Hermes imported.")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--idle-s", type=float, required=True)
    parser.add_argument("--read-fd", type=int, default=-1)  # of the boot, for a worker: not needed here
    parser.add_argument("--write-fd", type=int, default=-1)
    options = parser.parse_args(arguments)
    for descriptor in (options.read_fd, options.write_fd):
        if descriptor >= 0:
            os.close(descriptor)
    if os.fork():
        os._exit(0)  # whoever started it does not wait, and is not its parent
    os.setsid()
    path = Path(options.socket)
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os._exit(0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    home = path.with_suffix(".home")
    shutil.rmtree(home, ignore_errors=True)  # of one that was killed
    home.mkdir(mode=0o700)
    owner = os.getpid()
    try:
        _Template(path, options.idle_s, home).run()
    finally:
        if os.getpid() == owner:
            shutil.rmtree(home, ignore_errors=True)
            path.unlink(missing_ok=True)
    os._exit(0)


class _Template:
    """The serving process.

    Args:
        path: The socket.
        idle_s: Seconds without a worker and a request after which it ends.
        home: HERMES_HOME while Hermes is imported; removed at the end.
    """

    def __init__(self, path: Path, idle_s: float, home: Path) -> None:
        self._path = path
        self._idle_s = idle_s
        self._home = home
        self._workers: dict[int, _Worker] = {}

    def run(self) -> None:
        bootstrap = Bootstrap(self._home, Masker([]))
        bootstrap.prepare()
        bootstrap.hermes()
        for name in self._rehearse(bootstrap):
            _import(name)
        relocation = Relocation(str(self._home))
        if (n := n_threads()) > 1:
            print(f"hermes_nb: no template: {n - 1} threads run, of Python {threading.enumerate()[1:]}", file=sys.stderr)
            return  # a worker of this Hermes is started the ordinary way
        if not self._is_movable(bootstrap, relocation):
            return
        gc.collect()
        gc.freeze()  # what is shared stays shared: the collector writes into no page of it
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self._path.unlink(missing_ok=True)
        old = os.umask(0o177)
        listener.bind(str(self._path))
        os.umask(old)
        listener.listen(16)
        self._serve(listener, bootstrap, relocation)

    def _rehearse(self, bootstrap: Bootstrap) -> list[str]:
        """Names of the modules that a first turn imports besides, in their order: seen in a copy that runs one."""
        reads, writes = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(reads)
                before = set(sys.modules)
                _run_unseen_turn(bootstrap, self._home / "rehearsal.db")
                with os.fdopen(writes, "w", encoding="utf-8") as pipe:
                    json.dump([name for name in list(sys.modules) if name not in before], pipe)
            except BaseException:  # noqa: BLE001 - a copy must not go on as the template
                traceback.print_exc()
                sys.stderr.flush()
            os._exit(0)
        os.close(writes)
        try:
            with os.fdopen(reads, encoding="utf-8") as pipe:
                names = json.loads(pipe.read() or "[]")
        finally:
            os.waitpid(pid, 0)
            for left in self._home.glob("rehearsal.db*"):
                left.unlink()
        return [str(name) for name in names]

    def _is_movable(self, bootstrap: Bootstrap, relocation: Relocation) -> bool:
        """Whether a copy of this process can be given another home, tried in one."""
        pid = os.fork()
        if not pid:
            status = 1
            try:
                backwards = str(self._home)[::-1]  # a copy that moving does not find
                tempfile.tempdir = "/elsewhere"
                bootstrap.take_home(Path("/elsewhere"), {})
                relocation.move("/elsewhere")
                left = list(unmoved(backwards[::-1], ignored=(vars(relocation), vars(self), vars(bootstrap))))
                for place in left:
                    print(f"hermes_nb: {place} still names the template's home", file=sys.stderr)
                status = 1 if left else 0
            except BaseException:  # noqa: BLE001 - a copy must not go on as the template
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def _serve(self, listener: socket.socket, bootstrap: Bootstrap, relocation: Relocation) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            asked_s = time.monotonic()
            while self._workers or time.monotonic() - asked_s < self._idle_s:
                for key, _ in selector.select(
                    max(0.05, self._idle_s - (time.monotonic() - asked_s)) if not self._workers else None
                ):
                    if key.fileobj is listener:
                        asked_s = time.monotonic()
                        self._accept(listener, selector, bootstrap, relocation)
                    else:
                        self._look(key.data, key.fd, selector)
                        asked_s = time.monotonic()

    def _accept(
        self, listener: socket.socket, selector: selectors.BaseSelector, bootstrap: Bootstrap, relocation: Relocation
    ) -> None:
        connection, _ = listener.accept()
        descriptors: list[int] = []
        try:
            connection.settimeout(2)
            kernel, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            data, descriptors, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, 3)
            if uid != os.getuid() or len(descriptors) != 3:
                connection.close()
                return
            request = json.loads(data)
            kernel_pidfd = os.pidfd_open(kernel)
            pid = os.fork()
            if not pid:
                _be_worker(request, descriptors, kernel, bootstrap, relocation)
            pidfd = os.pidfd_open(pid)
            worker = self._workers[pid] = _Worker(pid, pidfd, kernel_pidfd, connection)
            for watched in (pidfd, kernel_pidfd, connection):
                selector.register(watched, selectors.EVENT_READ, worker)
            socket.send_fds(connection, [json.dumps({"pid": pid}).encode()], [pidfd])
            connection.settimeout(None)
        except (OSError, ValueError, KeyError) as exc:
            print(f"hermes_nb: a request was not served: {exc!r}", file=sys.stderr, flush=True)
            connection.close()
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _look(self, worker: _Worker, descriptor: int, selector: selectors.BaseSelector) -> None:
        """A worker has ended, or its kernel lets go of it."""
        if worker.pid not in self._workers:
            return
        if descriptor == worker.pidfd:
            selector.unregister(worker.pidfd)
            ended = os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
            code = 0
            if ended is not None:
                code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            if worker.connection is not None:
                with contextlib.suppress(OSError):
                    worker.connection.send(json.dumps({"code": code}).encode())
                    return
        elif descriptor == worker.kernel_pidfd or (worker.connection is not None and not _is_open(worker.connection)):
            if worker.connection is not None:
                selector.unregister(worker.connection)
                worker.connection.close()
                worker.connection = None
            with contextlib.suppress(KeyError):
                selector.unregister(worker.kernel_pidfd)
        if os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return  # the kernel is gone; its worker hears that itself
        os.waitpid(worker.pid, 0)
        for watched in (worker.pidfd, worker.kernel_pidfd):
            with contextlib.suppress(KeyError):
                selector.unregister(watched)
            os.close(watched)
        if worker.connection is not None:
            selector.unregister(worker.connection)
            worker.connection.close()
        del self._workers[worker.pid]


def _import(name: str) -> None:
    """Import a module; one that a plug-in loader or Cython made can't be, and is left to the workers."""
    try:
        importlib.import_module(name)
    except Exception as exc:  # noqa: BLE001 - whatever a module raises
        print(f"hermes_nb: {name} is not imported ahead: {exc!r}", file=sys.stderr)


def _run_unseen_turn(bootstrap: Bootstrap, journal: Path) -> None:
    """Run a turn on the offline model, by the code of every turn; 20 s at most."""
    done = threading.Event()

    def send(kind: str, /, **_: object) -> None:
        if kind in ("turn.done", "bind.failed"):
            done.set()

    driver = Driver(bootstrap, EventWriter("template", Journal(journal, "template"), send, bootstrap.masker))
    driver.handle({"kind": "bind", "agent_id": "a", "agent": bare_agent("a", {"id": "", "provider": "offline"})})
    driver.handle(bare_turn("t", session_id="s", agent_id="a", prompt="Ready?"))
    done.wait(20)


def _be_worker(
    request: dict[str, Any], descriptors: list[int], kernel: int, bootstrap: Bootstrap, relocation: Relocation
) -> None:
    """In the fork: be the worker that was asked for; never returns."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        reads, writes, log = (os.dup(descriptor) for descriptor in descriptors)
        kept = {0, 1, 2, reads, writes, log}
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        for path in list(Path("/proc/self/fd").iterdir()):
            if int(path.name) not in kept - {log}:
                with contextlib.suppress(OSError):
                    os.close(int(path.name))
        os.chdir(request["working_dir"])
        home = request["environment"]["HERMES_HOME"]
        _fill(Path(relocation.home), Path(home))
        relocation.move(home)
        bootstrap.take_home(Path(home), request["environment"])
        from hermes_nb.engine.__main__ import main as worker_main

        arguments = [*request["arguments"], "--read-fd", str(reads), "--write-fd", str(writes)]
        code = worker_main(arguments, bootstrap=bootstrap, kernel=kernel)
    except BaseException:  # noqa: BLE001 - nothing may unwind into the template's loop
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _is_open(connection: socket.socket) -> bool:
    """Whether the kernel's end is open; takes the packet that says that it may be reaped."""
    try:
        return bool(connection.recv(16))
    except OSError:
        return False


def _fill(template: Path, home: Path) -> None:
    """Give a new home the files that importing Hermes makes; those that are there stay."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    for source in template.rglob("*"):
        target = home / source.relative_to(template)
        if source.name == "config.yaml" or target.exists():
            continue
        if source.is_dir():
            target.mkdir(mode=0o700)
        else:
            shutil.copy2(source, target)


def n_threads() -> int:
    """How many threads this process has, those of libraries included."""
    return len(list(Path("/proc/self/task").iterdir()))
