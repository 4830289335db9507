"""The journal of a worker whose disk is not the kernel's: written here, before anything of it is shown or used."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hermes_nb.engine.durability.journal import Journal, JournalError, Response, ToolResult
from hermes_nb.errors import WorkerDiedError
from hermes_nb.model.event import Event
from hermes_nb.runtimes._base import WorkerConnection, WorkerFiles
from hermes_nb.workers import journal

if TYPE_CHECKING:
    from hermes_nb.model.message import OnMessage, StepStoredKeys, WorkerMessage
    from hermes_nb.model.message_part import KeptTold

OnEnd = Callable[[str], None]
_TABLES: Mapping[str, type[Response] | type[ToolResult]] = {"responses": Response, "tool_results": ToolResult}


class JournalKeeper:
    """Stands between a connection and who hears it, and keeps the order; lives on the IO loop.

    Args:
        path: The journal, on this disk.
        producer: The worker's name in the log.
        on_message, on_end: Who hears the worker, once what it said is on this disk.

    Attributes:
        connection: The connection, by which the worker hears that a step is kept; set when it is open.
    """

    def __init__(self, path: Path, producer: str, on_message: OnMessage, on_end: OnEnd) -> None:
        self._path, self._producer = path, producer
        self._on_message, self._on_end = on_message, on_end
        self.connection: WorkerConnection | None = None
        self._messages: asyncio.Queue[WorkerMessage | str] = asyncio.Queue()
        self._problem = ""
        self._task = asyncio.get_running_loop().create_task(self._run())

    def hear(self, message: WorkerMessage) -> None:
        """The worker said something."""
        self._messages.put_nowait(message)

    def end(self, reason: str) -> None:
        """The worker ended; told when all that it said is kept."""
        self._messages.put_nowait(reason)

    def give_up(self) -> None:
        """There is no worker, and none will come."""
        self._task.cancel()

    async def _run(self) -> None:
        kept: Journal | None = None
        try:
            kept = await asyncio.to_thread(Journal, self._path, self._producer)
        except JournalError as exc:
            self._problem = str(exc)
        while True:
            batch = [await self._messages.get()]
            while not self._messages.empty():
                batch.append(self._messages.get_nowait())
            said = [message for message in batch if not isinstance(message, str)]
            answers = await asyncio.to_thread(self._keep, kept, said)
            for answer in answers:
                self._answer(answer)
            for message in said:
                if message["kind"] != "step.kept":
                    self._on_message(message)
            reason = next((one for one in batch if isinstance(one, str)), None)
            if reason is not None:
                if kept is not None:
                    await asyncio.to_thread(kept.close)
                self._on_end(reason)
                return

    def _keep(self, kept: Journal | None, said: list[WorkerMessage]) -> list[StepStoredKeys]:
        """Write what was said, in its order; returns an answer for each step."""
        answers: list[StepStoredKeys] = []
        events: list[Event] = []
        for message in said:
            if message["kind"] == "event":
                events.append(Event.from_dict(message["event"]))
            elif message["kind"] == "step.kept":
                self._write(kept, events)
                step = _TABLES[message["table"]](**message["fields"])
                self._write(kept, [], step, float(message["at_unix_s"]))
                events = []
                answer: StepStoredKeys = {"step": message["step"]}
                answers.append({**answer, "error": self._problem} if self._problem else answer)
        self._write(kept, events)
        return answers

    def _write(
        self, kept: Journal | None, events: list[Event], step: Response | ToolResult | None = None, at_unix_s: float = 0.0
    ) -> None:
        if kept is None or not (events or step):
            return
        try:
            kept.commit(events, kept=step, at_unix_s=at_unix_s)
        except JournalError as exc:
            self._problem = str(exc)
        else:
            self._problem = ""

    def _answer(self, answer: StepStoredKeys) -> None:
        with contextlib.suppress(WorkerDiedError):
            if self.connection is not None:
                self.connection.send("step.stored", **answer)


Attach = Callable[[WorkerConnection | None], WorkerConnection]


def between(place: WorkerFiles, on_message: OnMessage, on_end: OnEnd) -> tuple[OnMessage, OnEnd, Attach]:
    """Who hears a worker: itself where the worker keeps its journal on this disk, else by a `JournalKeeper`.

    Returns: Two callbacks for the worker, and what to call with its connection, or with None when there will be none.
    """
    keeper = None if place.shares_disk else JournalKeeper(place.journal, place.producer, on_message, on_end)

    def attach(connection: WorkerConnection | None) -> WorkerConnection:
        if keeper is not None:
            keeper.connection = connection
            if connection is None:
                keeper.give_up()
        return cast("WorkerConnection", connection)

    return (on_message, on_end, attach) if keeper is None else (keeper.hear, keeper.end, attach)


def told(turn_id: str, path: Path) -> KeptTold:
    """What `turn.start` brings of a turn's earlier attempts: its steps, and its events, by which a changed agent goes on.

    Raises:
        StoreError: The journal can't be read.
    """
    found = journal.steps(turn_id, path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT body FROM events WHERE turn_id = ? ORDER BY row", (turn_id,)).fetchall()
    events = [Event.from_json(body).to_dict() for (body,) in rows]
    return {"responses": list(found.responses), "tool_results": list(found.tool_results), "events": events}
