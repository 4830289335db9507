"""A host and a client of the second generation of the SDK, in an environment that has it; prints what each revision gave."""

from __future__ import annotations

import asyncio
import json

from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from hermes_nb import tool
from hermes_nb.tool_host import Listener


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def main() -> None:
    listener = Listener()
    url = listener.host.register([add])
    told = {}
    for mode in ("legacy", "auto"):
        async with Client(streamable_http_client(url), mode=mode) as client:
            tools = [t.name for t in (await client.list_tools()).tools]
            result = await client.call_tool("add", {"a": 41})
            told[client.protocol_version] = [tools, result.is_error, result.content[0].text]
    print(json.dumps(told))
    listener.close()
    listener.join()


asyncio.run(main())
