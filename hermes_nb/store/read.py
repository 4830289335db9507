"""Events, sessions and turns out of the store. Rows are computed from events at each reading: no second truth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hermes_nb.errors import SessionNotFoundError, UsageError
from hermes_nb.model.event import KNOWN_UNIX_S, TURN_ENDS, Event, as_number
from hermes_nb.store.connection import StoreConnection
from hermes_nb.store.forget import forget
from hermes_nb.store.migration import MARKS, RUN
from hermes_nb.store.row import RunRow, SessionRow, TurnRow

_EVENT = "rowid, v, producer, seq, at_unix_s, session_id, turn_id, span_id, parent_id, attempt, kind, data"
_SESSION = "session_id, agent, title, created_unix_s, last_used_unix_s, parent_session_id, forked_at_turn_id, first_day"
_MARKS = ", ".join(f"'{kind}'" for kind in MARKS)
_N_KNOWN = 10  # sessions that an error lists


async def events(
    connection: StoreConnection,
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


async def rowid_of(connection: StoreConnection, key: tuple[str, str, int, int]) -> int | None:
    """The row of an event, by its key; None when it is not stored."""
    wanted = "session_id = ? AND producer = ? AND attempt = ? AND seq = ?"
    rows = await connection.rows(f"SELECT rowid FROM events WHERE {wanted}", key)
    return int(rows[0][0]) if rows else None


async def news(
    connection: StoreConnection, session_id: str, *, after_rowid: int, without: Iterable[str] = ()
) -> list[tuple[int, Event]]:
    """As `events` of a session, kinds in `without` left out."""
    kinds = tuple(without)
    rows = await connection.rows(
        f"SELECT {_EVENT} FROM events WHERE session_id = ? AND rowid > ? AND kind NOT IN ({', '.join('?' * len(kinds))})"
        " ORDER BY rowid",
        (session_id, after_rowid, *kinds),
    )
    return [(rowid, Event(*(*fields, json.loads(data)))) for rowid, *fields, data in rows]


async def session(connection: StoreConnection, session_id: str) -> SessionRow:
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


async def sessions(
    connection: StoreConnection, *, limit: int = 50, agent: str | None = None, without_title: str | None = None
) -> list[SessionRow]:
    """Sessions, the last used first; without those whose title begins so."""
    wanted = [("agent = ?", (agent,)), ("substr(title, 1, length(?)) <> ?", (without_title, without_title))]
    held = [(condition, values) for condition, values in wanted if values[0] is not None]
    where = f"WHERE {' AND '.join(condition for condition, _ in held)}" if held else ""
    parameters = [*(value for _, values in held for value in values), limit]
    rows = await connection.rows(
        f"SELECT {_SESSION} FROM sessions {where} ORDER BY last_used_unix_s DESC, rowid DESC LIMIT ?", parameters
    )
    return await _with_totals(connection, rows)


async def turns(connection: StoreConnection, session_id: str | None, *, since_unix_s: float | None = None) -> list[TurnRow]:
    """Turns of a session, or of all, oldest first; [] for an unknown session. With `since_unix_s` those that said something
    since then."""
    return _fold(await _marks(connection, None if session_id is None else [session_id], since_unix_s=since_unix_s))


async def runs(connection: StoreConnection, *, limit: int = 20) -> list[RunRow]:
    """Remote runs by their newest event, the last heard of first; one that has no name yet is none."""
    rows = await connection.rows(
        f"""SELECT json_extract(e.data, '$.run'), e.session_id, e.turn_id, coalesce(s.agent, ''),
            json_extract(e.data, '$.phase'), coalesce(json_extract(e.data, '$.url'), ''), e.at_unix_s
        FROM events e LEFT JOIN sessions s USING (session_id)
        WHERE e.rowid IN (SELECT max(rowid) FROM events WHERE kind = '{RUN}' AND json_extract(data, '$.run') <> ''
            GROUP BY json_extract(data, '$.run'))
        ORDER BY e.rowid DESC LIMIT ?""",
        (limit,),
    )
    return [RunRow(*row) for row in rows]


async def turn_of_key(connection: StoreConnection, key: str) -> str | None:
    """The turn that was begun under an idempotency key; None when none was."""
    rows = await connection.rows(
        "SELECT turn_id FROM events WHERE kind = 'turn.started' AND json_extract(data, '$.idempotency_key') = ?"
        " ORDER BY rowid LIMIT 1",
        (key,),
    )
    return str(rows[0][0]) if rows else None


async def put_session(connection: StoreConnection, row: SessionRow) -> None:
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
        row.session_id,
        row.agent,
        _valid(row.title),
        row.created_unix_s,
        row.last_used_unix_s,
        row.parent_session_id,
        row.forked_at_turn_id,
        row.first_day,
    )
    await connection.write((put, [values]))


def _valid(text: str) -> str:
    """Valid UTF-8: sqlite refuses a lone surrogate."""
    return text.encode("utf-8", "replace").decode("utf-8")


async def forks_of(connection: StoreConnection, session_id: str) -> list[str]:
    """Sessions that were forked from one. Such as it claims to come from itself are none: a file may say so, in a circle."""
    forks = await connection.rows("SELECT session_id FROM sessions WHERE parent_session_id = ?", (session_id,))
    before = await connection.rows(
        """WITH RECURSIVE before (id) AS (SELECT ? UNION
            SELECT parent_session_id FROM sessions JOIN before ON session_id = id WHERE parent_session_id IS NOT NULL)
        SELECT id FROM before""",
        (session_id,),
    )
    return [row[0] for row in forks if row not in before]


async def delete_session(connection: StoreConnection, session_id: str) -> None:
    """Forget a session, its events and what search knows of it.

    Raises:
        SessionNotFoundError: There is none of that id.
        UsageError: Others were forked from it.
    """
    async with connection.transaction():
        forks = await forks_of(connection, session_id)
        if forks:
            raise UsageError(
                f"Session {session_id} is the beginning of {', '.join(forks)}, which would lose their history."
                " Delete those first."
            )
        n_rows = await forget(connection, session_id)
    if not n_rows:
        raise await _not_found(connection, session_id, [])


async def _not_found(connection: StoreConnection, wanted: str, same_title: Sequence[str]) -> SessionNotFoundError:
    if same_title:
        return SessionNotFoundError(
            f"{len(same_title)} sessions are titled {wanted!r}: {', '.join(same_title)}. Use one of these ids."
        )
    known = await connection.rows("SELECT session_id FROM sessions ORDER BY last_used_unix_s DESC LIMIT ?", (_N_KNOWN,))
    listed = ", ".join(row[0] for row in known) if known else "none; the store is empty"
    return SessionNotFoundError(f"No session with the id or title {wanted!r}. Last used: {listed}.")


async def _with_totals(connection: StoreConnection, rows: Sequence[Sequence[Any]]) -> list[SessionRow]:
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
            is_cost_whole=all(turn.is_cost_whole for turn in own),
            last_status=own[-1].status if own else None,
        )
        for row, own in ((row, by_session[row[0]]) for row in rows)
    ]


# Of a turn's figures, in the order of the columns read.
_FIGURES = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost_usd",
)
_SENT_AND_RECEIVED, _COST = 2, len(_FIGURES) - 1


async def _marks(
    connection: StoreConnection, session_ids: Sequence[str] | None, *, since_unix_s: float | None = None
) -> list[Sequence[Any]]:
    # Of a model's answer only the figures are read: the texts of a long session are not.
    usage = ", ".join(f"json_extract(data, '$.usage.{name}')" for name in _FIGURES[:_COST])
    where: list[str] = [f"kind IN ({_MARKS})"]
    parameters: list[Any] = []
    if session_ids is not None:
        where.append("session_id IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(list(session_ids)))
    if since_unix_s is not None:
        where.append("at_unix_s >= ?")
        parameters.append(since_unix_s)
    return await connection.rows(
        f"""SELECT session_id, turn_id, attempt, kind, at_unix_s, {usage}, json_extract(data, '$.cost_usd'),
            json_extract(data, '$.replayed'), json_extract(data, '$.status'), json_extract(data, '$.duration_ms'),
            CASE WHEN kind = 'turn.started' THEN json_extract(data, '$.prompt')
                 WHEN kind LIKE 'turn.%' THEN json_extract(data, '$.text') END
        FROM events WHERE {" AND ".join(where)} ORDER BY rowid""",
        parameters,
    )


class _Attempt:
    """What one attempt of a turn reported: figures of its end, and of its calls should the end have none."""

    def __init__(self) -> None:
        self.end: list[float | None] = [None] * len(_FIGURES)
        self.calls: list[float | None] = [None] * len(_FIGURES)
        self.status, self.is_over = "running", False
        self.text: str | None = None
        self.duration_ms: float | None = None
        self.is_every_cost_known = self.are_tokens_whole = True

    def add(self, kind: str, told: Sequence[Any], replayed: Any, status: Any, duration_ms: Any, text: Any) -> None:
        figures = [n if as_number(n) is not None else None for n in told]  # whoever wrote the log: words are no figure
        if kind in TURN_ENDS:
            self.end = list(figures)
            self.status = str(status or kind.removeprefix("turn."))
            self.text, self.duration_ms, self.is_over = _said(text), as_number(duration_ms), True
        elif kind != "turn.started" and not replayed:
            self.is_every_cost_known = self.is_every_cost_known and figures[_COST] is not None
            is_told = kind != "model.completed" or any(n is not None for n in figures[:_SENT_AND_RECEIVED])
            self.are_tokens_whole = self.are_tokens_whole and is_told
            self.calls = [_sum(pair) for pair in zip(self.calls, figures, strict=True)]

    @property
    def figures(self) -> list[float | None]:
        return [call if end is None else end for end, call in zip(self.end, self.calls, strict=True)]

    @property
    def is_cost_whole(self) -> bool:
        return self.is_every_cost_known or self.end[_COST] is not None


def _fold(marks: Iterable[Sequence[Any]]) -> list[TurnRow]:
    heads: dict[tuple[str, str], list[Any]] = {}  # (session, turn) -> [prompt, started]
    attempts: dict[tuple[str, str], dict[int, _Attempt]] = {}
    for session_id, turn_id, attempt, kind, at_unix_s, *rest in marks:
        figures, (replayed, status, duration_ms, text) = rest[: len(_FIGURES)], rest[len(_FIGURES) :]
        key = (session_id, turn_id)
        head = heads.setdefault(key, [None, at_unix_s])
        if kind == "turn.started" and head[0] is None:
            head[0] = _said(text)
        head[1] = min(head[1], at_unix_s, key=lambda at: (at < KNOWN_UNIX_S, at))
        own = attempts.setdefault(key, {}).setdefault(attempt, _Attempt())
        own.add(kind, figures, replayed, status, duration_ms, text)
    found = []
    for (session_id, turn_id), (prompt, started_unix_s) in heads.items():
        tries = attempts[session_id, turn_id]
        last = tries[max(tries)]
        sums = {name: _sum(own.figures[i] for own in tries.values()) for i, name in enumerate(_FIGURES)}
        cost_usd = sums.pop("cost_usd")
        found.append(
            TurnRow(
                turn_id,
                session_id,
                last.status,
                prompt,
                last.text,
                started_unix_s if started_unix_s >= KNOWN_UNIX_S else None,
                last.duration_ms,
                cost_usd=cost_usd,
                is_cost_whole=all(own.is_cost_whole for own in tries.values()),
                are_tokens_whole=all(own.are_tokens_whole for own in tries.values()),
                **{name: None if n is None else int(n) for name, n in sums.items()},
            )
        )
    return found


def _said(value: Any) -> str | None:
    return None if value is None else str(value)


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
