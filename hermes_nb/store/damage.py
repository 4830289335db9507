"""A damaged file: found, set aside under a name that says so, never overwritten.

sqlite finds a store's side files by name: were the file renamed while another process has it open, that one would later
delete the fresh store's log. So every open store holds a shared lock on its folder (released by the system however a
process ends), and a file is moved only under the exclusive one.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from pathlib import Path

from hermes_nb.store.connection import StoreConnection
from hermes_nb.store.failure import DamagedStoreError

# A whole check reads the whole file. Larger files are checked only when a reading has failed before (`suspect`).
CHECK_BYTES = 32 * 1024 * 1024


class Presence:
    """This store's lock on its folder.

    Raises:
        OSError: The folder can't be read.
    """

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)

    async def share(self) -> None:
        """Be one of the processes that have the store open; waits for one that is setting a file aside."""
        while not self._try(fcntl.LOCK_SH):
            await asyncio.sleep(0.01)

    def try_alone(self) -> bool:
        """Be the only one, if nobody else has the store open."""
        return self._try(fcntl.LOCK_EX)

    def close(self) -> None:
        """Let go."""
        os.close(self._fd)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: nobody can be excluded, and nobody is
            return kind == fcntl.LOCK_SH
        return True


async def check(connection: StoreConnection, path: Path) -> None:
    """Look a file over when it is small or suspect.

    Raises:
        DamagedStoreError: It is damaged.
    """
    suspect = _suspect(path)
    if not suspect.exists() and path.stat().st_size > CHECK_BYTES:
        return
    found = [str(row[0]) for row in await connection.rows("PRAGMA quick_check(1)")]
    if found != ["ok"]:
        raise DamagedStoreError(f"The store {path} is damaged ({'; '.join(found)}).")
    suspect.unlink(missing_ok=True)


def mark_suspect(path: Path) -> None:
    """Have the next opening check the whole file, whatever its size; where no mark can be left, only small ones are."""
    with contextlib.suppress(OSError):
        _suspect(path).touch()


def move(path: Path, reason: str) -> str:
    """Set the file and its side files aside; returns what to tell the user."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    name, n = f"{path.name}.damaged-{stamp}", 1
    while path.with_name(name).exists():
        n += 1
        name = f"{path.name}.damaged-{stamp}-{n}"
    for suffix in ("-wal", "-shm", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(path.with_name(name + suffix))
    _suspect(path).unlink(missing_ok=True)
    return (
        f"The store {path} was damaged ({reason}). It was set aside as {path.with_name(name)} and a fresh store"
        " was begun; sessions come back from the journals where these are left."
    )


def _suspect(path: Path) -> Path:
    return path.with_name(path.name + ".suspect")
