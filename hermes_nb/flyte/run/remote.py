"""A turn on a cluster: submitted, followed, stopped; found again after a restart."""

from __future__ import annotations

import asyncio
from typing import Any

from hermes_nb.flyte.promotion.submit import follow, get, request_of, submit
from hermes_nb.flyte.run.run import RUN, FlyteRun

_BAD = ("failed", "aborted", "timed_out")


class RemoteRun(FlyteRun):
    """One remote run."""

    _run: Any = None
    _url = ""
    _submission: asyncio.Future[Any] | None = None

    def raw(self) -> dict[str, Any]:
        """`run` (its name) and `url`, once there is one."""
        return {} if self._run is None else {"run": self._run.name, "url": self._url}

    async def travel(self) -> None:
        """Submit (or, with `attach` among the labels, find) the run and follow it."""
        name = (self.start.get("labels") or {}).get("attach")
        if not name:
            self.emit(RUN, {"phase": "submitting"})
        self._submission = asyncio.ensure_future(get(str(name)) if name else self._submitted())
        self._run = await asyncio.shield(self._submission)
        self._url = str(getattr(self._run, "url", "") or "")
        told: tuple[str, int] | None = None
        tailed, phase = 0, "queued"
        try:
            async for news in follow(self._run):
                phase, self.attempt = news.phase, max(self.attempt, news.n_attempts)
                if news.n_attempts > tailed:
                    tailed = news.n_attempts
                    self.tail.follow(self._run, tailed)
                if (phase, self.attempt) != told and not news.is_over:
                    told = (phase, self.attempt)
                    self._tell_phase(phase)
                for event in news.events:
                    self.pass_on(event)
                self.tell_log()
            await self.tail.finish()
            self.tell_log(is_last=True)
        finally:
            self.tail.close()
        self._tell_phase(phase)
        await self._settle(phase)

    def _tell_phase(self, phase: str) -> None:
        assert self._run is not None
        self.emit(RUN, {"phase": phase, "run": self._run.name, "attempt": self.attempt, "url": self._url})

    async def _submitted(self) -> Any:
        return await submit(await self.plan(), prompt=self.prompt, request=request_of(self.order()), key=self.runtime.key)

    async def _settle(self, phase: str) -> None:
        """An end for a run whose report has none: it was killed, aborted, or never began."""
        if self.has_end:
            return
        if phase == "aborted":
            self.emit("turn.stopped", {"text": "", "status": "stopped", "reason": "aborted in Flyte"})
        elif phase in _BAD:
            self.fail(self.mask(await self._error()), "FlyteRunFailed", hint=f"Run {self._run.name}.")
        else:
            outputs = await self._run.outputs.aio()
            self.emit("turn.completed", {"text": str(outputs[0]), "status": "completed"})

    async def _error(self) -> str:
        failure = await self._run.first_failure.aio()
        return str(getattr(failure, "error_message", "") or "The run failed.")

    async def stop(self, reason: str) -> None:
        """Tell the end at once, then abort; a kernel that closes leaves its runs alone, they can be resumed."""
        if reason == "closed":
            if self._run is not None:
                self.warn("run-goes-on", f"The run goes on in Flyte. %hermes resume {self._run.name} brings it back.")
            self.end_stopped(reason)
        else:
            self.end_stopped(reason)
            if self._run is None and self._submission is not None:  # what is on its way is let arrive, and then aborted
                try:
                    self._run = await self._submission
                except Exception as exc:  # noqa: BLE001 - what did not arrive needs no abort
                    self.warn("not-submitted", self.mask(f"It was stopped before it was submitted: {exc}"))
            if self._run is not None:
                await self._run.abort.aio(f"stopped in the notebook ({reason})")
        if self._task is not None:
            self._task.cancel()
