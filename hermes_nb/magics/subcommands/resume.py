"""`%hermes resume`: go on with a turn whose worker or kernel was killed, or follow a run on Flyte again."""

from __future__ import annotations

import argparse
import re
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.magics import _foreground
from hermes_nb.magics._context import Context
from hermes_nb.magics._foreground import Asked
from hermes_nb.magics._parser import Parser, amount, positive_count, positive_number, variable_name
from hermes_nb.turns.limit import checked
from hermes_nb.turns.request import TurnTerms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.runtimes._base import Runtime
    from hermes_nb.turns.resume import Resumable

SUMMARY = "go on with a turn that was cut off; what was committed costs nothing again"
EXAMPLES = (
    "%hermes resume",
    "%hermes resume t-3f2a9c01b7 -o answer",
    "%hermes resume s-51c0e2aa9d --live",
    "%hermes resume rfce0468292bf44d4ada",
)
NOTES = """\
Without TURN the newest unfinished turn goes on, of the agent of -a if one is given. Model answers and tool results that were
recorded are taken from the log. A tool that had started and left no result is asked about first, unless it is
@tool(idempotent=True). When model, instructions or tools changed since, nothing is sent and the changes are listed; --live
goes on all the same, and what no longer fits is asked anew.
A turn goes on where it ran: beside the kernel, or on the Flyte(...) it was sent to. --on names another place, or a variable.
The name of a run on Flyte brings that run back, finished or not, as a turn of its session; --on names a variable with a
Flyte(...) where your own flyte.init or ~/.flyte/config.yaml does not say where it is."""

_RUN = re.compile(r"[a-z][a-z0-9]{18,}")  # how Flyte names a run; turns and sessions have a dash


def parser() -> Parser:
    """The options."""
    parser = Parser("resume")
    parser.add_argument("turn", nargs="?", metavar="TURN", help="a turn, a session (its last unfinished turn), or a run")
    parser.add_argument(
        "--on", metavar="RUNTIME", help="go on there (process, flyte:local), or the run is on this Flyte(...)"
    )
    parser.add_argument("-a", "--agent", metavar="NAME", help="the agent that goes on; else the one that was asked")
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put the RunResult into this variable")
    parser.add_argument("--live", action="store_true", help="go on although the agent changed")
    parser.add_argument("--timeout", metavar="SECONDS", type=positive_number, help="stop the turn after so long")
    parser.add_argument("--background", action="store_true", help="do not wait; the answer streams into this cell")
    parser.add_argument("--yes", action="store_true", help="run tools again that may have run, and allow others, unasked")
    parser.add_argument("--max-cost", metavar="USD", type=amount, help="no further model call once it cost so much")
    parser.add_argument("--max-tokens", metavar="N", type=positive_count, help="the same for tokens, in and out")
    parser.add_argument("--quiet", action="store_true", help="show nothing but errors")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Go on and block until the end."""
    if _is_run(options):
        from hermes_nb.flyte.run.attach import followed, order_of

        config: Any = context.runtime(options.on or "flyte")
        order = context.hermes.io.call(order_of(config, options.turn))
        turn = followed(context.hermes, config, options.turn, order, quiet=options.quiet)
        _foreground.wait_blocking(context, Asked(turn, options.out, options.quiet), yes=False)
        return
    asked = _ask(context, options, blocks=not options.background)
    if not options.background:
        _foreground.wait_blocking(context, asked, yes=options.yes)


async def run_awaiting(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Go on and wait for the end on the cell's own loop."""
    if _is_run(options):
        from hermes_nb.flyte.run.runtime import attach_run

        config = context.runtime(options.on or "flyte")
        turn = await attach_run(context.hermes, options.turn, quiet=options.quiet, config=config)
        await _foreground.wait_awaiting(context, Asked(turn, options.out, options.quiet), yes=False)
        return
    asked = _ask(context, options, blocks=False)
    if not options.background:
        await _foreground.wait_awaiting(context, asked, yes=options.yes)


def _is_run(options: argparse.Namespace) -> bool:
    return _RUN.fullmatch(options.turn or "") is not None


def _place(context: Context, bound: BoundAgent, on: str | None, found: Resumable) -> Runtime | None:
    """Where it goes on: as said, else by a variable that holds the very runtime it ran on; None for what the log says."""
    if on is not None:
        return bound.instance.runtime if on == bound.runtime_name else context.runtime(on)
    labelled = [v for v in context.variables().values() if callable(getattr(v, "label", None)) and hasattr(v, "open")]
    return next((v for v in labelled if v.label() == found.runtime), None)


def _ask(context: Context, options: argparse.Namespace, *, blocks: bool) -> Asked:
    from hermes_nb.turns.resume import find

    if options.yes and options.background:
        raise UsageError("--yes answers for a cell that waits. A background turn is answered with %hermes approve.")
    hermes = context.hermes
    found = hermes.io.call(find(hermes, options.turn, agent=options.agent))
    bound = context.pick(options.agent or found.agent)
    for _, text in bound.notices.take():
        print(text, flush=True)
    terms = TurnTerms(
        blocks=blocks,
        background=options.background,
        timeout_s=options.timeout,
        show=not options.quiet,
        limits=checked(max_cost_usd=options.max_cost, max_tokens=options.max_tokens),
    )
    turn = bound.submit_resume(found.turn_id, terms, live=options.live, on=_place(context, bound, options.on, found))
    context.cells.current().turns.append(turn)
    if options.background:
        _foreground.follow(context, turn, options.out, quiet=options.quiet)
    elif not options.quiet:
        print(f"Going on with turn {turn.id} of session {turn.session_id}, attempt {found.attempt}.", flush=True)
    return Asked(turn, options.out, options.quiet)
