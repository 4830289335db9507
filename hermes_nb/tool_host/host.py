"""The host of tools: an ASGI application that serves them to whoever shows the capability of their binding."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hermes_nb._require import require
from hermes_nb.errors import ToolError, UsageError
from hermes_nb.tool_host.binding import Binding, CallResult, Client, Definition, Image
from hermes_nb.tool_host.guard import Guard
from hermes_nb.tools.call import run_async, run_sync

if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool

_WHY = "to serve functions to other programs"


class ToolHost:
    """Serves functions to programs that hold a capability: as an MCP server, and as plain HTTP calls.

    `app` is an ASGI application for a server of yours (`uvicorn.run(host.app, host="127.0.0.1", port=8765)`). A request must
    name the host of `base_url`, a page of another origin is refused, and a body is 1 MB at most. Each binding answers at
    `/mcp/CAPABILITY` (MCP, streamable HTTP without state) and at `/call/CAPABILITY/NAME` (POST with the arguments as JSON).
    `%hermes serve` is the whole of it in a notebook, with rows, approvals and the main thread.

    Args:
        base_url: Under which address it is reached, e.g. `http://127.0.0.1:8765`.

    Attributes:
        base_url: That address, without a slash at its end.
        tools: Capability to the tools behind it, by name.

    Raises:
        UsageError: The address is none.

    Example:
        host = ToolHost("http://127.0.0.1:8765")
        url = host.register([top_customers])
        host.unregister(url)
    """

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url) if isinstance(base_url, str) else urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"ToolHost takes an address such as 'http://127.0.0.1:8765', not {base_url!r}.")
        self.base_url = base_url.rstrip("/")
        self.tools: dict[str, dict[str, Tool]] = {}
        self._bindings: list[Binding] = []
        self._app: Any = None

    @property
    def app(self) -> Any:
        """The ASGI application, a FastAPI; made at the first use.

        Raises:
            MissingPackageError: FastAPI or mcp is not installed.
        """
        if self._app is None:
            self._app = self._made()
        return self._app

    def register(self, tools: Sequence[Tool]) -> str:
        """Serve tools, and return the address that calls them: it holds the capability, so keep it as you keep a key.

        Synchronous functions run in threads of this process, not on its main thread.

        Args:
            tools: `Tool` objects (`@tool`).

        Returns: The address of the MCP server of exactly these tools.

        Raises:
            ToolError: One needs an approval, and nobody can be asked here, or two bear one name.
        """
        by_name = {one.name: one for one in tools}
        if len(by_name) != len(tools):
            raise ToolError("Two of these tools bear one name. Give each a name of its own: tool(func, name=...).")
        for one in tools:
            if one.approval:
                raise ToolError(
                    f"Tool {one.name} needs an approval, and a ToolHost can ask nobody. Use %hermes serve {one.name}."
                )

        async def call(name: str, arguments: Mapping[str, Any], client: Client) -> CallResult:
            return await _called(by_name[name], arguments)

        def definitions() -> list[Definition]:
            return [Definition(**one.definition()) for one in by_name.values()]  # type: ignore[typeddict-item]

        binding = self.bind(Binding(definitions, call))
        self.tools[binding.capability] = by_name
        return self.url_of(binding)

    def unregister(self, callback_url: str) -> None:
        """Revoke an address that `register` returned; it answers no more, at once.

        Raises:
            UsageError: It is none of this host's.
        """
        found = self.find(callback_url.rstrip("/").rpartition("/")[2])
        if found is None:
            raise UsageError("That address is none of this host's, or was revoked already.")
        self.release(found)

    def bind(self, binding: Binding) -> Binding:
        """Serve a binding; returns it."""
        self._bindings.append(binding)
        return binding

    def release(self, binding: Binding) -> None:
        """Serve a binding no more. Idempotent."""
        self._bindings = [one for one in self._bindings if one is not binding]
        self.tools.pop(binding.capability, None)

    def find(self, capability: str) -> Binding | None:
        """The binding of a capability; None where there is none."""
        found = None
        for binding in self._bindings:  # every one is compared, so the time tells nothing
            if binding.fits(capability):
                found = binding
        return found

    def url_of(self, binding: Binding) -> str:
        """The address of a binding's MCP server, with its capability."""
        return f"{self.base_url}/mcp/{binding.capability}"

    def _made(self) -> Any:
        fastapi = require("fastapi", why=_WHY)
        require("mcp", why=_WHY)
        from hermes_nb.tool_host import mcp_server

        manager = mcp_server.manager()

        @contextlib.asynccontextmanager
        async def lifespan(app: Any) -> AsyncIterator[None]:
            async with manager.run():
                yield

        app = fastapi.FastAPI(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
        app.add_middleware(Guard, host=self, mcp=manager.handle_request)
        return app

    async def answer(self, binding: Binding, name: str, body: bytes, client: Client) -> tuple[int, dict[str, Any]]:
        """The answer to a plain call: a status of HTTP, and its JSON."""
        if name not in {d["name"] for d in binding.definitions()}:
            return 404, {"error": f"No tool named {name!r} is served here."}
        try:
            arguments = json.loads(body or b"{}")
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            return 400, {"error": "The body must be a JSON object: the arguments by name."}
        result = await binding.call(name, arguments, client)
        return 200, {"status": "error" if result.is_error else "ok", "result": result.text}


async def _called(tool: Tool, arguments: Mapping[str, Any]) -> CallResult:
    given = json.dumps(dict(arguments))
    if tool.is_async:
        outcome = await run_async(tool, given, draws=True)
    else:
        outcome = await asyncio.to_thread(run_sync, tool, given, draws=True)
    images = [Image(part.data, part.mime_type) for part in outcome.images]
    return CallResult(outcome.content, outcome.status != "ok", images)
