"""What a session leaves beside the store and the journals, and taking it away: logs, Hermes's own files, runs of Flyte.

Blocks; call it off the IO loop. Hermes's own state is known here as hermes-agent 0.19 writes it (`state.db`: tables
`sessions` and `messages`; `hermes-results/<call id>.txt` in the temporary folder; `logs/*.log`; what its tools keep in
`cache`, none of which says whose it is).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from hermes_nb.errors import StoreError
from hermes_nb.model.event import Event
from hermes_nb.workers import intent_log

_TIMEOUT_S = 10.0
_CACHES = ("delegation", "web", "screenshots", "vision", "video", "audio")  # of answers, pages, pictures; no programs


def forget(session_id: str, events: Sequence[Event], state_dir: Path) -> None:
    """Remove what a session left; what can't be removed is an error, said with its place.

    Args:
        session_id: The session.
        events: Its events, which name its turns and calls.
        state_dir: The state folder.

    Raises:
        StoreError: Something of it stays.
    """
    turn_ids = {e.turn_id for e in events if Path(e.turn_id).name == e.turn_id}
    intent_log.forget(turn_ids, state_dir)
    try:
        for turn_id in turn_ids:
            for folder in state_dir.glob(f"instances/*/flyte/{turn_id}"):
                shutil.rmtree(folder)
        _forget_spilled(events, state_dir)
        _forget_lines(state_dir / "kernel.log", {session_id, *turn_ids})
        for log in (*state_dir.glob("instances/*/*/logs/*.log*"), *state_dir.glob("instances/*/worker.log")):
            os.truncate(log, 0)  # its lines do not say whose they are; a worker goes on at its new end
        for name in _CACHES:
            for folder in state_dir.glob(f"instances/*/*/cache/{name}"):
                shutil.rmtree(folder)
        for path in state_dir.glob("instances/*/*/state.db"):
            _forget_in_hermes(path, session_id)
    except (OSError, sqlite3.Error) as exc:
        raise StoreError(
            f"Session {session_id} is not wholly deleted: {exc}. Close what holds the files of {state_dir}, delete again."
        ) from exc


def damaged(state_dir: Path) -> list[Path]:
    """Stores that were set aside as damaged, which may hold what was deleted since."""
    return sorted(state_dir.glob("store.db.damaged-*"))


def _forget_spilled(events: Iterable[Event], state_dir: Path) -> None:
    """Results that were too long for Hermes, in files of their calls' names."""
    calls = {str(e.data.get("tool_call_id") or "") for e in events}
    for path in state_dir.glob("instances/*/*/tmp/hermes-results/*"):
        if path.stem in calls:
            path.unlink(missing_ok=True)


def _forget_lines(log: Path, names: Iterable[str]) -> None:
    """Take the lines that name one of these out of a log."""
    with contextlib.suppress(FileNotFoundError):
        marks = [name.encode() for name in names]
        lines = log.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if not any(mark in line for mark in marks)]
        if len(kept) < len(lines):
            log.write_bytes(b"".join(kept))


def _forget_in_hermes(path: Path, session_id: str) -> None:
    with contextlib.closing(sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        db.execute("PRAGMA secure_delete = ON")
        n_rows = 0
        for table, column in (("messages", "session_id"), ("sessions", "id")):
            if table in tables:
                n_rows += db.execute(f"DELETE FROM {table} WHERE {column} = ?", (session_id,)).rowcount
        if n_rows:
            for table in [t for t in tables if t.startswith("messages_fts") and t + "_data" in tables]:
                db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
            overwrite(db)


def overwrite(db: sqlite3.Connection) -> None:
    """Write a database anew without what was deleted, and empty its write-ahead log."""
    with contextlib.suppress(sqlite3.OperationalError):  # no room for a copy: zeros are where the texts were
        db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
