"""`%hermes eval`: ask cases of agents, score the answers, show means with intervals."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from hermes_nb.api._run import has_loop
from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, amount, positive_count, positive_number, variable_name
from hermes_nb.magics._type import named_type
from hermes_nb.model import template

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent

SUMMARY = "ask agents the cases of a table and score the answers: means with intervals, the worst cases first"
EXAMPLES = (
    "%hermes eval -a analyst --cases cases --scorers is_right -o quality",
    "%hermes eval -a short,long --cases cases.jsonl --scorers is_right,length --repeats 3 --checkpoint nightly",
    "%hermes eval -a analyst --from-session s-1a2b --scorers is_right",
    "%%hermes eval -a analyst --cases df --judge critic --rubric tone\nSummarise: {{row.review}}",
)
NOTES = """\
--cases takes a variable (cases, texts, a table with the columns prompt and expected) or the path of a .jsonl file;
--from-session makes a case of each turn of a session, with its answer as what is expected. The body is asked of each row,
as for %%hermes map. --scorers are functions of the notebook of (case, result, spans), or evaluators of pydantic-evals.
--judge is an agent that scores by a rubric (a text, or a variable that holds it). -o NAME takes the evaluation: NAME.frame,
NAME.scores, NAME.compare(OTHER). Interrupt the cell and NAME holds what was answered. With --checkpoint NAME answers are
kept, and the same line asks only what is missing or failed."""
TAKES_CELL = True


def parser() -> Parser:
    """Return the options."""
    parser = Parser("eval", takes_text=True)
    parser.add_argument("-a", "--agent", metavar="NAMES", help="who is asked: names or variables, with commas")
    parser.add_argument("--cases", metavar="NAME", help="the cases: a variable, or the path of a .jsonl file")
    parser.add_argument("--from-session", metavar="ID", help="a case of each turn of a session")
    parser.add_argument("--scorers", metavar="NAMES", default="", help="functions or evaluators, with commas")
    parser.add_argument("--judge", metavar="NAME", help="an agent that scores each answer by --rubric")
    parser.add_argument("--rubric", metavar="NAME", help="what a good answer is like: a variable or a text")
    parser.add_argument("--models", metavar="NAMES", default="", help="each agent with each of these, with commas")
    parser.add_argument("--instructions", metavar="NAME", help="a list of texts: ask each agent with each of these")
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put the evaluation into this variable")
    parser.add_argument("--returns", metavar="NAME", help="the type of each answer, of the notebook or of Python")
    parser.add_argument("--repeats", metavar="N", type=positive_count, default=1, help="ask each case so often (1)")
    parser.add_argument("--parallel", metavar="N", type=positive_count, default=8, help="most cases at once (8)")
    parser.add_argument("--checkpoint", metavar="NAME", help="keep answers under this name, and ask only what is missing")
    parser.add_argument("--timeout", metavar="SECONDS", type=positive_number, help="for each case (300)")
    parser.add_argument("--max-cost", metavar="USD", type=amount, help="no further case once the whole cost so much")
    parser.add_argument("--max-tokens", metavar="N", type=positive_count, help="the same for tokens, in and out")
    parser.add_argument("--quiet", action="store_true", help="show no progress and no page")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Ask and block until the end, where no loop runs."""
    if has_loop():
        raise UsageError(
            "%hermes eval waits for its cases on the cell's loop: give it a cell or a line of its own, not a function's."
            " In a function: await evaluate(...)."
        )
    asyncio.run(run_awaiting(context, options, cell))


async def run_awaiting(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Ask and wait for the end on the cell's own loop."""
    from IPython.display import display

    from hermes_nb.api.evaluation.evaluating import evaluate

    agents = [context.pick(name) for name in _listed(options.agent or "")] or [context.pick(None)]
    prompt = (cell if cell is not None and cell.strip() else options.text or "").strip() or None
    more: dict[str, Any] = {} if options.timeout is None else {"timeout_s": options.timeout}
    before = agents[0].last_evaluation
    try:
        await evaluate(
            await _cases(context, agents[0], options),
            agents=agents,
            scorers=_scorers(context, options),
            models=_listed(options.models),
            instructions=[] if options.instructions is None else list(context.value(options.instructions)),
            prompt=prompt,
            returns=None if options.returns is None else named_type(context, options.returns),
            repeats=options.repeats,
            n_parallel=options.parallel,
            max_cost_usd=options.max_cost,
            max_tokens=options.max_tokens,
            checkpoint=options.checkpoint,
            show=not options.quiet,
            **more,
        )
    finally:
        made = agents[0].last_evaluation
        if made is not before:  # else nothing was asked
            context.given = made
            if options.out is not None:
                context.user_ns[options.out] = made
            if not options.quiet:
                display(made)  # type: ignore[no-untyped-call]


async def _cases(context: Context, bound: BoundAgent, options: argparse.Namespace) -> Any:
    from hermes_nb.api.evaluation.case import cases_of_turns

    if (options.cases is None) == (options.from_session is None):
        raise UsageError("Name the cases: --cases NAME, or --from-session ID. One of the two.")
    if options.from_session is not None:
        hermes = bound.hermes
        session = await hermes.io.awaited(hermes.conversations.open_session(options.from_session))
        return cases_of_turns(session.events)
    if options.cases.endswith((".jsonl", ".ndjson")):
        return options.cases
    try:
        return template.look_up(options.cases, context.variables())
    except UsageError as exc:
        raise UsageError(str(exc).replace(f"{{{{{options.cases}}}}}", f"--cases {options.cases}")) from None


def _scorers(context: Context, options: argparse.Namespace) -> list[Any]:
    from hermes_nb.api.evaluation.judge import Judge

    found = [context.value(name) for name in _listed(options.scorers)]
    if (options.judge is None) != (options.rubric is None):
        raise UsageError("A judge needs a rubric: --judge NAME --rubric NAME, where NAME holds the text.")
    if options.judge is not None:
        rubric = context.user_ns.get(options.rubric, options.rubric)
        found.append(Judge(context.pick(options.judge), str(rubric)))
    if not found:
        raise UsageError("An evaluation needs a scorer: --scorers NAME (a function of (case, result)), or --judge NAME.")
    return found


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
