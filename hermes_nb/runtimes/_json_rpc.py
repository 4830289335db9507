"""JSON-RPC 2.0 over the standard input and output of a child, one message a line, as the Agent Client Protocol has it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hermes_nb.errors import WorkerDiedError

MOST_BYTES = 64 << 20  # of one line: a picture, or a whole session that is replayed
_NO_SUCH_METHOD = -32601


class RpcError(Exception):
    """The other side refused a request; the text is its own."""


class JsonRpc:
    """Both directions of a connection; lives on one loop.

    Args:
        reads, writes: The child's output and input.
        on_notice: Called with method and parameters of each notification.
        on_request: Called with method and parameters of each request; its value is the answer. Raises LookupError for a
            method that is not served.
    """

    def __init__(
        self,
        reads: asyncio.StreamReader,
        writes: asyncio.StreamWriter,
        on_notice: Callable[[str, Mapping[str, Any]], None],
        on_request: Callable[[str, Mapping[str, Any]], Awaitable[Any]],
    ) -> None:
        self._reads, self._writes = reads, writes
        self._on_notice, self._on_request = on_notice, on_request
        self._n_sent = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._serving: set[asyncio.Task[None]] = set()

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the other side and return its answer.

        Raises:
            RpcError: It refused.
            WorkerDiedError: It is gone.
        """
        self._n_sent += 1
        future = self._waiting[self._n_sent] = asyncio.get_running_loop().create_future()
        self._send({"id": self._n_sent, "method": method, "params": params})
        return await future

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the other side."""
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):  # its end is told by `run`
            self._writes.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def run(self) -> None:
        """Read until the other side is gone."""
        try:
            while line := await self._reads.readline():
                self._take(line)
        except ValueError:  # a line that is longer than any message
            return
        finally:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(WorkerDiedError("The agent ended before it answered."))
                    future.exception()
            for task in self._serving:
                task.cancel()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return  # some programs print on their standard output
        if not isinstance(message, dict):
            return
        params = message.get("params") if isinstance(message.get("params"), dict) else {}
        if "method" not in message:
            self._answered(message)
        elif "id" in message:
            task = asyncio.get_running_loop().create_task(self._serve(message["id"], str(message["method"]), params or {}))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        else:
            self._on_notice(str(message["method"]), params or {})

    def _answered(self, message: Mapping[str, Any]) -> None:
        future = self._waiting.pop(message.get("id"), None)  # type: ignore[arg-type]
        if future is None or future.done():
            return
        error = message.get("error")
        if error is not None:
            future.set_exception(RpcError(_said(error)))
        else:
            future.set_result(message.get("result"))

    async def _serve(self, request_id: Any, method: str, params: Mapping[str, Any]) -> None:
        try:
            answer: dict[str, Any] = {"result": await self._on_request(method, params)}
        except LookupError:
            answer = {"error": {"code": _NO_SUCH_METHOD, "message": f"{method} is not served."}}
        self._send({"id": request_id, **answer})


def _said(error: Any) -> str:
    if not isinstance(error, Mapping):
        return str(error)
    data = error.get("data")
    more = data.get("details") or data.get("message") if isinstance(data, Mapping) else data
    return " ".join(str(part) for part in (error.get("message"), more) if part)
