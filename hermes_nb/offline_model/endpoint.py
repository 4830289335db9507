"""An OpenAI-compatible chat endpoint on loopback: HTTP in, a responder's parts out.

What is answered is the responder's business (`offline` for the embedded model, `hermes_nb.testing` for scripts); how
it goes over HTTP, streamed or not, is decided here. Standard library only. Connections are kept alive; each has a
thread of its own, and nothing is left after `close()`.

Source: OpenAI API reference, "Chat Completions" (create, streaming chunk object); RFC 9112 for chunked bodies.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_nb.offline_model import endpoint_form as form
from hermes_nb.offline_model.endpoint_form import (
    Answer,
    Cut,
    Finish,
    Part,
    Raw,
    Reasoning,
    Refusal,
    RequestedCall,
    Usage,
    Wait,
)

__all__ = [
    "Answer",
    "ChatRequest",
    "ChatServer",
    "Cut",
    "Finish",
    "Gate",
    "Part",
    "Raw",
    "Reasoning",
    "Refusal",
    "RequestedCall",
    "Responder",
    "Usage",
    "Wait",
]

MAX_BODY_BYTES = 64 << 20
MAX_LINE_BYTES = 64 << 10
FLUSH_BYTES = 32 << 10  # deltas are gathered up to this size, or until the responder waits
CLOSE_TIMEOUT_S = 5.0

Gate = form.Gate


@dataclass
class ChatRequest:
    """One request, as it arrived, and how it ended.

    Attributes:
        body: The parsed JSON body.
        headers: Header fields by lower-case name.
        path: The path it was sent to, query left out.
        at_unix_s: Wall-clock time of arrival, seconds since the epoch.
        at_monotonic_s: The same instant on the monotonic clock, to measure intervals.
        outcome: "" while it runs, then `answered`, `refused` (an HTTP error was sent), `cut` (the connection was
            dropped on purpose), `client_closed` (the client went away first), `closed` (the endpoint was closed) or
            `failed` (the responder raised).
        error: What the responder raised, if it did.
    """

    body: dict[str, Any]
    headers: dict[str, str]
    path: str
    at_unix_s: float
    at_monotonic_s: float
    outcome: str = ""
    error: Exception | None = None
    _finished: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation that was sent; [] when there is none."""
        messages = self.body.get("messages")
        return [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The functions offered: `{"name", "description", "parameters"}` each."""
        tools = self.body.get("tools")
        found = [t.get("function") for t in tools if isinstance(t, dict)] if isinstance(tools, list) else []
        return [f for f in found if isinstance(f, dict)]

    @property
    def is_streaming(self) -> bool:
        """Whether the answer is to be streamed."""
        return bool(self.body.get("stream"))

    @property
    def wants_usage(self) -> bool:
        """Whether a streamed answer ends in a usage chunk; one that isn't streamed always has usage."""
        options = self.body.get("stream_options")
        return not self.is_streaming or (isinstance(options, dict) and bool(options.get("include_usage")))

    @property
    def bearer(self) -> str:
        """The key that was sent; "" without one."""
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        return key.strip() if scheme.lower() == "bearer" else ""

    def wait_finished(self, timeout_s: float = 10.0) -> bool:
        """Block until the request has an outcome; False when that takes longer."""
        return self._finished.wait(timeout_s)

    def _finish(self, outcome: str) -> None:
        self.outcome = outcome
        self._finished.set()


Responder = Callable[[ChatRequest], Iterable[Part]]


class ChatServer:
    """The server. `start()` binds a free port of 127.0.0.1; `close()` ends every thread and socket.

    Args:
        responder: Called once per chat request, on that connection's thread; what it yields is sent in order. If it
            raises, the client gets a 500 that says so (an error event in a stream that has begun).
        model: The name under which `/v1/models` lists the model.
        context_length: The context window it claims, in tokens.
        name: Names the threads.
    """

    def __init__(
        self, responder: Responder, *, model: str, context_length: int = 200_000, name: str = "hermes-nb-endpoint"
    ) -> None:
        self.model = model
        self._responder = responder
        self._context_length = context_length
        self._name = name
        self._lock = threading.Lock()
        self._connections: dict[_Connection, threading.Thread] = {}
        self._listener: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._url = ""
        self._closing = Gate()
        self.probes: list[str] = []  # "GET /v1/models" and the like, in order

    def start(self) -> str:
        """Start listening; the base URL to give to a client (`http://127.0.0.1:PORT/v1`)."""
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
            self._url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
            self._thread = threading.Thread(target=self._accept, name=self._name, daemon=True)
            self._thread.start()
        return self.base_url

    @property
    def base_url(self) -> str:
        """Where clients find it (or found it, once closed).

        Raises:
            RuntimeError: It was never started.
        """
        if not self._url:
            raise RuntimeError("The endpoint is not started; call start() first.")
        return self._url

    def close(self) -> None:
        """Drop all connections, end all threads; calling it again does nothing."""
        self._closing.release()
        if self._thread is not None:
            self._thread.join(CLOSE_TIMEOUT_S)
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            connection.shut()
        deadline = time.monotonic() + CLOSE_TIMEOUT_S
        for thread in connections.values():
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        if self._listener is not None:
            self._listener.close()

    def __enter__(self) -> ChatServer:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _accept(self) -> None:
        assert self._listener is not None
        waker = form.Waker()
        end = self._closing.listen(waker.wake)
        poller = select.poll()
        poller.register(self._listener, select.POLLIN)
        poller.register(waker, select.POLLIN)
        try:
            while not self._closing.is_released:
                poller.poll()
                if self._closing.is_released:
                    break
                try:
                    sock, _ = self._listener.accept()
                except OSError:  # the client was gone before it was accepted
                    continue
                self._serve(sock)
        finally:
            end()
            waker.close()

    def _serve(self, sock: socket.socket) -> None:
        connection = _Connection(sock, self)
        thread = threading.Thread(target=connection.run, name=f"{self._name}-connection", daemon=True)
        with self._lock:
            self._connections[connection] = thread
        thread.start()

    def _forget(self, connection: _Connection) -> None:
        with self._lock:
            self._connections.pop(connection, None)

    def _probe(self, method: str, path: str) -> tuple[int, Any]:
        self.probes.append(f"{method} {path}")
        if path == "/v1/models":
            return 200, {"object": "list", "data": [self._model_card()]}
        if path == f"/v1/models/{self.model}":
            return 200, self._model_card()
        if path in ("/", "/health", "/v1"):
            return 200, {"status": "ok", "model": self.model}
        return 404, form.error_body(f"Nothing is served at {path}.", "not_found")

    def _model_card(self) -> dict[str, Any]:
        card = {"id": self.model, "object": "model", "created": 0, "owned_by": "hermes-nb"}
        return {**card, "context_length": self._context_length, "max_model_len": self._context_length}


class _Gone(Exception):
    """The client went away, or the endpoint is closing."""


class _Connection:
    def __init__(self, sock: socket.socket, endpoint: ChatServer) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._endpoint = endpoint
        self._file = sock.makefile("rb", buffering=64 << 10)
        self._waker: form.Waker | None = None

    def shut(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        try:
            while self._handle():
                pass
        except (OSError, _Gone):
            pass  # the connection is over, which is all there is to know
        finally:
            self._file.close()
            self.shut()
            self._sock.close()
            if self._waker is not None:
                self._waker.close()
            self._endpoint._forget(self)

    def _handle(self) -> bool:
        """Serve one request; True when the connection stays open."""
        line = self._file.readline(MAX_LINE_BYTES)
        if line in (b"\r\n", b"\n"):
            line = self._file.readline(MAX_LINE_BYTES)
        if not line:
            return False
        words = line.decode("latin-1").split()
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self._send_json(400, form.error_body("Not an HTTP/1.1 request.", "bad_request"))
            return False
        method, path, version = words[0], words[1].partition("?")[0], words[2]
        headers = self._read_headers()
        body = self._read_body(headers)
        if body is None:
            return False
        keep = headers.get("connection", "").lower() != "close" and version != "HTTP/1.0"
        if method == "POST" and path == "/v1/chat/completions":
            return self._chat(path, headers, body) and keep
        status, answer = self._endpoint._probe(method, path)
        self._send_json(status, answer, with_body=method != "HEAD")
        return keep

    def _read_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        while (line := self._file.readline(MAX_LINE_BYTES)) not in (b"\r\n", b"\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        return headers

    def _read_body(self, headers: Mapping[str, str]) -> bytes | None:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._send_json(411, form.error_body("A request body needs Content-Length here.", "length_required"))
            return None
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self._send_json(413, form.error_body("The request body is too large.", "too_large"))
            return None
        if headers.get("expect", "").lower() == "100-continue":
            self._sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self._file.read(int(length))
        return body if len(body) == int(length) else None

    def _send_json(
        self, status: int, answer: Any, headers: Mapping[str, str] | None = None, *, with_body: bool = True
    ) -> None:
        body = answer if isinstance(answer, bytes) else form.to_json(answer)
        fields = {"Content-Type": "application/json", **(headers or {}), "Content-Length": str(len(body))}
        head = form.head(status, fields)
        self._sock.sendall(head + (body if with_body else b""))

    # One chat request

    def _chat(self, path: str, headers: dict[str, str], body: bytes) -> bool:
        at = time.time(), time.monotonic()
        try:
            parsed = json.loads(body)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            self._send_json(400, form.error_body("The request body is not a JSON object.", "bad_request"))
            return True
        request = ChatRequest(parsed, headers, path, *at)
        outcome = "failed"
        try:
            outcome = self._answer(request)
        except (OSError, _Gone):
            outcome = "closed" if self._endpoint._closing.is_released else "client_closed"
        finally:
            request._finish(outcome)
        return outcome in ("answered", "refused", "failed")

    def _answer(self, request: ChatRequest) -> str:
        parts = self._parts(request)
        try:
            outcome = self._stream(request, parts) if request.is_streaming else self._whole(request, parts)
            return outcome if request.error is None else "failed"
        finally:
            parts.close()

    def _parts(self, request: ChatRequest) -> Generator[Part, None, None]:
        try:
            yield from self._endpoint._responder(request)
        except Exception as exc:  # noqa: BLE001 - the responder is foreign code; its client is told
            request.error = exc
            yield Refusal(500, form.error_body(f"The endpoint failed: {type(exc).__name__}: {exc}", "endpoint_failed"))

    def _whole(self, request: ChatRequest, parts: Iterable[Part]) -> str:
        answer = Answer(self._model_of(request))
        for part in parts:
            match part:
                case Wait():
                    self._wait(part)
                case Refusal():
                    self._send_json(part.status, part.body, part.headers)
                    return "refused"
                case Cut():
                    if not answer.is_empty:  # half of a promised body, then the end
                        whole = answer.body()
                        self._sock.sendall(form.json_head(len(whole)) + whole[: len(whole) // 2])
                    return "cut"
                case _:
                    answer.add(part)
        body = answer.body()
        self._sock.sendall(form.json_head(len(body)) + body)
        return "answered"

    def _stream(self, request: ChatRequest, parts: Iterable[Part]) -> str:
        chunks = form.Chunks(self._model_of(request), wants_usage=request.wants_usage)
        is_open = False
        pending: list[bytes] = []
        n_bytes = 0

        def flush() -> None:
            nonlocal is_open, n_bytes
            data = b"".join(pending)
            if data:
                head = b"" if is_open else form.STREAM_HEAD
                self._sock.sendall(b"%b%x\r\n%b\r\n" % (head, len(data), data))
                is_open = True
            pending.clear()
            n_bytes = 0

        for part in parts:
            match part:
                case Wait():
                    flush()
                    self._wait(part)
                    continue
                case Refusal() if not is_open and not pending:
                    self._send_json(part.status, part.body, part.headers)
                    return "refused"
                case Cut():
                    flush()
                    return "cut"
                case _:
                    data = chunks.part(part)
            pending.append(data)
            n_bytes += len(data)
            if n_bytes >= FLUSH_BYTES:
                flush()
        pending.append(chunks.end())
        flush()
        self._sock.sendall(b"0\r\n\r\n")
        return "answered"

    def _model_of(self, request: ChatRequest) -> str:
        return str(request.body.get("model") or self._endpoint.model)

    def _wait(self, wait: Wait) -> None:
        """Wait as told, but not past the client's or the endpoint's end."""
        if self._waker is None:
            self._waker = form.Waker()
        waker = self._waker
        deadline = None if wait.seconds is None else time.monotonic() + wait.seconds
        gates = [g for g in (wait.gate, self._endpoint._closing) if g is not None]
        ends = [gate.listen(waker.wake) for gate in gates]
        poller = select.poll()
        poller.register(waker, select.POLLIN)
        poller.register(self._sock, select.POLLIN)
        try:
            while True:
                if self._endpoint._closing.is_released:
                    raise _Gone
                if wait.gate is not None and wait.gate.is_released:
                    return
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return
                ready = poller.poll(None if left is None else max(1, round(left * 1000)))
                waker.drain()
                if any(fd == self._sock.fileno() for fd, _ in ready):
                    if not self._sock.recv(1, socket.MSG_PEEK):
                        raise _Gone
                    poller.unregister(self._sock)  # the next request is already here: the client lives
        finally:
            for end in ends:
                end()
