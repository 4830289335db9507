"""Stored conversations: searched, renamed, deleted, counted, carried to another place.

An export is JSON lines: a header, then each session's row and its events. Versioned; reading it twice changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb._near import suggesting_methods
from hermes_nb.errors import SessionNotFoundError, StoreError, UsageError
from hermes_nb.model.event import EARLIEST_UNIX_S, LATEST_UNIX_S, Event
from hermes_nb.store.json_lines import read_lines, write_whole
from hermes_nb.store.row import RunRow, SearchHit, SessionRow, TurnRow
from hermes_nb.workers import erasure, journal

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes

FORMAT = "hermes-nb sessions"
VERSION = 1
_MOST = 1_000_000
_BATCH = 2_000
_KEPT = (
    "session_id",
    "agent",
    "title",
    "created_unix_s",
    "last_used_unix_s",
    "parent_session_id",
    "forked_at_turn_id",
    "first_day",
)


@suggesting_methods
class Library:
    """What is stored, and what can be done with it; any thread but the IO loop's may call.

    Args:
        hermes: Whose store and journals.
    """

    def __init__(self, hermes: Hermes) -> None:
        self._hermes = hermes

    def turns(self, session_id: str | None = None, *, since_unix_s: float | None = None) -> list[TurnRow]:
        """Stored turns with what each cost, oldest first: of one session or all, at work since a time or ever.

        Raises:
            SessionNotFoundError: No such session.
        """

        async def found() -> list[TurnRow]:
            full_id = None if session_id is None else await self._hermes.conversations.full_id(session_id)
            return await (await self._hermes.conversations.opened_store()).turns(full_id, since_unix_s=since_unix_s)

        return self._hermes.io.call(found())

    def runs(self, *, limit: int = 20) -> list[RunRow]:
        """Remote runs as they were last heard of, the newest word first; nothing is asked of a control plane."""

        async def found() -> list[RunRow]:
            return await (await self._hermes.conversations.opened_store()).runs(limit=limit)

        return self._hermes.io.call(found())

    def search(self, text: str, *, limit: int = 20) -> list[SearchHit]:
        """Prompts and answers that hold every word of `text`, the best first."""

        async def found() -> list[SearchHit]:
            return await (await self._hermes.conversations.opened_store()).search(text, limit)

        return self._hermes.io.call(found())

    def rename(self, session_id: str, title: str) -> str:
        """Give a session a title; returns its id.

        Raises:
            SessionNotFoundError: No such session.
            UsageError: The title is empty.
        """
        return self._hermes.io.call(_rename(self._hermes, session_id, title))

    def delete(self, session_id: str) -> str:
        """Forget a session in the store and in every journal; returns its id. There is no way back.

        Raises:
            SessionNotFoundError: No such session.
            UsageError: A turn of it is running, or other sessions were forked from it.
        """
        return self._hermes.io.call(_delete(self._hermes, session_id))

    def export(self, path: str | Path, session_id: str | None = None) -> int:
        """Write sessions with all their events to a JSONL file; returns how many.

        Args:
            path: The file; one that is there is replaced.
            session_id: That session and those it was forked from; None means all.
        """
        return self._hermes.io.call(_export(self._hermes, Path(path), session_id))

    def load(self, path: str | Path) -> tuple[int, int]:
        """Read such a file into the store; doing it again changes nothing.

        Returns: how many sessions the file has, and how many of its events were new.

        Raises:
            UsageError: It is no such file, or of a newer version.
        """
        return self._hermes.io.call(_import_from(self._hermes, Path(path)))


def tree(rows: Sequence[SessionRow]) -> list[tuple[int, SessionRow]]:
    """(depth, row): forks right behind the session they were forked from, otherwise in the order given.

    A fork whose parent is not among the rows stands alone.
    """
    known = {row.session_id for row in rows}
    children: dict[str | None, list[SessionRow]] = {}
    for row in rows:
        children.setdefault(row.parent_session_id if row.parent_session_id in known else None, []).append(row)

    def below(parent: str | None, depth: int) -> Iterator[tuple[int, SessionRow]]:
        for row in children.get(parent, ()):
            yield depth, row
            yield from below(row.session_id, depth + 1)

    found = list(below(None, 0))
    shown = {row.session_id for _, row in found}
    return [*found, *((0, row) for row in rows if row.session_id not in shown)]  # those that go round in a circle


async def _rename(hermes: Hermes, session_id: str, title: str) -> str:
    """See `Library.rename`."""
    if not title.strip():
        raise UsageError("A title can't be empty. Write a few words.")
    session = await hermes.conversations.open_session(session_id)
    store = await hermes.conversations.opened_store()
    with contextlib.suppress(SessionNotFoundError):  # one without a turn is not stored yet: it is, with its title, now
        await store.put_session(replace(await store.session(session.id), title=title.strip()))
    session.title = title.strip()
    return session.id


async def _delete(hermes: Hermes, session_id: str) -> str:
    """See `Library.delete`."""
    full_id = await hermes.conversations.full_id(session_id)
    running = [t.id for t in hermes.turns if t.session_id == full_id and not t.is_done]
    if running:
        raise UsageError(f"Session {full_id} has a running turn. Stop it first: %hermes stop {running[0]}")
    store = await hermes.conversations.opened_store()
    if not await store.forks_of(full_id):  # else the store refuses, and the journals must not have forgotten
        await forget_files(hermes, full_id, await store.events(full_id))
    is_clean = await store.delete_session(full_id)
    hermes.conversations.drop_session(full_id)
    if not is_clean:
        hermes.warn("delete", f"{store.path}-wal holds texts of session {full_id} until the other kernels are closed.")
    for path in await asyncio.to_thread(erasure.damaged, hermes.state_dir):
        hermes.warn("delete", f"{path} was set aside as damaged and may hold texts of session {full_id}. Remove the file.")
    return full_id


async def forget_files(hermes: Hermes, session_id: str, events: Sequence[Event]) -> None:
    """Take a session out of journals, logs and what else is below the state folder, the store aside; on the IO loop.

    Raises:
        StoreError: Something of it stays.
    """
    await asyncio.to_thread(journal.forget_session, session_id, journal.all_of(hermes.state_dir))
    await asyncio.to_thread(erasure.forget, session_id, events, hermes.state_dir)


async def forgotten_meanwhile(hermes: Hermes, session_id: str, events: Sequence[Event]) -> str:
    """Where another kernel deleted a session while a turn of it ran: take out what the turn left, and say so; "" else."""
    try:
        is_forgotten = await (await hermes.conversations.opened_store()).is_forgotten(session_id)
    except StoreError:  # the turn has told of it
        return ""
    if not is_forgotten:
        return ""
    try:
        await forget_files(hermes, session_id, events)
    except StoreError as exc:
        return str(exc)
    hermes.conversations.drop_session(session_id)
    return f"Session {session_id} was deleted in another kernel meanwhile, so this turn is not kept."


async def _export(hermes: Hermes, path: Path, session_id: str | None) -> int:
    """See `Library.export`."""
    store = await hermes.conversations.opened_store()
    found = await store.sessions(limit=_MOST)
    if session_id is not None:
        found = _with_ancestors(await hermes.conversations.full_id(session_id), found)
    found.sort(key=lambda row: (row.created_unix_s, row.session_id))
    lines = [_line({"format": FORMAT, "version": VERSION})]
    for row in found:
        kept = {k: v for k, v in asdict(row).items() if k in _KEPT}
        lines.append(_line({"session": kept}))
        lines += [_line({"event": event.to_dict()}) for event in await store.events(row.session_id)]
    await asyncio.to_thread(write_whole, path, "".join(lines))
    return len(found)


def _with_ancestors(session_id: str, rows: Sequence[SessionRow]) -> list[SessionRow]:
    by_id = {row.session_id: row for row in rows}
    found: list[SessionRow] = []
    wanted: str | None = session_id
    while wanted in by_id and by_id[wanted] not in found:
        found.append(by_id[wanted])
        wanted = by_id[wanted].parent_session_id
    return found


async def _import_from(hermes: Hermes, path: Path) -> tuple[int, int]:
    """See `Library.load`."""
    lines = await asyncio.to_thread(_read, path)
    store = await hermes.conversations.opened_store()
    n_new, batch = 0, []
    sessions = [SessionRow(**line["session"]) for line in lines if "session" in line]
    _refuse_circles(path, sessions, await store.sessions(limit=_MOST))
    for line in lines:
        if "event" in line:
            batch.append(Event.from_dict(line["event"]))
    await store.readmit({row.session_id for row in sessions} | {event.session_id for event in batch})
    for start in range(0, len(batch), _BATCH):
        n_new += await store.ingest(batch[start : start + _BATCH])
    for row in sessions:
        await store.put_session(row)
        hermes.conversations.drop_session(row.session_id, is_deleted=False)  # what is in memory may lack what came
    return len(sessions), n_new


def _read(path: Path) -> list[dict[str, Any]]:
    head, lines = read_lines(path, FORMAT, VERSION, cure="%hermes sessions --export FILE writes one.")
    del head
    for number, line in enumerate(lines, 2):
        try:
            if "session" in line:
                line["session"] = _row(line["session"])
            if "event" in line:
                Event.from_dict(line["event"])
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as exc:
            raise UsageError(f"Line {number} of {path} can't be read: {exc!r}. Nothing was imported.") from exc
    return lines


def _row(told: dict[str, Any]) -> dict[str, Any]:
    """A session's fields, each of its type."""
    found: dict[str, Any] = {}
    for name in _KEPT:
        value = told.get(name)
        if name.endswith("_unix_s"):
            found[name] = float(told[name])
            if not EARLIEST_UNIX_S <= found[name] <= LATEST_UNIX_S:
                raise ValueError(f"{name} is {value!r}")
        elif isinstance(value, str) or (value is None and name != "session_id"):
            found[name] = value if value is not None or name.startswith(("parent", "forked")) else ""
        else:
            raise ValueError(f"{name} is {value!r}")
    return found


def _refuse_circles(path: Path, rows: Sequence[SessionRow], stored: Sequence[SessionRow]) -> None:
    """A session can't come from a fork of its own: nothing of such could be opened."""
    parents = {r.session_id: r.parent_session_id for r in (*stored, *(r for r in rows if r.parent_session_id))}
    for row in rows:
        at, seen = row.parent_session_id, set[str]()
        while at is not None and at not in seen:
            if at == row.session_id:
                raise UsageError(f"In {path} session {row.session_id} is a fork of its own fork. Nothing was imported.")
            seen.add(at)
            at = parents.get(at)


def _line(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8") + "\n"
