"""What `open_session` returns and `bound.session` is: a conversation's id, as text, with its turns and its events."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hermes_nb._near import suggesting_methods
from hermes_nb.errors import UsageError
from hermes_nb.model import trajectory
from hermes_nb.model.event import Event

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.turn import Turn
    from hermes_nb.model.message_part import ChatMessage, Json
    from hermes_nb.model.trajectory import TrajectoryTurn
    from hermes_nb.store.row import TurnRow

TrajectoryForm = Literal["sharegpt", "openai"]
_MOST_DIGITS = 18  # of a number that the store can hold


@suggesting_methods
class SessionHandle(str):
    """A conversation of a bound agent; equal to its id, so it goes wherever the id does.

    Attributes:
        agent: The agent whose conversation it is.
    """

    agent: BoundAgent

    def __new__(cls, session_id: str, *, agent: BoundAgent) -> SessionHandle:
        """The conversation of that id."""
        made = super().__new__(cls, session_id)
        made.agent = agent
        return made

    @property
    def id(self) -> str:
        """Its id, e.g. `s-3f2a9c01b7`."""
        return str(self)

    def __repr__(self) -> str:
        return f"<SessionHandle {self.id} of {self.agent.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (self.id,)  # elsewhere it is an id and no more

    @property
    def running(self) -> Turn | None:
        """The turn of it that this process runs now, to stop, steer or approve; None when none does."""
        turns = (t for t in self.agent.hermes.turns if t.session_id == self.id and t.is_here and not t.is_done)
        return next(turns, None)

    async def turns(self) -> list[TurnRow]:
        """Its stored turns, oldest first, those of other kernels included; [] before the first."""
        hermes = self.agent.hermes

        async def rows() -> list[TurnRow]:
            return await (await hermes.conversations.opened_store()).turns(self.id)

        return await hermes.io.awaited(rows())

    async def events(self, *, after: Event | str | None = None) -> AsyncIterator[Event]:
        """Its events in the order in which they were stored, then each as it comes, from this kernel or another.

        There is no end while the conversation can go on: leave the loop (`break` at `event.is_turn_end`), or cancel the
        task. It ends when the conversation is deleted or the Hermes closed. A fork has its own events, not those it shares.

        Args:
            after: The last event that is known already, or its `id`: begin behind it. None begins with the first.

        Yields: events; each once, those of this kernel a tenth of a second after they happened at most.

        Raises:
            UsageError: No event of that id is stored in this conversation.

        Example:
            async for event in bound.session.events(after=last):
                if event.is_turn_end:
                    break
        """
        hermes, key = self.agent.hermes, None if after is None else self._key(after)

        async def followed() -> AsyncIterator[Event]:
            store = await hermes.conversations.opened_store()
            if key is None:
                return store.follow(self.id)
            rowid = await store.rowid_of(key)
            if rowid is None:
                raise UsageError(f"Session {self.id} has no event {':'.join(map(str, key[1:]))!r}. after=None begins anew.")
            return store.follow(self.id, after_rowid=rowid)

        async def following(stream: AsyncIterator[Event]) -> Event | None:
            return await anext(stream, None)

        stream: Any = await hermes.io.awaited(followed())
        try:
            while (event := await hermes.io.awaited(following(stream))) is not None:
                yield event
        finally:
            with contextlib.suppress(RuntimeError):  # the Hermes is closed, and with it the stream
                await hermes.io.awaited(stream.aclose())

    async def to_messages(self) -> list[ChatMessage]:
        """Its messages of the chat completions protocol, first question first, with `reasoning` where a model gave some."""
        hermes = self.agent.hermes
        session = await hermes.io.awaited(hermes.conversations.open_session(self.id))
        return session.history()

    async def to_trajectory(
        self,
        *,
        max_tokens: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
        summarize: Callable[[str], str] | None = None,
    ) -> list[TrajectoryTurn]:
        """Its turns in the ShareGPT form, as Hermes writes them for training: dicts with `from` and `value`.

        The system turn has the agent's notebook functions; the schemas of Hermes's own tools are not known here. Keys are
        masked, as in the log.

        Args:
            max_tokens: Shorten it to about that, by Hermes's rules: the first turn of each role and the last four stay, what
                it takes of the middle becomes one summary. None leaves it whole.
            count_tokens: Says how many tokens a text has, e.g. `lambda text: len(encoder.encode(text))`.
            summarize: Makes the summary of a text.

        Raises:
            UsageError: `max_tokens` without the two functions, or one of them without it.
        """
        given = (max_tokens, count_tokens, summarize)
        turns = trajectory.of_messages(await self.to_messages(), self._definitions())
        if max_tokens is not None and count_tokens is not None and summarize is not None:
            limit = trajectory.TrajectoryLimit(target_tokens=max_tokens)
            return trajectory.compressed(turns, count_tokens=count_tokens, summarize=summarize, limit=limit)
        if any(value is not None for value in given):
            raise UsageError(
                "max_tokens, count_tokens and summarize go together: to_trajectory(max_tokens=15_250,"
                " count_tokens=lambda text: len(encoder.encode(text)), summarize=...)."
            )
        return turns

    async def to_jsonl(self, path: str | Path, *, form: TrajectoryForm = "sharegpt") -> Path:
        """Append it to a file of JSON lines, made where it is missing, and return the file.

        Args:
            path: The file.
            form: `sharegpt` for `conversations`, `timestamp`, `model` and `completed`, as Hermes's own files; `openai` for
                `messages` and `tools`.

        Raises:
            UsageError: No such form.
            OSError: The file can't be written.
        """
        if form == "sharegpt":
            rows = await self.turns()
            line: Json = {
                "conversations": await self.to_trajectory(),
                "timestamp": datetime.datetime.now().isoformat(),
                "model": self.agent.model.id,
                "completed": bool(rows) and rows[-1].status == "completed",
            }
        elif form == "openai":
            tools = [{"type": "function", "function": definition} for definition in self._definitions()]
            line = {"messages": await self.to_messages(), "tools": tools}
        else:
            raise UsageError(f"form takes 'sharegpt' or 'openai', not {form!r}.")
        target = Path(path).expanduser()
        with target.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return target

    def _definitions(self) -> list[Json]:
        return [tool.definition() for tool in self.agent.definitions.offered_in(self.id)]

    def _key(self, after: Event | str) -> tuple[str, str, int, int]:
        if isinstance(after, Event):
            if after.session_id != self.id:
                raise UsageError(f"after takes an event of session {self.id}; this one is of {after.session_id}.")
            return after.key
        parts = after.rsplit(":", 2) if isinstance(after, str) else []
        if len(parts) != 3 or not all(number.isdecimal() and len(number) <= _MOST_DIGITS for number in parts[1:]):
            raise UsageError(f"after takes an Event or the id of one, e.g. 'w-3f2a9c01b7:1:4', not {after!r}.")
        return self.id, parts[0], int(parts[1]), int(parts[2])


async def opened(bound: BoundAgent, session_id: str) -> SessionHandle:
    """Let an agent go on with a stored conversation of its own (see `BoundAgent.open_session`)."""
    hermes = bound.hermes
    session = await hermes.io.awaited(hermes.conversations.open_session(session_id))
    bound.instance.check_session(session, bound.name)
    bound.session_id = session.id
    return SessionHandle(session.id, agent=bound)


def own_session(bound: BoundAgent) -> SessionHandle:
    """The conversation that an agent's runs continue, begun when there is none, so that its first turn can be followed."""
    if bound.session_id is None:
        bound.session_id = bound.hermes.io.call(bound.hermes.conversations.new_session(bound.name, "")).id
    return SessionHandle(bound.session_id, agent=bound)
