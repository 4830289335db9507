"""How a turn comes about: asked anew, asked before under the same key, put into a running one, or gone on with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from hermes_nb.errors import UsageError
from hermes_nb.host.base import Sink
from hermes_nb.model.agent import OFFLINE
from hermes_nb.model.content import ContentPart, prompt_text, wire_parts
from hermes_nb.sessions.budget import checked
from hermes_nb.sessions.elsewhere import TurnElsewhere
from hermes_nb.sessions.keyed import Makers, under_key
from hermes_nb.sessions.resume import Resumable
from hermes_nb.sessions.serving import refuse_nested
from hermes_nb.sessions.session import Session, new_id
from hermes_nb.sessions.turn import Turn
from hermes_nb.store.claim import Claim

if TYPE_CHECKING:
    from hermes_nb.model.event import Event
    from hermes_nb.sessions.agent import BoundAgent


class TurnOptions(TypedDict, total=False):
    """What `start`, `run`, `run_sync` and `submit` take besides.

    Keys:
        idempotency_key: The turn runs once, however often it is asked for under this key, from however many tasks, also
            after a restart: later calls get the same turn.
        mode: `enqueue` (the default): the turn waits for those of its session asked before. `steer`: when one of them is
            running, the prompt is put into it and its handle returned; `unread_steer` tells when its model never read it.
        max_cost_usd: No further model call once the turn has cost so much; None for no limit of its own.
        max_tokens: The same for tokens, sent and received.
        replay: A recording to answer from instead of the model (see `Hermes.record`).
        replay_miss: `live` lets what the recording does not hold go to the model, `error` does not; None means as
            HERMES_NB_REPLAY_MISS says.
    """

    idempotency_key: str | None
    mode: Literal["enqueue", "steer"]
    max_cost_usd: float | None
    max_tokens: int | None
    replay: str | Path | None
    replay_miss: Literal["error", "live"] | None


def place(
    bound: BoundAgent, prompt: str | list[ContentPart], *, session_id: str | None, background: bool, blocks: bool,
    timeout_s: float | None, again: bool | str, quiet: bool, options: TurnOptions, sink: Sink | None = None,
) -> Turn:  # fmt: skip
    """The turn that `BoundAgent.submit` gives; see there."""
    text = prompt_text(prompt)
    if not text.strip():
        raise UsageError("The prompt is empty: nothing was sent.")
    if timeout_s is not None and timeout_s <= 0:
        raise UsageError(f"timeout must be more than 0 seconds, not {timeout_s:g}.")
    mode = options.get("mode", "enqueue")
    if mode not in ("enqueue", "steer"):
        raise UsageError(f"mode is 'enqueue' or 'steer', not {mode!r}.")
    hermes = bound.hermes
    bound.renew_tools()
    limits = checked(max_cost_usd=options.get("max_cost_usd"), max_tokens=options.get("max_tokens"))
    recording = hermes.recording(options.get("replay"))
    caller = hermes.host.caller(blocks=blocks, background=background)
    if caller.blocks_loop and not hasattr(bound.instance.runtime, "adopt"):
        bound.refuse_async_tools()

    def new(session: Session, turn_id: str) -> Turn:
        running = _running(bound, session.id) if mode == "steer" else None
        if running is not None:
            running.put_in(text)
            return running
        refuse_nested(session)
        return _begun(turn(session, turn_id))

    def turn(session: Session, turn_id: str, kind: type[Turn] = Turn) -> Turn:
        return kind(
            bound,
            session,
            turn_id=turn_id,
            prompt=text,
            parts=wire_parts(prompt, sees=bound.model.provider != OFFLINE),
            caller=caller,
            sink=hermes.host.open_sink(caller, quiet=quiet, shown_in=sink),
            shown_in=None if quiet or sink is not None else hermes.host.cell_id(),
            timeout_s=timeout_s,
            replaces=session.last_turn_id() if again is True else (again or None),
            labels=labels,
            limits=limits,
            recorded=recording.take(bound.name, text) if recording is not None else None,
            is_live=hermes.goes_live(options.get("replay_miss")),
        )

    def elsewhere(claim: Claim, session: Session) -> Turn:
        handle = turn(session, claim.turn_id, TurnElsewhere)
        assert isinstance(handle, TurnElsewhere)
        handle.claim = claim
        return _begun(handle)

    key, labels = _key(options.get("idempotency_key")), dict[str, Any]()
    if key is None:
        return new(hermes.io.call(bound.session_for(session_id)), new_id("t"))
    labels = {"idempotency_key": key, "body": _digest(bound.name, prompt, session_id, again)}
    makers = Makers(
        new=new,
        ended=lambda events, session: _ended(bound, events, session, caller),
        resumed=lambda found, session: resumed(
            bound, found, session, caller=caller, timeout_s=timeout_s, quiet=quiet, options=options
        ),
        elsewhere=elsewhere,
    )
    return under_key(bound, key, labels["body"], session_id, makers)


def _key(key: object) -> str | None:
    """An idempotency key as it may be."""
    if key is None:
        return None
    if not isinstance(key, str) or not key.strip() or "\0" in key or key.encode("utf-8", "replace").decode() != key:
        raise UsageError(
            f"An idempotency key is a text that names one question, not {str(key)[:40]!a} ({type(key).__name__})."
            " Write idempotency_key=str(...) of what is one for each question."
        )
    return key


def again(turn: Turn, sink: Sink) -> Turn:
    """Ask a turn's question once more, in its place in the conversation; the new handle, at once.

    Args:
        turn: The turn that is replaced.
        sink: Where the new turn shows.

    Raises:
        UsageError: It has not ended.
    """
    if not turn.is_done:
        raise UsageError(f"Turn {turn.id} is still {turn.status}. Stop it first.")
    bound, hermes = turn.agent, turn.agent.hermes
    bound.renew_tools()
    session = hermes.io.call(bound.session_for(turn.session_id))
    return _begun(
        Turn(
            bound,
            session,
            turn_id=new_id("t"),
            prompt=turn.prompt,
            parts=turn.parts,
            caller=replace(turn.caller, background=True, blocks_loop=False),
            sink=sink,
            shown_in=None,
            timeout_s=turn.timeout_s,
            replaces=turn.id,
            limits=turn.limits,
        )
    )


def resumed(
    bound: BoundAgent, found: Resumable, session: Session, *, caller: Any, timeout_s: float | None, quiet: bool,
    options: TurnOptions,
) -> Turn:  # fmt: skip
    """A turn that goes on where an earlier attempt was cut off."""
    hermes = bound.hermes
    bound.session_id = session.id
    try:
        recording = hermes.recording(options.get("replay"))
        turn = Turn(
            bound,
            session,
            turn_id=found.turn_id,
            prompt=found.prompt,
            parts=found.parts,
            caller=caller,
            sink=hermes.host.open_sink(caller, quiet=quiet),
            shown_in=None if quiet else hermes.host.cell_id(),
            timeout_s=timeout_s,
            resumes=found,
            labels=found.labels,
            limits=checked(max_cost_usd=options.get("max_cost_usd"), max_tokens=options.get("max_tokens")),
            recorded=recording.take(bound.name, found.prompt) if recording is not None else None,
            is_live=hermes.goes_live(options.get("replay_miss")),
        )
        return _begun(turn)
    finally:
        hermes.resuming.discard(found.turn_id)


def _begun(turn: Turn) -> Turn:
    hermes = turn.agent.hermes
    if not any(t is turn for t in hermes.turns):
        turn.keep_offers()
        hermes.turns.append(turn)
        hermes.io.soon(turn.begin)
    return turn


def _ended(bound: BoundAgent, events: Sequence[Event], session: Session, caller: Any) -> Turn:
    """The handle of a turn that ended in an earlier kernel."""
    prompt = next(str(e.data.get("prompt") or "") for e in events if e.kind == "turn.started")
    turn = Turn(
        bound, session, turn_id=events[0].turn_id, prompt=prompt, caller=caller,
        sink=bound.hermes.host.open_sink(caller, quiet=True), shown_in=None, timeout_s=None,
    )  # fmt: skip
    turn.tell(events)
    return turn


def _running(bound: BoundAgent, session_id: str) -> Turn | None:
    turns = (t for t in bound.hermes.turns if t.session_id == session_id and t.is_here and not t.is_done)
    return next(turns, None)


def _digest(agent: str, prompt: str | list[ContentPart], session_id: str | None, again: bool | str) -> str:
    body: Mapping[str, Any] = {
        "agent": agent, "prompt": wire_parts(prompt, sees=True), "session": session_id, "again": again,
    }  # fmt: skip
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("utf-8", "replace")).hexdigest()[:16]
