"""The steps of a script: what the scripted model does with one request."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes_nb._near import suggesting
from hermes_nb.offline_model.endpoint import (
    ChatRequest,
    Cut,
    Finish,
    Gate,
    Part,
    Raw,
    Reasoning,
    Refusal,
    RequestedCall,
    Usage,
    Wait,
)
from hermes_nb.offline_model.endpoint_form import error_body

USAGE: Mapping[str, Any] = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}

_WORDS = re.compile(r"\s*\S+\s*\Z|\s*\S+")


def _pieces(text: str, deltas: int | Sequence[str] | None) -> list[str]:
    """The text in pieces: as given, in `deltas` pieces of nearly equal length, or word by word."""
    if deltas is None:
        return _WORDS.findall(text) or [text]
    if not isinstance(deltas, int):
        return list(deltas)
    edges = [len(text) * i // deltas for i in range(deltas + 1)]
    return [text[a:b] for a, b in itertools.pairwise(edges)]


@suggesting
@dataclass(frozen=True)
class Say:
    """An answer in words.

    Args:
        text: The whole text.
        deltas: Number of pieces to stream it in, or the pieces; None streams word by word. Empty pieces are sent too.
        delay_s: Wait before each piece but the first.
        first_byte_delay_s: Wait before anything is sent, the HTTP head included.
        reasoning: Reasoning text sent before the answer.
        usage: The usage object to report; None reports none.
        finish_reason: `stop`, `length`, `content_filter` ...
    """

    text: str = ""
    deltas: int | Sequence[str] | None = None
    delay_s: float = 0.0
    first_byte_delay_s: float = 0.0
    reasoning: str = ""
    usage: Mapping[str, Any] | None = field(default_factory=lambda: USAGE)
    finish_reason: str = "stop"

    def parts(self, request: ChatRequest) -> Iterator[Part]:
        """What is sent."""
        if self.first_byte_delay_s:
            yield Wait(self.first_byte_delay_s)
        if self.reasoning:
            yield Reasoning(self.reasoning)
        for i, piece in enumerate(_pieces(self.text, self.deltas)):
            if i and self.delay_s:
                yield Wait(self.delay_s)
            yield piece
        yield Finish(self.finish_reason)
        if self.usage is not None:
            yield Usage(self.usage)


@suggesting
@dataclass(frozen=True)
class Call:
    """A tool call. A list of them is one step: several calls in one reply.

    Args:
        name: The tool's name.
        arguments: A mapping, or the raw text, JSON or not.
        id: The call's id; None gives `call_1`, `call_2` ... counted over the script.
        text: Words before the call.
        first_byte_delay_s: Wait before anything is sent.
        usage: The usage object to report; None reports none.
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None
    text: str = ""
    first_byte_delay_s: float = 0.0
    usage: Mapping[str, Any] | None = field(default_factory=lambda: USAGE)

    @property
    def raw_arguments(self) -> str:
        """The arguments as they are sent."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


@suggesting
@dataclass(frozen=True)
class Fail:
    """An HTTP error.

    Args:
        status: The status code.
        message: The error's words; `{key}` in it becomes the key the client sent, as some providers echo it.
        retry_after_s: Sent as `Retry-After`; None leaves it out.
        body: The whole body (a JSON value, or text sent as it is) in place of OpenAI's error object; `{key}` works too.
        delay_s: Wait before answering.
    """

    status: int = 500
    message: str = ""
    retry_after_s: float | None = None
    body: Any = None
    delay_s: float = 0.0

    def parts(self, request: ChatRequest) -> Iterator[Part]:
        """What is sent."""
        if self.delay_s:
            yield Wait(self.delay_s)
        message = self.message or {
            400: "The request is malformed.",
            401: "Incorrect API key provided.",
            404: "The model does not exist.",
            429: "Rate limit reached.",
        }.get(self.status, "The server had an error.")
        body = self.body
        if body is None:
            body = error_body(message, f"error_{self.status}")
        text = (body if isinstance(body, str) else json.dumps(body)).replace("{key}", request.bearer)
        headers = {} if self.retry_after_s is None else {"Retry-After": f"{self.retry_after_s:g}"}
        yield Refusal(self.status, text.encode("utf-8", "replace"), headers)


@suggesting
@dataclass(frozen=True)
class Malformed:
    """A reply that no client should trust.

    Args:
        kind: `json`: a body (or an event) that is not JSON; `truncated`: JSON that ends early; `html`: a proxy's page
            with status 200; `choices`: no choices; `empty`: a well-formed reply without text or calls; `arguments`: a
            call of `name` whose arguments are not JSON; `sse`: lines that are no events.
        name: The tool called by `arguments`.
    """

    kind: Literal["json", "truncated", "html", "choices", "empty", "arguments", "sse"] = "json"
    name: str = "tool"

    def parts(self, request: ChatRequest) -> Iterator[Part]:
        """What is sent."""
        if self.kind == "empty":
            yield Usage(USAGE)
            return
        if self.kind == "arguments":
            yield RequestedCall("call_malformed", self.name, '{"city": "Par')
            return
        if self.kind == "html":
            page = b"<!doctype html><title>502 Bad Gateway</title>"
            yield Refusal(200, page, {"Content-Type": "text/html"})
            return
        raw = {
            "json": "{not json",
            "truncated": '{"id":"x","object":"chat.completion","choices":[{"index":0,"mess',
            "choices": '{"id":"x","object":"chat.completion","created":0,"model":"m","choices":[]}',
            "sse": "this is no event",
        }[self.kind]
        is_event = request.is_streaming and self.kind != "sse"
        yield Raw((f"data: {raw}\n\n" if is_event else f"{raw}\n\n").encode())


@suggesting
@dataclass(frozen=True)
class Drop:
    """The connection is dropped: before the first byte, or after `after_deltas` words of `text`."""

    after_deltas: int = 0
    text: str = "This answer is cut off in the middle of"

    def parts(self, request: ChatRequest) -> Iterator[Part]:
        """What is sent."""
        yield from itertools.islice(itertools.cycle(_pieces(self.text + " ", None)), self.after_deltas)
        yield Cut()


@suggesting
@dataclass(frozen=True)
class Hang:
    """Nothing comes until `release()`: before the first byte, or after `text` was streamed.

    Args:
        text: Streamed first; "" hangs before the HTTP head.
        then: The words sent once released.
    """

    text: str = ""
    then: str = "Released."
    _gate: Gate = field(default_factory=Gate, repr=False, compare=False)
    _reached: Gate = field(default_factory=Gate, repr=False, compare=False)

    def release(self) -> None:
        """Let it answer."""
        self._gate.release()

    def wait_reached(self, timeout_s: float = 30.0) -> bool:
        """Block until a request hangs here (its `text` is sent); False when that takes longer."""
        import threading

        event = threading.Event()
        end = self._reached.listen(event.set)
        try:
            return event.wait(timeout_s)
        finally:
            end()

    def parts(self, request: ChatRequest) -> Iterator[Part]:
        """What is sent."""
        yield from _pieces(self.text, None) if self.text else ()
        yield Wait(0)  # sends what there is
        self._reached.release()
        yield Wait(gate=self._gate)
        yield from _pieces(self.then, None)
        yield Usage(USAGE)


Step = Say | Call | Sequence[Call] | Fail | Malformed | Drop | Hang | str
Script = Sequence["Step | Callable[[ChatRequest], Step]"] | Callable[[ChatRequest], Step]
