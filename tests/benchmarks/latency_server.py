"""An endpoint that answers each request after a fixed time, on one event loop: thousands of requests cost it little.

python -m tests.benchmarks.latency_server SECONDS     prints its base URL, serves until its standard input closes
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

_HEAD = {"id": "r", "created": 1, "model": "scripted"}
_USAGE = {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23}


def _streamed() -> bytes:
    choices: list[list[Any]] = [
        [{"index": 0, "delta": {"role": "assistant", "content": "fine"}, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    ]
    chunks: list[dict[str, Any]] = [{**_HEAD, "object": "chat.completion.chunk", "choices": c} for c in choices]
    chunks.append({**_HEAD, "object": "chat.completion.chunk", "choices": [], "usage": _USAGE})
    return "".join(f"data: {json.dumps(c)}\n\n" for c in chunks).encode() + b"data: [DONE]\n\n"


def _whole() -> bytes:
    message = {"role": "assistant", "content": "fine"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return json.dumps({**_HEAD, "object": "chat.completion", "choices": choices, "usage": _USAGE}).encode()


_STREAM, _WHOLE = _streamed(), _whole()
_MODELS = json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}).encode()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            sizes = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            body = await reader.readexactly(int(sizes[0]) if sizes else 0)
            kind, answer = b"application/json", _MODELS
            if not head.startswith(b"GET"):
                await asyncio.sleep(delay_s)
                is_streamed = bool(json.loads(body).get("stream"))
                kind, answer = (b"text/event-stream", _STREAM) if is_streamed else (kind, _WHOLE)
            said = b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nContent-Length: " + str(len(answer)).encode()
            writer.write(said + b"\r\n\r\n" + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _main(delay_s: float) -> None:
    server = await asyncio.start_server(lambda r, w: _serve(r, w, delay_s), "127.0.0.1", 0, backlog=512)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1])))
