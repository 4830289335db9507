"""A turn: the handle people hold."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from hermes_nb._near import suggesting_methods
from hermes_nb.model.event import Event
from hermes_nb.model.status import HandleStatus, StopReason
from hermes_nb.turns import waiting
from hermes_nb.turns.result import RunResult
from hermes_nb.turns.runner import TurnRunner

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent


class TurnAction:
    """What `stop()` returns: it acts at once; awaiting it waits for the turn's end."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self._turn.wait().__await__()


@suggesting_methods
class Turn:
    """One turn of a conversation; made by `BoundAgent.start`.

    Args:
        agent: The agent that was asked.
        runner: What runs it.

    Attributes:
        agent: The agent that was asked.
    """

    def __init__(self, agent: BoundAgent, runner: TurnRunner) -> None:
        self.agent, self._runner = agent, runner

    def __repr__(self) -> str:
        return f"<Turn {self.id} of session {self.session_id}: {self.status}>"

    # -- what it is ----------------------------------------------------------------------------------------------
    @property
    def id(self) -> str:
        """Its id, e.g. `t-3f2a9c01b7`."""
        return self._runner.id

    @property
    def prompt(self) -> str:
        """What was asked, as text."""
        return self._runner.prompt

    @property
    def agent_name(self) -> str:
        """Name of the agent that was asked."""
        return self._runner.agent_name

    @property
    def session_id(self) -> str:
        """The conversation it belongs to."""
        return self._runner.session_id

    @property
    def number(self) -> int | None:
        """Its place in the conversation, from 1; None until it starts."""
        return self._runner.number

    @property
    def metadata(self) -> dict[str, Any]:
        """What was given to be kept with it (`run(..., metadata=...)`); {} when nothing was."""
        return dict(self._runner.labels.get("metadata") or {})

    @property
    def is_here(self) -> bool:
        """Whether this kernel runs it; one under an idempotency key may run in another."""
        return self._runner.is_here

    @property
    def is_replay(self) -> bool:
        """Whether it is answered from a recording."""
        return self._runner.is_replay

    # -- how far it is -------------------------------------------------------------------------------------------
    @property
    def status(self) -> HandleStatus:
        """`queued`, `running`, `stopping`, or the result's status."""
        return self._runner.status

    @property
    def is_done(self) -> bool:
        """Whether the turn has ended, however it did."""
        return self._runner.is_done

    @property
    def attempt(self) -> int:
        """1, or more when the turn was resumed."""
        return self._runner.attempt

    @property
    def events(self) -> list[Event]:
        """The events so far, in order of arrival."""
        return self._runner.events

    @property
    def result(self) -> RunResult | None:
        """The result; None while the turn runs."""
        return self._runner.result

    @property
    def stop_reason(self) -> str | None:
        """Why the turn was asked to stop (`user`, `interrupt`, `timeout`, `cancelled`, `closed`); None if it was not."""
        return self._runner.stop_reason

    @property
    def pending(self) -> list[dict[str, Any]]:
        """Open requests for approval or an answer: dicts with request_id, question, name, arguments, choices."""
        return self._runner.pending()

    @property
    def has_buttons(self) -> bool:
        """Whether what it asks can be answered by a click, where it shows."""
        return self._runner.has_buttons

    @property
    def unread_steer(self) -> str | None:
        """What was put in and never read by the model, which ended before: the next question. None when there is nothing."""
        return self._runner.steering.unread

    def running_tools(self) -> list[str]:
        """Return the names of the turn's tools whose function is still running, also after a stop they ignore."""
        return self._runner.running_tools()

    # -- what can be done with it --------------------------------------------------------------------------------
    def stop(self, reason: StopReason = "user") -> TurnAction:
        """Stop the turn, from any thread; idempotent, returns at once. Await the return value for the end."""
        self._runner.stop(reason)
        return TurnAction(self)

    def steer(self, text: str) -> bool:
        """Put in a word while the turn runs.

        Returns: whether the model will read it; False when the turn is over, or calls no further tool to carry it.
        """
        return self._runner.steering.steer(text)

    def put_in(self, text: str) -> None:
        """Put in a word without waiting to hear whether it is read; `unread_steer` tells in the end."""
        self._runner.steering.put_in(text)

    def approve(self, request_id: str, answer: str = "once") -> None:
        """Answer a request for approval: `once`, `always` (this tool with these arguments, this session) or `deny`.

        Raises:
            UsageError: No such request is open, or it was answered already.
        """
        self._runner.answer(request_id, answer)

    def deny(self, request_id: str) -> None:
        """Refuse a request for approval; the model is told so."""
        self.approve(request_id, "deny")

    async def resume(self, *, live: bool = False) -> Turn:
        """Go on with this turn after its worker or kernel was killed (see `BoundAgent.resume`)."""
        return await self.agent.resume(self.id, live=live)

    def __await__(self) -> Generator[Any, None, RunResult]:
        """`await turn`: its result, as `get` gives it."""
        return self.wait().__await__()

    async def get(self) -> RunResult:
        """Wait for the result."""
        return await self.wait()

    async def wait(self, timeout_s: float | None = None, *, until_asked: bool = False, by_click: bool = False) -> RunResult:
        """Wait for the result without blocking the loop; the turn continues when the wait ends early.

        Args:
            timeout_s: None waits for the end.
            until_asked: Also return, with status awaiting_approval, when the turn waits for an answer.
            by_click: Not while it can be answered by a click (`has_buttons`).

        Raises:
            TimeoutError: `timeout_s` passed first.
            asyncio.CancelledError: The waiting task was cancelled.
        """
        host = self.agent.hermes.host
        return await waiting.wait(self._runner, host, timeout_s, until_asked=until_asked, by_click=by_click)

    def wait_blocking(
        self, timeout_s: float | None = None, *, until_asked: bool = False, by_click: bool = False
    ) -> RunResult:
        """Wait for the result and block the calling thread; it serves the turn's synchronous tools meanwhile.

        Raises:
            TimeoutError: `timeout_s` passed first; the turn continues.
        """
        host = self.agent.hermes.host
        return waiting.wait_blocking(self._runner, host, timeout_s, until_asked=until_asked, by_click=by_click)
