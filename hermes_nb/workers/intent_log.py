"""Which calls of a turn only waited, and which have begun: noted before a body runs, for a resume.

A worker logs a call when it asks for it. Then the call may wait for approval, or for the main thread, and only the kernel
knows when its body begins. That is noted in a file of the turn, beside the journal: `instances/<name>/starts/<turn id>`.
A turn that completed needs none; a session that is deleted takes its notes along.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from hermes_nb.errors import StoreError, UsageError

FOLDER = "starts"
_WAITS, _BEGINS = "waits", "begins"
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


class IntentLog:
    """The notes of one turn; any thread may call.

    Args:
        turn_id: The turn; the name of its file, which is made with the first note.
        folder: Asked then for the folder it goes to, whose parent is there.
    """

    def __init__(self, turn_id: str, folder: Callable[[], Path]) -> None:
        self._turn_id, self._folder = turn_id, folder
        self._file: int | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        self._waiting: set[str] = set()

    def waits(self, call_id: str) -> None:
        """Note that a call is here and has not begun. Where that fails, a resume asks about it as about one that has."""
        with self._lock, contextlib.suppress(OSError):
            if self._is_closed:
                return
            if self._file is None:
                folder = self._folder()
                folder.mkdir(exist_ok=True, mode=0o700)
                self._file = os.open(folder / self._turn_id, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._write(_WAITS, call_id)
            self._waiting.add(call_id)

    def begins(self, call_id: str) -> None:
        """Note that a call begins, durably (0.13 ms measured); it must not when this raises.

        Raises:
            UsageError: The turn is over: nobody takes a result, and a resume may have asked for the call again.
            StoreError: It can't be written, and the file says that the call waits.
        """
        with self._lock:
            if self._is_closed:
                raise UsageError("The turn that asked for this call is over, so it does not begin.")
            if self._file is None or call_id not in self._waiting:
                return
            try:
                self._write(_BEGINS, call_id)
                _sync(self._file)
            except OSError as exc:
                raise StoreError(
                    f"The call did not run: that it begins can't be noted in {self._folder()} ({exc.strerror or exc}), and a"
                    " resume would run it twice. Free space, or make the folder writable."
                ) from exc

    def close(self) -> bool:
        """The turn is over: no call of it begins any more. Returns whether there are notes."""
        with self._lock:
            self._is_closed = True
            if self._file is None:
                return False
            os.close(self._file)
            self._file = None
            return True

    def _write(self, what: str, call_id: str) -> None:
        assert self._file is not None
        line = f"{what} {call_id}\n".encode()
        if os.write(self._file, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def only_waited(turn_id: str, state_dir: Path) -> set[str]:
    """The calls of a turn, by span id, that certainly have not run: each waited, and no note says that it began. Blocks."""
    waited, begun = set[str](), set[str]()
    for path in _all(turn_id, state_dir):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in text.splitlines(keepends=True):
            what, _, call_id = line.partition(" ")
            if what == _WAITS and line.endswith("\n"):
                waited.add(call_id.strip())
            elif what == _BEGINS:
                begun.add(call_id.strip())
    return waited - begun


def forget(turn_ids: Iterable[str], state_dir: Path) -> None:
    """Remove the notes of turns, wherever they are; one that can't be removed stays. Blocks."""
    for turn_id in turn_ids:
        for path in _all(turn_id, state_dir):
            with contextlib.suppress(OSError):
                path.unlink()


def _all(turn_id: str, state_dir: Path) -> list[Path]:
    if Path(turn_id).name != turn_id:  # an imported log may name its turns as it likes
        return []
    return [folder / turn_id for folder in state_dir.glob(f"instances/*/{FOLDER}") if (folder / turn_id).is_file()]
