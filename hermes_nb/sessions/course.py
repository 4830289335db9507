"""The course of a turn: the state machine behind the handle, on the IO loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import HermesNbError, StoreError, WorkerError
from hermes_nb.host.base import Caller, Sink, WakeUp
from hermes_nb.model.event import Event
from hermes_nb.sessions import budget
from hermes_nb.sessions.journal import bring, next_attempt
from hermes_nb.sessions.profile import profile, told_otherwise
from hermes_nb.sessions.recording import keep_soon
from hermes_nb.sessions.result import RunResult
from hermes_nb.sessions.serving import ToolServing
from hermes_nb.sessions.spending import Spending
from hermes_nb.sessions.steering import Steers
from hermes_nb.sessions.turn_log import TurnLog

if TYPE_CHECKING:
    from hermes_nb.sessions.agent import BoundAgent
    from hermes_nb.sessions.recording import RecordedTurn
    from hermes_nb.sessions.resume import Resumable
    from hermes_nb.sessions.session import Session
    from hermes_nb.store.sqlite import Store

KEPT = (
    "Tool {name} was redefined, and what the model is told of it changed. This session goes on with what it was told: calls"
    " run the new function, and one that does not fit it goes back to the model. A new session begins with the new form;"
    " %hermes tools refresh (bound.refresh_tools()) takes it here, from the next turn on."
)
STOP_GRACE_S = 0.6  # how long the worker has to end a stopped turn before it is replaced
UNWIND_S = 0.15  # and its tools, before they are said to ignore it


class TurnCourse:
    """What a turn goes through from `begin` to its result; `Turn` is its handle. Unless said, on the IO loop."""

    def __init__(
        self,
        agent: BoundAgent,
        session: Session,
        *,
        turn_id: str,
        prompt: str,
        caller: Caller,
        sink: Sink,
        shown_in: str | None,
        timeout_s: float | None,
        replaces: str | None = None,
        resumes: Resumable | None = None,
        parts: str | list[dict[str, str]] | None = None,
        labels: Mapping[str, Any] | None = None,
        limits: budget.Limits = budget.NO_LIMITS,
        recorded: RecordedTurn | None = None,
        is_live: bool = False,
    ) -> None:
        self._labels, self._limits, self._recorded, self._is_live = dict(labels or {}), limits, recorded, is_live
        self._parts = parts if parts is not None else prompt
        self.id, self.prompt, self.session_id, self.agent_name = turn_id, prompt, session.id, agent.name
        self.number: int | None = None
        self.agent, self._session, self._sink = agent, session, sink
        self._hermes, self._io, self._worker = agent.hermes, agent.hermes.io, agent.instance.worker
        self._caller, self._shown_in, self._timeout_s, self._replaces = caller, shown_in, timeout_s, replaces
        self._resumes: Resumable | None = None
        self._attempt = resumes.attempt if resumes else 1
        self._log = TurnLog(agent.hermes, sink, session_id=session.id, turn_id=turn_id, attempt=self._attempt)
        self._spending = Spending(agent.hermes, self._log, session_id=session.id, turn_id=turn_id)
        self._steers = Steers(self)
        self._give_up_timer: asyncio.TimerHandle | None = None
        self._is_sent, self._is_unheard, self._has_begun, self._n_sends = False, False, False, 0
        self._is_held_up = False
        self._stop_reason: str | None = None
        self._raw: dict[str, Any] = {}
        self._result: RunResult | None = None
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._wake = WakeUp()
        self._began_unix_s, self._began_s = time.time(), time.perf_counter()
        self._tools = agent.offered_in(session.id)
        self._said_of_tools: list[str] = []
        self._serving = ToolServing(self, self._tools, caller)
        if resumes is not None:
            self._take_up(resumes)
        attach = getattr(sink, "attach", None)  # one that can be clicked
        if attach is not None:
            attach(self)

    def _take_up(self, found: Resumable) -> None:
        """Go on where an earlier attempt was cut off; before it runs."""
        self._resumes = found
        self._attempt = self._log.attempt = found.attempt
        self._parts, self._labels = found.parts or self._parts, dict(found.labels)
        self._serving = ToolServing(self, self._tools, self._caller, unfinished=found.unfinished)

    @property
    def parts(self) -> str | list[dict[str, str]]:
        """What was asked, as it is sent."""
        return self._parts

    @property
    def caller(self) -> Caller:
        """Who asked."""
        return self._caller

    @property
    def timeout_s(self) -> float | None:
        """After so long it is stopped; None for no limit."""
        return self._timeout_s

    @property
    def limits(self) -> budget.Limits:
        """What it may cost."""
        return self._limits

    @property
    def is_done(self) -> bool:
        """Whether the turn has ended, however it did."""
        return self._result is not None

    @property
    def stop_reason(self) -> str | None:
        """Why the turn was asked to stop (`user`, `interrupt`, `timeout`, `cancelled`, `closed`); None if it was not."""
        return self._stop_reason

    @property
    def profile(self) -> dict[str, Any]:
        """Model, instructions and tools it was asked with, in a few hashes."""
        return profile(self.agent, self._tools)

    def running_tools(self) -> list[str]:
        """Names of the turn's tools whose function is still running, also after a stop they ignore."""
        return self._hermes.host.running_tools(self.id)

    def keep_offers(self) -> None:
        """Note what this turn tells the model of its tools, for the turns after it; what has to be said is said with it."""
        offers = self.agent.offers
        if not offers.knows(self.session_id) and self._resumes is None:
            self._said_of_tools = told_otherwise(self._session.events, self.profile)
        self._said_of_tools += [KEPT.format(name=name) for name in offers.keep(self.session_id, self._tools)]

    def begin(self) -> None:
        """Start the turn's task."""
        self._task = self._io.task(self._run())
        if self._timeout_s is not None:  # counted from here: a turn may wait for others, and for the worker
            self._io.loop.call_later(self._timeout_s, self._stop, "timeout")

    async def _run(self) -> None:
        try:
            self._has_begun = True
            if self._stop_reason is not None:
                raise asyncio.CancelledError
            for turn in self._hermes.turns:
                self.held_up_by(turn)
            async with self._session.lock:
                await self._send()
                await self._ended.wait()
                if self._is_unheard:  # the worker died before it took the turn: nothing was asked, so ask a new one
                    self._is_unheard = False
                    self._ended.clear()
                    path = self.agent.instance.worker.folder.journal  # what it committed and could not say counts
                    self._attempt = self._log.attempt = await asyncio.to_thread(next_attempt, self.id, path, self._attempt)
                    await self._send()
                    await self._ended.wait()
                self._session.add(self._log.events)
        except asyncio.CancelledError:
            self._end_here("turn.stopped", status=self._stop_status, reason=self._stop_reason or "closed", text="")
        except HermesNbError as exc:
            self._end_here("turn.failed", error=str(exc), error_type=type(exc).__name__, text=self._log.partial_text())
        except Exception as exc:  # noqa: BLE001 - a fault of ours must end the turn too, and be seen
            self._end_here("turn.failed", error=f"Internal error: {exc!r}", error_type=type(exc).__name__, text="")
        await self._finish()

    async def _send(self) -> None:
        self._hermes.open_store_soon()  # while the worker comes up
        bound = await self._worker.bound(self.agent.agent_id)
        if self._resumes is not None and self._resumes.journal is not None:
            folder = self.agent.instance.worker.folder
            await asyncio.to_thread(bring, self.id, self._resumes.journal, folder.journal)
        store = await self._kept_store()
        self._number_and_notices(bound)
        limits = await budget.for_wire(
            store, turn=self._limits, session=budget.of_session(self.agent.config.session_options),
            session_id=self.session_id, turn_id=self.id,
        )  # fmt: skip
        self._spending.hold(limits)
        if self._stop_reason is not None:
            raise asyncio.CancelledError
        self._worker.start(
            self,
            session_id=self.session_id,
            agent_id=self.agent.agent_id,
            prompt=self._parts,
            history=self._session.history(without=self._replaces, before=self.id if self._resumes else None),
            attempt=self._attempt,
            tools=[t.spec().to_dict() for t in self._tools],
            timeout_s=None,
            runtime=self.agent.runtime_name,
            n_prior_turns=self._session.n_turns,
            labels=self._told(),
            **{"date": self._session.first_day, **self._more_keys(limits)},
        )
        self._is_sent = True
        self._n_sends += 1

    async def _kept_store(self) -> Store | None:
        """The store with the session's row in it; None, and a warning, when it fails: the worker's journal is the log."""
        try:
            store = await self._hermes.opened_store()
            await self._session.keep(store, title=self.prompt)
            await self._session.catch_up(store, without=self.id)
        except StoreError as exc:
            self._log.warn_unstored(exc)
            return None
        return store

    def _more_keys(self, limits: list[dict[str, Any]]) -> dict[str, Any]:
        more: dict[str, Any] = {"budget": limits} if limits else {}
        more |= {"is_changed": True} if self._resumes is not None and self._resumes.is_changed else {}
        if self._recorded is not None:
            told = self._recorded.for_wire(self._hermes.replay_file, profile=self.profile, is_live=self._is_live)
            more |= {"replay": told, "date": self._recorded.head.get("date") or self._session.first_day}
        return more

    def _number_and_notices(self, bound: Mapping[str, Any]) -> None:
        self.number = self._session.n_turns + 1
        said, self._said_of_tools = [("tool", text) for text in self._said_of_tools], []
        for code, text in [*self.agent.take_notices(), *self._session.take_notices(), *said]:
            self.emit("warning", {"code": code, "message": text})

    def _told(self) -> dict[str, Any]:
        """What the turn's first event says besides; a resume compares it with what is then."""
        labels = {"profile": self.profile, **self._session.told(), **self._labels}
        return labels | ({"replaces": self._replaces} if self._replaces else {})

    def emit(self, kind: str, data: Mapping[str, Any], *, span_id: str | None = None) -> None:
        """An event of the kernel's own making."""
        self.on_event(self._log.make(kind, data, span_id=span_id))

    def on_event(self, event: Event) -> None:
        """Take an event: keep it, show it, store it soon."""
        if self._result is not None:
            return
        if event.is_turn_end:
            self._begin_here()  # it may be refused before it began; what was asked is in the log all the same
        self._log.take(event)
        if event.producer == self._hermes.numberer.producer:
            return
        if event.kind in ("approval.requested", "clarify.requested"):
            self._serving.ask_worker_question(dict(event.data))
        if event.kind == "steer.received":
            self._steers.settle(event.data)

    def on_tool_call(self, message: dict[str, Any]) -> None:
        """Serve a call of a notebook tool."""
        self._serving.call(message)

    def on_budget(self, message: dict[str, Any]) -> None:
        """A call under a shared limit is to begin (`budget.ask`), or is over (`budget.done`)."""
        call_id = str(message["call_id"])
        if message["kind"] == "budget.done":
            self._io.task(self._spending.done(call_id))
        else:
            self._io.task(self._answer_budget(call_id, message))

    async def _answer_budget(self, call_id: str, message: dict[str, Any]) -> None:
        spent = await self._spending.ask(message)
        self._worker.send("budget.answer", turn_id=self.id, call_id=call_id, spent=spent)

    async def ended(self) -> None:
        """Return when the turn's task is over; on the IO loop."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def asked(self) -> None:
        """Somebody must answer a request before the turn goes on, and those asked after it."""
        self._wake.set()
        for turn in self._hermes.turns:
            turn.held_up_by(self)

    def held_up_by(self, turn: TurnCourse) -> None:
        """Say, once, when a turn of this session waits for an answer, and this one, which is still to come, for it."""
        is_behind = turn.session_id == self.session_id and not (self._is_sent or self.is_done or turn.is_done)
        if turn is not self and is_behind and not self._is_held_up and (question := turn._serving.asked()):
            self._is_held_up = True
            text = f"Turn {turn.id} of this session comes first, and asks: {question}"
            self.emit("warning", {"code": "held-up", "message": text})

    def tool_call_id(self, span_id: str) -> str:
        """The model's id of the call whose span that is; models may use an id twice, spans are unique."""
        started = (e for e in reversed(self._log.events) if e.kind == "tool.started" and e.span_id == span_id)
        return next((str(e.data.get("tool_call_id", "")) for e in started), "")

    def tool_result(self, **keys: Any) -> None:
        """Hand a tool's result to the worker."""
        self._worker.send("tool.result", turn_id=self.id, **keys)

    def on_done(self, message: dict[str, Any]) -> None:
        """The worker says the turn is over; its last event has arrived before."""
        self._raw = dict(message.get("raw") or {})
        if not any(e.is_turn_end for e in self._log.events):
            end = {k: v for k, v in message.items() if k not in ("v", "kind", "turn_id", "raw") and v is not None}
            kind = {"stopped": "turn.stopped", "timed_out": "turn.stopped", "failed": "turn.failed"}
            self.emit(kind.get(str(message.get("status")), "turn.completed"), end)
        self._end()

    def on_worker_end(self, error: WorkerError) -> None:
        """The worker is gone: what was shown is kept, the turn has failed (or is stopped, when it was stopping)."""
        is_taken = any(e.producer != self._hermes.numberer.producer for e in self._log.events)
        if self._stop_reason is None and not is_taken and self._n_sends == 1:
            self._is_unheard, self._is_sent = True, False
            self._end()
        elif self._stop_reason is not None:
            self._end_here(
                "turn.stopped", status=self._stop_status, reason=self._stop_reason, text=self._log.partial_text()
            )
        else:
            self._end_here("turn.failed", error=str(error), error_type=type(error).__name__, text=self._log.partial_text())

    @property
    def _stop_status(self) -> str:
        return "timed_out" if self._stop_reason == "timeout" else "stopped"

    def _stop(self, reason: str) -> None:
        if self._result is not None or self._stop_reason is not None:
            return
        self._stop_reason = reason
        if not self._is_sent:
            if self._task is not None and self._has_begun:  # cancelled before its first step, `_run` would end nothing
                self._task.cancel()
            return
        self._worker.send("turn.stop", turn_id=self.id, reason=reason)
        self._hermes.host.stop_tools(self.id)
        self._serving.stop()
        self._give_up_timer = self._io.loop.call_later(STOP_GRACE_S, self._give_up)

    def _give_up(self) -> None:
        if self._result is None and not self._ended.is_set():
            text = "The worker did not answer the stop and is replaced."
            self.emit("warning", {"code": "worker-replaced", "message": text})
            self._end_here(
                "turn.stopped",
                status=self._stop_status,
                reason=self._stop_reason or "user",
                text=self._log.partial_text(),
            )
            self._worker.forget(self.id)
            self._worker.replace()

    def _end_here(self, kind: str, **data: Any) -> None:
        """End a turn that its worker can't end."""
        if any(e.is_turn_end for e in self._log.events):
            self._end()
            return
        lasted_ms = (time.perf_counter() - self._began_s) * 1000
        self.emit(kind, {**data, "started_at_unix_s": self._began_unix_s, "duration_ms": lasted_ms})
        self._end()

    def _begin_here(self) -> None:
        """Say what was asked, when the worker has not."""
        if any(e.kind == "turn.started" for e in self._log.events):
            return
        model = self.agent.model
        self._log.take(self._log.make("turn.started", {
            "prompt": self.prompt, "agent": self.agent_name, "model": model.id, "provider": model.provider,
            "host": model.host, "runtime": self.agent.runtime_name, "tools": [t.name for t in self._tools],
            "n_history_messages": 0, **self._told(),
        }))  # fmt: skip

    def _end(self) -> None:
        if self._give_up_timer is not None:
            self._give_up_timer.cancel()
        self._ended.set()

    async def _deaf_tools(self) -> list[str]:
        """The tools that still run after a stop; those that only unwind are waited for a moment."""
        until_s = time.perf_counter() + UNWIND_S
        while (names := self.running_tools()) and time.perf_counter() < until_s:
            await asyncio.sleep(0.01)
        return names

    async def _finish(self) -> None:
        """Store, show and hand over the result; on every path, exactly once."""
        self._worker.forget(self.id)
        self._steers.close()
        await self._serving.close(is_completed=self._ended_result().status == "completed")
        if self._stop_reason is not None and (names := await self._deaf_tools()):
            text = f"Waiting for {', '.join(names)}, which ignores the interrupt."
            self.emit("warning", {"code": "waiting", "message": text})
        if self._hermes.tape is not None and (problem := await keep_soon(self._hermes.tape, self._hermes.turns)):
            self.emit("warning", {"code": "recording", "message": problem})
        await self._log.flush()
        await self._spending.end()
        result = self._ended_result()
        self._show(result)
        self._result = result
        self._wake.set()

    def _ended_result(self) -> RunResult:
        end = next((e for e in reversed(self._log.events) if e.is_turn_end), None)
        data: Mapping[str, Any] = end.data if end is not None else {}
        status = str(data.get("status") or ("failed" if end is None or end.kind == "turn.failed" else "completed"))
        return self._make_result(status, str(data.get("text") or ""))

    def _make_result(self, status: str, text: str) -> RunResult:
        return RunResult(
            text=text,
            status=status,
            session_id=self.session_id,
            turn_id=self.id,
            raw=self._raw,
            events=tuple(self._log.events),
            values=self._serving.values,
            shown_in=self._shown_in,
        )

    def _show(self, result: RunResult) -> None:
        from hermes_nb.views._bundle import bundle

        try:
            self._sink.finish(bundle(result.events))
        except Exception as exc:  # noqa: BLE001 - a front end that can't show must not lose the result
            self._hermes.warn("display", f"Turn {self.id} could not be shown: {exc!r}. Its result is in the session.")


