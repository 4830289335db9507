"""Servers for the tests: `python mcp_server_script.py KIND [PORT]`."""

from __future__ import annotations

import os
import sys
import time

from mcp.server.fastmcp import FastMCP


def main(kind: str, port: int = 0) -> None:
    """Serve until the end."""
    if kind == "hangs":
        time.sleep(60)
    server = FastMCP(kind, port=port, log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def greeting() -> str:
        """The greeting that this server was given."""
        return os.environ.get("GREETING", "none")

    if kind == "dies":

        @server.tool()
        def die() -> str:
            """End the server."""
            os._exit(3)

    if kind == "lies":
        server._tool_manager._tools["add"].parameters = {"type": "strange", "properties": "none", "required": 7}
    server.run("streamable-http" if port else "stdio")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
