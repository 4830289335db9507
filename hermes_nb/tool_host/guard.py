"""What stands before the application: whom a request names, which page sent it, how much it brings and how slowly.

Nothing of a request is logged. An address without a capability that is known looks like one that does not exist.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from hermes_nb.tool_host.binding import Binding, Client

if TYPE_CHECKING:
    from hermes_nb.tool_host.host import ToolHost

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_BYTES = 1 << 20
BODY_S = 10.0  # within which a body must be here, whole
NAME_CHARS = 60
BINDING, CLIENT = "hermes_nb.binding", "hermes_nb.client"  # where a request keeps whose it is
_SESSION = b"mcp-session-id"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_META = "io.modelcontextprotocol/clientInfo"  # in revisions without a handshake each request names its client


class _Refused(Exception):
    """A request that gets no further: a status of HTTP, and why."""


class Guard:
    """Lets requests through to a host's application.

    Args:
        app: The application.
        host: The host.
        mcp: Answers MCP.
    """

    def __init__(self, app: App, *, host: ToolHost, mcp: App) -> None:
        self._app, self._host, self._mcp = app, host, mcp
        self._key = secrets.token_bytes(32)  # signs who a client said that it is
        parts = urlsplit(host.base_url)
        port = f":{parts.port}" if parts.port else ""
        names = {parts.netloc.rpartition("@")[2].lower()}
        if parts.hostname in ("127.0.0.1", "localhost", "::1"):
            names |= {name + port for name in _LOOPBACK}
        self._hosts = names
        self._origins = {f"{parts.scheme}://{name}" for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._served(scope, receive, send)
        except _Refused as refused:
            status, why = refused.args
            await _send_json(send, status, {"error": why})

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if headers.get(b"host", b"").decode("latin-1").lower() not in self._hosts:
            raise _Refused(421, "This address is not served under that name.")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in self._origins:
            raise _Refused(403, "Pages of another origin are not answered.")
        kind, binding, name = self._found(scope, headers)
        if scope["method"] != "POST":
            raise _Refused(405, "Send a POST.")
        if not headers.get(b"content-type", b"").lower().startswith(b"application/json"):
            raise _Refused(415, "Send JSON.")
        body = await _body(headers, receive)
        client, new_session = self._client(headers, body)
        if kind == "call":
            status, answer = await self._host.answer(binding, name, body, client)
            await _send_json(send, status, answer)
            return
        scope[BINDING], scope[CLIENT] = binding, client
        await self._mcp(scope, _replayed(body, receive), send if new_session is None else _named(send, new_session))

    def _found(self, scope: Scope, headers: Mapping[bytes, bytes]) -> tuple[str, Binding, str]:
        """What a path asks for: `mcp` or `call`, the binding, the tool's name. The capability is in the path, or Bearer."""
        parts = [unquote(part) for part in scope["path"].strip("/").split("/")]
        word, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        kind, rest = parts[0], parts[1:]
        if word.lower() == "bearer" and len(rest) == (1 if kind == "call" else 0):
            rest = [token.strip(), *rest]
        binding = self._host.find(rest[0]) if rest else None
        if binding is None or (kind, len(rest)) not in (("mcp", 1), ("call", 2)):
            raise _Refused(404, "Nothing is served here.")
        return kind, binding, rest[-1]

    def _client(self, headers: Mapping[bytes, bytes], body: bytes) -> tuple[Client, str | None]:
        """Who calls, and the session id to give to one that introduces itself.

        This host keeps no sessions: the id is what the client said of itself, with our signature, and comes back with
        each of its requests.
        """
        session = headers.get(_SESSION, b"").decode("latin-1")
        claim, _, signature = session.partition(".")
        if claim and hmac.compare_digest(self._signed(claim), signature):
            return Client(session, _shown(base64.urlsafe_b64decode(claim)[16:].decode("utf-8", "replace"))), None
        agent = headers.get(b"user-agent", b"").decode("latin-1")
        method, told = _introduction(body)
        name = _shown(told or agent or "a program without a name")
        if method != "initialize":
            return Client(f"name:{name}", name), None
        claim = base64.urlsafe_b64encode(secrets.token_bytes(16) + name.encode()).decode()
        session = f"{claim}.{self._signed(claim)}"
        return Client(session, name), session

    def _signed(self, claim: str) -> str:
        return hmac.new(self._key, claim.encode("utf-8", "replace"), "sha256").hexdigest()


def _introduction(body: bytes) -> tuple[str, str]:
    """The method of a request, and the name that its client gives in it."""
    try:
        message = json.loads(body)
        params = message.get("params") or {}
        info = params.get("clientInfo") or (params.get("_meta") or {}).get(_META) or {}
        return str(message.get("method")), str(info.get("title") or info.get("name") or "")
    except (ValueError, AttributeError, TypeError):
        return "", ""


def _shown(name: str) -> str:
    """A name that a stranger chose, fit for a line of text."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())[:NAME_CHARS]


async def _body(headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > BODY_BYTES:
        raise _Refused(413, f"A body is {BODY_BYTES:,} bytes at most.")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise _Refused(400, "The body broke off.")
                body += message.get("body", b"")
                if len(body) > BODY_BYTES:
                    raise _Refused(413, f"A body is {BODY_BYTES:,} bytes at most.")
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        raise _Refused(408, f"The body was not here within {BODY_S:g} s.") from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What gives a body that was read, and then what comes."""
    left = [body]

    async def again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again


def _named(send: Send, session: str) -> Send:
    """What adds the session id to an answer."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (_SESSION, session.encode())]}
        await send(message)

    return sent


async def _send_json(send: Send, status: int, value: Mapping[str, Any]) -> None:
    body = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"connection", b"close")] if status in (408, 413) else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
