"""A turn's events without a turn, and a thread that feeds them as an IO loop does."""

from __future__ import annotations

import threading
import time
from typing import Any

from hermes_nb.model.event import Event
from hermes_nb.views._bundle import bundle


def event(seq: int, kind: str, span_id: str = "t", **data: Any) -> Event:
    parent_id = None if span_id == "t" else "t"
    return Event(1, "p", seq, time.time(), "s", "t", span_id, parent_id, 1, kind, data)


def answer_log(n_deltas: int, delta: str = "word ") -> list[Event]:
    """A turn with one model call that streams `n_deltas`."""
    text = delta * n_deltas
    return [
        event(1, "turn.started", prompt="say it", agent="a", model="m", provider="p"),
        event(2, "model.started", "m1", api_call=1, model="m", n_messages=1),
        *[event(3 + n, "model.delta", "m1", text=delta) for n in range(n_deltas)],
        event(3 + n_deltas, "model.completed", "m1", api_call=1, text=text, tool_calls=[], model="m", duration_ms=5),
        event(4 + n_deltas, "turn.completed", text=text, status="completed", duration_ms=5),
    ]


class Feeding(threading.Thread):
    """Opens a sink for the calling cell and feeds it from a thread, over `seconds`, then finishes it."""

    def __init__(self, host: Any, log: list[Event], *, seconds: float = 0.0, **caller_options: Any) -> None:
        super().__init__(daemon=True)
        self.log, self.seconds = log, seconds
        self.go = threading.Event()
        self.go.set()
        caller_options.setdefault("blocks", False)
        self.sink = host.open_sink(host.caller(**caller_options))
        self.feed_s = 0.0

    def run(self) -> None:
        self.go.wait(30)
        began_s = time.monotonic()
        for n, one in enumerate(self.log):
            due_s = began_s + self.seconds * n / len(self.log)
            if (early_s := due_s - time.monotonic()) > 0.005:
                time.sleep(early_s)
            before_s = time.thread_time()
            self.sink.feed(one)
            self.feed_s += time.thread_time() - before_s
        self.sink.finish(bundle(self.log))

    def begin(self) -> Feeding:
        self.start()
        return self
