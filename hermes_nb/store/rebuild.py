"""A lost store from the workers' journals: every event they hold, once each. Journals are only read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hermes_nb.errors import StoreError
from hermes_nb.model.event import Event
from hermes_nb.store.connection import StoreConnection
from hermes_nb.store.sqlite import LOCK_TIMEOUT_S, Store

_PAGE = 2_000


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild found.

    Attributes:
        n_events: Events read.
        n_new: Those the store did not have.
        warnings: Journals, or rows of them, that could not be read; the rest was.
    """

    n_events: int = 0
    n_new: int = 0
    warnings: list[str] = field(default_factory=list)


async def rebuild(store: Store, journals: Iterable[Path]) -> Rebuilt:
    """Ingest what journals hold; doing it again, or beside running workers, changes nothing.

    What only a kernel knew is not in a journal and does not come back: titles that were given, where a session was forked
    from, and the end of a turn whose worker was killed.

    Args:
        store: Where to.
        journals: The journals' files.

    Raises:
        StoreError: The store can't be written.
    """
    found = Rebuilt()
    for path in sorted(journals):
        try:
            await _read(store, path, found)
        except _JournalUnreadable as exc:
            found.warnings.append(str(exc))
    return found


class _JournalUnreadable(Exception):
    pass


async def _read(store: Store, path: Path, found: Rebuilt) -> None:
    if not path.is_file():
        raise _JournalUnreadable(f"There is no journal {path}.")
    try:
        journal = await StoreConnection.open(path, lock_timeout_s=LOCK_TIMEOUT_S, reads_only=True)
    except StoreError as exc:
        raise _JournalUnreadable(f"The journal {path} can't be read: {exc}") from exc
    try:
        after = -1
        while True:
            try:
                rows = await journal.rows("SELECT row, body FROM events WHERE row > ? ORDER BY row LIMIT ?", (after, _PAGE))
            except StoreError as exc:
                raise _JournalUnreadable(f"The journal {path} can't be read past row {max(after, 0)}: {exc}") from exc
            if not rows:
                return
            after = rows[-1][0]
            events = []
            for row, body in rows:
                try:
                    events.append(Event.from_json(body))
                except (json.JSONDecodeError, ValueError) as exc:
                    found.warnings.append(f"Row {row} of the journal {path} is no event and was left out: {exc}")
            found.n_events += len(events)
            found.n_new += await store.ingest(events)
    finally:
        await journal.close()
