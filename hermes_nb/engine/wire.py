"""The protocol between a kernel and its worker: JSON lines on two private descriptors, versioned.

Every message is an object with `v` (protocol version) and `kind`. A message of an unknown kind is kept and shown, never
dropped and never fatal. Worker stdout and stderr are not part of it: they go to a log file.

Kernel to worker:

| kind | keys |
|---|---|
| `bind` | agent_id, agent: {name, instructions, model: {id, provider, base_url, api_key}, tools: [ToolSpec dicts], toolsets, max_turns, config, home: {name, path} or null, mcp: {name: {command, args, env} or {url, headers}, timeout, connect_timeout}} |
| `unbind` | agent_id |
| `warm` | agent_id - one throw-away turn against the worker's own endpoint, when idle, so that the first real turn is warm |
| `turn.start` | turn_id, session_id, agent_id, prompt, history (messages), attempt, date (`2026-11-29`: the session's first day), tools (ToolSpec dicts), timeout_s, runtime, n_prior_turns, labels (merged into `turn.started`), budget? ([{of, max_cost_usd or max_tokens, spent, cure, is_shared?}]), is_changed? (it goes on with another model, other tools or instructions: committed steps are met by what was said), replay? (a recorded turn: file, is_live, changes, responses, tool_results) |
| `turn.stop` | turn_id, reason (`user`, `interrupt`, `timeout`, `cancelled`, `closed`) - ignored when that turn is not running |
| `turn.steer` | turn_id, text |
| `tool.result` | turn_id, call_id, status, result, result_chars, started_at_unix_s, duration_ms, error_type?, error?, images? ({mime_type, data} each) |
| `budget.answer` | turn_id, call_id, spent (a number for each shared limit, in the order of `budget`; null where a call did not report its tokens): the call may begin, unless one of them is reached or null |
| `answer` | turn_id, request_id, answer - to an approval or a question |
| `shutdown` | |

Worker to kernel:

| kind | keys |
|---|---|
| `ready` | pid, producer, python, hermes_agent (version), protocol |
| `bound` | agent_id, model: {id, provider, base_url}, host, toolsets (declared), tools_by_toolset: {toolset: {tools, missing: {tool: what it needs}}} |
| `bind.failed` | agent_id, error, error_type, hint |
| `warmed` | agent_id, duration_ms, is_ok |
| `event` | event (see `hermes_nb.model.event`), committed to the journal before it is sent |
| `tool.call` | turn_id, call_id (the call's span), name, arguments (raw JSON text) |
| `tool.abandon` | turn_id, call_id - nobody waits for that result any more |
| `budget.ask` | turn_id, call_id, n_tokens, cost_usd (the most the call can come to, null when unknown), is_free - a call under a shared limit waits for `budget.answer` |
| `budget.done` | turn_id, call_id - that call is over, its event was sent before |
| `steer.result` | turn_id, is_applied, text |
| `turn.done` | turn_id, status, text, usage, cost_usd, error, error_type, hint, n_model_calls, exit_reason, raw (Hermes's own result without messages) |
| `fatal` | error, error_type - the worker ends after it |

A `turn.done` always follows the turn's last event (`turn.completed`, `.failed` or `.stopped`) and says the same.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

VERSION = 1
READ_SIZE = 1 << 16


def encode(kind: str, /, **keys: Any) -> bytes:
    """One message as a line of UTF-8; a lone surrogate becomes '?'.

    Raises:
        ValueError: NaN or infinity, which JSON can't carry.
        TypeError: A value that is not JSON.
    """
    text = json.dumps({"v": VERSION, "kind": kind, **keys}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The message in a line.

    Raises:
        ValueError: Not a JSON object with `v` and `kind`.
    """
    message = json.loads(line)
    if not isinstance(message, dict) or not isinstance(message.get("kind"), str) or "v" not in message:
        raise ValueError(f"Not a message of the wire: {line[:120]!r}.")
    return message


class LineSplitter:
    """Bytes in, whole lines out; the rest is kept for the next piece."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines completed by `data`, without their newline, empty ones left out."""
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._parts.append(data)
            return
        yield from (line for line in (b"".join([*self._parts, head]), *rest.split(b"\n")[:-1]) if line)
        tail = rest.rpartition(b"\n")[2]
        self._parts = [tail] if tail else []


class Sender:
    """Writes messages to a descriptor, whole, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, kind: str, /, **keys: Any) -> None:
        """Write one message.

        Raises:
            OSError: The other side is gone.
        """
        self.send_bytes(encode(kind, **keys))

    def send_bytes(self, line: bytes) -> None:
        """Write one encoded message."""
        view = memoryview(line)
        with self._lock:
            while view:
                view = view[os.write(self._descriptor, view) :]


def read_messages(descriptor: int) -> Iterator[Mapping[str, Any]]:
    """Messages from a blocking descriptor until its end; a malformed line comes as `{"kind": "malformed", "line": ...}`."""
    splitter = LineSplitter()
    while data := os.read(descriptor, READ_SIZE):
        for line in splitter.feed(data):
            try:
                yield decode(line)
            except ValueError:
                yield {"v": VERSION, "kind": "malformed", "line": line[:500].decode("utf-8", "replace")}
