"""The three ways to run a tool call: on the main thread, as a task on the caller's loop, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from hermes_nb.host.execution.coroutine_step import stepwise
from hermes_nb.host.execution.interruptible_thread import ThreadBody
from hermes_nb.host.execution.sigint import GUARD, Frame
from hermes_nb.host.execution.tool_job import Jobs, ToolJob
from hermes_nb.host.output.capture import CURRENT
from hermes_nb.host.output.figure import Figures
from hermes_nb.host.output.thread_figure import ThreadFigures

if TYPE_CHECKING:
    from hermes_nb.tools.call import ToolOutcome

# A thread asleep in C is not woken by an exception put into it: it is left alone soon.
THREAD_GRACE_S = 0.05

Hearing = Callable[[ToolJob], AbstractContextManager[None]]


class MainLane:
    """A synchronous call on the main thread, guarded against SIGINT. Runs in the caller's context.

    Args:
        jobs: Knows the calls.
        hearing: Captures the output of a call while its body runs.
        show: Displays one figure; None leaves figures open.
        on_interrupt: Called in a signal handler when the user interrupts the call.
    """

    def __init__(
        self, jobs: Jobs, hearing: Hearing, show: Callable[[Any], None] | None, on_interrupt: Callable[[ToolJob], None]
    ) -> None:
        self._jobs, self._hearing, self._show, self._on_interrupt = jobs, hearing, show, on_interrupt

    def run(self, job: ToolJob) -> None:
        """Run it to its end; never raises."""
        frame = Frame(is_wait=False, on_user=lambda: self._on_interrupt(job))
        if not job.begin(frame.interrupt):
            return
        cancel = self._jobs.started(job)
        outcome: ToolOutcome | None = None
        try:
            outcome = job.caller.context.copy().run(self._in_context, job, frame)
        finally:
            cancel()
            job.end(outcome)

    def _in_context(self, job: ToolJob, frame: Frame) -> ToolOutcome | None:
        outcome: ToolOutcome | None = None
        figures, body = Figures(self._show), _body(job)
        with self._hearing(job):
            figures.enter()
            try:
                outcome = GUARD.run(frame, lambda: None if job.reason else body())
            finally:
                figures.leave()
            _show_plots(figures, job, outcome)
        return outcome


class LoopLane:
    """An asynchronous call as a task on the caller's loop. Each of its steps is guarded as a synchronous call is."""

    def __init__(
        self, jobs: Jobs, hearing: Hearing, show: Callable[[Any], None] | None, on_interrupt: Callable[[ToolJob], None]
    ) -> None:
        self._jobs, self._hearing, self._show, self._on_interrupt = jobs, hearing, show, on_interrupt
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, job: ToolJob, loop: asyncio.AbstractEventLoop) -> None:
        """Start it on `loop`, from any thread."""

        def start() -> None:
            # A task of its own context: what the tool sets stays with the tool.
            running = self._run(job)
            task = loop.create_task(running, context=job.caller.context.copy())
            # A loop that closes now never runs it: then it goes without the warning that nobody awaited it.
            weakref.finalize(task, running.close).atexit = False
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        loop.call_soon_threadsafe(start, context=contextvars.Context())

    async def _run(self, job: ToolJob) -> None:
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        frame = Frame(is_wait=False, on_user=lambda: self._on_interrupt(job))

        def reach() -> None:
            frame.interrupt()
            if task is not None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: so is the task
                    loop.call_soon_threadsafe(task.cancel)

        if not job.begin(reach):
            return
        from hermes_nb.tools.call import run_async

        figures = Figures(self._show)
        on_main = threading.current_thread() is threading.main_thread()

        def around(step: Callable[[], Any]) -> Any:
            if not on_main:
                return step()
            figures.enter()
            try:
                waited_for = GUARD.run(frame, step)
            finally:
                figures.leave()
            if frame.was_cut:
                raise asyncio.CancelledError
            return waited_for

        cancel = self._jobs.started(job)
        outcome: ToolOutcome | None = None
        try:
            with self._hearing(job):
                body = run_async(job.call.tool, job.call.arguments, keeps_time=False, **job.call.options)
                outcome = await stepwise(body, around)
                _show_plots(figures, job, outcome)
        finally:
            cancel()
            job.end(outcome)


class ThreadLane:
    """A synchronous call in a daemon thread of its own: any number at once."""

    def __init__(self, jobs: Jobs, hearing: Hearing, show: Callable[[Any], None] | None) -> None:
        self._jobs, self._hearing, self._show = jobs, hearing, show

    def put(self, job: ToolJob) -> None:
        """Start it."""
        name = f"hermes-nb-tool-{job.call.tool.name}"
        context = job.caller.context.copy()
        threading.Thread(target=context.run, args=(self._run, job), name=name, daemon=True).start()

    def _run(self, job: ToolJob) -> None:
        body: ThreadBody[ToolOutcome] = ThreadBody()
        job.grace_s = THREAD_GRACE_S
        if not job.begin(body.interrupt):
            return
        cancel = self._jobs.started(job)
        outcome: ToolOutcome | None = None
        figures = ThreadFigures(self._show)
        try:
            with self._hearing(job):
                figures.enter()
                try:
                    outcome = body.run(_body(job))
                finally:
                    figures.leave()
                if not job.future.done():  # else nobody waits for it any more
                    _show_plots(figures, job, outcome)
        finally:
            cancel()
            job.end(outcome)


def _show_plots(figures: Figures, job: ToolJob, outcome: ToolOutcome | None) -> None:
    from hermes_nb.tools.rendering.image import pictures_in

    capture = CURRENT.get()
    is_seen = capture is not None and capture.has_shown  # the tool has shown it itself
    try:
        figures.finish([] if outcome is None or is_seen else pictures_in(outcome.value))
    except Exception as exc:  # noqa: BLE001 - a plot that can't be drawn must not lose the tool's result
        print(f"A plot of tool '{job.call.tool.name}' can't be shown: {exc!r}", file=sys.stderr)


def _body(job: ToolJob) -> Callable[[], ToolOutcome]:
    """What to run; imported before, so that an interrupt never hits an import of ours."""
    from hermes_nb.tools.call import run_sync

    call = job.call
    return lambda: run_sync(call.tool, call.arguments, is_late=lambda: job.reason == "timed_out", **call.options)
