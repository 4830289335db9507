"""The log of record: model responses, tool results and events, in SQLite, committed before they are used or sent.

WAL mode. What costs money (responses, tool results) is committed with `synchronous=FULL` (0.31 ms measured), so that it
survives a power cut; events and deltas with `NORMAL` (0.04 ms), so that they survive the process being killed, which is
what happens to workers. Several workers, one after another, may write one file: rows are keyed by producer.
"""

from __future__ import annotations

import contextlib
import errno
import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hermes_nb.model.event import Event
from hermes_nb.model.place import shown_path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
  row INTEGER PRIMARY KEY, producer TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL,
  session_id TEXT NOT NULL, turn_id TEXT NOT NULL, kind TEXT NOT NULL, at_unix_s REAL NOT NULL, body TEXT NOT NULL,
  UNIQUE (session_id, producer, attempt, seq));
CREATE INDEX IF NOT EXISTS events_of_turn ON events (turn_id, row);
CREATE TABLE IF NOT EXISTS responses (
  turn_id TEXT NOT NULL, fingerprint TEXT NOT NULL, occurrence INTEGER NOT NULL, attempt INTEGER NOT NULL,
  producer TEXT NOT NULL, at_unix_s REAL NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (turn_id, fingerprint, occurrence));
CREATE TABLE IF NOT EXISTS tool_results (
  turn_id TEXT NOT NULL, call_key TEXT NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL, attempt INTEGER NOT NULL,
  producer TEXT NOT NULL, at_unix_s REAL NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (turn_id, call_key));
PRAGMA user_version = 1;
"""


class JournalError(BaseException):
    """The journal can't be written. Not an `Exception`: Hermes goes on after those (0.19, `hermes_cli/middleware.py`),
    and a turn must not go on unrecorded."""


@dataclass(frozen=True, slots=True)
class Response:
    """One model response to keep: its key and its content as JSON data."""

    turn_id: str
    fingerprint: str
    occurrence: int
    attempt: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One tool result to keep. `call_key` names the call within its turn, the same in each attempt."""

    turn_id: str
    call_key: str
    name: str
    arguments: str
    attempt: int
    body: dict[str, Any]


class KeepsSteps(Protocol):
    """A journal: a file here, or one that the kernel keeps (see `wire_journal`)."""

    def commit(
        self, events: Sequence[Event] = (), *, kept: Response | ToolResult | None = None, at_unix_s: float = 0.0
    ) -> None:
        """Keep events and a step; when it returns, they are kept."""

    def responses(self, turn_id: str) -> dict[tuple[str, int], dict[str, Any]]:
        """Responses kept for a turn, by (fingerprint, occurrence), oldest first."""

    def tool_results(self, turn_id: str) -> dict[str, ToolResult]:
        """Tool results kept for a turn, by call key."""

    def events(self, turn_id: str) -> list[Event]:
        """Events kept for a turn, as written."""


def create(path: Path) -> None:
    """Make an empty journal, with its folder.

    Raises:
        sqlite3.Error: It can't be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(_SCHEMA)
    path.chmod(0o600)


class Journal:
    """One open journal; any thread may call.

    Args:
        path: The file; made with its directory when missing.
        producer: Who writes.

    Raises:
        JournalError: The file can't be opened or is no journal.
    """

    def __init__(self, path: Path, producer: str) -> None:
        self._path = path
        self._producer = producer
        self._lock = threading.Lock()
        self._is_full = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=5)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
            path.chmod(0o600)
        except (sqlite3.Error, OSError) as exc:
            raise self._error(exc) from exc

    def commit(
        self, events: Sequence[Event] = (), *, kept: Response | ToolResult | None = None, at_unix_s: float = 0.0
    ) -> None:
        """Write in one transaction: `kept` (then durable against a power cut) and the events, in their order.

        Raises:
            JournalError: Nothing was written.
        """
        with self._lock:
            try:
                if self._is_full != (kept is not None):
                    self._is_full = kept is not None
                    self._db.execute(f"PRAGMA synchronous = {'FULL' if self._is_full else 'NORMAL'}")
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    if kept is not None:
                        self._keep(kept, events[0].at_unix_s if events else at_unix_s)
                    self._db.executemany(
                        "INSERT INTO events (producer, attempt, seq, session_id, turn_id, kind, at_unix_s, body)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        [
                            (e.producer, e.attempt, e.seq, e.session_id, e.turn_id, e.kind, e.at_unix_s, e.to_json())
                            for e in events
                        ],
                    )
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:  # sqlite itself rolls back when the disk is full
                        self._db.execute("ROLLBACK")
                    raise
            except (sqlite3.Error, OSError) as exc:
                raise self._error(exc) from exc

    def _keep(self, kept: Response | ToolResult, at: float) -> None:
        body = json.dumps(kept.body, ensure_ascii=True, separators=(",", ":"))
        if isinstance(kept, Response):
            self._db.execute(
                "INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?, ?, ?)",
                (kept.turn_id, kept.fingerprint, kept.occurrence, kept.attempt, self._producer, at, body),
            )
        else:
            self._db.execute(
                "INSERT OR REPLACE INTO tool_results VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (kept.turn_id, kept.call_key, kept.name, kept.arguments, kept.attempt, self._producer, at, body),
            )

    def responses(self, turn_id: str) -> dict[tuple[str, int], dict[str, Any]]:
        """Responses kept for a turn, by (fingerprint, occurrence), oldest first."""
        rows = self._rows("SELECT fingerprint, occurrence, body FROM responses WHERE turn_id = ? ORDER BY rowid", turn_id)
        return {(fingerprint, int(occurrence)): json.loads(body) for fingerprint, occurrence, body in rows}

    def tool_results(self, turn_id: str) -> dict[str, ToolResult]:
        """Tool results kept for a turn, by call key."""
        rows = self._rows("SELECT call_key, name, arguments, attempt, body FROM tool_results WHERE turn_id = ?", turn_id)
        return {
            key: ToolResult(turn_id, key, name, arguments, int(attempt), json.loads(body))
            for key, name, arguments, attempt, body in rows
        }

    def events(self, turn_id: str) -> list[Event]:
        """Events kept for a turn, as written."""
        return [
            Event.from_json(body)
            for (body,) in self._rows("SELECT body FROM events WHERE turn_id = ? ORDER BY row", turn_id)
        ]

    def _rows(self, query: str, turn_id: str) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(query, (turn_id,)).fetchall()
            except sqlite3.Error as exc:
                raise self._error(exc) from exc

    def close(self) -> None:
        """Close the file; further calls raise JournalError."""
        with self._lock:
            self._db.close()

    def _error(self, exc: Exception) -> JournalError:
        codes = getattr(exc, "sqlite_errorcode", None), getattr(exc, "errno", None)
        is_full = codes in ((sqlite3.SQLITE_FULL, None), (None, errno.ENOSPC))
        why = "the disk is full" if is_full else str(exc)
        return JournalError(
            f"The journal {shown_path(self._path)} can't be written: {why}. Free space or make its folder writable, then run"
            " again."
        )
