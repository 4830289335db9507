"""Events into the store: once each, however often they arrive, one transaction a call."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from hermes_nb.model.event import Event
from hermes_nb.store.connection import StoreConnection

_TITLE_CHARS = 60

# ON CONFLICT names the key: OR IGNORE would also drop a row for any other fault, in silence.
_INSERT = """INSERT INTO events
    (session_id, producer, attempt, seq, turn_id, span_id, parent_id, at_unix_s, kind, v, data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (session_id, producer, attempt, seq) DO NOTHING"""

_TOUCH = """INSERT INTO sessions (session_id, agent, title, created_unix_s, last_used_unix_s, first_day, parent_session_id,
        forked_at_turn_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (session_id) DO UPDATE SET
        agent = CASE WHEN agent = '' THEN excluded.agent ELSE agent END,
        title = CASE WHEN title = '' THEN excluded.title ELSE title END,
        first_day = CASE WHEN first_day = '' THEN excluded.first_day ELSE first_day END,
        parent_session_id = coalesce(parent_session_id, excluded.parent_session_id),
        forked_at_turn_id = coalesce(forked_at_turn_id, excluded.forked_at_turn_id),
        created_unix_s = min(created_unix_s, excluded.created_unix_s),
        last_used_unix_s = max(last_used_unix_s, excluded.last_used_unix_s)"""


async def ingest(connection: StoreConnection, events: Sequence[Event]) -> int:
    """Store events in the order given; returns how many were new."""
    if not events:
        return 0
    n_new, _ = await connection.write((_INSERT, (_row(event) for event in events)), (_TOUCH, _touches(events)))
    return n_new


def _row(event: Event) -> tuple[Any, ...]:
    return (
        event.session_id,
        event.producer,
        event.attempt,
        event.seq,
        event.turn_id,
        event.span_id,
        event.parent_id,
        event.at_unix_s,
        event.kind,
        event.v,
        _json(event.data),
    )


def _touches(events: Sequence[Event]) -> Iterator[tuple[Any, ...]]:
    by_session: dict[str, list[Event]] = {}
    for event in events:
        by_session.setdefault(event.session_id, []).append(event)
    for session_id, own in by_session.items():
        times = [event.at_unix_s for event in own]
        first = next((event for event in own if event.kind == "turn.started"), None)
        said = {} if first is None else first.data
        day = "" if first is None else _day(first.at_unix_s)
        # What a fork's first turn says of it: the rest of its row comes back with it when the store was lost.
        told = said.get("fork")
        fork = told if isinstance(told, dict) and told.get("session_id") != session_id else {}
        title = str(fork.get("title") or "") or _title(said)
        yield (
            session_id,
            str(said.get("agent") or ""),
            title,
            min(times),
            max(times),
            _text(fork, "first_day") or day,
            _text(fork, "session_id"),
            _text(fork, "at"),
        )


def _day(at_unix_s: float) -> str:
    try:
        return datetime.fromtimestamp(at_unix_s).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):  # a clock that no calendar follows
        return ""


def _text(data: dict[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _title(said: Any) -> str:
    title = str(said.get("title") or "").strip()
    if not title:
        lines = str(said.get("prompt") or "").strip().splitlines()
        title = " ".join(lines[0].split()) if lines else ""
    title = title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1].rstrip() + "…"
    return title.encode("utf-8", "replace").decode("utf-8")


def _json(data: Any) -> str:
    # A lone surrogate becomes '?', NaN becomes null, a foreign object its repr: one odd value costs no event.
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        text = json.dumps(_plain(data), ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)
