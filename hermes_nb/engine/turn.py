"""One running turn: what the kernel says to it, the thread it runs on, and how it ends."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.accounting.budget import Budget
from hermes_nb.engine.accounting.reservation_client import ReservationClient
from hermes_nb.engine.agent_run import AgentRun
from hermes_nb.engine.durability.delta_batcher import DeltaPump
from hermes_nb.engine.durability.event_writer import EventWriter
from hermes_nb.engine.durability.journal import JournalError, ToolResult
from hermes_nb.engine.durability.recorder import Recorder, new_id
from hermes_nb.engine.durability.recording import RecordedSteps
from hermes_nb.engine.durability.replay_matcher import Carried
from hermes_nb.engine.durability.wire_journal import WireJournal
from hermes_nb.engine.hermes import outcome, patch, reply, verdict
from hermes_nb.engine.hermes.agent import WorkerAgent, kind_of, tools_of
from hermes_nb.engine.hermes.approval_policy import Door
from hermes_nb.engine.hermes.human_input import HumanInput
from hermes_nb.engine.hermes.observer import Spent
from hermes_nb.engine.hermes.outcome import Outcome
from hermes_nb.engine.hermes.reachability import Reachability
from hermes_nb.engine.tool_executor import ToolExecutor
from hermes_nb.model import history

if TYPE_CHECKING:
    from hermes_nb.model.message import BudgetAnswerKeys, ToolResultKeys, TurnStartKeys

_KINDS = {"completed": "turn.completed", "max_turns": "turn.completed", "failed": "turn.failed"}
_NO_MODEL = outcome.ModelIdentity("", "", "")


class EngineTurn:
    """One turn, from `turn.start` to `turn.done`.

    Args:
        message: The wire's `turn.start`.
        outbox: Where everything goes.
        pump: Flushes text.
        reach: Knows which addresses answer.

    Raises:
        JournalError: What an earlier attempt kept can't be read.
    """

    def __init__(self, message: TurnStartKeys, outbox: EventWriter, pump: DeltaPump, reach: Reachability) -> None:
        self.turn_id = str(message["turn_id"])
        self.session_id = str(message["session_id"])
        self.agent_id = str(message["agent_id"])
        self._message = message
        self._outbox = outbox
        self._reach = reach
        attempt = int(message.get("attempt") or 1)
        journal = outbox.journal if attempt > 1 else None
        if isinstance(journal, WireJournal) and "kept" in message:
            journal.take_up(self.turn_id, message["kept"])
        self._replay = verdict.without_vain_end(journal.responses(self.turn_id)) if journal is not None else {}
        self._recorder = Recorder(outbox, pump, session_id=self.session_id, turn_id=self.turn_id, attempt=attempt)
        self._tools = tools_of(message.get("tools") or ())
        kept = journal.tool_results(self.turn_id) if journal is not None else {}
        self._recording = RecordedSteps(message["replay"]) if message.get("replay") else None
        if self._recording is not None:
            self._replay = {**self._recording.responses, **self._replay}
            kept = {**self._recording.tool_results(self.turn_id), **kept}
        self._kept = kept
        self._carried = (
            Carried(journal.events(self.turn_id), self.turn_id, outbox.masker.text)
            if journal is not None and message.get("is_changed")
            else None
        )
        self._spending = ReservationClient(self.turn_id, outbox, is_stopping=lambda: self.is_stopping)
        self._budget = Budget(
            message.get("budget") or (),
            self._recorder.tally,
            is_stopping=lambda: self.is_stopping,
            ask=self._spending.ask,
            told=self._spending.told,
        )
        self._questions = self._make_questions()
        self._toolbox = self._make_toolbox(self._recorder, kept)
        self._history = [dict(m) for m in message.get("history") or ()]
        self._prompt: Any = ""
        self._lock = threading.Lock()
        self._stop_reason: str | None = None
        self._silence = ""
        self._steers: list[str] = []
        self._agent: Any = None
        self._hermes: Any = None
        self._strands: dict[str, AgentRun] = {}
        self._is_compressed = self._is_helper_replayed = False
        self._timer: threading.Timer | None = None

    def _make_questions(self) -> HumanInput:
        return HumanInput(self._recorder)

    def _make_toolbox(self, recorder: Recorder, kept: Mapping[str, ToolResult]) -> ToolExecutor:
        return ToolExecutor(recorder, self._outbox, self._tools, kept, Door(self._questions, self.turn_id))

    # -- from the reading thread -----------------------------------------------------------------------------------

    def stop(self, reason: str) -> None:
        """End the turn soon; the first reason counts."""
        with self._lock:
            if self._stop_reason is not None:
                return
            self._stop_reason = reason
            agent = self._agent
            strands = list(self._strands.values())
        self._toolbox.abandon(reason)
        for strand in strands:
            strand.toolbox.abandon(reason)
        self._questions.close()
        if agent is not None:
            agent.interrupt()

    def steer(self, text: str) -> None:
        """A word to the model while it works; told later whether it was heard."""
        with self._lock:
            agent = self._agent
        if agent is None or not text.strip() or not agent.steer(text):
            self._tell_steer(text, is_applied=False)
        elif self._toolbox.is_running:
            self._tell_steer(text, is_applied=True)
        else:
            with self._lock:
                self._steers.append(text)

    def on_tool_result(self, message: ToolResultKeys) -> None:
        """The kernel's `tool.result`."""
        with self._lock:
            strands = list(self._strands.values())
        for toolbox in (self._toolbox, *(s.toolbox for s in strands)):
            toolbox.on_result(message)

    def answer(self, request_id: str, answer: Any) -> None:
        """The kernel's `answer`."""
        self._questions.answer(request_id, answer)

    def on_budget_answer(self, message: BudgetAnswerKeys) -> None:
        """The kernel's `budget.answer`."""
        self._spending.on_answer(message)

    # -- the turn's own thread ---------------------------------------------------------------------------------------

    def start_clock(self) -> None:
        """From now on its `timeout_s` counts."""
        timeout_s = self._message.get("timeout_s")
        if timeout_s:
            self._timer = threading.Timer(float(timeout_s), self.stop, ["timeout"])
            self._timer.daemon = True
            self._timer.start()

    def run(self, bound: WorkerAgent | None, hermes: SimpleNamespace | None, problem: Exception | None) -> None:
        """Run it to its end; always ends with `turn.done`."""
        model = bound.model if bound is not None else _NO_MODEL
        result: Mapping[str, Any] = {}
        try:
            if bound is not None:
                bound.enforce_config()
            self._prompt = self._seen(self._message.get("prompt", ""), bound)
            self._say_started(bound, model)
            if self._stop_reason is not None and bound is None:
                end = outcome.stopped(self._recorder, self._stop_reason)
            elif bound is None or hermes is None:
                hint = str(getattr(problem, "hint", ""))
                end = Outcome("failed", error=str(problem), error_type=kind_of(problem), hint=hint)
            else:
                result = self._converse(bound, hermes)
                end = outcome.of_result(result, self._recorder, model, stop_reason=self._stop_reason)
        except BaseException as exc:  # noqa: BLE001 - whatever ends the turn, its user hears of it
            if self._stop_reason is not None and not isinstance(exc, JournalError):
                end = outcome.stopped(self._recorder, self._stop_reason)
            else:
                end = outcome.failed(exc, self._recorder, model)
        finally:
            if self._timer is not None:
                self._timer.cancel()
        self._finish(end, result, model)

    def _say_started(self, bound: WorkerAgent | None, model: outcome.ModelIdentity) -> None:
        prompt = self._prompt
        data: dict[str, Any] = {
            "prompt": prompt if isinstance(prompt, str) else reply.flat_text({"content": prompt}),
            "agent": bound.name if bound is not None else self.agent_id,
            "model": model.id,
            "provider": model.provider,
            "host": model.host,
            "runtime": str(self._message.get("runtime") or ""),
            "tools": list(self._tools),
            "n_history_messages": len(self._history),
        }
        if not isinstance(prompt, str):
            data["prompt_parts"] = _parts(prompt)
        data.update(self._message.get("labels") or {})
        self._recorder.emit("turn.started", data)

    @staticmethod
    def _seen(prompt: Any, bound: WorkerAgent | None) -> Any:
        """The prompt, its images named in words for a model that takes none: Hermes would ask another model about them."""
        if isinstance(prompt, str) or bound is None or not any(p.get("type") == "image" for p in prompt):
            return prompt
        if patch.sees_images(bound.endpoint.provider, bound.model.id):
            return prompt
        return "\n\n".join(
            str(p.get("text", ""))
            if p.get("type") != "image"
            else f"[{p.get('mime_type') or 'image'}, {len(p.get('data', '')) * 3 // 4000} kB, not shown: model"
            f" {bound.model.id} is not known to take images]"
            for p in prompt
        )

    def _converse(self, bound: WorkerAgent, hermes: SimpleNamespace) -> Mapping[str, Any]:
        prompt = self._prompt
        agent = bound.take(self.session_id, self._tools, is_resumed=self._recorder.attempt > 1)
        agent.stream_delta_callback = self._recorder.on_delta
        agent.reasoning_callback = self._recorder.on_reasoning
        agent.clarify_callback = self._questions.clarify
        agent.status_callback = self._on_status
        end_listening = hermes.listen(agent, self)
        hermes.enter_turn(self.session_id, self._questions.approve)
        agent.clear_interrupt()
        with self._lock:
            self._agent, self._hermes = agent, hermes
            self._strands[self.session_id] = AgentRun(
                self._recorder,
                self._toolbox,
                hermes,
                agent,
                provider=bound.model.provider,
                options=bound.options,
                home=bound.home,
                replay=self._replay,
                reach=self._reach,
                budget=self._budget,
                recording=self._recording,
                carried=self._carried,
                day=_as_hermes_writes(str(self._message.get("date") or "")),
                on_silence=self._on_silence,
                prompts=[
                    m["content"]
                    for m in [*self._history, {"role": "user", "content": prompt}]
                    if m.get("role") == "user" and isinstance(m.get("content"), str)
                ],
            )
            is_stopped = self._stop_reason is not None
        is_sound = is_stopped
        result: dict[str, Any] = {"interrupted": True}
        try:
            if not is_stopped:
                result = agent.run_conversation(
                    prompt if isinstance(prompt, str) else _parts(prompt),
                    conversation_history=[dict(m) for m in self._history],
                    task_id=self.turn_id,
                )
            is_sound = not result.get("failed") and not result.get("error")
        finally:
            with self._lock:
                self._agent = None
            agent.clear_interrupt()
            end_listening()
            hermes.leave_turn()
            if is_sound:
                bound.give_back(agent, self.session_id, self._tools)
            else:
                bound.discard(agent)
        if self._recorder.broken is not None:
            raise self._recorder.broken
        if self._silence and self._stop_reason is None:
            raise outcome.Unreachable(self._silence)
        return result

    def _finish(self, end: Outcome, result: Mapping[str, Any], model: outcome.ModelIdentity) -> None:
        recorder = self._recorder
        data: dict[str, Any] = {}
        try:
            self._settle_steers(pending=str(result.get("pending_steer") or ""))
            recorder.close_calls(is_stopped=end.status in ("stopped", "timed_out"))
            self._toolbox.close_batch(result.get("messages") or (), is_end=True)
            if end.status in ("completed", "max_turns"):
                data = self._other_messages(result, end)
        except JournalError as exc:
            end = end if end.status == "failed" else outcome.failed(exc, recorder, model)
        kind = _KINDS.get(end.status, "turn.stopped")
        data["text"] = end.text
        if kind == "turn.failed":
            said = {"hint": end.hint, "code": end.code}
            data |= {"error": end.error, "error_type": end.error_type} | {k: v for k, v in said.items() if v}
        else:
            data["status"] = end.status
        if kind == "turn.stopped":
            data["reason"] = end.reason
        tally, totals = recorder.tally, recorder.tally.totals()
        data |= totals | {"started_at_unix_s": recorder.started_at_unix_s, "duration_ms": recorder.duration_ms()}
        data |= {"n_model_calls": tally.n_model_calls, "n_tool_calls": tally.n_tool_calls}
        recorder.emit(kind, data, unrecorded=recorder.broken is not None)
        raw = {k: v for k, v in result.items() if k != "messages" and _is_plain(v)}
        self._outbox.send(
            "turn.done",
            turn_id=self.turn_id,
            status=end.status,
            text=end.text,
            usage=totals.get("usage"),
            cost_usd=totals.get("cost_usd"),
            error=end.error,
            error_type=end.error_type,
            hint=end.hint,
            n_model_calls=tally.n_model_calls,
            exit_reason=end.exit_reason,
            raw=raw,
        )

    def _other_messages(self, result: Mapping[str, Any], end: Outcome) -> dict[str, Any]:
        """`messages`, when Hermes holds another conversation than the events tell (steering, cut results, compression)."""
        held = [history.essence(m) for m in result.get("messages") or () if isinstance(m, Mapping)]
        if held and held[-1]["role"] == "assistant" and not held[-1].get("tool_calls") and self._is_last_reply(end):
            held[-1]["content"] = end.text
        if self._is_compressed:
            return {"messages": held, "messages_of": "session"}
        mine = held[len(self._history) :]
        told = history.turn_messages([*self._recorder.seen, ("turn.completed", {"text": end.text})])
        return {} if history.same_messages(mine, told) else {"messages": mine, "messages_of": "turn"}

    def _is_last_reply(self, end: Outcome) -> bool:
        """Whether the answer is one reply (and not several that continue each other, each a message of its own)."""
        replies = self._recorder.replies
        return bool(replies) and replies[-1].text.strip() == end.text

    # -- what Hermes calls ---------------------------------------------------------------------------------------------

    def call_model(self, request: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]) -> Any:
        """A model call of this turn or of an agent it delegated to."""
        strand = self._strand(context)
        if strand.recorder is self._recorder:
            self._settle_steers()
        return strand.call_model(request, next_call, context)

    def call_tool(
        self, name: str, args: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]
    ) -> Any:
        """A tool call of this turn or of an agent it delegated to."""
        return self._strand(context).call_tool(name, args, next_call, context)

    def _strand(self, context: Mapping[str, Any]) -> AgentRun:
        with self._lock:
            return self._strands.get(str(context.get("session_id"))) or self._strands[self.session_id]

    def on_delegated(self, child_session_id: str, parent_session_id: str, name: str, task: str) -> None:
        """An agent begins to work for this one."""
        parent = self._strand({"session_id": parent_session_id})
        recorder = parent.recorder.child(new_id())
        toolbox = self._make_toolbox(recorder, self._kept)
        strand = AgentRun(
            recorder,
            toolbox,
            self._hermes,
            self._agent,
            provider=parent.provider,
            options=parent.options,
            home=parent.home,
            replay=self._replay,
            budget=self._budget,
            recording=self._recording,
            most_wait_s=self._most_wait_s,
        )
        with self._lock:
            self._strands[child_session_id] = strand
            stop_reason = self._stop_reason
        if stop_reason is not None:
            strand.toolbox.abandon(stop_reason)
        recorder.start_agent(name, task)

    def on_returned(self, child_session_id: str, text: str, status: str) -> None:
        """The agent is done."""
        with self._lock:
            strand = self._strands.pop(child_session_id, None)
        if strand is not None:
            strand.toolbox.close_batch(is_end=True)
            strand.recorder.complete_agent(text, status)

    @property
    def is_stopping(self) -> bool:
        """Whether somebody, or the clock, asked it to end."""
        return self._stop_reason is not None

    @property
    def _most_wait_s(self) -> float:
        return max(outcome.MOST_WAIT_S, float(self._message.get("timeout_s") or 0.0))

    def on_wait(self, wait_s: float, n_retry: int, n_retries_max: int) -> None:
        """Hermes waits before it asks again; too long a wait ends the turn."""
        if self._stop_reason is None:
            failure = self._recorder.last_failure
            asked_s = outcome.retry_after_s(failure) or 0.0  # Hermes waits 600 s at most, and reads no dates
            if max(wait_s, asked_s) > self._most_wait_s:
                raise outcome.LongWait(max(wait_s, asked_s)) from failure
            self._recorder.on_wait(wait_s, n_retry, n_retries_max)

    def on_reconnect(self, reason: str, n_retry: int, n_retries_max: int) -> None:
        """Hermes asks again at once."""
        if self._stop_reason is None:
            self._recorder.on_reconnect(reason, n_retry, n_retries_max)

    def on_unseen_summary(self) -> None:
        """The last call of a turn that reached its limit goes by another way than the one that is recorded."""
        self._recorder.warning(
            "summary",
            "The limit of model calls was reached; Hermes asks once more, for a summary. That call is not in the usage.",
        )

    def on_compressing(self) -> None:
        """Hermes is about to shorten the conversation with a call of its own."""
        self._is_helper_replayed = False
        self._strand({}).check_budget()

    def call_helper(self, request: Mapping[str, Any], send: Callable[[], Any]) -> Any:
        """The answer of the model that shortens the conversation."""
        answer, self._is_helper_replayed = self._strand({}).call_helper(request, send)
        return answer

    def on_compressed(self, n_before: int, n_after: int, spent: Spent, *, is_shorter: bool) -> None:
        """Hermes shortened the conversation with a call of its own, or tried to."""
        self._recorder.tally.count_helper(spent.data())
        if not is_shorter:
            if spent.data():
                self._recorder.warning("compression", "Hermes asked the model to shorten the conversation, in vain.")
            return
        self._is_compressed = True
        counts = {"n_messages_before": n_before, "n_messages_after": n_after}
        counts |= {"replayed": True} if self._is_helper_replayed else {}
        self._recorder.emit("context.compressed", counts | spent.data())

    def _on_status(self, kind: str, text: str) -> None:
        if kind == "warn":
            self._recorder.warning("hermes", text)

    def _on_silence(self, text: str) -> None:
        """The model's address swallows what is sent there."""
        with self._lock:
            self._silence = text
            agent = self._agent
        if agent is not None:
            agent.interrupt()

    # -- steering ------------------------------------------------------------------------------------------------------

    def _settle_steers(self, pending: str | None = None) -> None:
        """Tell of steers that were heard (or, at the end, were not)."""
        agent = self._agent
        with self._lock:
            if not self._steers or (pending is None and agent is not None and agent._pending_steer):
                return
            steers, self._steers = self._steers, []
        for text in steers:
            self._tell_steer(text, is_applied=text.strip() not in (pending or ""))

    def _tell_steer(self, text: str, *, is_applied: bool) -> None:
        self._recorder.emit("steer.received", {"text": text, "applied": is_applied})
        self._outbox.send("steer.result", turn_id=self.turn_id, is_applied=is_applied, text=text)


def _parts(prompt: Any) -> list[dict[str, Any]]:
    """Content parts as chat messages have them."""
    parts: list[dict[str, Any]] = []
    for part in prompt:
        if part.get("type") == "image":
            url = f"data:{part.get('mime_type') or 'image/png'};base64,{part.get('data', '')}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        else:
            parts.append({"type": "text", "text": str(part.get("text", ""))})
    return parts


def _as_hermes_writes(date: str) -> str:
    """`2026-11-29` as `Sunday, November 29, 2026`; "" when it is no date."""
    try:
        return datetime.date.fromisoformat(date).strftime("%A, %B %d, %Y")
    except ValueError:
        return ""


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))
