"""Where state lives: `.hermes-nb/` under the working directory, or HERMES_NB_HOME; private to the user.

Layout: `store.db` (index of all sessions), `kernels/` (a locked file for each that lives), `instances/<name>/` (HERMES_HOME
as `home/`, `instance.json`, `journal.db`, `starts/`, `worker.log`), and a `.gitignore` that keeps all of it out of a
repository. One process holds one instance folder, by a lock.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hermes_nb import _settings
from hermes_nb._file_lock import FileLock
from hermes_nb.errors import StoreError
from hermes_nb.workers import instance_record, intent_log

FOLDER = ".hermes-nb"
STORE, JOURNAL = "store.db", "journal.db"


@dataclass
class StateDir:
    """The state folder; `warning` says why it is a temporary one, None when it is not."""

    path: Path
    warning: str | None = None

    @property
    def store(self) -> Path:
        """The sqlite file of all sessions."""
        return self.path / STORE

    def prepare(self) -> None:
        """Make the folder again, where it was deleted."""
        _prepare(self.path)

    def release(self) -> None:
        """Remove the folder when it was a temporary one."""
        if self.warning is not None:
            shutil.rmtree(self.path, ignore_errors=True)


def open_state_dir(chosen: str | Path | None = None) -> StateDir:
    """The state folder, made when it is not there.

    Args:
        chosen: A folder; None takes HERMES_NB_HOME, else `.hermes-nb` in the working directory.

    Raises:
        StoreError: A folder that was named (by argument or HERMES_NB_HOME) can't be written.
    """
    named = chosen or _settings.home()
    path = Path(named).expanduser() if named else Path.cwd() / FOLDER
    try:
        _prepare(path)
    except OSError as exc:
        if named:
            raise StoreError(
                f"The state folder {str(path)!r} can't be written: {exc.strerror or exc}."
                " Choose another with HERMES_NB_HOME or state=..."
            ) from exc
        temporary = Path(tempfile.mkdtemp(prefix="hermes-nb-"))
        _prepare(temporary)
        return StateDir(
            temporary,
            f"{str(path)!r} can't be written ({exc.strerror or exc}): sessions are kept in a temporary folder and are gone"
            " when this kernel ends. Set HERMES_NB_HOME to keep them.",
        )
    return StateDir(path)


def _prepare(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    ignore = path / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied", str(path))


@dataclass
class InstanceDir:
    """One instance's folder, locked by this process until `release`.

    Attributes:
        path: The folder.
        is_new: Whether it held nothing of an earlier kernel when it was claimed: no journal, and no record of an instance.
    """

    path: Path
    _lock: FileLock
    is_new: bool = True

    @property
    def home(self) -> Path:
        """HERMES_HOME of its worker."""
        return self.path / "home"

    @property
    def journal(self) -> Path:
        """The worker's journal."""
        return self.path / JOURNAL

    @property
    def starts(self) -> Path:
        """Notes of the calls that began, a file for each turn (see `start_note`)."""
        return self.path / intent_log.FOLDER

    @property
    def log(self) -> Path:
        """What the worker prints."""
        return self.path / "worker.log"

    def log_tail(self, n_lines: int = 8) -> str:
        """The last lines of the log, "" when there are none."""
        with contextlib.suppress(OSError):
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 8192))
                return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-n_lines:])
        return ""

    @property
    def is_there(self) -> bool:
        """Whether the folder is still the one that was claimed."""
        return self._lock.is_there

    def release(self) -> None:
        """Let go of the lock."""
        self._lock.release()


def claim_instance(state: StateDir, name: str) -> InstanceDir:
    """A folder for an instance that no other process holds: `<name>`, else `<name>-2`, `<name>-3` ...

    Raises:
        StoreError: The folder can't be written.
    """
    number = 1
    while True:
        path = state.path / "instances" / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = FileLock.take(path / "lock")
        except OSError as exc:
            raise StoreError(f"The instance folder {str(path)!r} can't be written: {exc.strerror or exc}.") from exc
        if lock is not None:
            return InstanceDir(path, lock, _is_new(path))
        number += 1


def claim_folder(path: Path) -> InstanceDir | None:
    """An instance folder that is there; None when another process holds it.

    Raises:
        StoreError: The folder can't be written.
    """
    try:
        lock = FileLock.take(path / "lock")
    except OSError as exc:
        raise StoreError(f"The instance folder {str(path)!r} can't be written: {exc.strerror or exc}.") from exc
    return None if lock is None else InstanceDir(path, lock, _is_new(path))


def instance_folders(state_dir: Path) -> list[Path]:
    """The instance folders of a state folder, by name."""
    return sorted(path for path in state_dir.glob("instances/*") if path.is_dir())


def _is_new(path: Path) -> bool:
    return not (path / JOURNAL).exists() and not (path / instance_record.FILE).exists()
