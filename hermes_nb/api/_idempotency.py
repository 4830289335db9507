"""Once under a key: the turn of an idempotency key, begun by this kernel, by an earlier one, or by one that runs beside it.

A key is claimed in the store before its turn begins, in one transaction. Who finds it claimed by a kernel that lives gets
a handle that waits for that turn (`ObservedRunner`); a claim of a kernel that is gone is taken over, by one who tries.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hermes_nb.api._session_choice import session_of
from hermes_nb.errors import UsageError
from hermes_nb.model.identifier import new_id
from hermes_nb.sessions.session import Session
from hermes_nb.store.claim import Claim
from hermes_nb.turns.resume import Resumable, to_resume
from hermes_nb.turns.tool_dispatch import refuse_nested

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.turn import Turn
    from hermes_nb.model.event import Event
    from hermes_nb.store.sqlite import Store


@dataclass(frozen=True, slots=True)
class KeyedTurn:
    """What there is under a key.

    Attributes:
        turn_id: Its turn.
        session: The turn's conversation.
        events: All of the turn, when it ended.
        resumable: How to go on with it, when it was cut off.
        elsewhere: How another kernel holds it, when one runs it.
        running: The handle that runs it here, begun otherwise than under the key.
    """

    turn_id: str
    session: Session
    events: tuple[Event, ...] = ()
    resumable: Resumable | None = None
    elsewhere: Claim | None = None
    running: Turn | None = None


class Makers(Protocol):
    """How a handle is made of what was found."""

    def new(self, session: Session, turn_id: str) -> Turn:
        """Ask anew."""

    def ended(self, events: tuple[Event, ...], session: Session) -> Turn:
        """Stand for a turn that is over."""

    def resumed(self, found: Resumable, session: Session) -> Turn:
        """Go on with a turn that was cut off."""

    def elsewhere(self, claim: Claim, session: Session) -> Turn:
        """Wait for another kernel."""


def under_key(bound: BoundAgent, key: str, body: str, session_id: str | None, makers: Makers) -> Turn:
    """The one turn of a key; any thread.

    Raises:
        UsageError: The key was used for something else.
        StoreError: The store can't be used, so that nobody can know whether the key was used.
    """
    hermes = bound.hermes
    with hermes.keyed_lock:
        known = hermes.keyed.get(key)
        if known is not None:
            check_body(key, known[0], body)
            return known[1]
        found = hermes.io.call(look(bound, key, body))
        turn = _made(found, makers) if found is not None else _claimed(bound, key, body, session_id, makers)
        hermes.keyed[key] = (body, turn)
        return turn


def _claimed(bound: BoundAgent, key: str, body: str, session_id: str | None, makers: Makers) -> Turn:
    hermes, before = bound.hermes, bound.session_id
    session = hermes.conversations.unstored(session_id) or hermes.io.call(session_of(bound, session_id))
    refuse_nested(session)
    wanted = Claim(key, body, session.id, new_id("t"), hermes.life.show())
    found = hermes.io.call(_claim(bound, wanted))
    if found is not None:
        if bound.session_id == session.id:
            bound.session_id = before
        return _made(found, makers)
    is_begun = False
    try:
        turn = makers.new(session, wanted.turn_id)
        is_begun = turn.id == wanted.turn_id  # not words that were put into a running one
        return turn
    finally:
        if not is_begun:
            hermes.io.call(_unclaim(bound, wanted))


def _made(found: KeyedTurn, makers: Makers) -> Turn:
    if found.running is not None:
        return found.running
    if found.elsewhere is not None:
        return makers.elsewhere(found.elsewhere, found.session)
    if found.resumable is not None:
        return makers.resumed(found.resumable, found.session)
    return makers.ended(found.events, found.session)


async def _claim(bound: BoundAgent, wanted: Claim) -> KeyedTurn | None:
    """Take a key that nobody had; None when it was taken, else what somebody else made of it meanwhile."""
    hermes = bound.hermes
    store = await hermes.conversations.opened_store()
    held = await store.claim(wanted)
    while held != wanted:
        check_body(wanted.key, held.body, wanted.body)
        found = await look(bound, wanted.key, wanted.body)
        if found is not None:
            return found
        old = await store.claim_of(wanted.key)  # of a kernel that is gone, and whose turn never began
        held = await store.claim(wanted, instead_of=old)
    return None


async def _unclaim(bound: BoundAgent, held: Claim) -> None:
    await (await bound.hermes.conversations.opened_store()).unclaim(held)


async def look(bound: BoundAgent, key: str, body: str) -> KeyedTurn | None:
    """What there is under a key; on the IO loop. None when nothing is: it is free, or its kernel died before it began.

    A turn that was cut off is this kernel's when it is returned: the claim is taken over.

    Raises:
        UsageError: The key was used for something else, or its turn can't go on (see `resume.find`).
    """
    hermes = bound.hermes
    store = await hermes.conversations.opened_store()
    while True:
        held = await store.claim_of(key)
        is_elsewhere = held is not None and held.owner != hermes.life.name
        if held is not None:
            check_body(key, held.body, body)
        turn_id = await store.turn_of_key(key)
        if held is not None and is_elsewhere and await asyncio.to_thread(hermes.life.is_alive, held.owner):
            session = await hermes.conversations.adopt_session(held.session_id, bound.name, "")
            events = await _ended(store, held.turn_id)
            return KeyedTurn(held.turn_id, session, events, elsewhere=None if events else held)
        if turn_id is None and (is_elsewhere or not hermes.conversations.is_rebuilt):
            await hermes.conversations.rebuild()  # a killed kernel may not have stored its last turn
            turn_id = await store.turn_of_key(key)
        if turn_id is None:
            return None
        found = await _cut_off(bound, store, key, body, turn_id, held)
        if found is not None:
            return found


async def _cut_off(
    bound: BoundAgent, store: Store, key: str, body: str, turn_id: str, held: Claim | None
) -> KeyedTurn | None:
    """A turn that ended, or was cut off and is now this kernel's; None when another kernel was faster."""
    hermes = bound.hermes
    events = await store.events(turn_id=turn_id)
    started = next(e for e in events if e.kind == "turn.started")
    check_body(key, str(started.data.get("body") or ""), body)
    ended = await _ended(store, turn_id)
    if ended:
        return KeyedTurn(turn_id, await hermes.conversations.open_session(started.session_id), ended)
    running = next((t for t in hermes.turns if t.id == turn_id and t.is_here and not t.is_done), None)
    if running is not None:
        return KeyedTurn(turn_id, await hermes.conversations.open_session(started.session_id), running=running)
    mine = Claim(key, body, started.session_id, turn_id, await asyncio.to_thread(hermes.life.show))
    if await store.claim(mine, instead_of=held) != mine:
        return None
    try:
        resumable, session = await to_resume(bound, turn_id, live=False)
    except BaseException:
        await store.unclaim(mine)
        raise
    return KeyedTurn(turn_id, session, resumable=resumable)


async def _ended(store: Store, turn_id: str) -> tuple[Event, ...]:
    """All events of a turn whose last attempt ended; none while it has not."""
    events = await store.events(turn_id=turn_id)
    last = max((e.attempt for e in events), default=0)
    return tuple(events) if any(e.is_turn_end and e.attempt == last for e in events) else ()


def check_body(key: str, before: str, now: str) -> None:
    """Raise UsageError when a key was used for another question."""
    if before != now:
        raise UsageError(
            f"The idempotency key {key!r} was used for another question (or agent, or session). Take a new key for a new"
            " question; the same key gives the turn it was first used for."
        )
