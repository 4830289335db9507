"""The forms of a chat answer: the parts a responder yields, and the JSON and SSE bytes they become.

No sockets and no threads of its own; `endpoint` does the talking.

Source: OpenAI API reference, "The chat completion object" and "The chat completion chunk object".
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any


class Gate:
    """Holds whoever waits for it until it is released; stays open from then on. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_released = False
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_released(self) -> bool:
        """Whether `release` was called."""
        return self._is_released

    def release(self) -> None:
        """Let everybody go on."""
        with self._lock:
            self._is_released = True
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once released (at once, if it was); returns what ends the listening."""
        with self._lock:
            self._listeners.append(listener)
            is_released = self._is_released
        if is_released:
            listener()

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end


class Waker:
    """A pipe that wakes a `poll`. `wake` may come from any thread, also after `close`."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._lock = threading.Lock()
        self._is_closed = False

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self._read

    def wake(self) -> None:
        """Make the poll return."""
        with self._lock:
            if not self._is_closed:
                try:
                    os.write(self._write, b"x")
                except BlockingIOError:
                    return  # full: it wakes anyway

    def drain(self) -> None:
        """Forget the wake-ups so far."""
        try:
            while os.read(self._read, 4096):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        """Give the descriptors back."""
        with self._lock:
            self._is_closed = True
            os.close(self._read)
            os.close(self._write)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A piece of reasoning text (`reasoning_content`)."""

    text: str


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """One tool call; `arguments` is the raw text, JSON or not."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage object to report, as it is."""

    counts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finish:
    """The finish reason; without it `tool_calls` after a call, else `stop`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Send what there is, then wait `seconds` (None: for ever), or until `gate` is released if that is sooner."""

    seconds: float | None = None
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reply of another kind (an error, a page) in place of the answer; an error event in a stream that has begun."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes sent as they are: events of a stream, or the whole body when nothing is streamed."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """Drop the connection here."""


Part = str | Reasoning | RequestedCall | Usage | Finish | Wait | Refusal | Raw | Cut


def to_json(value: Any) -> bytes:
    """Compact UTF-8 JSON; a lone surrogate becomes '?'."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def error_body(message: str, code: str) -> dict[str, Any]:
    """OpenAI's error object."""
    return {"error": {"message": message, "type": code, "param": None, "code": code}}


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Status line and header fields."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def json_head(n_bytes: int) -> bytes:
    """Head of a whole JSON answer."""
    return head(200, {"Content-Type": "application/json", "Content-Length": str(n_bytes)})


STREAM_HEAD = head(200, {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "Transfer-Encoding": "chunked"})


class Answer:
    """The parts of one answer gathered into a chat completion object."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[RequestedCall] = []
        self._usage: Mapping[str, Any] | None = None
        self._finish = ""
        self._raw: bytes | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added that a client would see."""
        return not (self._text or self._reasoning or self._calls or self._raw)

    def add(self, part: Part) -> None:
        """One more part; waits, refusals and cuts are not part of an answer's form."""
        match part:
            case str():
                self._text.append(part)
            case Reasoning():
                self._reasoning.append(part.text)
            case RequestedCall():
                self._calls.append(part)
            case Usage():
                self._usage = part.counts
            case Finish():
                self._finish = part.reason
            case Raw():
                self._raw = (self._raw or b"") + part.data
            case _:
                raise TypeError(f"{type(part).__name__} has no place in an answer that isn't streamed.")

    def body(self) -> bytes:
        """The JSON body."""
        if self._raw is not None:
            return self._raw
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text) or None}
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if self._calls:
            message["tool_calls"] = [_call(c) for c in self._calls]
        elif message["content"] is None:
            message["content"] = ""
        finish = self._finish or ("tool_calls" if self._calls else "stop")
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        answer = {**_envelope("chat.completion", self._model), "choices": [choice]}
        if self._usage is not None:
            answer["usage"] = self._usage
        return to_json(answer)


class Chunks:
    """The parts of one answer as server-sent events."""

    def __init__(self, model: str, *, wants_usage: bool) -> None:
        self._wants_usage = wants_usage
        self._envelope = _envelope("chat.completion.chunk", model)
        empty = to_json({**self._envelope, "choices": [{"index": 0, "delta": 0, "finish_reason": None}]})
        before, _, after = empty.partition(b'"delta":0')
        self._before = b"data: " + before + b'"delta":{"content":'
        self._after = b"}" + after + b"\n\n"
        self._is_first = True
        self._n_calls = 0
        self._usage: Mapping[str, Any] | None = None
        self._finish = ""
        self._is_raw = False

    def part(self, part: Part) -> bytes:
        """The events of one part; b"" where it only changes the end."""
        if isinstance(part, str):
            opening = self._opening() if self._is_first else b""
            return opening + self._before + to_json(part) + self._after
        match part:
            case Reasoning():
                return self._opening() + self._delta({"reasoning_content": part.text})
            case RequestedCall():
                return self._opening() + self._tool_call(part)
            case Usage():
                self._usage = part.counts
            case Finish():
                self._finish = part.reason
            case Raw():
                self._is_raw = True
                return part.data
            case Refusal():
                self._is_raw = True
                body = part.body if isinstance(part.body, bytes) else to_json(part.body)
                return b"data: " + body + b"\n\n"
            case _:
                raise TypeError(f"{type(part).__name__} is not a part of a stream.")
        return b""

    def end(self) -> bytes:
        """The events that close the stream: finish reason, usage when asked for, `[DONE]`; b"" after raw ones."""
        if self._is_raw:
            return b""
        finish = self._finish or ("tool_calls" if self._n_calls else "stop")
        last = self._opening() + self._event([{"index": 0, "delta": {}, "finish_reason": finish}])
        if self._wants_usage and self._usage is not None:
            last += b"data: " + to_json({**self._envelope, "choices": [], "usage": self._usage}) + b"\n\n"
        return last + b"data: [DONE]\n\n"

    def _opening(self) -> bytes:
        if not self._is_first:
            return b""
        self._is_first = False
        return self._delta({"role": "assistant", "content": ""})

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return self._event([{"index": 0, "delta": delta, "finish_reason": None}])

    def _event(self, choices: list[dict[str, Any]]) -> bytes:
        return b"data: " + to_json({**self._envelope, "choices": choices}) + b"\n\n"

    def _tool_call(self, call: RequestedCall) -> bytes:
        """A call as providers stream it: id and name first, then the arguments in pieces."""
        index = self._n_calls
        self._n_calls += 1
        opening = {"index": index, **_call(RequestedCall(call.call_id, call.name, ""))}
        half = len(call.arguments) // 2
        pieces = [p for p in (call.arguments[:half], call.arguments[half:]) if p]
        return self._delta({"tool_calls": [opening]}) + b"".join(
            self._delta({"tool_calls": [{"index": index, "function": {"arguments": p}}]}) for p in pieces
        )


def _call(call: RequestedCall) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _envelope(kind: str, model: str) -> dict[str, Any]:
    created = int(time.time())
    return {"id": f"chatcmpl-{uuid.uuid4().hex[:24]}", "object": kind, "created": created, "model": model}
