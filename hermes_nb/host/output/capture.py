"""Hears what a tool prints and displays, without swallowing it.

Whose output it is comes from a context variable, so that it holds in tasks and threads alike. What a tool prints goes to the
stream that was current when its turn was asked for; a bounded copy of the text goes to the call.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hermes_nb.model.content import valid

if TYPE_CHECKING:
    from hermes_nb.host.execution.tool_job import ToolJob

# Of one call's output, what is copied into the log; the cell shows all.
MAX_CHARS = 20_000
# Of one call's prints, what a row shows in the cell's place, live and saved.
MAX_PLACED_CHARS = 2_000
# Lines printed within this time of each other travel together.
TOGETHER_S = 0.1

_NAMES = ("stdout", "stderr")


class Capture:
    """The output of one call.

    Args:
        on_output: Hears `(stream, text, mime_types)`.
        streams: Where the call's prints go, by name; a missing one means where prints go anyway.
        is_in_place: Whether what is printed shows with its call, so that the cell need not show it, too.

    Attributes:
        has_shown: Whether a picture, chart or widget was displayed.
    """

    def __init__(
        self,
        on_output: Callable[[str, str, Sequence[str]], None],
        streams: dict[str, Any],
        is_in_place: Callable[[], bool] = lambda: False,
    ) -> None:
        self._on_output = on_output
        self._streams = streams
        self._is_in_place = is_in_place
        self._n_placed = 0
        self._lock = threading.Lock()
        self._parts: list[str] = []
        self._name = ""
        self._n_chars = 0
        self._told_at_s = 0.0
        self.is_open = True
        self.has_shown = False

    def stream(self, name: str, current: Any) -> Any:
        """The stream a print goes to."""
        stream = self._streams.get(name)
        return current if stream is None or getattr(stream, "closed", False) else stream

    def takes(self, text: str) -> bool:
        """Whether a printed text shows with its call alone: not what is much, nor what draws over itself."""
        if "\r" in text or "\x1b" in text or self._n_placed + len(text) > MAX_PLACED_CHARS or not self._is_in_place():
            self._n_placed = MAX_PLACED_CHARS  # what follows belongs to it
            return False
        self._n_placed += len(text)
        return True

    def hear(self, name: str, text: str) -> None:
        """Take a copy of what was printed."""
        if not text or not self.is_open:
            return
        with self._lock:
            if name != self._name:
                self._tell()
                self._name = name
            self._parts.append(text)
            if text.endswith("\n") and time.monotonic() - self._told_at_s > TOGETHER_S:
                self._tell()

    def hear_display(self, text: str, mime_types: Sequence[str]) -> None:
        """Take a copy of what was displayed."""
        with self._lock:
            self._tell()
            kept = text[: max(0, MAX_CHARS - self._n_chars)]
            self._n_chars += len(kept)
            self.has_shown = self.has_shown or any(mime.startswith(("image/", "application/vnd.")) for mime in mime_types)
            self._on_output("display", kept, tuple(mime_types))

    def close(self) -> None:
        """Pass on what is left; nothing is heard from here on."""
        with self._lock:
            self._tell()
            self.is_open = False

    def _tell(self) -> None:
        text, self._parts = "".join(self._parts), []
        self._told_at_s = time.monotonic()
        left = MAX_CHARS - self._n_chars
        if not text or left <= 0:
            return
        self._n_chars += len(text)
        self._on_output(self._name, text if len(text) <= left else f"{text[:left]}\n... (cut: more was printed)\n", ())


CURRENT: contextvars.ContextVar[Capture | None] = contextvars.ContextVar("hermes_nb_capture", default=None)


class Tee:
    """Stands in for `sys.stdout` or `sys.stderr` while a tool runs; everything but printing is the stream's own."""

    def __init__(self, name: str, stream: Any) -> None:
        self._tee_name = name
        self._tee_stream = stream

    def write(self, text: str) -> Any:
        """Print, and let the call hear it that this context belongs to."""
        capture = CURRENT.get()
        if capture is None or not capture.is_open:
            return self._tee_stream.write(text)
        text = valid(text)  # a lone surrogate would take all that is printed together with it
        stream = capture.stream(self._tee_name, self._tee_stream)
        n_chars = len(text) if capture.takes(text) else stream.write(text)
        capture.hear(self._tee_name, text)
        return n_chars

    def writelines(self, lines: Any) -> None:
        """Print each."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        self._tee_stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tee_stream, name)


_LOCK = threading.Lock()
_n_open = 0
# Before Python 3.13.3 `print` holds no reference to `sys.stdout` while it writes (python/cpython#130163): a stand-in that is
# taken away and freed by another thread meanwhile crashes the process. So those of late are kept.
_KEPT: deque[Tee] = deque(maxlen=256)


def _tee(name: str, stream: Any) -> Tee:
    """The stand-in for a stream; the same one again where there was one."""
    for kept in _KEPT:
        if kept._tee_name == name and kept._tee_stream is stream:
            return kept
    _KEPT.append(Tee(name, stream))
    return _KEPT[-1]


def plain(stream: Any) -> Any:
    """The stream itself, not the `Tee` before it."""
    while isinstance(stream, Tee):
        stream = stream._tee_stream
    return stream


def streams() -> dict[str, Any]:
    """Where prints go now, by name."""
    return {name: plain(getattr(sys, name)) for name in _NAMES}


class Hearing:
    """Lets a capture hear the prints of the context that opens it."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self._is_open = False

    def open(self) -> None:
        """Put a `Tee` before each stream and mark this context."""
        global _n_open
        with _LOCK:
            _n_open += 1
            self._is_open = True
            for name in _NAMES:
                stream = getattr(sys, name)
                if stream is not None and not isinstance(stream, Tee):
                    setattr(sys, name, _tee(name, stream))
        CURRENT.set(self.capture)

    def close(self) -> None:
        """From any thread: nothing is heard any more, and with the last one the streams are what they were."""
        global _n_open
        self.capture.close()
        with _LOCK:
            if not self._is_open:
                return
            self._is_open = False
            _n_open -= 1
            if _n_open == 0:
                # Another redirection may have been laid over ours and stays; its end puts back a Tee that passes on.
                for name in _NAMES:
                    if isinstance(getattr(sys, name), Tee):
                        setattr(sys, name, plain(getattr(sys, name)))


@contextmanager
def hearing(capture: Capture, job: ToolJob) -> Iterator[None]:
    """While the body runs in this context, `capture` hears its prints; no longer than somebody waits for the job."""
    heard = Hearing(capture)
    heard.open()
    job.on_abandoned = heard.close
    try:
        yield
    finally:
        heard.close()
        CURRENT.set(None)
