"""The MCP side of a host, by the official SDK: its first generation (mcp 1, revisions to 2025-11-25) and its second (mcp 2,
2026-07-28 too). Tools alone are offered: no prompts, no resources. Which binding a request is of stands in its scope.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_nb import _quiet
from hermes_nb._require import require
from hermes_nb._version import __version__
from hermes_nb.tool_host.binding import Binding, CallResult, Client, Definition
from hermes_nb.tool_host.guard import BINDING, CLIENT

_NAME = "hermes-nb"


def manager() -> Any:
    """What answers MCP for a host: an object with `run()` and `handle_request(scope, receive, send)`."""
    why = "to serve functions to other programs"
    lowlevel = require("mcp.server.lowlevel", why=why)
    streamable = require("mcp.server.streamable_http_manager", why=why)
    server = (_second if _is_second() else _first)(lowlevel, _types())
    _quiet.hush("mcp", "sse_starlette", "uvicorn", "asyncio")
    return streamable.StreamableHTTPSessionManager(server, stateless=True)


def _is_second() -> bool:
    import importlib.util

    return importlib.util.find_spec("mcp_types") is not None


def _types() -> Any:
    why = "to serve functions to other programs"
    return require("mcp_types", why=why) if _is_second() else require("mcp.types", why=why)


def _first(lowlevel: Any, types: Any) -> Any:
    server = lowlevel.Server(_NAME, version=__version__)

    async def list_tools() -> list[Any]:
        return _tools(types, server.request_context.request.scope, "inputSchema")

    async def call_tool(name: str, arguments: Mapping[str, Any]) -> Any:
        result = await _called(server.request_context.request.scope, name, arguments)
        return types.CallToolResult(content=_content(types, result, "mimeType"), isError=result.is_error)

    server.list_tools()(list_tools)
    server.call_tool(validate_input=False)(call_tool)
    return server


def _second(lowlevel: Any, types: Any) -> Any:
    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=_tools(types, context.request.scope, "input_schema"))

    async def call_tool(context: Any, params: Any) -> Any:
        result = await _called(context.request.scope, params.name, params.arguments or {})
        return types.CallToolResult(content=_content(types, result, "mime_type"), is_error=result.is_error)

    return lowlevel.Server(_NAME, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def _tools(types: Any, scope: Mapping[str, Any], schema: str) -> list[Any]:
    def made(one: Definition) -> Any:
        return types.Tool(name=one["name"], description=one["description"], **{schema: one["parameters"]})

    binding: Binding = scope[BINDING]
    return [made(one) for one in binding.definitions()]


async def _called(scope: Mapping[str, Any], name: str, arguments: Mapping[str, Any]) -> CallResult:
    binding: Binding = scope[BINDING]
    client: Client = scope[CLIENT]
    if name not in {one["name"] for one in binding.definitions()}:
        return CallResult(f"No tool named {name!r} is served here.", is_error=True)
    return await binding.call(name, arguments, client)


def _content(types: Any, result: CallResult, mime_type: str) -> list[Any]:
    images = [types.ImageContent(type="image", data=i.data, **{mime_type: i.mime_type}) for i in result.images]
    return [types.TextContent(type="text", text=result.text), *images]
