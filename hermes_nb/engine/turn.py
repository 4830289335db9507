"""One running turn: the thread it runs on, its stop, and the middleware that sees its model and tool calls."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from hermes_nb.engine import outcome, reply
from hermes_nb.engine.agent import BoundAgent, tools_of
from hermes_nb.engine.fingerprint import with_date
from hermes_nb.engine.journal import JournalError
from hermes_nb.engine.outbox import Outbox
from hermes_nb.engine.outcome import Outcome
from hermes_nb.engine.question import Questions
from hermes_nb.engine.recorder import DeltaPump, Recorder
from hermes_nb.engine.toolbox import Toolbox, spread_duplicates
from hermes_nb.model import history


class EngineFault(BaseException):
    """A fault of ours inside Hermes; an Exception would be logged and the turn would go on unrecorded."""


class Turn:
    """One turn, from `turn.start` to `turn.done`.

    Args:
        message: The wire's `turn.start`.
        outbox: Where everything goes.
        pump: Flushes text.
    """

    def __init__(self, message: Mapping[str, Any], outbox: Outbox, pump: DeltaPump) -> None:
        self.turn_id = str(message["turn_id"])
        self.session_id = str(message["session_id"])
        self.agent_id = str(message["agent_id"])
        self._message = message
        self._outbox = outbox
        attempt = int(message.get("attempt") or 1)
        self._recorder = Recorder(
            outbox, pump, session_id=self.session_id, turn_id=self.turn_id, attempt=attempt
        )
        is_again = attempt > 1 and outbox.journal is not None
        journal = outbox.journal
        self._replay = journal.responses(self.turn_id) if is_again and journal is not None else {}
        results = journal.tool_results(self.turn_id) if is_again and journal is not None else {}
        self._tools = tools_of(message.get("tools") or ())
        self._toolbox = Toolbox(self._recorder, outbox, self._tools, results)
        self._questions = Questions(self._recorder)
        self._history = [dict(m) for m in message.get("history") or ()]
        self._day = _as_hermes_writes(str(message.get("date") or ""))
        self._lock = threading.Lock()
        self._stop_reason: str | None = None
        self._steers: list[str] = []
        self._agent: Any = None
        self._bound: BoundAgent | None = None
        self._hermes: Any = None
        self._is_compressed = False
        self._timer: threading.Timer | None = None

    # -- from the reading thread -----------------------------------------------------------------------------------

    def stop(self, reason: str) -> None:
        """End the turn soon; the first reason counts."""
        with self._lock:
            if self._stop_reason is not None:
                return
            self._stop_reason = reason
            agent = self._agent
        self._toolbox.abandon()
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

    def on_tool_result(self, message: Mapping[str, Any]) -> None:
        """The kernel's `tool.result`."""
        self._toolbox.on_result(message)

    def answer(self, request_id: str, answer: Any) -> None:
        """The kernel's `answer`."""
        self._questions.answer(request_id, answer)

    # -- the turn's own thread ---------------------------------------------------------------------------------------

    def run(self, bound: BoundAgent | None, hermes: SimpleNamespace | None, problem: Exception | None) -> None:
        """Run it to its end; always ends with `turn.done`."""
        model = bound.model if bound is not None else outcome.Model("", "", "")
        self._bound, self._hermes = bound, hermes
        result: Mapping[str, Any] = {}
        try:
            self._say_started(bound, model)
            if problem is not None or bound is None or hermes is None:
                end = Outcome("failed", error=str(problem), error_type=str(getattr(problem, "kind", "WorkerError")),
                              hint=str(getattr(problem, "hint", "")))  # fmt: skip
            else:
                result = self._converse(bound, hermes)
                end = outcome.of_result(result, self._recorder, model, stop_reason=self._stop_reason)
        except (JournalError, outcome.Unreachable) as exc:
            end = outcome.failed(exc, self._recorder, model)
        except BaseException as exc:  # noqa: BLE001 - whatever ends the turn, its user hears of it
            is_stop = self._stop_reason is not None
            end = (
                outcome.stopped(self._recorder, str(self._stop_reason)) if is_stop
                else outcome.failed(exc.__cause__ or exc, self._recorder, model)
            )  # fmt: skip
        finally:
            if self._timer is not None:
                self._timer.cancel()
        self._finish(end, result)

    def _say_started(self, bound: BoundAgent | None, model: outcome.Model) -> None:
        prompt = self._message.get("prompt", "")
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
        if self._message.get("title"):
            data["title"] = str(self._message["title"])
        self._recorder.emit("turn.started", data)

    def _converse(self, bound: BoundAgent, hermes: SimpleNamespace) -> Mapping[str, Any]:
        prompt = self._message.get("prompt", "")
        timeout_s = self._message.get("timeout_s")
        if timeout_s:
            self._timer = threading.Timer(float(timeout_s), self.stop, ["timeout"])
            self._timer.daemon = True
            self._timer.start()
        agent = bound.take(self.session_id, self._tools)
        agent.stream_delta_callback = self._recorder.on_delta
        agent.reasoning_callback = self._recorder.on_reasoning
        agent.clarify_callback = self._questions.clarify
        agent.status_callback = self._on_status
        agent._handle_max_iterations = lambda *args: self._summarise(agent, *args)
        agent._compress_context = lambda *args, **options: self._compress(agent, *args, **options)
        hermes.set_approval_callback(self._questions.approve)
        hermes.set_interactive(True)
        hermes.set_session_key(f"hermes_nb:{self.session_id}")
        agent.clear_interrupt()
        with self._lock:
            self._agent = agent
            is_stopped = self._stop_reason is not None
        if is_stopped:
            agent.interrupt()
        is_sound = False
        try:
            result: dict[str, Any] = agent.run_conversation(
                prompt if isinstance(prompt, str) else _parts(prompt),
                conversation_history=[dict(m) for m in self._history],
                task_id=self.turn_id,
            )
            is_sound = not result.get("failed") and not result.get("error")
        finally:
            with self._lock:
                self._agent = None
            agent.clear_interrupt()
            hermes.set_approval_callback(None)
            del agent._handle_max_iterations, agent._compress_context
            if is_sound:
                bound.give_back(agent, self.session_id, self._tools)
            else:
                agent.close()
        if self._recorder.broken is not None:
            raise self._recorder.broken
        return result

    def _finish(self, end: Outcome, result: Mapping[str, Any]) -> None:
        recorder = self._recorder
        data: dict[str, Any] = {"text": end.text}
        kind = {"completed": "turn.completed", "max_turns": "turn.completed", "failed": "turn.failed"}.get(
            end.status, "turn.stopped"
        )
        try:
            self._settle_steers(pending=str(result.get("pending_steer") or ""))
            recorder.close_calls(is_stopped=kind == "turn.stopped")
            self._toolbox.close_batch(result.get("messages") or ())
            if kind == "turn.completed":
                data |= self._other_messages(result, end)
        except JournalError as exc:
            if end.status != "failed":
                end = outcome.failed(exc, recorder, self._bound.model if self._bound else outcome.Model("", "", ""))
                kind, data = "turn.failed", {"text": end.text}
        if kind == "turn.failed":
            data |= {"error": end.error, "error_type": end.error_type}
            data |= {k: v for k, v in (("hint", end.hint), ("code", end.code)) if v}
        else:
            data["status"] = end.status
        if kind == "turn.stopped":
            data["reason"] = end.reason
        totals = recorder.totals()
        data |= totals | {"n_model_calls": recorder.n_model_calls, "n_tool_calls": recorder.n_tool_calls}
        recorder.emit(kind, data, unrecorded=recorder.broken is not None)
        raw = {k: v for k, v in result.items() if k != "messages" and _is_json(v)}
        self._outbox.send(
            "turn.done", turn_id=self.turn_id, status=end.status, text=end.text, usage=totals.get("usage"),
            cost_usd=totals.get("cost_usd"), error=end.error, error_type=end.error_type, hint=end.hint,
            n_model_calls=recorder.n_model_calls, exit_reason=end.exit_reason, raw=raw,
        )  # fmt: skip

    def _other_messages(self, result: Mapping[str, Any], end: Outcome) -> dict[str, Any]:
        """`messages`, when Hermes holds another conversation than the events tell (steering, cut results, compression)."""
        held = [history.essence(m) for m in result.get("messages") or () if isinstance(m, Mapping)]
        if self._is_compressed:
            return {"messages": held, "messages_of": "session"}
        mine = held[len(self._history) :]
        told = history.turn_messages([*self._recorder.seen, ("turn.completed", {"text": end.text})])
        return {} if history.same_messages(mine, told) else {"messages": mine, "messages_of": "turn"}

    # -- what Hermes calls ---------------------------------------------------------------------------------------------

    def call_model(self, request: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]) -> Any:
        """One request: replayed from the journal, or sent; recorded before Hermes sees the answer."""
        with _no_exception():
            self._settle_steers()
            self._toolbox.close_batch(request.get("messages") or ())
            if self._day:
                request = with_date(request, self._day)
            call, print_ = self._recorder.start_call(request, context)
            key = f"{print_}:{self._recorder.next_occurrence(print_)}"
            kept = self._replay.get((print_, self._recorder.next_occurrence(print_)))
        if kept is not None:
            with _no_exception():
                response = reply.rebuild(kept)
                self._take_reply(call, print_, request, response, key, replayed=True)
            return response
        try:
            response = next_call(request)
        except Exception as exc:
            with _no_exception():
                self._recorder.fail_call(call, _original(exc))
            raise
        with _no_exception():
            self._take_reply(call, print_, request, response, key)
        return response

    def _take_reply(
        self, call: Any, print_: str, request: Mapping[str, Any], response: Any, key: str, *, replayed: bool = False
    ) -> None:
        said = reply.read(response, self._agent, self._hermes)
        self._recorder.complete_call(call, print_, request, said, replayed=replayed)
        self._toolbox.open_batch(key, said.tool_calls)
        choices = getattr(response, "choices", None)
        if choices:
            spread_duplicates(getattr(choices[0].message, "tool_calls", None) or [])

    def call_tool(
        self, name: str, args: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]
    ) -> Any:
        """One tool call."""
        failures: list[Exception] = []

        def run() -> Any:
            try:
                return next_call(args)
            except Exception as exc:
                failures.append(exc)
                raise

        try:
            return self._toolbox.run(name, args, str(context.get("tool_call_id") or ""), run)
        except Exception as exc:
            if exc in failures:
                raise
            raise EngineFault(f"Recording the call of {name} failed: {exc!r}") from exc

    def on_wait(self, wait_s: float, n_retry: int, n_retries_max: int) -> None:
        """Hermes waits before it asks again."""
        self._recorder.on_wait(wait_s, n_retry, n_retries_max)

    def _on_status(self, kind: str, text: str) -> None:
        if kind == "warn":
            self._recorder.warning("hermes", text)
        elif "reconnect" in text.lower():
            self._recorder.on_reconnect(text)

    def _summarise(self, agent: Any, messages: list[Any], api_call_count: int) -> str:
        self._recorder.warning(
            "summary",
            f"The limit of {agent.max_iterations} model calls was reached; Hermes asks once more for a summary."
            " That call is not in the usage.",
        )
        return str(type(agent)._handle_max_iterations(agent, messages, api_call_count))

    def _compress(self, agent: Any, messages: list[Any], *args: Any, **options: Any) -> Any:
        result = type(agent)._compress_context(agent, messages, *args, **options)
        self._is_compressed = True
        self._recorder.emit(
            "context.compressed", {"n_messages_before": len(messages), "n_messages_after": len(result[0])}
        )
        return result

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


class _no_exception:
    """Our own Exceptions become EngineFaults: Hermes would swallow an Exception and go on."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception):
            raise EngineFault(f"Recording failed: {error!r}") from error


def _original(error: BaseException) -> BaseException:
    """Hermes wraps what the transport raised while it passes a middleware."""
    inner = getattr(error, "original", None)
    return inner if isinstance(inner, BaseException) else error


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


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))
