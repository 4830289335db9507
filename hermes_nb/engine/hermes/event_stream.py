"""A streamed reply as it comes over HTTP: server-sent events as specified, and what endpoints send in place of them.

Stands where the OpenAI SDK reads them, which takes a comment after an `id:` for an event (and fails), loses the first event
after a byte order mark, and finds nothing at all in a reply that is one JSON object, an error or a page.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hermes_nb.engine.hermes.chunk import Chunks

UNREADABLE = "unreadable"  # the code of the error that stands for a body that is no reply
_MOST_BYTES = 64 << 20
_DONE = "[DONE]"


class Event:
    """An event as the SDK wants it, parsed once.

    Attributes:
        event: Its kind; None, as chat completions have none.
        data: `[DONE]` at the end.
    """

    event = None

    def __init__(self, value: Any, data: str = "") -> None:
        self.data = data
        self._value = value

    def json(self) -> Any:
        """Return what it holds."""
        return self._value


def install(streaming: Any) -> None:
    """Let the SDK's streams of chat completions be read here.

    Args:
        streaming: The module `openai._streaming`.
    """
    original = streaming.Stream._iter_events
    if getattr(original, "is_ours", False):
        return

    def iter_events(stream: Any) -> Iterator[Any]:
        if getattr(stream._cast_to, "__name__", "") != "ChatCompletionChunk":
            return original(stream)  # type: ignore[no-any-return]
        return events(stream.response.iter_bytes(), str(stream.response.headers.get("content-type") or ""))

    iter_events.is_ours = True  # type: ignore[attr-defined]
    streaming.Stream._iter_events = iter_events


def events(body: Iterable[bytes], content_type: str) -> Iterator[Event]:
    """Return the events of a reply, in form.

    Args:
        body: The pieces of it, as they come.
        content_type: What its head says it is.

    Raises:
        ValueError: An event is no JSON.
    """
    pieces = iter(body)
    first = b""
    for piece in pieces:
        first += piece
        if first.lstrip(b"\xef\xbb\xbf \t\r\n"):
            break
        first = first[-3:]  # of blank lines, however many
    begin = first.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    chunks = Chunks()
    if begin in (b"{", b"[", b"<"):
        yield from _whole(first, pieces, content_type, chunks)
        return
    try:
        for kind, data in _parsed(first, pieces):
            if data.startswith(_DONE):
                if (missing := chunks.end()) is not None:
                    yield Event(missing)
                yield Event(None, _DONE)
                return
            value = _loaded(data)
            if not isinstance(value, Mapping):
                continue
            error = value.get("error") or (kind == "error" and value)
            if error:
                yield Event({"error": _error(error)})
                return
            yield Event(chunks.tidy(value))
            if chunks.is_counted:
                return  # some keep the connection open and never say that this was all
    except Exception as exc:
        # Hermes goes on from words that came before; told by an exception, it adds a sentence of its own to them.
        if not chunks.has_text or type(exc).__name__ not in ("RemoteProtocolError", "ReadError"):
            raise


def _parsed(first: bytes, pieces: Iterator[bytes]) -> Iterator[tuple[str, str]]:
    """(kind, data) of each event that holds data; the last one also where the stream ends without a blank line."""
    kind = ""
    held: list[str] = []
    for line in _lines(first, pieces):
        if not line:
            if held:
                yield kind, "\n".join(held)
            kind, held = "", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            held.append(value)
        elif name == "event":
            kind = value
    last = "\n".join(held)
    if last.startswith(_DONE) or _is_json(last):
        yield kind, last


def _lines(first: bytes, pieces: Iterator[bytes]) -> Iterator[str]:
    """The lines of a stream; a piece is looked at once, however small the pieces of a long line are."""
    held: list[bytes] = []
    is_after_cr = False
    for piece in itertools.chain((first.removeprefix(b"\xef\xbb\xbf"),), pieces):
        part = piece.removeprefix(b"\n") if is_after_cr else piece
        is_after_cr = piece.endswith(b"\r") or (is_after_cr and not piece)
        lines = part.splitlines()
        rest = lines.pop() if lines and not part.endswith((b"\n", b"\r")) else b""
        if lines:
            yield b"".join((*held, lines[0])).decode("utf-8", "replace")
            for line in lines[1:]:
                yield line.decode("utf-8", "replace")
            held = []
        if rest:
            held.append(rest)
    if held:
        yield b"".join(held).decode("utf-8", "replace")


def _whole(first: bytes, pieces: Iterator[bytes], content_type: str, chunks: Chunks) -> Iterator[Event]:
    """The events of a body that is no stream: a reply in one piece, an error, or something else."""
    held = bytearray(first)
    for piece in pieces:
        held += piece
        if len(held) > _MOST_BYTES:
            break
    text = held.decode("utf-8-sig", "replace")
    value = json.loads(text) if _is_json(text) else None
    if isinstance(value, Mapping) and isinstance(value.get("choices"), list) and value["choices"]:
        made = chunks.tidy(value)
        yield Event(made)
        if (missing := chunks.end()) is not None:
            yield Event(missing)
        yield Event(None, _DONE)
        return
    if isinstance(value, Mapping) and (error := value.get("error") or value.get("detail") or value.get("message")):
        yield Event({"error": _error(error)})
        return
    shown = " ".join(re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", text, flags=re.S | re.I).split())[:200]
    what = "a web page" if text.lstrip().startswith("<") else f"a body of type {content_type.split(';')[0] or 'unknown'}"
    yield Event({"error": {"message": f"{what} in place of an answer: {shown or '(without words)'}", "code": UNREADABLE}})


def _error(given: Any) -> dict[str, Any]:
    """An error as the SDK reads it."""
    if isinstance(given, Mapping):
        inner = given.get("error")
        found = dict(inner) if isinstance(inner, Mapping) else dict(given)
        words = found.get("message")
        return {**found, "message": words if isinstance(words, str) and words else json.dumps(given)[:500]}
    return {"message": given if isinstance(given, str) else json.dumps(given)[:500]}


def _loaded(data: str) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("An event of the stream is nested too deeply.") from None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
