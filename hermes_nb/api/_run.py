"""Runs a request to its end, or until it waits for an answer: awaited, or blocking the caller."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from hermes_nb.api._typed_answer import rounds
from hermes_nb.turns.request import TurnRequest
from hermes_nb.turns.result import RunResult

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent


def has_loop() -> bool:
    """Whether the caller runs on an event loop, which a blocking call would block."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def run_awaited(bound: BoundAgent, request: TurnRequest, returns: Any) -> RunResult:
    """Run a request, and the one further round of an answer that is not of the type asked for.

    Raises:
        asyncio.CancelledError: The task was cancelled; the turn is stopped and what there was is stored.
    """
    asking = rounds(request, returns)
    one = next(asking)
    while True:
        result = await _awaited(bound, one)
        try:
            one = asking.send(result)
        except StopIteration as end:
            return _shown(bound, cast(RunResult, end.value), request)


async def _awaited(bound: BoundAgent, request: TurnRequest) -> RunResult:
    turn = bound.submit(request)
    try:
        return await turn.wait(until_asked=True)
    except asyncio.CancelledError as exc:
        turn.stop("cancelled")
        await turn.wait()
        kept = f"Turn {turn.id} was stopped; what had arrived is kept: the result of its turn in hermes.turns."
        exc.args = exc.args or (kept,)  # the last line of a cell that was interrupted
        raise


def run_blocking(bound: BoundAgent, request: TurnRequest, returns: Any) -> RunResult:
    """`run_awaited` for code that can't await.

    Raises:
        KeyboardInterrupt: Interrupted; the turn is stopped and what there was is stored.
    """
    if not request.blocks:  # no loop runs here: one of our own lets async tools run
        return asyncio.run(run_awaited(bound, request, returns))
    asking = rounds(request, returns)
    one = next(asking)
    while True:
        turn = bound.submit(one)
        result = turn.wait_blocking(until_asked=True)
        if turn.stop_reason == "interrupt":
            raise KeyboardInterrupt
        try:
            one = asking.send(result)
        except StopIteration as end:
            return _shown(bound, cast(RunResult, end.value), request)


def _shown(bound: BoundAgent, result: RunResult, request: TurnRequest) -> RunResult:
    """The result; what its events do not show (an answer of the wrong type, what it waits for) is printed below it."""
    is_asked = any(t.id == result.turn_id and t.has_buttons and not t.is_done for t in bound.hermes.turns)
    if result.problem is not None and request.show and not is_asked:
        print(result.problem)
    return result
