"""From what a person has at hand (a result, a turn, an agent, a session's id) to its timeline, which follows what runs."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from hermes_nb._near import suggesting_call
from hermes_nb.errors import UsageError
from hermes_nb.model.event import Event
from hermes_nb.widgets.timeline import Timeline

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes

__all__ = ["Timeline", "timeline"]


@suggesting_call
def timeline(*sources: Any, hermes: Hermes | None = None, live: bool | None = None) -> Timeline:
    """The timeline of results, turns, sessions or events.

    Args:
        *sources: Each a `RunResult`, a `Turn`, a `BoundAgent` (its session), the id or title of a session (give `hermes`),
            or events.
        hermes: Where sessions named by id are stored.
        live: Follow the sessions as they grow. None follows turns that run and the session of a `BoundAgent`; True also
            sessions named by id; False shows what is known now.

    Returns: a `Timeline`; as a cell's last line it is a widget. It has `frame()`, `figure()`, `html`, `text` and
        `save(path)` too.

    Raises:
        UsageError: A source is none of these, or a session is named and `hermes` is not given.
        SessionNotFoundError: No such session.

    Example:
        >>> from hermes_nb import Event, timeline
        >>> timeline([Event(1, "p", 1, 0.0, "s", "t", "t", None, 1, "turn.started", {"prompt": "Hi"})])
        <Timeline: 1 spans>
    """
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.turn import Turn
    from hermes_nb.turns.result import RunResult

    if not sources:
        raise UsageError("timeline() needs something to show: a result, a turn, an agent, a session's id or events.")
    made = Timeline()
    for source in sources:
        if isinstance(source, RunResult):
            feed(made, source.events)
        elif isinstance(source, Turn):
            if live is not False and not source.is_done:
                follow(made, source.agent.hermes, source.session_id, turn_id=source.id)
            feed(made, source.events)
        elif isinstance(source, BoundAgent):
            add_session(made, source.hermes, _session_of(source), live=live is not False)
        elif isinstance(source, str):
            if hermes is None:
                raise UsageError(f"Say where session {source!r} is stored: timeline({source!r}, hermes=hermes).")
            add_session(made, hermes, hermes.io.call(hermes.conversations.full_id(source)), live=bool(live))
        else:
            feed(made, _events(source))
    return made


def feed(made: Timeline, events: Iterable[Event]) -> None:
    """Put events into a timeline."""
    for event in events:
        made.feed(event)


def add_session(made: Timeline, hermes: Hermes, session_id: str, *, live: bool) -> None:
    """Put a stored session into a timeline, and with `live` what comes to it."""
    feed(made, hermes.io.call(_stored(hermes, session_id)))
    running = [t for t in hermes.turns if t.session_id == session_id and not t.is_done]
    for turn in running:  # what is not stored yet
        feed(made, turn.events)
    if live or running:
        follow(made, hermes, session_id)


def follow(made: Timeline, hermes: Hermes, session_id: str, *, turn_id: str | None = None) -> None:
    """Feed a timeline with what comes to a session, until it is closed; of one turn, until that ends."""
    future = hermes.io.submit(_follow(made, hermes, session_id, turn_id))
    future.add_done_callback(_report(hermes, session_id))

    def is_behind() -> bool:
        ended = {t.id for t in hermes.turns if t.is_done and t.session_id == session_id and turn_id in (None, t.id)}
        return not future.done() and not ended <= made.ended_turns

    made.followed(future.cancel, is_behind=is_behind)


async def _follow(made: Timeline, hermes: Hermes, session_id: str, turn_id: str | None) -> None:
    store = await hermes.conversations.opened_store()
    async for event in store.follow(session_id):
        if turn_id is None or event.turn_id == turn_id:
            made.feed(event)
            if turn_id is not None and event.is_turn_end:
                return


def _report(hermes: Hermes, session_id: str) -> Any:
    def report(future: concurrent.futures.Future[None]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None:
            hermes.warn("timeline", f"The timeline of session {session_id} follows no longer: {error}")

    return report


def _stored(hermes: Hermes, session_id: str) -> Coroutine[Any, Any, list[Event]]:
    async def stored() -> list[Event]:
        return await (await hermes.conversations.opened_store()).events(session_id)

    return stored()


def _session_of(bound: Any) -> str:
    if bound.session_id is None:  # made now, so that its first turn is followed from the start
        session = bound.hermes.io.call(bound.hermes.conversations.new_session(bound.name, ""))
        bound.session_id = session.id
    return str(bound.session_id)


def _events(source: Any) -> list[Event]:
    try:
        events = list(source)
    except TypeError:
        events = [None]
    if not all(isinstance(event, Event) for event in events):
        raise UsageError(
            f"A {type(source).__name__} has no timeline. Give a RunResult, a Turn, a BoundAgent, a session's id or events."
        ) from None
    return events
