"""The worker: `python -P -m hermes_nb.engine --read-fd R --write-fd W --home DIR --journal FILE --producer ID [--log FILE]`.

Ends within 1 s when its kernel is gone, however that ended: at the end of the pipe, or, when a forked child of the kernel
still holds the pipe, because its parent is another. The kernel starts it in a session of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import select
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hermes_nb.engine import wire
from hermes_nb.engine.driver import Driver
from hermes_nb.engine.durability.event_writer import EventWriter
from hermes_nb.engine.durability.journal import Journal, JournalError
from hermes_nb.engine.durability.wire_journal import WireJournal
from hermes_nb.engine.hermes.bootstrap import Bootstrap, environment_secrets
from hermes_nb.engine.hermes.line.private_name import MissingNames, Probe
from hermes_nb.model.mask import Masker

POLL_S = 0.25


def main(arguments: Sequence[str] | None = None, *, bootstrap: Bootstrap | None = None, kernel: int = 0) -> int:
    """Run until the kernel is gone or says `shutdown`.

    Args:
        arguments: Of the command line.
        bootstrap: Hermes as a template has imported it (see `template`); None imports it.
        kernel: The kernel's pid, where that is not the parent.
    """
    options = _parser().parse_args(arguments)
    die, of = (_die_with_process, kernel) if kernel else (_die_with, os.getppid())
    threading.Thread(target=die, args=(of,), name="hermes-nb-parent", daemon=True).start()
    if bootstrap is None:
        bootstrap = Bootstrap(Path(options.home), Masker())
    masker = bootstrap.masker
    masker.add(*environment_secrets())
    _mask_output(masker)
    sender = wire.Sender(options.write_fd)
    send = _or_exit(sender.send)
    try:
        bootstrap.prepare()
        is_ours = options.journal != wire.KERNELS_JOURNAL
        journal = Journal(Path(options.journal), options.producer) if is_ours else WireJournal(send)
    except (JournalError, OSError) as exc:
        send("fatal", error=masker.text(str(exc)), error_type="StoreError")
        return 1
    driver = Driver(bootstrap, EventWriter(options.producer, journal, send, masker))
    whose = {"pid": os.getpid(), "producer": options.producer, "protocol": wire.VERSION}
    bootstrap.when_decided(lambda found: send("ready", **whose, python=platform.python_version(), **_told(found, masker)))
    threading.Thread(target=_import, args=(bootstrap,), name="hermes-nb-import", daemon=True).start()
    reads = options.read_fd
    for message in journal.messages(reads, _exit) if isinstance(journal, WireJournal) else wire.read_messages(reads):
        if message["kind"] == "shutdown":
            driver.close()
            break
        driver.handle(message)
    _exit()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -P -m hermes_nb.engine", description="Hosts Hermes for a kernel.")
    parser.add_argument("--read-fd", type=int, required=True)
    parser.add_argument("--write-fd", type=int, required=True)
    parser.add_argument("--home", required=True)
    parser.add_argument("--journal", required=True, help="a file; - lets the kernel keep it, over the wire")
    parser.add_argument("--producer", required=True)
    parser.add_argument("--log", default="")
    return parser


def _told(found: Probe | ImportError, masker: Masker) -> dict[str, Any]:
    """What `ready` says of the Hermes here: its version, what it can do, and which private names it lacks."""
    if isinstance(found, MissingNames):
        found = found.probe
    if isinstance(found, Probe):
        told = {"distribution": found.distribution, "hermes_agent": found.version, "missing": list(found.missing)}
        return {**told, "capabilities": found.capabilities, "problem": masker.text(found.text) if found.is_refused else ""}
    return {"distribution": "", "hermes_agent": "", "missing": [], "capabilities": [], "problem": masker.text(str(found))}


def _import(bootstrap: Bootstrap) -> None:
    try:
        bootstrap.hermes()
    except ImportError as exc:
        print(f"hermes_nb: {exc}", file=sys.stderr)  # `bind` meets it again, and tells the kernel


def _die_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_S)
    _exit()


def _die_with_process(pid: int) -> None:
    """End when a process that is not the parent does (Linux)."""
    with contextlib.suppress(OSError):
        select.select([os.pidfd_open(pid)], [], [])
    _exit()


def _exit() -> None:
    """At once: no thread of Hermes may keep the process, no exit handler may wait."""
    os._exit(0)


def _or_exit(send: Any) -> Any:
    def checked(kind: str, /, **keys: Any) -> None:
        try:
            send(kind, **keys)
        except OSError:
            _exit()

    return checked


class _MaskedStream:
    """stdout and stderr (both are the log file by now) without secrets."""

    def __init__(self, stream: Any, masker: Masker) -> None:
        self._stream, self._masker = stream, masker

    def write(self, text: str) -> int:
        self._stream.write(self._masker.text(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _mask_output(masker: Masker) -> None:
    sys.stdout = _MaskedStream(sys.stdout, masker)
    sys.stderr = _MaskedStream(sys.stderr, masker)


if __name__ == "__main__":
    sys.exit(main())
