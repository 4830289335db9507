"""One tool call on its way: pending, running, ended; and who may still stop it.

How a running body is reached (a signal, a cancelled task, an exception put into a thread) is the business of the lane that
runs it; here is when it is asked, how often, and what the caller is told when the body does not listen.
"""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_nb.host.base import Caller, ToolCall
from hermes_nb.host.execution.deadline import Deadline, is_halted
from hermes_nb.host.execution.timer import Timer

# tools.call is imported where it is used: it takes 40 ms, and the first turn has no call yet.
if TYPE_CHECKING:
    from hermes_nb.tools.call import ToolOutcome

# A body that goes on after it was asked to stop is asked again, at these times after the first.
ASK_AGAIN_S = (0.1, 0.3, 1.0, 3.0)
# Then, whatever the body does, the caller gets its outcome.
GRACE_S = 0.3


def _nothing() -> None:
    """What is done when there is nothing to do."""


class Once:
    """A function that runs at the first call; a call meanwhile waits for it, a later one does nothing."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._was_called = False

    def __call__(self) -> None:
        """Run it, unless it was."""
        with self._lock:
            if not self._was_called:
                self._was_called = True
                self._function()


class ToolJob:
    """One tool call.

    Attributes:
        call: What to run.
        caller: For whom.
        future: Its outcome; never raises.
        interrupts: What has to be done about the user's interrupts before the outcome is given.
        reason: Why it was asked to end: "", `stopped` or `timed_out`.
        grace_s: How long after that the caller waits for the body.
        on_abandoned: Called when the caller waits no longer although the body runs.
        reach: Asks the running body to end; set by the lane before the body starts.
        limit: Its time limit; None before it started.
    """

    def __init__(self, call: ToolCall, caller: Caller) -> None:
        self.call = call
        self.caller = caller
        self.future: concurrent.futures.Future[ToolOutcome] = concurrent.futures.Future()
        self.future.set_running_or_notify_cancel()
        self.interrupts: list[Once] = []
        self.reason = ""
        self.grace_s = GRACE_S
        self.on_abandoned: Callable[[], None] = _nothing
        self.reach: Callable[[], None] = _nothing
        self.limit: Deadline | None = None
        self._state = "pending"
        self._began_unix_s = self._began_s = 0.0
        self._lock = threading.Lock()

    @property
    def is_running(self) -> bool:
        """True while the body runs."""
        return self._state == "running"

    @property
    def is_over(self) -> bool:
        """True once the body ended, or when it never will begin."""
        return self._state == "ended"

    def begin(self, reach: Callable[[], None]) -> bool:
        """Note that the body starts; False when it must not: the call was stopped before, or its turn forbids it."""
        if self.is_over:  # nor is it noted as begun
            return False
        try:
            self.call.on_begin()
        except Exception as exc:  # noqa: BLE001 - whatever stands in the way, the caller is told, and the body does not run
            from hermes_nb.tools.call import failed

            self.drop(failed(exc))
            return False
        with self._lock:
            if self._state != "pending":
                return False
            self.reach = reach
            self._state = "running"
            self._began_unix_s, self._began_s = time.time(), time.perf_counter()
            return True

    def end(self, outcome: ToolOutcome | None) -> None:
        """Note that the body ended; None when it was torn down without an outcome.

        Whoever stops the turn at an interrupt is told first: the outcome must not set off the turn's next step.
        """
        from hermes_nb.tools.call import stopped

        for told in self.interrupts:
            told()
        with self._lock:
            self._state = "ended"
        self.settle(self._as_asked(outcome or self.measured(stopped(self.call.tool.name))))

    def drop(self, outcome: ToolOutcome | None = None) -> None:
        """End a call that has not begun, with `outcome` or as stopped."""
        from hermes_nb.tools.call import stopped

        with self._lock:
            if self._state != "pending":
                return
            self._state = "ended"
        self.settle(outcome or stopped(self.call.tool.name))

    def settle(self, outcome: ToolOutcome) -> None:
        """Give the caller its outcome; the first one counts."""
        with self._lock:
            if self.future.done():
                return
            self.future.set_result(outcome)

    def measured(self, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome with when the body started and how long it ran until now; unchanged when it never did."""
        if not self._began_unix_s:
            return outcome
        duration_ms = (time.perf_counter() - self._began_s) * 1000
        return replace(outcome, started_at_unix_s=self._began_unix_s, duration_ms=duration_ms)

    def _as_asked(self, outcome: ToolOutcome) -> ToolOutcome:
        limit_s = self.call.tool.timeout_s
        if self.reason != "timed_out" or outcome.status == "ok" or limit_s is None:
            return outcome
        from hermes_nb.tools.call import timed_out

        return replace(
            timed_out(self.call.tool.name, limit_s),
            started_at_unix_s=outcome.started_at_unix_s,
            duration_ms=outcome.duration_ms,
        )


class Jobs:
    """All calls that are not over, by turn."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._lock = threading.Lock()
        self._jobs: list[ToolJob] = []

    def add(self, job: ToolJob) -> None:
        """Keep a job until its body ended."""
        with self._lock:
            self._jobs = [j for j in self._jobs if not j.is_over]
            self._jobs.append(job)

    def started(self, job: ToolJob) -> Callable[[], None]:
        """Start the clock of the tool's own time limit, on the thread that runs the body; returns what ends it."""
        ident = threading.get_ident()
        job.limit = Deadline(
            job.call.tool.timeout_s, self._timer, lambda: self._ask(job, "timed_out"), lambda: is_halted(ident)
        )
        job.limit.start()
        return job.limit.end

    def running(self, turn_id: str | None) -> list[str]:
        """Names of the turn's calls whose body runs, oldest first."""
        return [j.call.tool.name for j in self._of(turn_id) if j.is_running]

    def stop(self, turn_id: str | None) -> list[str]:
        """Stop the turn's calls (None: all turns'), running and pending; the names of those that were running."""
        jobs = self._of(turn_id)
        running = [j for j in jobs if j.is_running]
        for job in jobs:
            job.drop()
        for job in jobs:
            if job.is_running:
                self._ask(job, "stopped")
        return [j.call.tool.name for j in running]

    def _of(self, turn_id: str | None) -> list[ToolJob]:
        with self._lock:
            self._jobs = [j for j in self._jobs if not j.is_over]
            return [j for j in self._jobs if turn_id is None or j.call.turn_id == turn_id]

    def _ask(self, job: ToolJob, reason: str) -> None:
        if job.is_over:
            return
        job.reason = job.reason or reason
        job.reach()
        self._timer.call_later(job.grace_s, lambda: self._give_up(job))
        for delay_s in ASK_AGAIN_S:
            self._timer.call_later(delay_s, lambda: self._ask_again(job))

    def _ask_again(self, job: ToolJob) -> None:
        if job.is_running:
            job.reach()

    def _give_up(self, job: ToolJob) -> None:
        from hermes_nb.tools.call import stopped, timed_out

        name = job.call.tool.name
        if job.is_running:
            limit_s = job.call.tool.timeout_s
            is_late = job.reason == "timed_out" and limit_s is not None
            job.settle(job.measured(timed_out(name, limit_s or 0.0) if is_late else stopped(name)))
            job.on_abandoned()
