"""`%hermes stop`: end turns that run in the background."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.turn import Turn

SUMMARY = "stop background turns: all, or one by its id"
EXAMPLES = ("%hermes stop", "%hermes stop t-3f2a9c01b7")

ENDED_S = 2.0  # how long to wait for the ends, to be able to say what came of it


def parser() -> Parser:
    """The options."""
    parser = Parser("stop")
    parser.add_argument("turn", nargs="?", default="all", help="a turn's id or the start of one (default: all)")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Stop them, and block until they ended."""
    turns = _stop(context, options.turn)
    for turn in turns:
        with contextlib.suppress(TimeoutError):
            turn.wait_blocking(ENDED_S)
    _report(context, turns)


async def run_awaiting(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Stop them, and wait until they ended; async tools that end on the cell's loop can."""
    turns = _stop(context, options.turn)
    await asyncio.gather(*(turn.wait(ENDED_S) for turn in turns), return_exceptions=True)
    _report(context, turns)


def _stop(context: Context, wanted: str) -> list[Turn]:
    running = context.running
    turns = [turn for turn in running if wanted == "all" or turn.id.startswith(wanted)]
    if wanted != "all" and len(turns) != 1:
        known = ", ".join(turn.id for turn in running) or "none"
        what = f"No running turn has the id {wanted!r}." if not turns else f"{wanted!r} is not the start of one id only."
        raise UsageError(f"{what} Running: {known}.")
    for turn in turns:
        turn.stop("user")
    return turns


def _report(context: Context, turns: list[Turn]) -> None:
    context.settle()
    if not turns:
        print("No turn is running.")
    for turn in turns:
        whose = f"turn {turn.id} of {turn.agent_name}"
        tools = turn.running_tools()
        if turn.is_done and not tools:
            print(f"Stopped {whose}." if turn.status == "stopped" else f"The {whose} had ended already: {turn.status}.")
        elif turn.is_done:
            print(f"Stopped {whose}; tool {', '.join(tools)} is still running and can't be stopped from here.")
        else:
            print(f"Told {whose} to stop; it has not ended yet.")
