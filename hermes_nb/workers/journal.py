"""The workers' journals as a kernel sees them: found, read, copied between workers, made to forget.

Writing steps into them is the worker's business (`hermes_nb.engine.durability.journal`). Everything here blocks: call it off
the IO loop.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_nb._file_lock import is_taken
from hermes_nb.engine.durability.journal import create
from hermes_nb.errors import StoreError
from hermes_nb.workers.erasure import overwrite

_STEPS = ("responses", "tool_results")
_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Steps:
    """What a journal keeps of a turn, in the order it was committed.

    Attributes:
        responses: Dicts with fingerprint, occurrence, body.
        tool_results: Dicts with call_key, name, arguments, attempt, body.
    """

    responses: tuple[dict[str, Any], ...] = ()
    tool_results: tuple[dict[str, Any], ...] = ()


def all_of(state_dir: Path) -> list[Path]:
    """Every journal of a state folder: of workers, and of turns that ran by a runtime that keeps one for each turn."""
    of_turns = [path for path in state_dir.glob("instances/*/flyte/*/*.db") if path.stem == path.parent.name]
    return sorted([*state_dir.glob("instances/*/journal.db"), *of_turns])


def of_turn(journal: Path, turn_id: str) -> Path:
    """The journal of a single turn, where a runtime keeps one for each, beside its instance's `journal`."""
    return journal.parent / "flyte" / turn_id / f"{turn_id}.db"


def holder_of(turn_id: str, journals: Iterable[Path]) -> Path | None:
    """The journal with the most steps of a turn; None when none has it."""
    found: list[tuple[int, Path]] = []
    for path in journals:
        with contextlib.suppress(sqlite3.Error), _reading(path) as db:
            if db.execute("SELECT 1 FROM events WHERE turn_id = ? LIMIT 1", (turn_id,)).fetchone():
                n_steps = sum(
                    db.execute(f"SELECT count(*) FROM {table} WHERE turn_id = ?", (turn_id,)).fetchone()[0]
                    for table in _STEPS
                )
                found.append((n_steps, path))
    return max(found, key=lambda one: one[0])[1] if found else None


def next_attempt(turn_id: str, journal: Path, attempt: int) -> int:
    """The number of a turn's next attempt: the same while its worker committed nothing of it."""
    return attempt if holder_of(turn_id, [journal]) is None else attempt + 1


def is_held_elsewhere(journal: Path, own: Iterable[Path]) -> bool:
    """Whether another kernel that lives holds the instance of a journal; `own` are the journals of this one."""
    instance = journal.parents[2] if journal.stem == journal.parent.name else journal.parent
    return instance not in {path.parent for path in own} and is_taken(instance / "lock")


def bring(turn_id: str, source: Path, target: Path) -> None:
    """Copy a turn's committed steps into another worker's journal; nothing happens when it is the same.

    The worker that owns `target` must have made its tables; that of a single turn is made here.

    Raises:
        StoreError: A journal can't be read or written.
    """
    if source.resolve() == target.resolve():
        return
    try:
        if not target.exists():
            create(target)
        with contextlib.closing(sqlite3.connect(target, timeout=_TIMEOUT_S)) as db, db:
            db.execute("ATTACH DATABASE ? AS source", (str(source),))
            for table in _STEPS:
                db.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM source.{table} WHERE turn_id = ?", (turn_id,))
    except sqlite3.Error as exc:
        raise StoreError(
            f"The steps of turn {turn_id} can't be brought from {source} to {target}: {exc}. Check both folders."
        ) from exc


def steps(turn_id: str, journal: Path) -> Steps:
    """What is kept of a turn.

    Raises:
        StoreError: The journal can't be read.
    """
    try:
        with _reading(journal) as db:
            responses = db.execute(
                "SELECT fingerprint, occurrence, body FROM responses WHERE turn_id = ? ORDER BY rowid", (turn_id,)
            ).fetchall()
            results = db.execute(
                "SELECT call_key, name, arguments, attempt, body FROM tool_results WHERE turn_id = ? ORDER BY rowid",
                (turn_id,),
            ).fetchall()
    except sqlite3.Error as exc:
        raise StoreError(f"The journal {journal} can't be read: {exc}. Check its folder.") from exc
    return Steps(
        tuple({"fingerprint": f, "occurrence": int(n), "body": json.loads(body)} for f, n, body in responses),
        tuple(
            {"call_key": k, "name": n, "arguments": a, "attempt": int(attempt), "body": json.loads(body)}
            for k, n, a, attempt, body in results
        ),
    )


def forget_session(session_id: str, journals: Iterable[Path]) -> None:
    """Take a session out of the journals, so that no rebuild brings it back.

    Raises:
        StoreError: A journal can't be written.
    """
    for path in journals:
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=_TIMEOUT_S)) as db:
                db.execute("PRAGMA secure_delete = ON")  # zeros where the texts were
                turns = db.execute("SELECT DISTINCT turn_id FROM events WHERE session_id = ?", (session_id,)).fetchall()
                for table in _STEPS:
                    db.executemany(f"DELETE FROM {table} WHERE turn_id = ?", turns)
                db.execute("DELETE FROM events WHERE session_id = ?", (session_id,))
                db.commit()
                overwrite(db)
        except sqlite3.Error as exc:
            raise StoreError(
                f"Session {session_id} can't be taken out of the journal {path}: {exc}. End what holds it, delete again."
            ) from exc


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_TIMEOUT_S)) as db:
        yield db
