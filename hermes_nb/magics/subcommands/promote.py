"""`%hermes promote`: take an agent to Flyte: look, export, or submit a run of it."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.magics import _foreground
from hermes_nb.magics._context import Context
from hermes_nb.magics._foreground import Asked
from hermes_nb.magics._parser import Parser, variable_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.flyte.promotion.plan import Plan
    from hermes_nb.flyte.run.runtime import Flyte

SUMMARY = "run an agent on Flyte, with its tools and its conversation"
EXAMPLES = (
    "%hermes promote analyst --dry-run",
    "%hermes promote analyst --export analyst_flyte.py",
    "%%hermes promote analyst --on cluster\nWhich customers matter most?",
    "%hermes promote analyst --ui",
)
NOTES = """\
--on names a variable that holds a Flyte(...) with project, secrets, image and resources; without it the control plane is
that of your own flyte.init or ~/.flyte/config.yaml. Without a question the conversation's last one is asked again. What
stands in the way is found before anything is uploaded, and all of it is told at once. --ui does the same by clicks."""
TAKES_CELL = True


def parser() -> Parser:
    """The options."""
    parser = Parser("promote")
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="the agent's name or variable")
    parser.add_argument("--on", metavar="VARIABLE", default="flyte", help="a variable with a Flyte(...)")
    parser.add_argument("--dry-run", action="store_true", help="show what would run and what stands in the way")
    parser.add_argument("--ui", action="store_true", help="choose the target, look and submit by clicks")
    parser.add_argument("--export", metavar="FILE", help="write the agent as a module that `flyte run` runs")
    parser.add_argument("--yes", action="store_true", help="run tools that ask for approval unasked")
    parser.add_argument("--key", metavar="KEY", help="idempotency key: promoting it again gives the run there is")
    parser.add_argument("--background", action="store_true", help="do not wait for the end")
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put the RunResult into this variable")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Look, then export or submit, and block until the end."""
    if options.ui:
        _open(context, options, cell)
        return
    bound, config = _wanted(context, options)
    plan = context.hermes.io.call(_looked(bound, config, options))
    if not _is_shown_only(plan, options):
        asked = _submit(context, bound, plan, options, cell)
        if not options.background:
            _foreground.wait_blocking(context, asked, yes=False)


async def run_awaiting(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """The same on the cell's own loop."""
    if options.ui:
        _open(context, options, cell)
        return
    bound, config = _wanted(context, options)
    plan = await context.hermes.io.awaited(_looked(bound, config, options))
    if not _is_shown_only(plan, options):
        asked = _submit(context, bound, plan, options, cell)
        if not options.background:
            await _foreground.wait_awaiting(context, asked, yes=False)


def _open(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    if options.dry_run or options.export or options.yes or options.key or options.background or options.out:
        raise UsageError("--ui takes no other options: they are fields of its form. %hermes promote [AGENT] --ui opens it.")
    from hermes_nb.widgets.promote import Promotion

    prompt = cell if cell is not None and cell.strip() else None
    Promotion(context.pick(options.agent), context.variables, prompt=prompt).show()


def _wanted(context: Context, options: argparse.Namespace) -> tuple[Any, Flyte]:
    runtime: Any = context.runtime(options.on)
    if runtime.to_dict().get("type") not in ("flyte", "flyte:local"):
        raise UsageError(f"Promoting goes to Flyte; the variable {options.on!r} holds another runtime.")
    if options.yes or options.key:
        runtime = replace(runtime, yes=options.yes or runtime.yes, key=options.key or runtime.key)
    bound = context.pick(options.agent)
    bound.definitions.renew()  # what was mended since is looked at as it is now
    return bound, runtime


async def _looked(bound: Any, config: Flyte, options: argparse.Namespace) -> Plan:
    from hermes_nb.flyte.promotion.preflight import checked, preflight

    if options.export:  # a file needs no control plane
        return await asyncio.to_thread(checked, bound, config)
    return await preflight(bound, config)


def _is_shown_only(plan: Plan, options: argparse.Namespace) -> bool:
    """Whether it ends here: a dry run, an export, or a refusal."""
    from hermes_nb.flyte.promotion.promoted import describe
    from hermes_nb.flyte.promotion.submit import refuse

    if options.export:
        from hermes_nb.flyte.promotion.export import entry, export

        path = export(plan, options.export)
        print(f"Wrote {path}. Run it with: flyte run {path} {entry(path)} --prompt '...'")
        return True
    if options.dry_run:
        print(describe(plan))
        return True
    refuse(plan)
    for finding in plan.findings:
        print(f"note: {finding}")
    return False


def _submit(context: Context, bound: Any, plan: Plan, options: argparse.Namespace, cell: str | None) -> Asked:
    from hermes_nb.flyte.promotion.promoted import last_question, submitted

    prompt = cell if cell is not None and cell.strip() else last_question(bound)
    turn = submitted(bound, prompt, plan, background=options.background)
    context.cells.current().turns.append(turn)
    if options.background:
        _foreground.follow(context, turn, options.out, quiet=False)
    return Asked(turn, options.out)
