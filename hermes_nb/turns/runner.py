"""The course of a turn: the state machine behind the handle, on the IO loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from hermes_nb.errors import HermesNbError, StoreError, WorkerError
from hermes_nb.host.base import LiveSink, WakeUp
from hermes_nb.model.event import Event
from hermes_nb.model.status import HandleStatus, TurnStatus
from hermes_nb.turns import capability_check, limit
from hermes_nb.turns.agent_digest import MAX_TOLD_CHARS, pinned, profile
from hermes_nb.turns.event_log import EventLog
from hermes_nb.turns.recording import keep_soon
from hermes_nb.turns.reservation import Reservations
from hermes_nb.turns.result import RunResult, status_of
from hermes_nb.turns.steering import Steering
from hermes_nb.turns.tool_dispatch import ToolDispatch
from hermes_nb.workers.journal import bring, next_attempt

if TYPE_CHECKING:
    from hermes_nb.model import message as wire
    from hermes_nb.model.message_part import AgentDigest, Json, KeptTold, LimitTold
    from hermes_nb.model.status import StopReason
    from hermes_nb.sessions.session import Session
    from hermes_nb.store.sqlite import Store
    from hermes_nb.turns.context import RunningTurn, TurnAgent
    from hermes_nb.turns.request import PreparedTurn
    from hermes_nb.turns.resume import Resumable

STOP_GRACE_S = 0.6  # how long the worker has to end a stopped turn before it is replaced


class TurnRunner:
    """Takes a turn from `begin` to its result; `hermes_nb.api.turn.Turn` is its handle. Unless said, on the IO loop.

    Args:
        agent: The agent that is asked.
        session: The conversation.
        prepared: What is asked, and how it is run.

    Attributes:
        id: The turn's id.
        prompt: What was asked.
        agent, agent_name, session_id: The agent that is asked, its name, the conversation.
        number: Its place in the conversation, from 1; None until it starts.
        io, worker, log: The loop it lives on, the worker that is asked, its events.
        is_sent: Whether the worker was asked.
        prepared, steering: What is asked and how it is run; the words put in while it runs.
        masker: What takes secrets out of what it tells.
        wake, labels: Set when its state changed; what its first event says besides.
    """

    def __init__(self, agent: TurnAgent, session: Session, prepared: PreparedTurn) -> None:
        context, resumes = agent.context, prepared.resumes
        self.prepared = prepared
        self.id, self.prompt, self.session_id, self.agent_name = prepared.turn_id, prepared.prompt, session.id, agent.name
        self.number: int | None = None
        self.agent, self._session, self._sink = agent, session, prepared.sink
        self.context, self.io, self.worker = context, context.io, agent.worker
        self.labels = dict(prepared.labels)
        self._parts = prepared.parts if prepared.parts is not None else prepared.prompt
        self._resumes: Resumable | None = None
        self._attempt = resumes.attempt if resumes else 1
        every_s = prepared.store_every_s
        self.log = EventLog(context, self._sink, session.id, self.id, attempt=self._attempt, store_every_s=every_s)
        self.masker = self.log.masker
        self._spending = Reservations(context, self.log, session_id=session.id, turn_id=self.id)
        self.steering = Steering(self)
        self._timer: asyncio.TimerHandle | None = None
        self._give_up_timer: asyncio.TimerHandle | None = None
        self.is_sent, self._is_unheard, self._has_begun, self._is_held_up, self._n_sends = False, False, False, False, 0
        self._has_end = False
        self._stop_reason: StopReason | None = None
        self._raw: Json = {}
        self._result: RunResult | None = None
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.wake = WakeUp()
        self._began_unix_s, self._began_s = time.time(), time.perf_counter()
        self._tools = agent.definitions.offered_in(session.id, only=self.labels.get("only_tools"))
        self._said_of_tools: list[str] = []
        self._serving = ToolDispatch(self, self._tools, prepared.caller)
        if resumes is not None:
            self._take_up(resumes)

    def _take_up(self, found: Resumable) -> None:
        """Go on where an earlier attempt was cut off; before it runs."""
        self._resumes = found
        self._attempt = self.log.attempt = found.attempt
        self._parts, self.labels = found.parts or self._parts, dict(found.labels)
        self._serving = ToolDispatch(self, self._tools, self.prepared.caller, unfinished=found.unfinished)

    @property
    def parts(self) -> str | list[dict[str, str]]:
        """What was asked, as it is sent."""
        return self._parts

    @property
    def status(self) -> HandleStatus:
        """`queued`, `running`, `stopping`, or the result's status."""
        if self._result is not None:
            return self._result.status
        if self._stop_reason is not None:
            return "stopping"
        return "running" if self.is_sent else "queued"

    @property
    def attempt(self) -> int:
        """1, or more when the turn was resumed."""
        return self._attempt

    @property
    def is_here(self) -> bool:
        """Whether this kernel runs it (see `ObservedRunner`)."""
        return True

    @property
    def events(self) -> list[Event]:
        """The events so far, in order of arrival."""
        return list(self.log.events)

    @property
    def result(self) -> RunResult | None:
        """The result; None while it runs."""
        return self._result

    @property
    def asked_s(self) -> float:
        """When it was asked, in seconds of the monotonic clock `time.perf_counter`."""
        return self._began_s

    @property
    def has_buttons(self) -> bool:
        """Whether what it asks can be answered by a click, where it shows."""
        return isinstance(self._sink, LiveSink) and self._sink.has_buttons

    @property
    def is_resumed(self) -> bool:
        """Whether it continues an earlier attempt."""
        return self._resumes is not None

    @property
    def is_replay(self) -> bool:
        """Whether it is answered from a recording."""
        return self.prepared.recorded is not None

    @property
    def first_day(self) -> str:
        """The day its session began."""
        return self._session.first_day

    @property
    def is_done(self) -> bool:
        """Whether the turn has ended, however it did."""
        return self._result is not None

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the turn was asked to stop (`user`, `interrupt`, `timeout`, `cancelled`, `closed`); None if it was not."""
        return self._stop_reason

    @property
    def profile(self) -> AgentDigest:
        """Model, instructions and tools it was asked with, in a few hashes."""
        return profile(self.agent, self._tools)

    def running_tools(self) -> list[str]:
        """Names of the turn's tools whose function is still running, also after a stop they ignore."""
        return self.context.host.running_tools(self.id)

    @property
    def n_waiting(self) -> int:
        """How many requests are open."""
        return self._serving.n_waiting

    def asked_result(self) -> RunResult:
        """The result so far of a turn that waits for an answer."""
        serving = self._serving
        return self._make_result(serving.waiting_status, self.log.partial_text(), problem=f"It asks: {serving.asked()}")

    def stop(self, reason: StopReason) -> None:
        """Stop the turn, from any thread; idempotent, returns at once."""
        if not self.is_done:
            self.io.soon(self._stop, reason)

    def answer(self, request_id: str, answer: str) -> None:
        """Answer an open request, from any thread (see `Turn.approve`)."""
        self.io.call(self._serving.answer(request_id, answer))

    def pending(self) -> list[Json]:
        """Return the open requests."""
        return self._serving.pending()

    def keep_offers(self) -> None:
        """Note what this turn tells the model of its tools, for the turns after it; what has to be said is said with it."""
        events = None if self._resumes is not None else self._session.events
        told, is_part = self.agent.definitions.pinned, "only_tools" in self.labels
        self._said_of_tools = pinned(told, self.session_id, self._tools, events, self.profile, is_part=is_part)

    def begin(self) -> None:
        """Start the turn's task."""
        self._task = self.io.task(self._run())
        if self.prepared.timeout_s is not None:  # counted from here: a turn may wait for others, and for the worker
            self._timer = self.io.loop.call_later(self.prepared.timeout_s, self._stop, "timeout")

    async def _run(self) -> None:
        try:
            self._has_begun = True
            if self._stop_reason is not None:
                raise asyncio.CancelledError
            for turn in self.context.runners:
                self.held_up_by(turn)
            async with self._session.lock:
                await self._send()
                await self._ended.wait()
                if self._is_unheard:  # the worker died before it took the turn: nothing was asked, so ask a new one
                    self._is_unheard = False
                    self._ended.clear()
                    path = self.worker.folder.journal  # what it committed and could not say counts
                    self._attempt = self.log.attempt = await asyncio.to_thread(next_attempt, self.id, path, self._attempt)
                    await self._send()
                    await self._ended.wait()
                self._session.add(self.log.events)
        except asyncio.CancelledError:
            self._end_here("turn.stopped", status=self._stop_status, reason=self._stop_reason or "closed", text="")
        except HermesNbError as exc:
            self._end_here("turn.failed", error=str(exc), error_type=type(exc).__name__, text=self.log.partial_text())
        except Exception as exc:  # noqa: BLE001 - a fault of ours must end the turn too, and be seen
            self._end_here("turn.failed", error=f"Internal error: {exc!r}", error_type=type(exc).__name__, text="")
        await self._finish()

    async def _send(self) -> None:
        self.context.conversations.open_store_soon()  # while the worker comes up
        bound = await self.worker.bound_for(self.id, self.agent, self._say_of_engine)
        capability_check.check(self.agent, self.prepared, self._tools, self._parts)
        if self._resumes is not None and self._resumes.journal is not None:
            await asyncio.to_thread(bring, self.id, self._resumes.journal, self.worker.journal_of(self.id))
        declined = await self._serving.ask_first() if self._resumes is not None and self.worker.has_own_tools else []
        store = await self._kept_store()
        self._number_and_notices(bound)
        limits = await limit.for_wire(
            store,
            turn=self.prepared.limits,
            session=limit.of_session(self.agent.config.session_options),
            session_id=self.session_id,
            turn_id=self.id,
        )
        self._spending.hold(limits)
        kept = await self.worker.kept_steps(self.id) if self._attempt > 1 else None
        if self._stop_reason is not None:
            raise asyncio.CancelledError
        self.worker.start(
            self,
            turn_id=self.id,
            session_id=self.session_id,
            agent_id=self.agent.agent_id,
            prompt=self._parts,
            history=self._session.history(without=self.prepared.replaces, before=self.id if self._resumes else None),
            attempt=self._attempt,
            tools=[t.spec().to_dict() for t in self._tools],
            timeout_s=None,
            runtime=self.agent.runtime_name,
            n_prior_turns=self._session.n_turns,
            labels=self._told(),
            **{"date": self._session.first_day, **self._more_keys(limits, kept, declined)},
        )
        self.is_sent, self._n_sends = True, self._n_sends + 1

    def _say_of_engine(self, text: str) -> None:
        """An engine environment is made, which takes a while: show each step."""
        self.emit("warning", {"code": "engine", "message": f"Engine: {text}."})

    async def _kept_store(self) -> Store | None:
        """The store with the session's row in it; None, and a warning, when it fails: the worker's journal is the log."""
        try:
            store = await self.context.conversations.opened_store()
            await self.context.conversations.refuse_forgotten(self.session_id)
            await self._session.keep(store, title=self.prompt)
            await self._session.catch_up(store, without=self.id)
        except StoreError as exc:
            self.log.warn_unstored(exc)
            return None
        return store

    def _more_keys(self, limits: list[LimitTold], kept: KeptTold | None, declined: list[tuple[str, str]]) -> Json:
        more: Json = {k: v for k, v in (("budget", limits), ("kept", kept), ("declined", declined)) if v}
        more |= {"plan": self.prepared.plan} if self.prepared.plan is not None and self.worker.has_own_tools else {}
        more |= {"is_changed": True} if self._resumes and self._resumes.is_changed else {}
        if self.prepared.recorded is not None:
            told = self.prepared.recorded.for_wire(profile=self.profile, is_live=self.prepared.is_live)
            more |= {"replay": told, "date": self.prepared.recorded.head.get("date") or self._session.first_day}
        return more

    def _number_and_notices(self, bound: wire.BoundKeys) -> None:
        self.number = self._session.n_turns + 1
        said, self._said_of_tools = [("tool", text) for text in self._said_of_tools], []
        for code, text in [*self.agent.notices.take(), *self._session.take_notices(), *said]:
            self.emit("warning", {"code": code, "message": text})

    def _told(self) -> Json:
        """What the turn's first event says besides; a resume compares it with what is then."""
        whose = self.agent.ownership
        labels = {"profile": self.profile, **whose, **self._session.told(), **self.labels, **self.worker.runtime_label}
        if text := self.agent.config.instructions:
            labels["instructions"] = text[:MAX_TOLD_CHARS]
        return labels | ({"replaces": self.prepared.replaces} if self.prepared.replaces else {})

    def emit(self, kind: str, data: Mapping[str, Any], *, span_id: str | None = None) -> None:
        """An event of the kernel's own making."""
        self.on_event(self.log.make(kind, data, span_id=span_id))

    def on_event(self, event: Event) -> None:
        """Take an event: keep it, show it, store it soon."""
        if self._result is not None or (self._has_end and event.kind == "tool.output"):  # nothing comes after the end
            return
        self._has_end |= event.is_turn_end
        if event.is_turn_end:
            self._begin_here()  # it may be refused before it began; what was asked is in the log all the same
        self.log.take(event)
        if event.producer == self.context.numberer.producer:
            return
        if event.kind in ("approval.requested", "clarify.requested"):
            self._serving.ask_worker_question(dict(event.data))
        if event.kind == "steer.received":
            self.steering.settle(event.data)

    def on_tool_call(self, message: wire.ToolCalled) -> None:
        """Serve a call of a notebook tool."""
        self._serving.call(message)

    def on_budget(self, message: wire.BudgetAsked | wire.BudgetDone) -> None:
        """A call under a shared limit is to begin (`budget.ask`), or is over (`budget.done`)."""
        call_id = str(message["call_id"])
        if message["kind"] == "budget.done":
            self.io.task(self._spending.done(call_id))
        else:
            self.io.task(self._answer_budget(call_id, message))

    async def _answer_budget(self, call_id: str, message: wire.BudgetAsked) -> None:
        spent = await self._spending.ask(message)
        self.worker.send("budget.answer", turn_id=self.id, call_id=call_id, spent=spent)

    async def ended(self) -> None:
        """Return when the turn's task is over; on the IO loop."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def asked(self) -> None:
        """Somebody must answer a request before the turn goes on, and those asked after it."""
        self.wake.set()
        for turn in self.context.runners:
            turn.held_up_by(self)

    def open_question(self) -> str:
        """Return the oldest open request in words; "" when there is none."""
        return self._serving.asked()

    def held_up_by(self, turn: RunningTurn) -> None:
        """Say, once, when a turn of this session waits for an answer, and this one, which is still to come, for it."""
        is_behind = turn.session_id == self.session_id and not (self.is_sent or self.is_done or turn.is_done)
        if turn is not self and is_behind and not self._is_held_up and (question := turn.open_question()):
            self._is_held_up = True
            text = f"Turn {turn.id} of this session comes first, and asks: {question}"
            self.emit("warning", {"code": "held-up", "message": text})

    def tool_result(self, **keys: Unpack[wire.ToolResultKeys]) -> None:
        """Hand a tool's result to the worker."""
        self.worker.send("tool.result", **keys)

    def on_done(self, message: wire.TurnDone) -> None:
        """The worker says the turn is over; its last event has arrived before."""
        self._raw = dict(message.get("raw") or {})
        if not any(e.is_turn_end for e in self.log.events):
            end = {k: v for k, v in message.items() if k not in ("v", "kind", "turn_id", "raw") and v is not None}
            kind = {"stopped": "turn.stopped", "timed_out": "turn.stopped", "failed": "turn.failed"}
            self.emit(kind.get(str(message.get("status")), "turn.completed"), end)
        self._end()

    def on_worker_end(self, error: WorkerError) -> None:
        """The worker is gone: what was shown is kept, the turn has failed (or is stopped, when it was stopping)."""
        is_taken = any(e.producer != self.context.numberer.producer for e in self.log.events)
        if self._stop_reason is None and not is_taken and self._n_sends == 1:
            self._is_unheard, self.is_sent = True, False
            self._end()
        elif self._stop_reason is not None:
            self._end_here("turn.stopped", status=self._stop_status, reason=self._stop_reason, text=self.log.partial_text())
        else:
            self._end_here("turn.failed", error=str(error), error_type=type(error).__name__, text=self.log.partial_text())

    @property
    def _stop_status(self) -> str:
        return "timed_out" if self._stop_reason == "timeout" else "stopped"

    def _stop(self, reason: StopReason) -> None:
        if self._result is not None or self._stop_reason is not None:
            return
        self._stop_reason = reason
        if not self.is_sent:
            if self._task is not None and self._has_begun:  # cancelled before its first step, `_run` would end nothing
                self._task.cancel()
            return
        self.worker.send("turn.stop", turn_id=self.id, reason=reason)
        self.context.host.stop_tools(self.id)
        self._serving.stop()
        self._give_up_timer = self.io.loop.call_later(STOP_GRACE_S, self._give_up)

    def _give_up(self) -> None:
        if self._result is None and not self._ended.is_set():
            self.emit(
                "warning", {"code": "worker-replaced", "message": "The worker did not answer the stop and is replaced."}
            )
            text = self.log.partial_text()
            self._end_here("turn.stopped", status=self._stop_status, reason=self._stop_reason or "user", text=text)
            self.worker.forget(self.id)
            self.worker.replace()

    def _end_here(self, kind: str, **data: Any) -> None:
        """End a turn that its worker can't end."""
        if any(e.is_turn_end for e in self.log.events):
            self._end()
            return
        lasted_ms = (time.perf_counter() - self._began_s) * 1000
        self.emit(kind, {**data, "started_at_unix_s": self._began_unix_s, "duration_ms": lasted_ms})
        self._end()

    def _begin_here(self) -> None:
        """Say what was asked, when the worker has not."""
        if any(e.kind == "turn.started" for e in self.log.events):
            return
        model = self.agent.model
        self.log.take(
            self.log.make(
                "turn.started",
                {
                    "prompt": self.prompt,
                    "agent": self.agent_name,
                    "model": model.id,
                    "provider": model.provider,
                    "host": model.host,
                    "runtime": self.agent.runtime_name,
                    "tools": [t.name for t in self._tools],
                    "n_history_messages": 0,
                    **self._told(),
                },
            )
        )

    def _end(self) -> None:
        if self._give_up_timer is not None:
            self._give_up_timer.cancel()
        self._ended.set()

    async def _finish(self) -> None:
        """Store, show and hand over the result; on every path, exactly once."""
        self.worker.forget(self.id)
        if self._timer is not None:
            self._timer.cancel()  # else the loop holds the turn and its events until then
        self.steering.close()
        await self._serving.close(is_completed=self._ended_result().status == "completed")
        if self._stop_reason is not None and (names := await self._serving.deaf_tools()):
            text = f"Waiting for {', '.join(names)}, which ignores the interrupt."
            self.emit("warning", {"code": "waiting", "message": text})
        if self.context.tape is not None and (problem := await keep_soon(self.context.tape, self.context.runners)):
            self.emit("warning", {"code": "recording", "message": problem})
        await self.log.flush()
        await self._spending.end()
        if problem := await self.context.forgotten_meanwhile(self.session_id, self.log.events):
            self.log.see(self.log.make("warning", {"code": "session", "message": problem}))
        result = self._ended_result()
        self.log.show_end()
        self._result = result
        self.wake.set()

    def _ended_result(self) -> RunResult:
        end = next((e for e in reversed(self.log.events) if e.is_turn_end), None)
        return self._make_result(status_of(end), "" if end is None else str(end.data.get("text") or ""))

    def _make_result(self, status: TurnStatus, text: str, *, problem: str | None = None) -> RunResult:
        return RunResult(
            text=text,
            status=status,
            session_id=self.session_id,
            turn_id=self.id,
            raw=self._raw,
            events=tuple(self.log.events),
            values=self._serving.values,
            shown_in=self.prepared.shown_in,
            problem=problem,
        )

    def adopt(self, events: Sequence[Event]) -> None:
        """Stand for a turn that ended in an earlier kernel, by its events, instead of beginning."""
        last = max(e.attempt for e in events)
        self.log.events += [e for e in events if e.attempt == last]
        self._result = self._ended_result()
        self.wake.set()
