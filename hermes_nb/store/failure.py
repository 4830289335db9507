"""What went wrong in sqlite, in words: one translation, at the border. Also who holds a lock, where this is known."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from hermes_nb.errors import StoreError

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
_MOVE = "set HERMES_NB_HOME to a folder on another disk"


class DamagedStoreError(StoreError):
    """The file is not, or no longer, a sound database; `Store.open` sets it aside."""


def _code(exc: BaseException) -> int:
    # The primary result code; 0 for an error that did not come from sqlite.
    return int(getattr(exc, "sqlite_errorcode", None) or 0) & 0xFF


def is_busy(exc: BaseException) -> bool:
    """Whether another connection holds the lock."""
    return _code(exc) in _BUSY


def translate(exc: Exception, path: Path, *, waited_s: float | None = None) -> StoreError:
    """The StoreError for a sqlite error: what happened, to which file, what to do next.

    Args:
        exc: The sqlite (or operating system) error.
        path: The store.
        waited_s: How long a lock was waited for.
    """
    match _code(exc):
        case sqlite3.SQLITE_FULL:
            return StoreError(f"The disk that holds the store {path} is full. Free some space, or {_MOVE}.")
        case primary if primary in _READ_ONLY:
            return StoreError(f"The store {path} can't be written: it is read-only. Make it writable, or {_MOVE}.")
        case sqlite3.SQLITE_CANTOPEN:
            return StoreError(
                f"The store {path} can't be opened or created. Check that its folder exists and may be written,"
                " or set HERMES_NB_HOME to one that does."
            )
        case primary if primary in _DAMAGED:
            return DamagedStoreError(
                f"The store {path} is damaged ({exc}). Nothing was overwritten; restart the kernel: the file is then"
                " set aside under another name and a fresh store is begun."
            )
        case primary if primary in _BUSY:
            waited = "" if waited_s is None else f" for {waited_s:.1f} s"
            return StoreError(
                f"The store {path} stayed locked{waited} by {lock_holder(path) or 'another process'}."
                " End that process or wait for it, then try again."
            )
        case _:
            return StoreError(f"The store {path} failed: {exc or type(exc).__name__}. Check its disk, or {_MOVE}.")


def lock_holder(path: Path, *, locks: Path = Path("/proc/locks")) -> str | None:
    """The process that holds the write lock of a store, as `python (process 4711)`; None where it can't be known.

    Read from the kernel's lock table, on Linux alone: opening the file to ask would, on closing it, drop every lock
    this process has on it.
    """
    try:
        inodes = {p.stat().st_ino for p in (path.with_name(path.name + "-shm"), path) if p.exists()}
        lines = locks.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        # 1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 120 120
        fields = line.split()
        if len(fields) < 8 or fields[3] != "WRITE" or int(fields[4]) in (-1, os.getpid()):
            continue
        if int(fields[5].rpartition(":")[2]) in inodes:
            return f"{_command(int(fields[4]))} (process {fields[4]})"
    return None


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return "a program"
    return Path(words[0]).name or "a program"
