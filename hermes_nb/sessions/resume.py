"""Going on with a turn whose worker, kernel or both were killed: what was committed is not asked for again.

The worker's journal has the committed steps and answers them itself (`hermes_nb.engine`); here the turn is found, its
journal brought to the worker that goes on, what changed since is compared, and tools that may have run are asked about.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import SessionNotFoundError, UsageError
from hermes_nb.model.event import Event
from hermes_nb.sessions.profile import differences

if TYPE_CHECKING:
    from hermes_nb.sessions.hermes import Hermes

_TABLES = ("responses", "tool_results")


@dataclass(frozen=True, slots=True)
class Resumable:
    """A turn that can go on.

    Attributes:
        turn_id: Its id.
        session_id: Its conversation.
        agent: Name of its agent.
        prompt: What was asked.
        attempt: The number the next attempt gets.
        profile: What it was run with; empty for a log of an older version.
        unfinished: Calls that had started without a recorded result, as (tool name, raw arguments).
        journal: The journal that has its records; None when none has.
    """

    turn_id: str
    session_id: str
    agent: str
    prompt: str
    attempt: int
    profile: dict[str, Any]
    unfinished: tuple[tuple[str, str], ...]
    journal: Path | None

    def check(self, now: dict[str, Any], *, is_live: bool) -> None:
        """Refuse to go on when the agent changed, unless `is_live`.

        Raises:
            UsageError: It changed; the message lists what.
        """
        changed = differences(self.profile, now) if self.profile else []
        if changed and not is_live:
            raise UsageError(
                f"Turn {self.turn_id} can't be resumed as it was: {'; '.join(changed)}."
                " Bind the agent as it was, or go on with --live (live=True): steps that no longer fit are asked anew."
            )


async def find(hermes: Hermes, wanted: str | None, *, agent: str | None = None) -> Resumable:
    """The turn to resume; on the IO loop.

    Args:
        hermes: Whose store and journals are searched.
        wanted: A turn's id, a session's id (its last unfinished turn), or None for the newest unfinished one.
        agent: Only turns of this agent; None means any.

    Raises:
        SessionNotFoundError: No such turn or session, or nothing is unfinished.
        UsageError: The turn completed; there is nothing to resume.
    """
    from hermes_nb.store.rebuild import rebuild

    store = await hermes.opened_store()
    journals = sorted(hermes.state_dir.glob("instances/*/journal.db"))
    found = await rebuild(store, journals)  # a killed kernel had not stored what its worker committed last
    for text in found.warnings:
        hermes.warn("journal", text)
    events = await _events(hermes, wanted, agent)
    turn_id = events[0].turn_id
    started = next((e for e in events if e.kind == "turn.started"), None)
    end = next((e for e in reversed(events) if e.is_turn_end and e.attempt == max(x.attempt for x in events)), None)
    if started is None:
        raise SessionNotFoundError(f"Turn {turn_id} has no beginning in the log; it can't be resumed. Ask again.")
    if end is not None and end.kind == "turn.completed" and end.data.get("status", "completed") == "completed":
        raise UsageError(f"Turn {turn_id} completed; there is nothing to resume. Ask the next question with %%hermes run.")
    return Resumable(
        turn_id=turn_id,
        session_id=started.session_id,
        agent=str(started.data.get("agent", "")),
        prompt=str(started.data.get("prompt", "")),
        attempt=max(e.attempt for e in events) + 1,
        profile=dict(started.data.get("profile") or {}),
        unfinished=_unfinished(events),
        journal=next((j for j in journals if _has_turn(j, turn_id)), None),
    )


async def _events(hermes: Hermes, wanted: str | None, agent: str | None) -> list[Event]:
    store = await hermes.opened_store()
    if wanted:
        events = await store.events(turn_id=wanted)
        if events:
            return events
        session_ids = [await hermes.full_id(wanted)]
    else:
        session_ids = [row.session_id for row in await store.sessions(limit=50, agent=agent)]
    for session_id in session_ids:
        rows = [r for r in await store.turns(session_id) if r.status not in ("completed", "max_turns")]
        if rows:
            return await store.events(turn_id=rows[-1].turn_id)
    where = f"in session {session_ids[0]}" if wanted else "in the newest sessions"
    raise SessionNotFoundError(f"No unfinished turn {where}. `%hermes sessions` lists what there is.")


def _unfinished(events: Sequence[Event]) -> tuple[tuple[str, str], ...]:
    """Calls that started and have no result in any attempt, by what they were (ids differ between attempts)."""
    done = {e.span_id for e in events if e.kind == "tool.completed"}
    open_calls = [e for e in events if e.kind == "tool.started" and e.span_id not in done and not e.data.get("builtin")]
    finished = {_what(e) for e in events if e.kind == "tool.completed" and e.data.get("status") in ("ok", "error")}
    return tuple(dict.fromkeys(_what(e) for e in open_calls if _what(e) not in finished))


def _what(event: Event) -> tuple[str, str]:
    return str(event.data.get("name", "")), str(event.data.get("arguments", ""))


def _has_turn(journal: Path, turn_id: str) -> bool:
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_read_only(journal)) as connection:
        return connection.execute("SELECT 1 FROM events WHERE turn_id = ? LIMIT 1", (turn_id,)).fetchone() is not None
    return False


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)


def bring(turn_id: str, source: Path, target: Path) -> None:
    """Copy a turn's committed steps into another worker's journal; nothing happens when it is the same.

    The worker that owns `target` must have made its tables. Blocks; call it off the IO loop.
    """
    if source.resolve() == target.resolve():
        return
    with contextlib.closing(sqlite3.connect(target, timeout=10)) as connection, connection:
        connection.execute("ATTACH DATABASE ? AS source", (f"file:{source}?mode=ro",))
        for table in _TABLES:
            connection.execute(
                f"INSERT OR IGNORE INTO main.{table} SELECT * FROM source.{table} WHERE turn_id = ?",
                (turn_id,),
            )
