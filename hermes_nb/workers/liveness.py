"""A kernel's sign of life: what other kernels on the same state folder look at before they take over what it held."""

from __future__ import annotations

import threading
from pathlib import Path

from hermes_nb._file_lock import FileLock, is_taken
from hermes_nb.errors import StoreError

FOLDER = "kernels"


class KernelLease:
    """The sign of one kernel; blocks shortly, any thread.

    Args:
        state_dir: The state folder.
        name: The kernel's name, unique among all.
    """

    def __init__(self, state_dir: Path, name: str) -> None:
        self.name = name
        self._folder = state_dir / FOLDER
        self._lock = threading.Lock()
        self._sign: FileLock | None = None

    def show(self) -> str:
        """Be seen to live, until `end` or the process's end; returns the kernel's name.

        Raises:
            StoreError: The state folder can't be written.
        """
        with self._lock:
            if self._sign is None or not self._sign.is_there:
                try:
                    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                    self._sweep()
                    while self._sign is None or not self._sign.is_there:  # another kernel's sweep may hold or remove it
                        if self._sign is not None:
                            self._sign.release()
                        self._sign = FileLock.take(self._folder / self.name)
                except OSError as exc:
                    raise StoreError(
                        f"The folder {str(self._folder)!r} can't be written: {exc.strerror or exc}. Other kernels could not"
                        " see that this one is alive. Free space or make it writable, or set HERMES_NB_HOME."
                    ) from exc
        return self.name

    def _sweep(self) -> None:
        """Remove the signs of kernels that were killed."""
        for path in self._folder.iterdir():
            sign = FileLock.take(path)
            if sign is not None:
                sign.release(remove=True)

    def is_alive(self, name: str) -> bool:
        """Whether the kernel of that name lives."""
        return name == self.name or is_taken(self._folder / name)

    def end(self) -> None:
        """Be seen no longer."""
        with self._lock:
            if self._sign is not None:
                self._sign.release(remove=True)
                self._sign = None
