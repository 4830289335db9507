"""Events, sessions and turns out of the store. Rows are computed from events at each reading: no second truth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hermes_nb.errors import SessionNotFoundError
from hermes_nb.model.event import TURN_ENDS, Event
from hermes_nb.store.connection import Connection
from hermes_nb.store.migration import MARKS
from hermes_nb.store.row import SessionRow, TurnRow

_EVENT = "rowid, v, producer, seq, at_unix_s, session_id, turn_id, span_id, parent_id, attempt, kind, data"
_SESSION = (
    "session_id, agent, title, created_unix_s, last_used_unix_s, parent_session_id, forked_at_turn_id, first_day"
)
_MARKS = ", ".join(f"'{kind}'" for kind in MARKS)
_N_KNOWN = 10  # sessions that an error lists


async def events(
    connection: Connection,
    session_id: str | None = None,
    *,
    turn_id: str | None = None,
    after_rowid: int = 0,
    limit: int | None = None,
) -> list[tuple[int, Event]]:
    """(rowid, event) in order of arrival.

    Args:
        connection: Where to read.
        session_id: Of this session; None for all.
        turn_id: Of this turn; None for all.
        after_rowid: Only what arrived after that row.
        limit: At most so many; None for all.
    """
    wanted: dict[str, Any] = {"rowid > ?": after_rowid}
    if session_id is not None:
        wanted["session_id = ?"] = session_id
    if turn_id is not None:
        wanted["turn_id = ?"] = turn_id
    rows = await connection.rows(
        f"SELECT {_EVENT} FROM events WHERE {' AND '.join(wanted)} ORDER BY rowid LIMIT ?",
        (*wanted.values(), -1 if limit is None else limit),
    )
    return [(rowid, Event(*(*fields, json.loads(data)))) for rowid, *fields, data in rows]


async def session(connection: Connection, session_id: str) -> SessionRow:
    """The session of that id, else the only one of that title.

    Raises:
        SessionNotFoundError: There is none, or several have the title; the message lists ids.
    """
    rows = await connection.rows(f"SELECT {_SESSION} FROM sessions WHERE session_id = ?", (session_id,))
    if not rows:
        rows = await connection.rows(f"SELECT {_SESSION} FROM sessions WHERE title = ?", (session_id,))
    if len(rows) != 1:
        raise await _not_found(connection, session_id, [row[0] for row in rows])
    return (await _with_totals(connection, rows))[0]


async def sessions(connection: Connection, *, limit: int = 50, agent: str | None = None) -> list[SessionRow]:
    """Sessions, the last used first."""
    where, parameters = ("", [limit]) if agent is None else ("WHERE agent = ?", [agent, limit])
    rows = await connection.rows(
        f"SELECT {_SESSION} FROM sessions {where} ORDER BY last_used_unix_s DESC, rowid DESC LIMIT ?", parameters
    )
    return await _with_totals(connection, rows)


async def turns(connection: Connection, session_id: str) -> list[TurnRow]:
    """Turns of a session, oldest first; [] for an unknown session."""
    return _fold(await _marks(connection, [session_id]))


async def put_session(connection: Connection, row: SessionRow) -> None:
    """Create or update a session; its totals are computed, so those of `row` are not looked at."""
    put = f"""INSERT INTO sessions ({_SESSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (session_id) DO UPDATE SET
            agent = CASE WHEN excluded.agent = '' THEN agent ELSE excluded.agent END,
            title = CASE WHEN excluded.title = '' THEN title ELSE excluded.title END,
            first_day = CASE WHEN excluded.first_day = '' THEN first_day ELSE excluded.first_day END,
            created_unix_s = min(created_unix_s, excluded.created_unix_s),
            last_used_unix_s = max(last_used_unix_s, excluded.last_used_unix_s),
            parent_session_id = coalesce(excluded.parent_session_id, parent_session_id),
            forked_at_turn_id = coalesce(excluded.forked_at_turn_id, forked_at_turn_id)"""
    values = (
        row.session_id, row.agent, row.title, row.created_unix_s, row.last_used_unix_s, row.parent_session_id,
        row.forked_at_turn_id, row.first_day,
    )  # fmt: skip
    async with connection.transaction():
        await connection.execute(put, values)


async def delete_session(connection: Connection, session_id: str) -> None:
    """Forget a session, its events and what search knows of it.

    Raises:
        SessionNotFoundError: There is none of that id.
    """
    async with connection.transaction():
        n_rows = await connection.execute("DELETE FROM sessions WHERE session_id = ?", (session_id,))
        await connection.execute("DELETE FROM events WHERE session_id = ?", (session_id,))
    if not n_rows:
        raise await _not_found(connection, session_id, [])


async def _not_found(connection: Connection, wanted: str, same_title: Sequence[str]) -> SessionNotFoundError:
    if same_title:
        return SessionNotFoundError(
            f"{len(same_title)} sessions are titled {wanted!r}: {', '.join(same_title)}. Use one of these ids."
        )
    known = await connection.rows(
        "SELECT session_id FROM sessions ORDER BY last_used_unix_s DESC LIMIT ?", (_N_KNOWN,)
    )
    listed = ", ".join(row[0] for row in known) if known else "none; the store is empty"
    return SessionNotFoundError(f"No session with the id or title {wanted!r}. Last used: {listed}.")


async def _with_totals(connection: Connection, rows: Sequence[Sequence[Any]]) -> list[SessionRow]:
    by_session: dict[str, list[TurnRow]] = {row[0]: [] for row in rows}
    for turn in _fold(await _marks(connection, list(by_session))):
        by_session[turn.session_id].append(turn)
    return [
        replace(
            SessionRow(*row),
            n_turns=len(own),
            input_tokens=_sum(turn.input_tokens for turn in own),
            output_tokens=_sum(turn.output_tokens for turn in own),
            cost_usd=_sum(turn.cost_usd for turn in own),
        )
        for row, own in ((row, by_session[row[0]]) for row in rows)
    ]


async def _marks(connection: Connection, session_ids: Sequence[str]) -> list[Sequence[Any]]:
    # Of a model's answer only the figures are read: the texts of a long session are not.
    return await connection.rows(
        f"""SELECT session_id, turn_id, attempt, kind, at_unix_s,
            json_extract(data, '$.usage.input_tokens'), json_extract(data, '$.usage.output_tokens'),
            json_extract(data, '$.cost_usd'), json_extract(data, '$.status'), json_extract(data, '$.duration_ms'),
            CASE WHEN kind = 'turn.started' THEN json_extract(data, '$.prompt')
                 WHEN kind LIKE 'turn.%' THEN json_extract(data, '$.text') END
        FROM events WHERE kind IN ({_MARKS}) AND session_id IN (SELECT value FROM json_each(?)) ORDER BY rowid""",
        (json.dumps(list(session_ids)),),
    )


class _Attempt:
    """What one attempt of a turn reported: figures of its end, and of its calls should the end have none."""

    def __init__(self) -> None:
        self.end: list[float | None] = [None, None, None]
        self.calls: list[float | None] = [None, None, None]
        self.status, self.text, self.duration_ms, self.is_over = "running", None, None, False

    def add(self, kind: str, figures: Sequence[float | None], status: str | None, duration_ms: Any, text: Any) -> None:
        if kind in TURN_ENDS:
            self.end = list(figures)
            self.status = status or kind.removeprefix("turn.")
            self.text, self.duration_ms, self.is_over = text, duration_ms, True
        elif kind != "turn.started":
            self.calls = [_sum(pair) for pair in zip(self.calls, figures, strict=True)]

    @property
    def figures(self) -> list[float | None]:
        return [call if end is None else end for end, call in zip(self.end, self.calls, strict=True)]


def _fold(marks: Iterable[Sequence[Any]]) -> list[TurnRow]:
    heads: dict[tuple[str, str], list[Any]] = {}  # (session, turn) -> [prompt, started]
    attempts: dict[tuple[str, str], dict[int, _Attempt]] = {}
    for session_id, turn_id, attempt, kind, at_unix_s, n_in, n_out, cost, status, duration_ms, text in marks:
        key = (session_id, turn_id)
        head = heads.setdefault(key, [None, at_unix_s])
        if kind == "turn.started" and head[0] is None:
            head[0] = text
        head[1] = min(head[1], at_unix_s)
        own = attempts.setdefault(key, {}).setdefault(attempt, _Attempt())
        own.add(kind, (n_in, n_out, cost), status, duration_ms, text)
    found = []
    for (session_id, turn_id), (prompt, started_unix_s) in heads.items():
        tries = attempts[session_id, turn_id]
        last = tries[max(tries)]
        n_in, n_out, cost = (_sum(own.figures[i] for own in tries.values()) for i in range(3))
        found.append(
            TurnRow(
                turn_id, session_id, last.status, prompt, last.text, started_unix_s, last.duration_ms,
                None if n_in is None else int(n_in), None if n_out is None else int(n_out), cost,
            )
        )  # fmt: skip
    return found


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
