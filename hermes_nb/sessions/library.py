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

from hermes_nb.errors import SessionNotFoundError, StoreError, UsageError
from hermes_nb.model.event import EARLIEST_UNIX_S, LATEST_UNIX_S, Event
from hermes_nb.sessions import journal, start_note
from hermes_nb.store.row import RunRow, SearchHit, SessionRow, TurnRow

if TYPE_CHECKING:
    from hermes_nb.sessions.hermes import Hermes

FORMAT = "hermes-nb sessions"
VERSION = 1
_MOST = 1_000_000
_BATCH = 2_000
_KEPT = ("session_id", "agent", "title", "created_unix_s", "last_used_unix_s", "parent_session_id", "forked_at_turn_id",
         "first_day")  # fmt: skip


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
            full_id = None if session_id is None else await self._hermes.full_id(session_id)
            return await (await self._hermes.opened_store()).turns(full_id, since_unix_s=since_unix_s)

        return self._hermes.io.call(found())

    def runs(self, *, limit: int = 20) -> list[RunRow]:
        """Remote runs as they were last heard of, the newest word first; nothing is asked of a control plane."""

        async def found() -> list[RunRow]:
            return await (await self._hermes.opened_store()).runs(limit=limit)

        return self._hermes.io.call(found())

    def search(self, text: str, *, limit: int = 20) -> list[SearchHit]:
        """Prompts and answers that hold every word of `text`, the best first."""

        async def found() -> list[SearchHit]:
            return await (await self._hermes.opened_store()).search(text, limit)

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
    session = await hermes.open_session(session_id)
    store = await hermes.opened_store()
    with contextlib.suppress(SessionNotFoundError):  # one without a turn is not stored yet: it is, with its title, now
        await store.put_session(replace(await store.session(session.id), title=title.strip()))
    session.title = title.strip()
    return session.id


async def _delete(hermes: Hermes, session_id: str) -> str:
    """See `Library.delete`."""
    full_id = await hermes.full_id(session_id)
    running = [t.id for t in hermes.turns if t.session_id == full_id and not t.is_done]
    if running:
        raise UsageError(f"Session {full_id} has a running turn. Stop it first: %hermes stop {running[0]}")
    store = await hermes.opened_store()
    if not await store.forks_of(full_id):  # else the store refuses, and the journals must not have forgotten
        await asyncio.to_thread(journal.forget_session, full_id, journal.all_of(hermes.state_dir))
        turn_ids = [row.turn_id for row in await store.turns(full_id)]
        await asyncio.to_thread(start_note.forget, turn_ids, hermes.state_dir)
    await store.delete_session(full_id)
    hermes.drop_session(full_id)
    return full_id


async def _export(hermes: Hermes, path: Path, session_id: str | None) -> int:
    """See `Library.export`."""
    store = await hermes.opened_store()
    found = await store.sessions(limit=_MOST)
    if session_id is not None:
        found = _with_ancestors(await hermes.full_id(session_id), found)
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
    store = await hermes.opened_store()
    n_new, batch = 0, []
    sessions = [SessionRow(**line["session"]) for line in lines if "session" in line]
    _refuse_circles(path, sessions, await store.sessions(limit=_MOST))
    for line in lines:
        if "event" in line:
            batch.append(Event.from_dict(line["event"]))
    for start in range(0, len(batch), _BATCH):
        n_new += await store.ingest(batch[start : start + _BATCH])
    for row in sessions:
        await store.put_session(row)
        hermes.drop_session(row.session_id, is_deleted=False)  # what is in memory may lack what came
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


def read_lines(path: Path, form: str, version: int, *, cure: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the other lines of a JSONL file of ours.

    Raises:
        UsageError: No such file, not of this form, or of a newer version.
    """
    try:
        # utf-8-sig: some editors put a mark first. Not splitlines: a text may hold U+2028.
        texts = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as exc:
        raise UsageError(f"The file {str(path)!r} can't be read: {exc.strerror or exc}.") from exc
    except ValueError as exc:
        raise UsageError(f"The file {str(path)!r} is not JSON lines: {exc}. {cure}") from exc
    lines = []
    for number, text in enumerate(texts, 1):
        try:
            lines += [json.loads(text)] if text.strip() else []
        except ValueError as exc:
            raise UsageError(f"The file {str(path)!r} is not JSON lines: line {number}: {exc}. {cure}") from exc
    if not lines or not all(isinstance(line, dict) for line in lines) or lines[0].get("format") != form:
        raise UsageError(f"The file {str(path)!r} is no file of {form!r}. {cure}")
    if not isinstance(lines[0].get("version"), int):
        raise UsageError(f"The file {str(path)!r} has no version that is a number. {cure}")
    if lines[0]["version"] > version:
        raise UsageError(
            f"The file {str(path)!r} has version {lines[0]['version']}, this hermes_nb knows {version}. Upgrade hermes-nb."
        )
    return lines[0], lines[1:]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or as it was; blocks.

    Raises:
        StoreError: It can't be written.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as exc:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreError(f"The file {str(path)!r} can't be written: {exc.strerror or exc}. Choose another place.") from exc


def _line(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8") + "\n"
