"""SIGINT while a tool runs on the main thread: stops the tool, and nothing else.

A kernel's own handler cancels the awaiting cell, which a synchronous call made from the loop never notices; and a
handler that raises may raise into the event loop. So a body is run under a handler of ours that raises
KeyboardInterrupt only while the body runs, and the handler that was there before comes back last. Signal handlers belong
to the process, so there is one guard for all hosts. Who is told of an interrupt is the caller's business.
"""

from __future__ import annotations

import inspect
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

_T = TypeVar("_T")

# A second signal within this time is the same wish: it must not hit the cleaning up that the first one started.
DEBOUNCE_S = 0.05
# How long a signal that was sent may take to reach its handler.
SETTLE_S = 0.05


def _nothing() -> None:
    """What is done about an interrupt that nobody waits for."""


class Frame:
    """One guarded body or one blocking wait; frames nest as calls on the main thread do.

    Attributes:
        in_body: True while KeyboardInterrupt may be raised.
        n_user: Interrupts that came from the user.
        n_told: A wait: how many of them it has passed on.
        n_asked: Signals sent by `interrupt`; `n_seen` of them reached the handler.
        wants_out: A wait: an enclosing body was asked to stop.
        was_cut: KeyboardInterrupt ended the body, and nothing in it caught that.
    """

    def __init__(self, *, is_wait: bool, on_user: Callable[[], None] = _nothing) -> None:
        self.is_wait = is_wait
        self.on_user = on_user
        self.in_body = False
        self.n_user = 0
        self.n_told = 0
        self.n_asked = 0
        self.n_seen = 0
        self.wants_out = False
        self.was_cut = False
        self.raised_at_s = -1.0
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the body, from any thread; nothing when the body is not running."""
        with self._lock:
            if self.in_body:
                self.n_asked += 1
                signal.pthread_kill(_main_ident(), signal.SIGINT)

    def leave(self) -> None:
        """From here on no signal is sent for this frame and none raises; one under way is awaited."""
        self.in_body = False
        with self._lock:
            pass
        deadline_s = time.monotonic() + SETTLE_S
        while self.n_seen < self.n_asked and time.monotonic() < deadline_s:
            time.sleep(0.0005)


class InterruptGuard:
    """Runs bodies and waits of the main thread under one SIGINT handler."""

    def __init__(self) -> None:
        self._frames: list[Frame] = []
        self._listeners: list[Callable[[], None]] = []
        self._n_awaiting_signals = 0

    def run(self, frame: Frame, body: Callable[[], _T]) -> _T | None:
        """The value of `body()`; None when KeyboardInterrupt ended it. Main thread only.

        An interrupt by the user is passed on afterwards to a handler that was there before, unless that one only
        raises: an awaiting cell is then cancelled as it would have been without a tool.
        """
        before = signal.getsignal(signal.SIGINT)
        if before is None:  # set outside of Python: it could not be put back
            return body()
        value: _T | None = None
        self._frames.append(frame)
        try:
            try:
                signal.signal(signal.SIGINT, self._on_signal)
                frame.in_body = True
                value = body()
                frame.in_body = False
            except KeyboardInterrupt:
                frame.in_body = False
                frame.was_cut = True
        except KeyboardInterrupt:  # a second one, between the first and the line that lowers the flag
            frame.in_body = False
            frame.was_cut = True
        finally:
            frame.leave()
            # In this order: `signal.signal` first runs the handler of a signal that is waiting, and that needs the frame.
            signal.signal(signal.SIGINT, before)
            self._frames.remove(frame)
        if frame.n_user and before is not signal.default_int_handler:
            self._pass_on(before)
        return value

    @contextmanager
    def wait(self, frame: Frame) -> Iterator[None]:
        """While the main thread blocks: interrupts are counted in `frame.n_user` and raise nothing."""
        before = signal.getsignal(signal.SIGINT)
        if before is None:
            yield
            return
        self._frames.append(frame)
        signal.signal(signal.SIGINT, self._on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self._frames.remove(frame)
            if frame.n_user > frame.n_told:  # it came when there was nothing left to wait for
                self._pass_on(before)

    @contextmanager
    def awaiting(self, on_user: Callable[[], None]) -> Iterator[None]:
        """While a coroutine waits on the main thread where an interrupt would tear down the loop.

        That is so where Python's own handler is in place: a terminal's loop, or a nested one. The first interrupt calls
        `on_user`, a second one raises. Anywhere else, nothing is changed. Waits may overlap in any order.
        """
        if not self._listeners:
            if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
                yield
                return
            self._n_awaiting_signals = 0
            signal.signal(signal.SIGINT, self._on_awaiting_signal)
        self._listeners.append(on_user)
        try:
            yield
        finally:
            self._listeners.remove(on_user)
            if not self._listeners and self._is_ours(signal.getsignal(signal.SIGINT)):
                try:
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                except KeyboardInterrupt:  # one was waiting, and nobody is left to be told
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                    raise

    def _on_awaiting_signal(self, signum: int, at: FrameType | None) -> None:
        self._n_awaiting_signals += 1
        if self._n_awaiting_signals > 1 or not self._listeners:
            raise KeyboardInterrupt
        for listener in list(self._listeners):
            listener()

    def _on_signal(self, signum: int, at: FrameType | None) -> None:
        is_asked = False
        for frame in self._frames:  # outermost first
            if frame.n_seen < frame.n_asked:
                frame.n_seen = frame.n_asked
                is_asked = True
            frame.wants_out = frame.wants_out or (is_asked and frame.is_wait)
        if not self._frames:
            return
        top = self._frames[-1]
        if not is_asked:
            top.n_user += 1
            top.on_user()
        if top.in_body:
            now_s = time.monotonic()
            if now_s - top.raised_at_s > DEBOUNCE_S:
                top.raised_at_s = now_s
                raise KeyboardInterrupt

    def _pass_on(self, before: Any) -> None:
        """Let the handler that was there before have an interrupt by the user."""
        if callable(before) and not self._is_ours(before):
            before(signal.SIGINT, inspect.currentframe())

    def _is_ours(self, handler: object) -> bool:
        # Bound methods are made anew at each access: compare by equality.
        return handler in (self._on_signal, self._on_awaiting_signal)


def _main_ident() -> int:
    ident = threading.main_thread().ident
    assert ident is not None
    return ident


GUARD = InterruptGuard()
