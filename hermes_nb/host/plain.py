"""A plain process: a script, a bare IPython terminal, a thread of either."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import LoopBlockedError
from hermes_nb.host.base import Caller, Sink, ToolCall, WakeUp
from hermes_nb.host.execution.executor import LoopLane, MainLane, ThreadLane
from hermes_nb.host.execution.main_thread import MainThread
from hermes_nb.host.execution.timer import Timer
from hermes_nb.host.execution.tool_job import Jobs, Once, ToolJob
from hermes_nb.host.execution.wait import Waiting
from hermes_nb.host.output.capture import Capture, hearing, streams
from hermes_nb.host.prompt import asking

if TYPE_CHECKING:
    from hermes_nb.tools.call import ToolOutcome


# A main thread whose loop does not run for so long is taken to wait for the thread that asks.
STUCK_S = 1.0
# An async tool can't run elsewhere; a loop that some cell blocks for less than this may still come to it.
BLOCKED_S = 5.0


class PlainHost:
    """Runs tools in a plain process and prints turns.

    A synchronous tool runs on the main thread when the main thread waits or its loop runs. Where neither is so and the
    turn was asked for on another thread (a thread pool that the main thread waits for), the tool gets a thread of its own.
    """

    name = "plain"

    def __init__(self) -> None:
        self._timer = Timer()
        self._main = MainThread()
        self._jobs = Jobs(self._timer)
        self._waiting = Waiting(self._main)
        self._loop: asyncio.AbstractEventLoop | None = None
        show = self._figure_display()
        self._main_lane = MainLane(self._jobs, self._hearing, show, self._interrupted)
        self._loop_lane = LoopLane(self._jobs, self._hearing, show, self._interrupted)
        self._thread_lane = ThreadLane(self._jobs, self._hearing, show)

    @property
    def is_interactive(self) -> bool:
        """Whether a person watches: an IPython or Python prompt."""
        return hasattr(sys, "ps1") or _ipython_shell() is not None

    def cell_id(self) -> str | None:
        """None: there are no cells."""
        return None

    # -- callers -------------------------------------------------------------------------------------------------
    def caller(self, *, blocks: bool, background: bool = False) -> Caller:
        """Who calls, seen from the calling thread."""
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        on_main = threading.current_thread() is threading.main_thread()
        if on_main and running is not None:
            self._loop = running
        return Caller(
            context=contextvars.copy_context(),
            loop=running or self._main_loop(),
            blocks_loop=blocks and running is not None,
            is_main_thread=on_main,
            background=background,
            parent=None,
            extra={"streams": streams()},
        )

    def _main_loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop that runs on the main thread; None when there is none."""
        return self._loop if self._loop is not None and self._loop.is_running() else None

    # -- tools ---------------------------------------------------------------------------------------------------
    def submit(self, call: ToolCall, caller: Caller) -> concurrent.futures.Future[ToolOutcome]:
        """See `Host.submit`."""
        job = ToolJob(call, caller)
        self._timer.start()
        self._jobs.add(job)
        if call.tool.is_async:
            self._submit_async(job)
        elif call.tool.parallel or not self._reaches_main(caller):
            self._thread_lane.put(job)
        else:
            loop = caller.loop if caller.is_main_thread else self._main_loop()
            self._put_on_main(job, loop or self._main_loop())
        return job.future

    def _put_on_main(self, job: ToolJob, loop: asyncio.AbstractEventLoop | None) -> None:
        was_stuck = self._main.is_stuck
        take_back = self._main.put(lambda: self._main_lane.run(job), loop)

        def move() -> None:
            if take_back():
                self._thread_lane.put(job)

        if not _asks_elsewhere(job.caller):
            return
        if was_stuck:
            move()
        else:
            self._timer.call_later(STUCK_S, move)

    def _submit_async(self, job: ToolJob) -> None:
        caller, name = job.caller, job.call.tool.name
        if caller.blocks_loop:
            reason = (
                f"Tool '{name}' is asynchronous, and the cell or function that runs this turn blocks the event loop it"
                " belongs to. Await the turn at the top level of a cell, or make the tool a plain function."
            )
        elif (loop := self._loop_of(caller)) is None:
            reason = f"Tool '{name}' is asynchronous, and there is no event loop to run it on. Await the turn."
        else:
            self._loop_lane.put(job, loop)
            if _asks_elsewhere(caller):
                is_main = loop is self._main_loop()
                reason = (
                    f"Tool '{name}' is asynchronous, and the main thread blocks the event loop it belongs to; perhaps it"
                    " waits for the thread that asks. Await the turns in the cell (`asyncio.gather` runs them side by"
                    " side), ask by `run_sync`, or make the tool a plain function."
                    if is_main
                    else f"Tool '{name}' is asynchronous, and the event loop that its turn was started in does not run any"
                    " more. Wait for the turn in that loop, ask by `run_sync`, or make the tool a plain function."
                )
                late = self._refuse if is_main else self._refuse_if_ended
                self._timer.call_later(BLOCKED_S, lambda: late(job, reason))
            return
        self._refuse(job, reason)

    def _loop_of(self, caller: Caller) -> asyncio.AbstractEventLoop | None:
        """The loop for a caller's async tools; the main thread's when its own was closed (by `asyncio.run`)."""
        if caller.loop is not None and not caller.loop.is_closed():
            return caller.loop
        return self._main_loop() if _asks_elsewhere(caller) else None

    def _refuse_if_ended(self, job: ToolJob, reason: str) -> None:
        if job.caller.loop is None or not job.caller.loop.is_running():
            self._refuse(job, reason)

    def _refuse(self, job: ToolJob, reason: str) -> None:
        from hermes_nb.tools.call import failed

        job.drop(failed(LoopBlockedError(reason)))

    def _reaches_main(self, caller: Caller) -> bool:
        return caller.is_main_thread or self._main.n_waiters > 0 or self._main_loop() is not None

    def stop_tools(self, turn_id: str) -> list[str]:
        """See `Host.stop_tools`."""
        return self._jobs.stop(turn_id)

    def running_tools(self, turn_id: str) -> list[str]:
        """See `Host.running_tools`."""
        return self._jobs.running(turn_id)

    def _interrupted(self, job: ToolJob) -> None:
        """In a signal handler: leave the rest to the timer's thread."""
        told = Once(lambda: self._waiting.interrupt(_cell_of(job.caller)))
        job.interrupts.append(told)
        self._timer.call_soon(told)

    # -- waiting -------------------------------------------------------------------------------------------------
    def wait_blocking(self, is_done: Callable[[], bool], wake: WakeUp, on_interrupt: Callable[[], None]) -> None:
        """See `Host.wait_blocking`."""
        self._waiting.block(is_done, wake, on_interrupt, self.cell_id())

    async def wait_async(self, is_done: Callable[[], bool], wake: WakeUp, on_interrupt: Callable[[], None]) -> None:
        """See `Host.wait_async`."""
        await self._waiting.awaited(is_done, wake, on_interrupt, self.cell_id())

    # -- showing -------------------------------------------------------------------------------------------------
    def open_sink(self, caller: Caller, *, quiet: bool = False, shown_in: Sink | None = None) -> Sink:
        """See `Host.open_sink`."""
        from hermes_nb.host.output.bandwidth import NullSink
        from hermes_nb.host.output.stream_sink import StreamSink

        if shown_in is not None:
            return shown_in
        if quiet:
            return NullSink()
        return StreamSink(caller.extra["streams"]["stdout"], self._timer, is_live=not caller.background)

    def live_text(self, caller: Caller) -> Callable[[str, bool], None]:
        """See `Host.live_text`. Where the output is no terminal, the last text alone is printed."""
        from hermes_nb.host.output.live_area import LiveArea

        stream = caller.extra["streams"]["stdout"]
        area = LiveArea(stream) if stream is not None and stream.isatty() else None

        def draw(text: str, is_last: bool) -> None:
            if area is not None:
                area.clear()
            if is_last and stream is not None:
                print(text, file=stream, flush=True)
            elif area is not None:
                area.show(text)

        return draw

    @contextmanager
    def _hearing(self, job: ToolJob) -> Iterator[None]:
        """Capture what the call prints, in its own context."""
        capture = Capture(job.call.on_output, job.caller.extra.get("streams", {}))
        with hearing(capture, job), asking(job, needs_cell=False):
            yield

    def _figure_display(self) -> Callable[[Any], None] | None:
        """Displays one figure; None: a script shows its own."""
        return None

    def close(self) -> None:
        """Stop what runs, end the timer's thread."""
        self._jobs.stop(None)
        self._timer.close()


def _asks_elsewhere(caller: Caller) -> bool:
    """Whether a thread other than the main one asked for the turn: the main one may wait for it, also where it is only begun
    there (`start`) and waited for later."""
    return not caller.is_main_thread


def _cell_of(caller: Caller) -> str | None:
    header = (caller.parent or {}).get("header") or {}
    cell_id = header.get("msg_id")
    return None if cell_id is None else str(cell_id)


def _ipython_shell() -> Any:
    """The IPython shell this process runs in, None without; IPython is not imported for it."""
    if "IPython" not in sys.modules:
        return None
    from hermes_nb._require import require

    return require("IPython", why="to see where this runs").get_ipython()
