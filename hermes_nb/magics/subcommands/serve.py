"""`%hermes serve`: let other programs (an editor, a desktop assistant) call functions of the notebook, by MCP."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, positive_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.turn import Turn

SUMMARY = "let MCP clients (editors, assistants) call functions of the notebook"
EXAMPLES = ("%hermes serve add top_customers", "%hermes serve --stop")
NOTES = """\
Without names all variables that are tools (@tool) are served. It is a turn that runs in the background and asks no model:
each call is a row of it, runs on the main thread, and is asked about where the tool wants that. A client's first call is
asked about, too. It listens on this machine alone; what a client needs is in a file that only you can read.
Needs the extra: pip install 'hermes-nb[tool-host]'."""

AGENT = "served"
ENDED_S = 2.0  # how long to wait for the end, to be able to say what came of it


def parser() -> Parser:
    """Return the options."""
    parser = Parser("serve")
    parser.add_argument("tools", nargs="*", metavar="NAME", help="functions of the notebook, or variables that hold tools")
    parser.add_argument(
        "--port", type=positive_count, metavar="PORT", default=0, help="the port on 127.0.0.1 (default: a free one)"
    )
    parser.add_argument(
        "--stop", action="store_true", help="serve nothing any more; what clients were given is worth nothing"
    )
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Serve, or stop, and block until it has ended."""
    if not options.stop:
        _serve(context, options)
        return
    for turn in _stop(context, options):
        with contextlib.suppress(TimeoutError):
            turn.wait_blocking(ENDED_S)
    context.settle()


async def run_awaiting(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """The same on the cell's loop."""
    if not options.stop:
        _serve(context, options)
        return
    await asyncio.gather(*(turn.wait(ENDED_S) for turn in _stop(context, options)), return_exceptions=True)
    context.settle()


def _serve(context: Context, options: argparse.Namespace) -> None:
    from hermes_nb.model.agent import Agent
    from hermes_nb.runtimes._served import Served
    from hermes_nb.tools.decorator import Tool
    from hermes_nb.turns.request import TurnRequest

    if running := _running(context):
        raise UsageError(f"Functions are served already, by turn {running[0].id}. Stop that first: %hermes serve --stop.")
    names = options.tools or [name for name, value in context.variables().items() if isinstance(value, Tool)]
    if not names:
        raise UsageError("There is nothing to serve. Name functions of the notebook, or make some tools by @tool.")
    functions = [context.function(name) for name in dict.fromkeys(names)]
    bound = context.hermes.bind_aside(Agent(AGENT, tools=functions), Served(options.port))
    bound.notices.take()  # of a model, which is not asked
    turn = bound.submit(TurnRequest(prompt=f"Serve {', '.join(dict.fromkeys(names))}", background=True))
    context.follow(turn, None)
    context.given = turn


def _stop(context: Context, options: argparse.Namespace) -> list[Turn]:
    if options.tools or options.port:
        raise UsageError("--stop ends all that is served; it takes no names and no port.")
    turns = _running(context)
    if not turns:
        print("Nothing is served.")
    for turn in turns:
        turn.stop("user")
        print(f"Turn {turn.id} serves nothing any more.")
    return turns


def _running(context: Context) -> list[Turn]:
    return [turn for turn in context.running if turn.agent.runtime_name == AGENT]
