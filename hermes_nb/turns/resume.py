"""Going on with a turn whose worker, kernel or both were killed: what was committed is not asked for again.

The worker's journal has the committed steps and answers them itself (`hermes_nb.engine`); here the turn is found, its
journal brought to the worker that goes on, what changed since is compared, and tools that may have run are asked about.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import SessionNotFoundError, UsageError
from hermes_nb.model.event import Event
from hermes_nb.model.identifier import given, new_id
from hermes_nb.sessions.session import Session
from hermes_nb.store.claim import Claim
from hermes_nb.turns.agent_digest import differences, profile
from hermes_nb.workers import intent_log, journal

if TYPE_CHECKING:
    from hermes_nb.model.message_part import AgentDigest
    from hermes_nb.turns.context import TurnAgent, TurnContext


@dataclass(frozen=True, slots=True)
class Resumable:
    """A turn that can go on.

    Attributes:
        turn_id: Its id.
        session_id: Its conversation.
        agent: Name of its agent.
        prompt: What was asked.
        attempt: The number the next attempt gets.
        profile: What it was run with; empty for a log of an older version.
        unfinished: Calls that had begun without a recorded result, as (tool name, raw arguments).
        journal: The journal that has its records; None when none has.
        parts: The prompt as it crosses the wire: text, or its parts.
        labels: What its first event said besides, to be said again: a key, the turn it replaces.
        is_changed: Whether it goes on although the agent changed.
        runtime: Where it ran, as `{"type": "process"}`, or as that runtime's own label.
        run: The name of its run there, where it has one that lives without this machine; "" else.
    """

    turn_id: str
    session_id: str
    agent: str
    prompt: str
    attempt: int
    profile: dict[str, Any]
    unfinished: tuple[tuple[str, str], ...]
    journal: Path | None
    parts: Any = ""
    labels: dict[str, Any] = field(default_factory=dict)
    is_changed: bool = False
    runtime: dict[str, Any] = field(default_factory=dict)
    run: str = ""

    def checked(self, now: AgentDigest, *, is_live: bool) -> Resumable:
        """The same with `is_changed` as it is; refuses to go on when the agent changed, unless `is_live`.

        Raises:
            UsageError: It changed; the message lists what.
        """
        changed = differences(self.profile, now) if self.profile else []
        if changed and not is_live:
            raise UsageError(
                f"Turn {self.turn_id} can't be resumed as it was: {'; '.join(changed)}."
                " Bind the agent as it was, or go on with --live (live=True): what was committed stays, the rest is asked of"
                " the agent as it is now."
            )
        return replace(self, is_changed=bool(changed))


async def find(context: TurnContext, wanted: str | None, *, agent: str | None = None) -> Resumable:
    """The turn to resume; on the IO loop.

    Args:
        context: Whose store and journals are searched.
        wanted: A turn's id, a session's id (its last unfinished turn), or None for the newest unfinished one.
        agent: Only turns of this agent; None means any.

    Raises:
        SessionNotFoundError: No such turn or session, or nothing is unfinished.
        UsageError: The turn completed; there is nothing to resume.
    """
    wanted = None if wanted is None else given(wanted, "turn_id", attribute="turn_id")
    await context.conversations.rebuild()  # a killed kernel had not stored what its worker committed last
    events = await _events(context, wanted, agent)
    turn_id = events[0].turn_id
    started = next((e for e in events if e.kind == "turn.started"), None)
    end = next((e for e in reversed(events) if e.is_turn_end and e.attempt == max(x.attempt for x in events)), None)
    if started is None:
        raise SessionNotFoundError(f"Turn {turn_id} has no beginning in the log; it can't be resumed. Ask again.")
    holder = await asyncio.to_thread(journal.holder_of, turn_id, journal.all_of(context.state_dir))
    _refuse_running_here(context, turn_id)
    if end is None:
        await _refuse_running_elsewhere(context, turn_id, holder, max(e.attempt for e in events))
    if end is not None and end.kind == "turn.completed" and end.data.get("status", "completed") == "completed":
        raise UsageError(f"Turn {turn_id} completed; there is nothing to resume. Ask the next question with %%hermes run.")
    return Resumable(
        turn_id=turn_id,
        session_id=started.session_id,
        agent=str(started.data.get("agent", "")),
        prompt=str(started.data.get("prompt", "")),
        attempt=max(e.attempt for e in events) + 1,
        profile=dict(started.data.get("profile") or {}),
        unfinished=_unfinished(events, await asyncio.to_thread(intent_log.only_waited, turn_id, context.state_dir)),
        journal=holder,
        parts=_parts(started.data.get("prompt_parts")) or str(started.data.get("prompt", "")),
        labels={k: started.data[k] for k in _LABELS if k in started.data},
        runtime=dict(started.data.get("runtime_label") or {"type": str(started.data.get("runtime") or "process")}),
        run=next((str(e.data["run"]) for e in reversed(events) if e.kind == "flyte.run" and e.data.get("run")), ""),
    )


_LABELS = ("idempotency_key", "body", "replaces", "metadata", "only_tools")


def _parts(told: object) -> list[dict[str, str]]:
    """Chat parts, as a log has them, as they cross the wire."""
    parts = []
    for part in told if isinstance(told, list) else ():
        head, _, data = str((part.get("image_url") or {}).get("url") or "").partition(";base64,")
        if data:
            parts.append({"type": "image", "data": data, "mime_type": head.removeprefix("data:")})
        else:
            parts.append({"type": "text", "text": str(part.get("text", ""))})
    return parts


def _refuse_running_here(context: TurnContext, turn_id: str) -> None:
    if any(t.id == turn_id and t.is_here and not t.is_done for t in context.runners):
        raise UsageError(f"Turn {turn_id} is still running. Wait for it, or stop it first: %hermes stop {turn_id}")


def attempt_key(turn_id: str, attempt: int) -> str:
    """The key under which a kernel claims an attempt to go on with a turn."""
    return f"turn {turn_id}, attempt {attempt}"


async def _refuse_running_elsewhere(context: TurnContext, turn_id: str, holder: Path | None, attempt: int) -> None:
    """A turn without an end may still be running in another kernel."""
    own = [worker.folder.journal for worker in context.workers]
    claim = await (await context.conversations.opened_store()).claim_of(attempt_key(turn_id, attempt))
    if claim is not None:
        is_alive = claim.owner != context.life.name and await asyncio.to_thread(context.life.is_alive, claim.owner)
    else:
        is_alive = holder is not None and await asyncio.to_thread(journal.is_held_elsewhere, holder, own)
    if is_alive:
        raise UsageError(
            f"Turn {turn_id} runs in another kernel that is alive. Wait for it there, or shut that kernel down first."
        )


async def to_resume(agent: TurnAgent, turn_id: str | None, *, live: bool) -> tuple[Resumable, Session]:
    """The turn that `BoundAgent.resume` means, and its session; on the IO loop."""
    found = await find(agent.context, turn_id, agent=agent.name)
    if found.agent != agent.name:
        raise UsageError(f"Turn {found.turn_id} is one of agent {found.agent!r}, not of {agent.name!r}.")
    agent.definitions.renew()
    offered = agent.definitions.offered_in(found.session_id, only=found.labels.get("only_tools"))
    found = found.checked(profile(agent, offered), is_live=live)
    await _take_attempt(agent.context, found)
    return found, await agent.context.conversations.reload_session(found.session_id)


async def _take_attempt(context: TurnContext, found: Resumable) -> None:
    """See that nobody else goes on with the turn: neither another kernel nor another task of this one."""
    store = await context.conversations.opened_store()
    mine = Claim(
        attempt_key(found.turn_id, found.attempt),
        new_id("r"),
        found.session_id,
        found.turn_id,
        await asyncio.to_thread(context.life.show),
    )
    held = await store.claim(mine)
    while held != mine:
        is_mine = held.owner == mine.owner
        if _has_begun(context, found) if is_mine else await asyncio.to_thread(context.life.is_alive, held.owner):
            where = "here already" if is_mine else "in another kernel that is alive"
            raise UsageError(f"Turn {found.turn_id} is being resumed {where}. Wait for it there.")
        held = await store.claim(mine, instead_of=held)
    context.resuming.add(found.turn_id)


def _has_begun(context: TurnContext, found: Resumable) -> bool:
    """Whether the attempt that was claimed here is under way, or was."""
    begun = (t for t in context.runners if t.id == found.turn_id and t.is_here)
    return found.turn_id in context.resuming or any(t.attempt >= found.attempt for t in begun)


async def _events(context: TurnContext, wanted: str | None, agent: str | None) -> list[Event]:
    store = await context.conversations.opened_store()
    if wanted:
        events = await store.events(turn_id=wanted)
        if events:
            return events
        session_ids = [await context.conversations.full_id(wanted)]
    else:
        session_ids = [row.session_id for row in await store.sessions(limit=50, agent=agent)]
    for session_id in session_ids:
        rows = [r for r in await store.turns(session_id) if r.status not in ("completed", "max_turns")]
        if rows:
            return await store.events(turn_id=rows[-1].turn_id)
    where = f"in session {session_ids[0]}" if wanted else "in the newest sessions"
    raise SessionNotFoundError(f"No unfinished turn {where}. `%hermes sessions` lists what there is.")


def _unfinished(events: Sequence[Event], only_waited: Set[str]) -> tuple[tuple[str, str], ...]:
    """Calls that started without a result, and that no later attempt made again, by what they were (ids differ).

    One that was stopped has none: how far it got nobody knows. Nor has one that had started and is said to be skipped, in
    logs of older versions. Two that were the same stand there twice. Those that `only_waited`, by span id, have not run:
    they wait again.
    """
    ended = {e.span_id for e in events if e.kind == "tool.completed" and e.data.get("status") not in ("stopped", "skipped")}
    done = ended | only_waited
    open_calls = [e for e in events if e.kind == "tool.started" and e.span_id not in done and not e.data.get("builtin")]
    given = {e.span_id: e for e in events if e.kind == "tool.started"}
    made = [
        (e.attempt, _what(given.get(e.span_id, e)))
        for e in events
        if e.kind == "tool.completed" and e.data.get("status") in ("ok", "error") and not e.data.get("replayed")
    ]
    left: dict[int, Counter[tuple[str, str]]] = {}
    for call in open_calls:
        later = next((m for m in made if m[0] > call.attempt and m[1] == _what(call)), None)
        if later is None:
            left.setdefault(call.attempt, Counter())[_what(call)] += 1
        else:
            made.remove(later)
    most = Counter[tuple[str, str]]()
    for of_attempt in left.values():
        most |= of_attempt  # a later attempt makes the same calls again
    return tuple(most.elements())


def _what(event: Event) -> tuple[str, str]:
    return str(event.data.get("name", "")), str(event.data.get("arguments", ""))
