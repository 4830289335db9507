"""One turn of an agent that is asked by the Agent Client Protocol: its updates as events of our log."""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_nb.model.message import TurnDoneKeys, TurnStartKeys
    from hermes_nb.model.status import TurnStatus

DELTAS_S = 0.1  # text that streams in is told at most that often
_STATUS: dict[str, TurnStatus] = {
    "end_turn": "completed",
    "cancelled": "stopped",
    "max_tokens": "completed",
    "max_turn_requests": "max_turns",
}
_USAGE = {"inputTokens": "input_tokens", "outputTokens": "output_tokens", "thoughtTokens": "reasoning_tokens"}
_USAGE |= {"cachedReadTokens": "cache_read_tokens", "cachedWriteTokens": "cache_write_tokens"}
_STEER_NOTE = "\u23e9 Steer queued"  # Hermes's answer to the word itself, no part of the turn's
_RESULT = ("result_chars", "started_at_unix_s", "duration_ms", "error_type", "error")
_CHOICES = ("once", "always", "deny")

Emit = Callable[..., None]


class AcpTurn:
    """The events of one turn.

    Args:
        emit: `emit(kind, data, span_id=None)`.
        start: The wire's `turn.start`.
        agent: What the other side calls itself.
        provider: By which protocol it is spoken to.
        model: The model it says that it uses; "" when it does not say.
        served: Functions of the notebook that it may call, and the MCP server that it finds them on: what it tells of such
            a call itself is left out, since the call is a row already.
    """

    def __init__(
        self,
        emit: Emit,
        start: TurnStartKeys,
        *,
        name: str,
        agent: str,
        model: str,
        provider: str = "acp",
        served: tuple[frozenset[str], str] = (frozenset(), ""),
    ) -> None:
        self.start = start
        self.turn_id, self.session_id = str(start["turn_id"]), str(start["session_id"])
        self.stop_reason = ""
        self._emit = emit
        self._name, self._agent, self._model, self._provider, self._served = name, agent, model, provider, served
        self._began_s, self._began_unix_s = time.monotonic(), time.time()
        self._span, self._span_began_s = "", 0.0
        self._said: list[str] = []
        self._held: list[tuple[str, str]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tools: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, dict[str, Any]] = {}  # of functions of the notebook, by their spans
        self._questions: dict[str, asyncio.Future[str]] = {}
        self._n_calls = self._n_tools = 0
        self._text = ""

    def begin(self) -> None:
        """Say what is asked, and of whom."""
        prompt = self.start.get("prompt", "")
        data = {
            "prompt": prompt if isinstance(prompt, str) else "\n".join(str(p.get("text") or "") for p in prompt),
            "agent": self._name,
            "model": self._model,
            "provider": self._provider,
            "host": self._agent,
            "runtime": str(self.start.get("runtime") or "acp"),
            "tools": sorted(self._served[0]),
            "n_history_messages": len(self.start.get("history") or ()),
        }
        self._emit("turn.started", {**data, **(self.start.get("labels") or {})})

    # -- updates -----------------------------------------------------------------------------------------------------

    def on_update(self, update: Mapping[str, Any]) -> None:
        """One `session/update`."""
        kind = update.get("sessionUpdate")
        if kind in ("agent_message_chunk", "agent_thought_chunk"):
            text = str((update.get("content") or {}).get("text") or "")
            self._hear("model.delta" if kind == "agent_message_chunk" else "reasoning.delta", text)
        elif kind == "tool_call":
            self._start_tool(update)
        elif kind == "tool_call_update":
            self._update_tool(update)

    def _hear(self, kind: str, text: str) -> None:
        if not self._span:
            text = text.lstrip("\n")  # Hermes puts a blank line before the text after a tool
        if not text or text.startswith(_STEER_NOTE):
            return
        self._open_call()
        if kind == "model.delta":
            self._said.append(text)
        if self._held and self._held[-1][0] == kind:
            text = self._held.pop()[1] + text
        self._held.append((kind, text))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELTAS_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, []
        for kind, text in held:
            self._emit(kind, {"text": text}, span_id=self._span)

    def _open_call(self) -> None:
        """The protocol does not tell model calls: what is said between two tools counts as one."""
        if not self._span:
            self._span, self._span_began_s = _new_span(), time.monotonic()
            self._n_calls += 1
            self._emit("model.started", {"api_call": self._n_calls, "model": self._model}, span_id=self._span)

    def _close_call(self) -> None:
        self._flush()
        if not self._span:
            return
        text, self._said = "".join(self._said), []
        self._text = text or self._text
        data = {"api_call": self._n_calls, "text": text, "tool_calls": [], "model": self._model}
        self._emit("model.completed", {**data, "duration_ms": _ms(self._span_began_s)}, span_id=self._span)
        self._span = ""

    def _start_tool(self, update: Mapping[str, Any]) -> None:
        self._close_call()
        call_id = str(update.get("toolCallId") or _new_span())
        title = str(update.get("title") or update.get("kind") or "tool")
        if self._is_ours(title):
            return
        word = re.match(r"[A-Za-z_][\w.-]*(?=:|$)", title)
        arguments = update.get("rawInput")
        if arguments is None:
            arguments = {"title": title}
        given = json.dumps(arguments, ensure_ascii=False, default=str)
        name = word[0] if word else str(update.get("kind") or title)
        self._tools[call_id] = {"span_id": _new_span(), "name": name, "began_s": time.monotonic()}
        data = {"tool_call_id": call_id, "name": name, "arguments": given, "builtin": True}
        self._emit("tool.started", data, span_id=self._tools[call_id]["span_id"])
        self._update_tool(update)

    def _is_ours(self, title: str) -> bool:
        """Whether a title names a function of the notebook as the program calls it: `mcp__SERVER__NAME` and the like."""
        names, server = self._served
        found = re.search(rf"\b(?:mcp__)?{re.escape(server)}(?:__|[./: ]+)(\w+)", title) if server else None
        return found is not None and found[1] in names

    # -- functions of the notebook -------------------------------------------------------------------------------------

    def begin_call(self, name: str, arguments: str, **more: Any) -> str:
        """The program calls a function of the notebook; returns the call's span."""
        self._close_call()
        span_id = _new_span()
        self._calls[span_id] = {"tool_call_id": span_id, "name": name, **more}
        self._emit("tool.started", {**self._calls[span_id], "arguments": arguments}, span_id=span_id)
        return span_id

    def end_call(self, span_id: str, result: Mapping[str, Any]) -> None:
        """The call is over: the wire's `tool.result`."""
        call = self._calls.pop(span_id, None)
        if call is None:
            return
        self._n_tools += 1
        text = str(result.get("result") or "")
        told = {key: result[key] for key in _RESULT if result.get(key) not in (None, "")}
        data = {**call, "status": str(result.get("status")), "result": text, "result_chars": len(text), **told}
        self._emit("tool.completed", data, span_id=span_id)

    def _update_tool(self, update: Mapping[str, Any]) -> None:
        status, call = update.get("status"), self._tools.get(str(update.get("toolCallId")))
        if call is None:
            return
        call["text"] = _text_of(update.get("content")) or call.get("text", "")
        if status in ("completed", "failed"):
            self._end_tool(str(update.get("toolCallId")), "ok" if status == "completed" else "error")

    def _end_tool(self, call_id: str, status: str) -> None:
        call = self._tools.pop(call_id)
        self._n_tools += 1
        text = call.get("text", "")
        data = {"tool_call_id": call_id, "name": call["name"], "status": status, "result": text, "result_chars": len(text)}
        data |= {"error": text[:500]} if status == "error" else {}
        self._emit("tool.completed", {**data, "builtin": True, "duration_ms": _ms(call["began_s"])}, span_id=call["span_id"])

    # -- questions -----------------------------------------------------------------------------------------------------

    async def ask(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to `session/request_permission`: a person's. "Always" is kept by the kernel, for these arguments."""
        call = params.get("toolCall") or {}
        request_id, given = _new_span(), call.get("rawInput")
        future = self._questions[request_id] = asyncio.get_running_loop().create_future()
        arguments = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False, default=str)
        if isinstance(given, Mapping) and isinstance(given.get("command"), str):
            arguments = given["command"]
        running = list(self._tools.values())
        name = running[0]["name"] if len(running) == 1 else str(call.get("kind") or "tool")
        data = {"question": str(call.get("title") or "May the agent do this?"), "name": name}
        self._emit(
            "approval.requested",
            {"request_id": request_id, **data, "arguments": arguments, "choices": list(_CHOICES)},
            span_id=request_id,
        )
        answer = "deny" if self.stop_reason else await future
        self._questions.pop(request_id, None)
        self._emit("approval.responded", {"request_id": request_id, "answer": answer}, span_id=request_id)
        return _outcome(answer, params.get("options") or ())

    def answer(self, request_id: str, answer: Any) -> None:
        """A person answered."""
        future = self._questions.get(request_id)
        if future is not None and not future.done():
            future.set_result(str({True: "once", False: "deny"}.get(answer, answer)))

    def stop(self, reason: str) -> None:
        """Nobody waits any more; what is asked is denied."""
        self.stop_reason = self.stop_reason or reason
        for request_id in list(self._questions):
            self.answer(request_id, "deny")

    # -- the end -------------------------------------------------------------------------------------------------------

    def end(self, stop_reason: str, usage: Mapping[str, int], error: str = "") -> TurnDoneKeys:
        """Say how it ended; returns the wire's `turn.done`."""
        self._close_call()
        if self.stop_reason and error:  # some answer a cancelled prompt by an error
            stop_reason, error = "cancelled", ""
        status: TurnStatus = "failed" if error else _STATUS.get(stop_reason, "failed")
        if stop_reason == "refusal":
            error = "The agent refused to go on with this conversation. Start a new session."
        if status == "stopped" and self.stop_reason == "timeout":
            status = "timed_out"
        for call_id in list(self._tools):
            self._end_tool(call_id, "stopped" if status in ("stopped", "timed_out") else "error")
        if status == "failed" and not error:
            error = f"The agent ended the turn: {stop_reason or 'no reason given'}."
        data: dict[str, Any] = {"text": self._text, "n_model_calls": self._n_calls, "n_tool_calls": self._n_tools}
        data |= {"started_at_unix_s": self._began_unix_s, "duration_ms": _ms(self._began_s)}
        data |= {"usage": dict(usage)} if usage else {}
        if status == "failed":
            self._emit("turn.failed", {**data, "error": error, "error_type": "ModelError"})
        else:
            kind = "turn.completed" if status in ("completed", "max_turns") else "turn.stopped"
            more = {"reason": self.stop_reason or "user"} if kind == "turn.stopped" else {}
            self._emit(kind, {**data, "status": status, **more})
        return {
            "turn_id": self.turn_id,
            "status": status,
            "text": self._text,
            "usage": dict(usage) or None,
            "cost_usd": None,
            "error": error,
            "error_type": "ModelError" if error else "",
            "hint": "",
            "n_model_calls": self._n_calls,
            "exit_reason": stop_reason,
            "raw": {},
        }


def prompt_parts(start: TurnStartKeys, instructions: str, *, with_history: bool) -> list[dict[str, Any]]:
    """What is asked as the protocol has it; their session does not know what was said before it began."""
    before = [instructions] if instructions else []
    history = [m for m in start.get("history") or () if m.get("role") in ("user", "assistant") and m.get("content")]
    if with_history and history:
        before.append("The conversation so far:\n" + "\n".join(f"{m['role']}: {m['content']}" for m in history))
    parts: list[dict[str, Any]] = [{"type": "text", "text": text} for text in before]
    prompt = start.get("prompt", "")
    for part in [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt:
        if part.get("type") == "image":
            parts.append({"type": "image", "data": part.get("data", ""), "mimeType": part.get("mime_type") or "image/png"})
        else:
            parts.append({"type": "text", "text": str(part.get("text", ""))})
    return parts


def used(told: Mapping[str, Any] | None, before: dict[str, int]) -> dict[str, int]:
    """What a turn used, of figures that count a whole session; `before` is brought up to them."""
    now = {ours: int(told[theirs]) for theirs, ours in _USAGE.items() if told and told.get(theirs) is not None}
    spent = {name: n - before.get(name, 0) for name, n in now.items()}
    before.update(now)
    return spent if all(n >= 0 for n in spent.values()) else now


def _outcome(answer: str, options: Any) -> dict[str, Any]:
    wanted = "reject_once" if answer == "deny" else "allow_once"
    found = next((o.get("optionId") for o in options if isinstance(o, Mapping) and o.get("kind") == wanted), None)
    if found is None:  # no such choice: nothing is ever allowed for longer than asked
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": found}}


def _text_of(content: Any) -> str:
    """The text of a tool call's content; a diff is named by its file."""
    parts = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") == "content":
            parts.append(str((part.get("content") or {}).get("text") or ""))
        elif isinstance(part, Mapping) and part.get("type") == "diff":
            parts.append(f"changed {part.get('path')}")
    return "\n".join(part for part in parts if part)


def _new_span() -> str:
    return uuid.uuid4().hex[:16]


def _ms(began_s: float) -> float:
    return round((time.monotonic() - began_s) * 1000, 3)
