"""What happened in a turn, as events: model calls, deltas, retries, tools, with durations of the monotonic clock.

One `Recorder` per turn. Hermes calls it from the turn's thread (middleware, status) and from its own threads (deltas).
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from hermes_nb.engine.accounting.usage import UsageCounter
from hermes_nb.engine.connection_fault import root_of
from hermes_nb.engine.durability.delta_batcher import DeltaPump
from hermes_nb.engine.durability.event_writer import EventWriter
from hermes_nb.engine.durability.fingerprint import fingerprint
from hermes_nb.engine.durability.journal import JournalError, Response, ToolResult
from hermes_nb.engine.hermes import verdict
from hermes_nb.engine.hermes.reply import Reply, flat_text
from hermes_nb.model.mask import StreamMask

HEAD_CHARS = 400
_SAID = ("messages", "input")


def new_id() -> str:
    """A span's name: 16 hexadecimal digits."""
    return uuid.uuid4().hex[:16]


class ModelCall:
    """One call of the model as the user sees it: Hermes may repeat the request after a 429 within it."""

    def __init__(self, number: int, request_id: str) -> None:
        self.number = number
        self.request_id = request_id
        self.span_id = new_id()
        self.started = time.monotonic()
        self.text: list[str] = []
        self.failure: BaseException | None = None
        self.n_failures = 0
        self.is_retry_shown = False
        self.is_open = True
        self.model = self.asked = ("", "")  # id and provider: now, and at first


class Recorder:
    """Events of one turn.

    Args:
        outbox: Where they go.
        deltas: Told that text is waiting; it calls `flush` within 30 ms.
        session_id: Session.
        turn_id: Turn; also the span of the turn.
        attempt: 1, or more when the turn is resumed.
        span_id: Span its calls belong to; None for the turn's own.
        parent: The recorder that counts for this one too.
    """

    def __init__(
        self,
        outbox: EventWriter,
        deltas: DeltaPump,
        *,
        session_id: str,
        turn_id: str,
        attempt: int,
        span_id: str | None = None,
        parent: Recorder | None = None,
    ) -> None:
        self.span_id = span_id or turn_id
        self._parent = parent
        self.session_id, self.turn_id, self.attempt = session_id, turn_id, attempt
        self.started_at_unix_s, self.started = time.time(), time.monotonic()
        self.broken: JournalError | None = None
        self._name = ""
        self.seen: list[tuple[str, Mapping[str, Any]]] = []
        self.last_failure: BaseException | None = None
        self.calls: list[ModelCall] = []
        self.replies: list[Reply] = []
        self.tally: UsageCounter = UsageCounter(parent.tally if parent is not None else None)
        self._outbox = outbox
        self._deltas = deltas
        self._lock = threading.RLock()
        self._waiting: list[tuple[str, list[str]]] = []
        self._masks = {kind: StreamMask(outbox.masker) for kind in ("model.delta", "reasoning.delta")}
        self._successes: Counter[str] = Counter()

    # -- events ---------------------------------------------------------------------------------------------------

    def emit(
        self,
        kind: str,
        data: Mapping[str, Any],
        *,
        span_id: str | None = None,
        kept: ToolResult | None = None,
        unrecorded: bool = False,
    ) -> None:
        """One event of this turn; text that waits goes out before it.

        Raises:
            JournalError: It can't be recorded; the turn must end.
        """
        with self._lock:
            if not unrecorded:
                if self.broken is not None:
                    raise self.broken
                self._flush()
            self.seen.append((kind, data))
            try:
                self._outbox.emit(
                    kind,
                    session_id=self.session_id,
                    turn_id=self.turn_id,
                    span_id=span_id or self.span_id,
                    parent_id=self.span_id if span_id is not None else self._own_parent_id,
                    attempt=self.attempt,
                    data=data,
                    kept=kept,
                    unrecorded=unrecorded,
                )
            except JournalError as exc:
                self.broken = exc
                raise

    @property
    def _own_parent_id(self) -> str | None:
        return None if self._parent is None else self._parent.span_id

    def child(self, span_id: str) -> Recorder:
        """A recorder for an agent that works for this one; its calls count here too."""
        return Recorder(
            self._outbox,
            self._deltas,
            session_id=self.session_id,
            turn_id=self.turn_id,
            attempt=self.attempt,
            span_id=span_id,
            parent=self,
        )

    def start_agent(self, name: str, task: str) -> None:
        """An agent begins to work; this recorder is its own."""
        self._name = name
        self.emit("agent.started", {"name": name, "task": task})

    def complete_agent(self, text: str, status: str) -> None:
        """The agent is done."""
        self.close_calls(is_stopped=status == "interrupted")
        data = {"name": self._name, "text": text, "status": status, "duration_ms": self.duration_ms()}
        self.emit("agent.completed", data)

    def warning(self, code: str, message: str) -> None:
        """Something survivable went wrong, and is seen."""
        self.emit("warning", {"code": code, "message": message})

    # -- text -----------------------------------------------------------------------------------------------------

    def on_delta(self, text: str | None) -> None:
        """A piece of the answer, from any thread; None flushes."""
        self._on_text("model.delta", text)

    def on_reasoning(self, text: str | None) -> None:
        """A piece of the reasoning, from any thread."""
        self._on_text("reasoning.delta", text)

    def _on_text(self, kind: str, text: str | None) -> None:
        if not text:
            if text is None:
                self.flush()
            return
        with self._lock:
            if kind == "model.delta" and self.calls:
                said = self.calls[-1].text
                text = text if said else text.lstrip("\n")  # Hermes puts a blank line before the text after a tool
                if not text:
                    return
                said.append(text)
            if self._waiting and self._waiting[-1][0] == kind:
                self._waiting[-1][1].append(text)
            else:
                self._waiting.append((kind, [text]))
        self._deltas.wake(self)

    def flush(self) -> None:
        """Send what waits. Never raises: a broken journal is met by the next event of the turn's own thread."""
        with self._lock:
            try:
                self._flush()
            except JournalError as exc:
                self.broken = exc

    def _flush(self, *, is_end: bool = False) -> None:
        waiting, self._waiting = self._waiting, []
        if not self.calls or self.broken is not None:
            return
        ready = [(kind, self._masks[kind].feed("".join(pieces))) for kind, pieces in waiting]
        if is_end:
            last = {kind: i for i, (kind, _) in enumerate(ready)}
            for kind, mask in self._masks.items():
                rest = mask.end()
                if rest and kind in last:
                    ready[last[kind]] = (kind, ready[last[kind]][1] + rest)
                elif rest:
                    ready.append((kind, rest))
        for kind, text in ready:
            self._send_text(kind, text)

    def _send_text(self, kind: str, text: str) -> None:
        if text:
            self._outbox.emit(
                kind,
                session_id=self.session_id,
                turn_id=self.turn_id,
                span_id=self.calls[-1].span_id,
                parent_id=self.span_id,
                attempt=self.attempt,
                data={"text": text},
            )

    # -- model calls ----------------------------------------------------------------------------------------------

    def start_call(
        self, request: Mapping[str, Any], request_id: str, provider: str, options: Mapping[str, Any] = {}
    ) -> tuple[ModelCall, str]:
        """A request is about to be sent: the call it belongs to, and its fingerprint. It tells `options`."""
        # Of the masked request: what is resumed is made of the log, which holds no key.
        print_ = fingerprint({**request, **self._outbox.masker.data({k: request[k] for k in _SAID if k in request})})
        last = self.calls[-1] if self.calls else None
        if last is not None and last.is_open and last.request_id == request_id:
            if last.failure is not None:
                self._show_retry(last)
            self._note_fallback(last, str(request.get("model") or ""), provider)
            last.text.clear()
            last.failure = None
            return last, print_
        if last is not None and last.is_open:
            self._fail(last)
        call = ModelCall(len(self.calls) + 1, request_id)
        call.model = call.asked = (str(request.get("model") or ""), provider)
        messages = request.get("messages") or request.get("input") or []
        self.emit_pending()
        self.calls.append(call)
        self.emit(
            "model.started",
            {
                "api_call": call.number,
                "n_messages": len(messages),
                "model": str(request.get("model") or ""),
                "provider": provider,
                "last_message": flat_text(messages[-1])[:HEAD_CHARS] if messages else "",
                "fingerprint": print_,
                **({"options": dict(options)} if options else {}),
            },
            span_id=call.span_id,
        )
        return call, print_

    def _note_fallback(self, call: ModelCall, model: str, provider: str) -> None:
        """Say that another model is asked now, where it is."""
        if call.model == (model, provider):
            return
        failed, call.model = call.model, (model, provider)
        self.warning("fallback", f"{failed[0]} ({failed[1]}) did not answer; {model} ({provider}) is asked instead.")

    def emit_pending(self) -> None:
        """Send what waits for the call before, masked to its end."""
        with self._lock:
            self._flush(is_end=True)

    def next_occurrence(self, print_: str) -> int:
        """How many times this request was answered in this attempt."""
        return self._successes[print_]

    def complete_call(
        self,
        call: ModelCall,
        print_: str,
        request: Mapping[str, Any],
        reply: Reply,
        *,
        price: Callable[[], float | None] | None = None,
    ) -> None:
        """The model answered: commit the response, ask for its price, then say so. Without `price` it is a replay."""
        duration_ms = (time.monotonic() - call.started) * 1000
        occurrence = self._successes[print_]
        self._successes[print_] += 1
        self.emit_pending()
        call.is_open = False
        messages = request.get("messages") or request.get("input") or []
        data: dict[str, Any] = {
            "api_call": call.number,
            "text": reply.text,
            "tool_calls": reply.tool_calls,
            "model": reply.model or str(request.get("model") or ""),
            "n_messages": len(messages),
            "last_message": flat_text(messages[-1])[:HEAD_CHARS] if messages else "",
            "fingerprint": print_,
            "occurrence": occurrence,
        }
        if call.model != call.asked:
            data["provider"] = call.model[1]
        if reply.reasoning:
            data["reasoning"] = reply.reasoning
        if reply.finish_reason:
            data["finish_reason"] = reply.finish_reason
        self.replies.append(reply)
        if price is None:
            data["replayed"] = True
        else:
            self._keep(Response(self.turn_id, print_, occurrence, self.attempt, reply.body))
            data["duration_ms"] = round(duration_ms, 3)
            cost_usd = price()
            data |= {} if reply.usage is None else {"usage": reply.usage}
            data |= {} if cost_usd is None else {"cost_usd": cost_usd}
            data |= {"cost_source": "provider"} if reply.is_cost_given and cost_usd is not None else {}
            self.tally.count_model_call(reply.usage, cost_usd)
        self.emit("model.completed", data, span_id=call.span_id)

    def keep_helper(self, print_: str, body: Mapping[str, Any] | None) -> None:
        """A helper model of Hermes's answered: commit it; None for one that was committed before."""
        occurrence = self._successes[print_]
        self._successes[print_] += 1
        if body is not None:
            self._keep(Response(self.turn_id, print_, occurrence, self.attempt, dict(body)))

    def _keep(self, response: Response) -> None:
        if self.broken is not None:
            raise self.broken
        try:
            self._outbox.keep(response)
        except JournalError as exc:
            self.broken = exc
            raise

    def fail_call(self, call: ModelCall, error: BaseException) -> None:
        """The request failed; whether Hermes asks again is seen later."""
        call.failure = error
        call.n_failures += 1
        call.is_retry_shown = False
        self.last_failure = error

    def on_wait(self, wait_s: float, n_retry: int, n_retries_max: int) -> None:
        """Hermes will ask again after `wait_s`."""
        if self.calls:
            more = {"wait_s": round(wait_s, 1), "n_retry": n_retry, "n_retries_max": n_retries_max}
            self._show_retry(self.calls[-1], **{k: v for k, v in more.items() if v})

    def on_reconnect(self, reason: str, n_retry: int, n_retries_max: int) -> None:
        """Hermes asks again at once, within one call, because the stream broke. Any thread; never raises."""
        with self._lock:
            if self.calls and self.broken is None:
                self.calls[-1].text.clear()
                data = {"reason": reason} | ({"n_retry": n_retry, "n_retries_max": n_retries_max} if n_retry else {})
                with contextlib.suppress(JournalError):  # remembered; the turn's own thread meets it
                    self.emit("model.retried", data, span_id=self.calls[-1].span_id)

    def _show_retry(self, call: ModelCall, **more: Any) -> None:
        if call.is_retry_shown:
            return
        call.is_retry_shown = True
        data = {"reason": short_error(call.failure) if call.failure else "The reply can't be used.", **more}
        status = getattr(call.failure, "status_code", None)
        if isinstance(status, int):
            data["status_code"] = status
        self.emit("model.retried", data, span_id=call.span_id)

    def _fail(self, call: ModelCall, error: BaseException | None = None) -> None:
        call.is_open = False
        failure = error or call.failure
        self.emit_pending()
        data: dict[str, Any] = {
            "api_call": call.number,
            "error": short_error(failure) if failure is not None else "No answer.",
            "error_type": type(failure).__name__ if failure is not None else "",
            "duration_ms": round((time.monotonic() - call.started) * 1000, 3),
        }
        status = getattr(failure, "status_code", None)
        if isinstance(status, int):
            data["status_code"] = status
        self.emit("model.failed", data, span_id=call.span_id)

    def close_calls(self, *, is_stopped: bool) -> None:
        """The turn ends: an open call failed, or was stopped with it (its text so far is the partial answer)."""
        for call in self.calls:
            if call.is_open and not is_stopped:
                self._fail(call)
            call.is_open = False
        self.emit_pending()

    # -- what the turn's end says -----------------------------------------------------------------------------------

    def partial_text(self) -> str:
        """What there is of an answer: the text of the interrupted call, else of the last completed one."""
        if self.calls and self.calls[-1].text and len(self.calls) > len(self.replies):
            return "".join(self.calls[-1].text).strip()
        return verdict.answer(self.replies)

    def duration_ms(self) -> float:
        """How long it has been going on."""
        return round((time.monotonic() - self.started) * 1000, 3)


def short_error(error: BaseException) -> str:
    """One line about an error of the provider."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error")
        message = inner.get("message") if isinstance(inner, Mapping) else body.get("message")
        if isinstance(message, str) and message.strip():
            return " ".join(message.split())[:500]
    text = _CODE.sub("", " ".join(str(error).split()))
    root = root_of(error) if text in _SAYS_NOTHING else ""
    return (f"{text} {root}" if root else text)[:500] or type(error).__name__


_SAYS_NOTHING = ("", "Connection error.", "Request timed out.")  # of the clients of OpenAI and Anthropic: the cause is below
_CODE = re.compile(r"^Error code: \d{3} - ")  # the status is told apart
