"""The protocol between a kernel and its worker: JSON lines on two private descriptors, versioned.

Every message is an object with `v` (protocol version) and `kind`; `hermes_nb.model.message` has them all, with their keys.
A message of an unknown kind is kept and shown, never dropped and never fatal. Worker stdout and stderr are not part of it:
they go to a log file. A `turn.done` always follows the turn's last event (`turn.completed`, `.failed` or `.stopped`) and
says the same. A `bind` is the only message with a key.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from hermes_nb.model.message import KernelMessage
    from hermes_nb.model.message_part import Json

VERSION = 1
KERNELS_JOURNAL = "-"  # in place of a path: the kernel keeps the journal, over the wire
READ_SIZE = 1 << 16


def encode(kind: str, /, **keys: Any) -> bytes:
    """One message as a line of UTF-8; a lone surrogate becomes '?'.

    Raises:
        ValueError: NaN or infinity, which JSON can't carry.
        TypeError: A value that is not JSON.
    """
    text = json.dumps({"v": VERSION, "kind": kind, **keys}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def decode(line: bytes) -> Json:
    """The message in a line; its keys are the other end's word.

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


def read_messages(descriptor: int) -> Iterator[KernelMessage]:
    """Messages of a kernel from a blocking descriptor until its end; a malformed line comes as one of that kind."""
    splitter = LineSplitter()
    while data := os.read(descriptor, READ_SIZE):
        for line in splitter.feed(data):
            try:
                yield cast("KernelMessage", decode(line))
            except ValueError:
                yield {"kind": "malformed", "line": line[:500].decode("utf-8", "replace")}
