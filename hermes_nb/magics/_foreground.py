"""A turn that a cell asked for: waiting for it, answering what it asks, ending the cell as the turn ended."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from hermes_nb.magics import _question
from hermes_nb.magics._context import Context
from hermes_nb.magics._outcome import interrupted
from hermes_nb.turns.request import TurnRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api._typed_answer import TypedAnswer
    from hermes_nb.api.turn import Turn
    from hermes_nb.turns.result import RunResult

SETTLE_S = 5.0  # how long an interrupted cell waits for its turn's end before it says what keeps it


@dataclass(slots=True)
class Asked:
    """A turn, and what the cell that asked wants of it.

    Attributes:
        turn: The turn.
        out: The variable that gets the result; None for none.
        quiet: Say nothing but errors.
        is_rerun: Whether the cell made a turn of this conversation before.
        replaces: That turn, when this one takes its place.
        answer: The type that is wanted; None takes the answer as text.
        is_repair: Whether the turn is the one further round after an answer that was not of that type.
    """

    turn: Turn
    out: str | None
    quiet: bool = False
    is_rerun: bool = False
    replaces: str | None = None
    answer: TypedAnswer | None = None
    is_repair: bool = False
    _read: tuple[RunResult, RunResult] | None = None  # a turn's result, and the same with its value

    @property
    def result(self) -> RunResult | None:
        """The result, an answer of a type read."""
        given = self.turn.result
        if given is None or self.answer is None:
            return given
        if self._read is None or self._read[0] is not given:
            self._read = given, self._typed(self.answer, given)
        return self._read[1]

    def _typed(self, answer: TypedAnswer, given: RunResult) -> RunResult:
        if self.is_repair or given.status != "completed":
            return answer.read_last(given)
        read = answer.read(given)
        return given if isinstance(read, str) else read

    def go_on(self, *, blocks: bool) -> Turn:
        """The turn to wait for: the same, or the one further round after an answer that is not of the type asked for."""
        result = self.turn.result
        if result is None or self.answer is None or self.is_repair or result.status != "completed":
            return self.turn
        read = self.answer.read(result)
        if isinstance(read, str):
            self.is_repair = True
            bound, session_id = self.turn.agent, self.turn.session_id
            self.turn = bound.submit(TurnRequest(prompt=read, session_id=session_id, blocks=blocks, show=not self.quiet))
        return self.turn


def follow(context: Context, turn: Turn, out: str | None, *, quiet: bool) -> None:
    """Leave a turn to itself."""
    context.follow(turn, out)
    if not quiet:
        print(f"Turn {turn.id} of {turn.agent_name} runs in the background. %hermes stop {turn.id} stops it.")


def wait_blocking(context: Context, asked: Asked, *, yes: bool) -> None:
    """Block until the turn's end; its tools run meanwhile. The cell ends as the turn did.

    Raises:
        KeyboardInterrupt: The turn was stopped.
        TurnError: It did not complete.
    """
    turn = asked.turn
    result: RunResult | None = None
    # An interrupt ends the wait early when it comes twice, or instead of an answer.
    with contextlib.suppress(KeyboardInterrupt):
        while not turn.is_done:
            turn.wait_blocking(until_asked=True, by_click=not yes)
            _question.answer(turn, context.shell, yes=yes)
            turn = asked.go_on(blocks=True)
        result = asked.result
    if result is None:
        turn.stop("interrupt")
        with contextlib.suppress(TimeoutError, KeyboardInterrupt):
            result = turn.wait_blocking(SETTLE_S)
    _finish(context, asked, result)


async def wait_awaiting(context: Context, asked: Asked, *, yes: bool) -> None:
    """The same on the cell's own loop."""
    turn = asked.turn
    is_interrupted = False
    try:
        while not turn.is_done:
            await turn.wait(until_asked=True, by_click=not yes)
            _question.answer(turn, context.shell, yes=yes)
            turn = asked.go_on(blocks=False)
        result = asked.result
    except (asyncio.CancelledError, KeyboardInterrupt):
        is_interrupted = True
    if is_interrupted:
        result = await _settle(turn)
    _finish(context, asked, result, is_interrupted=is_interrupted)


async def _settle(turn: Turn) -> RunResult | None:
    """The result of a turn that an interrupt stops; None when it does not end in time."""
    turn.stop("interrupt")
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()  # the interrupt is answered here; further waits in this cell are not of it
    with contextlib.suppress(TimeoutError):
        return await turn.wait(SETTLE_S)
    return None


def _finish(context: Context, asked: Asked, result: RunResult | None, *, is_interrupted: bool = False) -> None:
    """Hand the result over, then end the cell as the turn ended."""
    turn = asked.turn
    if result is None:
        context.follow(turn, asked.out)
        tools = ", ".join(turn.running_tools())
        raise interrupted(
            f"Turn {turn.id} was told to stop and has not ended yet"
            + (f": tool {tools} is still running." if tools else ".")
        )
    context.last_result = context.given = result
    if asked.out is not None:
        context.user_ns[asked.out] = result
    if asked.is_rerun and turn.number is not None and not asked.quiet:
        how = f"it replaces turn {asked.replaces}" if asked.replaces else "--again replaces this cell's last turn instead"
        print(f"Turn {turn.number} of session {turn.session_id}; {how}.")
    if is_interrupted or result.status == "stopped":
        raise interrupted(f"Turn {turn.id} was stopped; what had arrived is kept.")
    result.raise_for_status()
