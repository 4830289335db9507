"""The schema, as ordered steps. A step and its record are one transaction; a step is never edited once released."""

from __future__ import annotations

import time
from pathlib import Path

from hermes_nb.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.store.connection import StoreConnection

# The kinds a turn's row is computed from; the partial index below lists the same.
MARKS = ("turn.started", "turn.completed", "turn.failed", "turn.stopped", "model.completed", "context.compressed")
RUN = "flyte.run"  # what a remote run says of itself; a partial index lists these
_MARKS = ", ".join(f"'{kind}'" for kind in MARKS)

# AUTOINCREMENT: a rowid is never given twice, so `after_rowid` stays right when the newest session is deleted.
# The triggers see a row only if it was really inserted: what is said twice is indexed once.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "events and sessions",
        (
            """CREATE TABLE events (
                rowid INTEGER PRIMARY KEY AUTOINCREMENT,
                session_id TEXT NOT NULL,
                producer TEXT NOT NULL,
                attempt INTEGER NOT NULL,
                seq INTEGER NOT NULL,
                turn_id TEXT NOT NULL,
                span_id TEXT NOT NULL,
                parent_id TEXT,
                at_unix_s REAL NOT NULL,
                kind TEXT NOT NULL,
                v INTEGER NOT NULL,
                data TEXT NOT NULL,
                UNIQUE (session_id, producer, attempt, seq)
            )""",
            "CREATE INDEX events_by_session ON events (session_id, rowid)",
            "CREATE INDEX events_by_turn ON events (turn_id, rowid)",
            f"CREATE INDEX events_marks ON events (session_id, rowid) WHERE kind IN ({_MARKS})",
            """CREATE TABLE sessions (
                session_id TEXT PRIMARY KEY,
                agent TEXT NOT NULL DEFAULT '',
                title TEXT NOT NULL DEFAULT '',
                created_unix_s REAL NOT NULL,
                last_used_unix_s REAL NOT NULL,
                parent_session_id TEXT,
                forked_at_turn_id TEXT,
                first_day TEXT NOT NULL DEFAULT ''
            )""",
            "CREATE INDEX sessions_by_use ON sessions (last_used_unix_s)",
        ),
    ),
    (
        "full-text search of prompts and answers",
        (
            "CREATE VIRTUAL TABLE said USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2')",
            """CREATE TRIGGER said_prompt AFTER INSERT ON events WHEN new.kind = 'turn.started'
                AND coalesce(json_extract(new.data, '$.prompt'), '') <> ''
                BEGIN INSERT INTO said (rowid, text) VALUES (new.rowid, json_extract(new.data, '$.prompt')); END""",
            """CREATE TRIGGER said_answer AFTER INSERT ON events
                WHEN new.kind IN ('turn.completed', 'turn.failed', 'turn.stopped')
                AND coalesce(json_extract(new.data, '$.text'), '') <> ''
                BEGIN INSERT INTO said (rowid, text) VALUES (new.rowid, json_extract(new.data, '$.text')); END""",
            "CREATE TRIGGER said_forget AFTER DELETE ON events BEGIN DELETE FROM said WHERE rowid = old.rowid; END",
        ),
    ),
    (
        "turns by idempotency key and by time",
        (
            """CREATE INDEX events_by_key ON events (json_extract(data, '$.idempotency_key'))
                WHERE kind = 'turn.started' AND json_extract(data, '$.idempotency_key') IS NOT NULL""",
            f"CREATE INDEX events_marks_by_time ON events (at_unix_s) WHERE kind IN ({_MARKS})",
        ),
    ),
    (
        "what live kernels hold: keys, and tokens and money for calls that run",
        (
            """CREATE TABLE claims (
                key TEXT PRIMARY KEY,
                body TEXT NOT NULL,
                session_id TEXT NOT NULL,
                turn_id TEXT NOT NULL,
                owner TEXT NOT NULL,
                at_unix_s REAL NOT NULL
            )""",
            """CREATE TABLE reservations (
                call_id TEXT PRIMARY KEY,
                turn_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                owner TEXT NOT NULL,
                n_tokens INTEGER,
                cost_usd REAL,
                at_unix_s REAL NOT NULL
            )""",
        ),
    ),
    ("remote runs", (f"CREATE INDEX events_of_runs ON events (rowid) WHERE kind = '{RUN}'",)),
    (
        "sessions that were deleted, and do not come back from whoever still has them",
        (
            "CREATE TABLE forgotten (session_id TEXT PRIMARY KEY, at_unix_s REAL NOT NULL)",
            *(
                f"""CREATE TRIGGER {table}_forgotten BEFORE INSERT ON {table}
                    WHEN EXISTS (SELECT 1 FROM forgotten WHERE session_id = new.session_id)
                    BEGIN SELECT RAISE(IGNORE); END"""
                for table in ("events", "sessions")
            ),
        ),
    ),
)


_RECORDS = """CREATE TABLE IF NOT EXISTS migrations
    (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_unix_s REAL NOT NULL)"""


async def migrate(connection: StoreConnection, path: Path) -> int:
    """Bring the file up to the newest schema; returns how many steps were taken.

    Raises:
        StoreError: A newer hermes_nb wrote the file.
    """
    async with connection.transaction():  # also finds out, at once, whether the file may be written
        await connection.execute(_RECORDS)
    n_steps = 0
    for version, (name, statements) in enumerate(STEPS, start=1):
        if await _version(connection) >= version:
            continue
        async with connection.transaction():
            if await _version(connection) >= version:  # another process took the step meanwhile
                continue
            for statement in statements:
                await connection.execute(statement)
            await connection.execute(
                "INSERT INTO migrations (version, name, applied_unix_s) VALUES (?, ?, ?)", (version, name, time.time())
            )
            n_steps += 1
    version = await _version(connection)
    if version > len(STEPS):
        raise StoreError(
            f"The store {path} was written by a newer hermes_nb (schema {version}, this one knows {len(STEPS)})."
            " Upgrade hermes-nb, or set HERMES_NB_HOME to another folder."
        )
    return n_steps


async def _version(connection: StoreConnection) -> int:
    rows = await connection.rows("SELECT coalesce(max(version), 0) FROM migrations")
    return int(rows[0][0])
