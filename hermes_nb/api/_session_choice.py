"""Chooses the conversation that a turn continues: the agent's own, another, or a fork."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_nb.errors import SessionNotFoundError, UsageError

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.sessions.session import Session


async def session_of(bound: BoundAgent, session_id: str | None) -> Session:
    """Return the conversation that a turn of an agent continues; on the IO loop.

    Args:
        bound: The agent.
        session_id: The one that was asked for; None means the agent's own, or a new one.

    Raises:
        SessionNotFoundError: There is none of that id.
        UsageError: It belongs to another agent.
    """
    conversations = bound.hermes.conversations
    await conversations.check_state()
    wanted = session_id or bound.session_id
    if wanted is None:
        session = await conversations.new_session(bound.name, "")
    else:
        try:
            session = await conversations.open_session(wanted)
        except SessionNotFoundError:
            if session_id is not None:
                raise
            session = await conversations.new_session(bound.name, "")
            text = f"Session {wanted} was deleted, here or in another kernel. Session {session.id} begins anew."
            bound.notices.add("session", text)
        bound.instance.check_session(session, bound.name)
    if session_id is None:
        bound.session_id = session.id
    return session


async def forked(bound: BoundAgent, session_id: str | None, *, at: str | None, title: str) -> str:
    """Begin a conversation that shares the beginning of another, for the runs to come (see `BoundAgent.fork`)."""
    source = session_id or bound.session_id
    if source is None:
        raise UsageError(f"Agent {bound.name!r} has no session to fork yet. Run it first, or name a session.")
    hermes = bound.hermes
    bound.instance.check_owner(await hermes.io.awaited(hermes.conversations.open_session(source)))
    made = await hermes.io.awaited(hermes.conversations.fork(source, agent=bound.name, at=at, title=title))
    bound.session_id = made.id
    return made.id
