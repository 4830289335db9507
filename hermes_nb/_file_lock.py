"""Locked files: how the processes that share a state folder tell who is alive. The system lets go of them at any end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref
from pathlib import Path

_TAKEN: weakref.WeakSet[FileLock] = weakref.WeakSet()
_HOOKS: list[None] = []  # not empty once forks are heard of


class FileLock:
    """A lock on a file, held until `release` or the process's end; made by `take`.

    A forked child does not keep it: a pool of processes that outlives its kernel must not look like the kernel.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        _TAKEN.add(self)

    @classmethod
    def take(cls, path: Path) -> FileLock | None:
        """The lock on that file, which is made when it is missing; None when somebody holds it.

        Raises:
            OSError: The file can't be made or written.
        """
        if not _HOOKS:
            os.register_at_fork(after_in_child=_let_go_in_child)
            _HOOKS.append(None)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return cls(path, descriptor)

    @property
    def is_there(self) -> bool:
        """Whether the file is still the one that was locked."""
        return self._descriptor is not None and _is_same(self._descriptor, self.path)

    def fileno(self) -> int:
        """Return the descriptor; a program that is started with it (`pass_fds`) holds the lock too, until it ends.

        Raises:
            ValueError: The lock was released.
        """
        if self._descriptor is None:
            raise ValueError(f"The lock on {self.path} was released.")
        return self._descriptor

    def release(self, *, remove: bool = False) -> None:
        """Let go; with `remove` the file goes too. Idempotent."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            if remove and _is_same(descriptor, self.path):
                with contextlib.suppress(OSError):
                    self.path.unlink()
            os.close(descriptor)


def is_taken(path: Path) -> bool:
    """Whether a process that lives holds the lock on a file; False for a file that is missing."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _let_go_in_child() -> None:
    for lock in list(_TAKEN):
        lock.release()  # closes this process's copy alone: the parent keeps the lock
