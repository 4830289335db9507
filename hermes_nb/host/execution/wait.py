"""Waiting for a turn, blocking or awaiting; who is told when the user interrupts."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable

from hermes_nb.host.base import WakeUp
from hermes_nb.host.execution.main_thread import MainThread
from hermes_nb.host.execution.sigint import GUARD, Frame

# A blocking wait looks this often whether a signal came, an awaiting one whether it was cancelled: ipykernel's handler
# cancels by a callback that does not wake the loop.
TICK_S = 0.05
HEARTBEAT_S = 0.1


class Waiter:
    """One wait that is under way.

    Args:
        on_interrupt: Called once, at the first interrupt, from any thread.
        cell_id: The cell that waits; None outside a kernel.
        blocks_main: It blocks the main thread.
    """

    def __init__(self, on_interrupt: Callable[[], None], cell_id: str | None, blocks_main: bool) -> None:
        self.cell_id = cell_id
        self.blocks_main = blocks_main
        self.n_interrupts = 0
        self._on_interrupt = on_interrupt
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Count an interrupt; the first one is passed on."""
        with self._lock:
            self.n_interrupts += 1
            if self.n_interrupts > 1:
                return
        self._on_interrupt()


class Waiting:
    """All waits of one host."""

    def __init__(self, main: MainThread) -> None:
        self._main = main
        self._waiters: list[Waiter] = []
        self._missed: str | None = None

    def interrupt(self, cell_id: str | None) -> None:
        """The user interrupted a tool of that cell: its waiters, and whoever blocks the main thread, are told.

        A cell that does not wait yet (its tool ran in the first round of a loop) is told when it does.
        """
        waiters = [w for w in list(self._waiters) if w.blocks_main or w.cell_id == cell_id]
        self._missed = None if waiters else cell_id
        for waiter in waiters:
            waiter.interrupt()

    def _enter(self, waiter: Waiter) -> None:
        self._waiters.append(waiter)
        if waiter.cell_id is not None and waiter.cell_id == self._missed:
            self._missed = None
            waiter.interrupt()

    def block(
        self, is_done: Callable[[], bool], wake: WakeUp, on_interrupt: Callable[[], None], cell_id: str | None
    ) -> None:
        """See `Host.wait_blocking`."""
        on_main = threading.current_thread() is threading.main_thread()
        waiter = Waiter(on_interrupt, cell_id, on_main)
        woken = threading.Event()
        end = wake.listen(woken.set)
        self._enter(waiter)
        try:
            if not on_main:
                while not is_done():
                    woken.clear()
                    if not is_done():
                        woken.wait(HEARTBEAT_S)
                return
            frame = Frame(is_wait=True)
            with GUARD.wait(frame), self._main.serving(woken.set):
                self._block_main(is_done, woken, frame, waiter)
        finally:
            self._waiters.remove(waiter)
            end()

    def _block_main(self, is_done: Callable[[], bool], woken: threading.Event, frame: Frame, waiter: Waiter) -> None:
        while not is_done():
            woken.clear()
            if is_done():
                return
            if not self._main.run_one():
                woken.wait(TICK_S)
            while frame.n_told < frame.n_user:
                frame.n_told += 1
                waiter.interrupt()
            if frame.wants_out or waiter.n_interrupts > 1:
                raise KeyboardInterrupt

    async def awaited(
        self, is_done: Callable[[], bool], wake: WakeUp, on_interrupt: Callable[[], None], cell_id: str | None
    ) -> None:
        """See `Host.wait_async`."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()
        waiter = Waiter(on_interrupt, cell_id, False)
        n_signals = 0
        on_main = threading.current_thread() is threading.main_thread()

        def from_any_thread() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(woken.set, context=contextvars.Context())

        def beat() -> None:
            beats[0] = loop.call_later(HEARTBEAT_S, beat)
            woken.set()

        def on_signal() -> None:
            nonlocal n_signals
            n_signals += 1

        beats = [loop.call_later(HEARTBEAT_S, beat)]
        end = wake.listen(from_any_thread)
        self._enter(waiter)
        try:
            with GUARD.awaiting(on_signal) if on_main else contextlib.nullcontext():
                while not is_done():
                    woken.clear()
                    if n_signals and not waiter.n_interrupts:
                        waiter.interrupt()
                    await woken.wait()
        finally:
            beats[0].cancel()
            self._waiters.remove(waiter)
            end()
