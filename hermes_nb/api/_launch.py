"""Starts turns: asked anew, asked before under the same key, put into a running one, or continued after a cut."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_nb.api._idempotency import under_key
from hermes_nb.api._observed_turn import ObservedRunner
from hermes_nb.api._session_choice import session_of
from hermes_nb.api.turn import Turn
from hermes_nb.errors import UsageError
from hermes_nb.host.base import Caller, LiveSink, Sink
from hermes_nb.model.agent import OFFLINE
from hermes_nb.model.content import wire_parts
from hermes_nb.model.identifier import new_id
from hermes_nb.runtimes._base import ToolRuntime
from hermes_nb.sessions.session import Session
from hermes_nb.store.claim import Claim
from hermes_nb.turns.request import PreparedTurn, TurnRequest, TurnTerms
from hermes_nb.turns.resume import Resumable
from hermes_nb.turns.runner import TurnRunner
from hermes_nb.turns.tool_dispatch import refuse_nested

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.model.event import Event


def launch(bound: BoundAgent, request: TurnRequest) -> Turn:
    """Start the turn of a request and return its handle; any thread (see `BoundAgent.submit`)."""
    hermes = bound.hermes
    if request.replay is None:  # a recording is answered by the agent as it was bound for it
        bound.renew()
    bound.definitions.renew()
    told = _metadata(request.metadata) | _only_tools(bound, request.tool_binding_ids)
    caller = hermes.host.caller(blocks=request.blocks, background=request.background)
    if caller.blocks_loop and not isinstance(bound.instance.runtime, ToolRuntime):
        bound.definitions.refuse_async()
    key, labels = request.idempotency_key, dict(told)
    made = _Launcher(bound, request, caller, labels)
    if key is None:
        session = hermes.conversations.unstored(request.session_id)
        return made.new(session or hermes.io.call(session_of(bound, request.session_id)), new_id("t"))
    only = told.get("only_tools")
    labels |= {"idempotency_key": key, "body": _digest(bound.name, request, *([only] if only is not None else []))}
    return under_key(bound, key, labels["body"], request.session_id, made)


class _Launcher:
    """Makes the handle of a request, whatever is found for it (see `_idempotency.Makers`)."""

    def __init__(self, bound: BoundAgent, request: TurnRequest, caller: Caller, labels: dict[str, Any]) -> None:
        self._bound, self._request, self._caller, self._labels = bound, request, caller, labels
        self._recording = bound.hermes.recording(request.replay)

    def new(self, session: Session, turn_id: str) -> Turn:
        """Ask anew, or put the words into the turn of the session that runs."""
        bound, request = self._bound, self._request
        running = _running(bound, session.id) if request.mode == "steer" else None
        if running is not None:
            _refuse_for_running(request)
            running._runner.steering.put_in(request.text)
            return running
        refuse_nested(session)
        return begun(bound, TurnRunner(bound, session, self._prepared(session, turn_id)))

    def ended(self, events: tuple[Event, ...], session: Session) -> Turn:
        """The handle of a turn that ended in an earlier kernel."""
        prompt = next(str(e.data.get("prompt") or "") for e in events if e.kind == "turn.started")
        sink = self._bound.hermes.host.open_sink(self._caller, quiet=True)
        prepared = PreparedTurn(turn_id=events[0].turn_id, prompt=prompt, caller=self._caller, sink=sink)
        runner = TurnRunner(self._bound, session, prepared)
        runner.adopt(events)
        return Turn(self._bound, runner)

    def resumed(self, found: Resumable, session: Session) -> Turn:
        """Go on with a turn that was cut off."""
        return resumed(self._bound, found, session, self._request, caller=self._caller)

    def elsewhere(self, claim: Claim, session: Session) -> Turn:
        """Wait for another kernel."""
        runner = ObservedRunner(self._bound, session, self._prepared(session, claim.turn_id), claim)
        return begun(self._bound, runner)

    def _prepared(self, session: Session, turn_id: str) -> PreparedTurn:
        bound, request, host = self._bound, self._request, self._bound.hermes.host
        again = request.again
        return PreparedTurn(
            turn_id=turn_id,
            prompt=request.text,
            parts=wire_parts(request.prompt, sees=bound.model.provider != OFFLINE),
            caller=self._caller,
            sink=host.open_sink(self._caller, quiet=not request.show, shown_in=request.sink),
            shown_in=host.cell_id() if request.show and request.sink is None else None,
            timeout_s=request.timeout_s,
            replaces=session.last_turn_id() if again is True else (again or None),
            labels=self._labels,
            limits=request.limits,
            recorded=self._recording.take(bound.name, request.text) if self._recording is not None else None,
            is_live=bound.hermes.goes_live(request.replay_miss),
            plan=request.plan,
            store_every_s=request.store_every_s,
        )


def _metadata(given: Any) -> dict[str, Any]:
    """The label of a turn's metadata, as JSON keeps it; {} for none."""
    if given is None:
        return {}
    try:
        kept = json.loads(json.dumps(dict(given), allow_nan=False)) if isinstance(given, Mapping) else None
    except (TypeError, ValueError) as exc:
        raise UsageError(f"metadata takes a dict of JSON values: {exc}. Nothing was sent.") from None
    if kept is None or any(not isinstance(name, str) for name in given):
        raise UsageError(f"metadata takes a dict with names as keys, e.g. {{'run': 7}}, not {str(given)[:80]!r}.")
    return {"metadata": kept}


def _only_tools(bound: BoundAgent, binding_ids: Any) -> dict[str, Any]:
    """The label that says which tools alone a turn offers; {} for all."""
    if binding_ids is None:
        return {}
    if isinstance(binding_ids, str) or not isinstance(binding_ids, Sequence):
        raise UsageError(f"tool_binding_ids takes a list of ids that add_tools gave, not {binding_ids!r}.")
    return {"only_tools": bound.instance.bound_names(bound, binding_ids)}


def _refuse_for_running(request: TurnRequest) -> None:
    """Options of a turn of its own, where the words go into one that runs."""
    own = {
        "max_cost_usd": request.limits.max_cost_usd,
        "max_tokens": request.limits.max_tokens,
        "metadata": request.metadata,
        "tool_binding_ids": request.tool_binding_ids,
        "replay": request.replay,
    }
    given = [name for name, value in own.items() if value is not None]
    if given:
        raise UsageError(
            f"A turn of this session runs, and the words would go into it: {', '.join(given)} can't be changed for it. Leave"
            " that out, or wait for the turn. Nothing was sent."
        )


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
    bound, hermes, runner = turn.agent, turn.agent.hermes, turn._runner
    bound.renew()
    bound.definitions.renew()
    session = hermes.io.call(session_of(bound, turn.session_id))
    prepared = PreparedTurn(
        turn_id=new_id("t"),
        prompt=turn.prompt,
        parts=runner.parts,
        caller=replace(runner.prepared.caller, background=True, blocks_loop=False),
        sink=sink,
        timeout_s=runner.prepared.timeout_s,
        replaces=turn.id,
        labels={name: runner.labels[name] for name in ("metadata", "only_tools") if name in runner.labels},
        limits=runner.prepared.limits,
    )
    return begun(bound, TurnRunner(bound, session, prepared))


def resumed(bound: BoundAgent, found: Resumable, session: Session, terms: TurnTerms, *, caller: Caller) -> Turn:
    """Go on with a turn where an earlier attempt was cut off."""
    hermes = bound.hermes
    bound.session_id = session.id
    try:
        recording = hermes.recording(terms.replay)
        prepared = PreparedTurn(
            turn_id=found.turn_id,
            prompt=found.prompt,
            parts=found.parts,
            caller=caller,
            sink=hermes.host.open_sink(caller, quiet=not terms.show),
            shown_in=hermes.host.cell_id() if terms.show else None,
            timeout_s=terms.timeout_s,
            resumes=found,
            labels=found.labels,
            limits=terms.limits,
            recorded=recording.take(bound.name, found.prompt) if recording is not None else None,
            is_live=hermes.goes_live(terms.replay_miss),
        )
        return begun(bound, TurnRunner(bound, session, prepared))
    finally:
        hermes.resuming.discard(found.turn_id)


def begun(bound: BoundAgent, runner: TurnRunner, *, keeps_offers: bool = True) -> Turn:
    """Start a runner and return its handle, which is among the turns of its Hermes from now on.

    Args:
        bound: The agent that is asked.
        runner: What runs the turn.
        keeps_offers: Whether this turn tells a model of the agent's tools, which the turns after it then keep to.
    """
    turn = Turn(bound, runner)
    sink = runner.prepared.sink
    if isinstance(sink, LiveSink):
        sink.attach(turn)
    if keeps_offers:
        runner.keep_offers()
    bound.hermes.turns.append(turn)
    bound.hermes.io.soon(runner.begin)
    return turn


def _running(bound: BoundAgent, session_id: str) -> Turn | None:
    turns = (t for t in bound.hermes.turns if t.session_id == session_id and t.is_here and not t.is_done)
    return next(turns, None)


def _digest(agent: str, request: TurnRequest, *more: Any) -> str:
    body: dict[str, Any] = {
        "agent": agent,
        "prompt": wire_parts(request.prompt, sees=True),
        "session": request.session_id,
        "again": request.again,
    }
    if more:
        body["more"] = more
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("utf-8", "replace")).hexdigest()[:16]
