"""A port on which a host answers, with a thread of its own, so that neither turns nor the notebook's loop wait for it."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

from hermes_nb import _quiet
from hermes_nb._daemon import daemon
from hermes_nb._require import require
from hermes_nb.errors import UsageError
from hermes_nb.tool_host.host import ToolHost

LOOPBACK = "127.0.0.1"
_START_S = 10.0
_MOST_AT_ONCE = 64  # connections; further ones get 503
_HEAD_BYTES = 16_384


class Listener:
    """Listens for a host until it is closed. Blocks for as long as it takes to be up.

    Args:
        port: On loopback; 0 takes a free one.

    Attributes:
        host: The host.

    Raises:
        MissingPackageError: uvicorn, FastAPI or mcp is not installed.
        UsageError: The port is taken.
    """

    def __init__(self, port: int = 0) -> None:
        uvicorn = require("uvicorn", why="to serve functions to other programs")
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((LOOPBACK, port))
        except OSError as exc:
            self._socket.close()
            raise UsageError(f"Port {port} of {LOOPBACK} can't be listened on: {exc.strerror}. Choose another.") from exc
        self.host = ToolHost(f"http://{LOOPBACK}:{self._socket.getsockname()[1]}")
        try:
            app = self.host.app
        except BaseException:
            self._socket.close()
            raise
        with _quiet.quietly("uvicorn", "asyncio"):
            config = uvicorn.Config(
                app,
                lifespan="on",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                ws="none",
                http="h11",
                loop="asyncio",
                timeout_keep_alive=5,
                timeout_graceful_shutdown=1,
                limit_concurrency=_MOST_AT_ONCE,
                h11_max_incomplete_event_size=_HEAD_BYTES,
            )
        self._server: Any = uvicorn.Server(config)
        self._is_up = threading.Event()
        self._thread = daemon(self._run, name="io-tool-host")
        self._thread.start()
        self._is_up.wait(_START_S)

    def _run(self) -> None:
        async def serve() -> None:
            asyncio.get_running_loop().call_soon(self._watch)
            await self._server.serve(sockets=[self._socket])

        asyncio.run(serve())

    def _watch(self) -> None:
        if self._server.started or self._server.should_exit:
            self._is_up.set()
        else:
            asyncio.get_running_loop().call_later(0.005, self._watch)

    def close(self) -> None:
        """Listen no more; calls that run have a second to end. Any thread; idempotent."""
        self._server.should_exit = True  # it closes the socket, too

    def join(self, timeout_s: float = 3.0) -> None:
        """Wait for the end of its thread."""
        self._thread.join(timeout_s)
