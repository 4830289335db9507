"""A turn: the handle people hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from hermes_nb.model.event import Event
from hermes_nb.sessions.course import TurnCourse
from hermes_nb.sessions.result import RunResult


class Done:
    """What `stop()` and its like return: acts at once; awaiting it waits for the turn's end."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self._turn.wait().__await__()


class Turn(TurnCourse):
    """One turn of a conversation; made by `BoundAgent.start` or `.submit`.

    Attributes:
        id: Its id.
        prompt: What was asked.
        agent: The bound agent that was asked; `agent_name` is its name.
        session_id: The conversation it belongs to.
        number: Its place in the conversation, from 1; None until it starts.
    """

    def __repr__(self) -> str:
        return f"<Turn {self.id} of session {self.session_id}: {self.status}>"

    @property
    def status(self) -> str:
        """`queued`, `running`, `stopping`, or the result's status."""
        if self._result is not None:
            return self._result.status
        if self._stop_reason is not None:
            return "stopping"
        return "running" if self._is_sent else "queued"

    @property
    def attempt(self) -> int:
        """1, or more when the turn was resumed."""
        return self._attempt

    @property
    def is_here(self) -> bool:
        """Whether this kernel runs it; one under an idempotency key may run in another (see `sessions.elsewhere`)."""
        return True

    @property
    def events(self) -> list[Event]:
        """The events so far, in order of arrival."""
        return list(self._log.events)

    @property
    def result(self) -> RunResult | None:
        """The result; None while the turn runs."""
        return self._result

    @property
    def unread_steer(self) -> str | None:
        """What was put in and never read by the model, which ended before: the next question. None when there is nothing."""
        return self._steers.unread

    @property
    def asked_s(self) -> float:
        """When it was asked, in seconds of the monotonic clock `time.perf_counter`."""
        return self._began_s

    @property
    def has_buttons(self) -> bool:
        """Whether what it asks can be answered by a click, where it shows."""
        return bool(getattr(self._sink, "has_buttons", False))

    @property
    def is_replay(self) -> bool:
        """Whether it is answered from a recording."""
        return self._recorded is not None

    @property
    def first_day(self) -> str:
        """The day its session began."""
        return self._session.first_day

    def stop(self, reason: str = "user") -> Done:
        """Stop the turn, from any thread; idempotent, returns at once. Await the return value for the end."""
        if not self.is_done:
            self._io.soon(self._stop, reason)
        return Done(self)

    def steer(self, text: str) -> bool:
        """Put in a word while the turn runs.

        Returns: whether the model will read it; False when the turn is over, or calls no further tool to carry it.
        """
        if self.is_done or not text.strip():
            return False
        self._steers.sent(text)
        return self._io.call(self._worker.steer(self.id, text))

    def put_in(self, text: str) -> None:
        """`steer` without waiting to hear whether it is read; `unread_steer` tells in the end."""
        self._steers.sent(text)
        self._io.soon(self._send_steer, text)

    def _send_steer(self, text: str) -> None:
        if self._is_sent:
            self._worker.send("turn.steer", turn_id=self.id, text=text)

    def approve(self, request_id: str, answer: str = "once") -> None:
        """Answer a request for approval: `once`, `always` (this tool with these arguments, this session) or `deny`.

        Raises:
            UsageError: No such request is open, or it was answered already.
        """
        self._io.call(self._serving.answer(request_id, answer))

    def deny(self, request_id: str) -> None:
        """Refuse a request for approval; the model is told so."""
        self.approve(request_id, "deny")

    @property
    def pending(self) -> list[dict[str, Any]]:
        """Open requests for approval or an answer: dicts with request_id, question, name, arguments, choices."""
        return self._serving.pending()

    async def resume(self, *, live: bool = False) -> Turn:
        """Go on with this turn after its worker or kernel was killed (see `BoundAgent.resume`)."""
        return await self.agent.resume(self.id, live=live)

    async def get(self) -> RunResult:
        """The result; waits for it."""
        return await self.wait()

    async def wait(
        self, timeout_s: float | None = None, *, until_asked: bool = False, by_click: bool = False
    ) -> RunResult:
        """The result, without blocking the loop; the turn goes on when the wait ends early.

        Args:
            timeout_s: None waits for the end.
            until_asked: Also return, with status awaiting_approval, when the turn waits for an answer.
            by_click: Not while it can be answered by a click (`has_buttons`).

        Raises:
            TimeoutError: `timeout_s` passed first.
            asyncio.CancelledError: The waiting task was cancelled.
        """
        is_over = self._over(timeout_s, until_asked, by_click)
        await self._hermes.host.wait_async(is_over, self._wake, self._interrupted)
        return self._outcome(timeout_s, until_asked)

    def wait_blocking(
        self, timeout_s: float | None = None, *, until_asked: bool = False, by_click: bool = False
    ) -> RunResult:
        """The same, blocking the calling thread; it serves the turn's synchronous tools meanwhile.

        Raises:
            TimeoutError: `timeout_s` passed first; the turn goes on.
        """
        self._hermes.host.wait_blocking(self._over(timeout_s, until_asked, by_click), self._wake, self._interrupted)
        return self._outcome(timeout_s, until_asked)

    def _over(self, timeout_s: float | None, until_asked: bool, by_click: bool) -> Callable[[], bool]:
        end_s = float("inf") if timeout_s is None else time.perf_counter() + timeout_s
        return lambda: (
            self._result is not None
            or (until_asked and bool(self._serving.n_waiting) and not (by_click and self.has_buttons))
            or time.perf_counter() > end_s
        )

    def _outcome(self, timeout_s: float | None, until_asked: bool) -> RunResult:
        if self._result is not None:
            return self._result
        if until_asked and self._serving.n_waiting:
            result = self._make_result(self._serving.waiting_status, self._log.partial_text())
            result.problem = f"It asks: {self._serving.asked()}"
            return result
        raise TimeoutError(f"Turn {self.id} is still {self.status} after {timeout_s or 0:g} s.")

    def _interrupted(self) -> None:
        self.stop("interrupt")

    def tell(self, events: Sequence[Event]) -> None:
        """Be the handle of a turn that ended in an earlier kernel, from its events, instead of beginning."""
        last = max(e.attempt for e in events)
        self._log.events += [e for e in events if e.attempt == last]
        self._result = self._ended_result()
        self._wake.set()
