"""`%hermes map` and `%%hermes map`: ask an agent the same question of many rows, and get a frame."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from hermes_nb.api._run import has_loop
from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, amount, positive_count, positive_number, variable_name
from hermes_nb.magics._type import named_type
from hermes_nb.model import template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent

SUMMARY = "ask an agent the same question of many rows, several at once; the answers are a frame"
EXAMPLES = (
    "%%hermes map -a analyst --over df -o out\nWhat does this customer complain about? {{row.review}}",
    "%hermes map -a analyst --over df.review -o out --returns Sentiment --checkpoint reviews",
    "%hermes map --over questions -o out --parallel 4 --max-cost 2",
)
NOTES = """\
The body is asked of each row: {{row.COLUMN}} (also {{row["a column"]}}), {{value}} and {{index}} stand for its parts.
Without a body each value of --over is its own question. Each row has a conversation of its own. A row without a value is
not asked, one that fails is a row with its error. -o NAME takes the frame: the rows as they came, then answer (or a column
for each field of --returns), status, error, cost_usd, n_tokens, duration_s, n_tries, turn_id. Interrupt the cell and NAME
holds what was answered. With --checkpoint NAME answers are kept: run the cell again, also in another kernel, and only what
is missing or failed is asked. While the provider limits requests (HTTP 429), fewer rows are asked at once."""
TAKES_CELL = True


def parser() -> Parser:
    """Return the options."""
    parser = Parser("map", takes_text=True)
    parser.add_argument("-a", "--agent", metavar="NAME", help="who is asked: an agent's name or variable")
    parser.add_argument(
        "--over", metavar="NAME", required=True, help="the rows: a variable, or a part of one, e.g. df or df.review"
    )
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put the frame into this variable")
    parser.add_argument("--returns", metavar="NAME", help="the type of each answer, of the notebook or of Python")
    parser.add_argument("--parallel", metavar="N", type=positive_count, default=8, help="most rows at once (8)")
    parser.add_argument("--checkpoint", metavar="NAME", help="keep answers under this name, and ask only what is missing")
    parser.add_argument("--unique", action="store_true", help="ask rows with the same prompt once")
    parser.add_argument("--retries", metavar="N", type=int, default=2, help="ask a row again after a limit or a fault (2)")
    parser.add_argument("--timeout", metavar="SECONDS", type=positive_number, help="for each row (300)")
    parser.add_argument("--max-cost", metavar="USD", type=amount, help="no further row once the whole cost so much")
    parser.add_argument("--max-tokens", metavar="N", type=positive_count, help="the same for tokens, in and out")
    parser.add_argument("--quiet", action="store_true", help="show no progress and no frame")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Ask and block until the end, where no loop runs."""
    if has_loop():
        raise UsageError(
            "%hermes map waits for its rows on the cell's loop: give it a cell or a line of its own, not a function's. In a"
            " function: await bound.map(...)."
        )
    asyncio.run(run_awaiting(context, options, cell))


async def run_awaiting(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Ask and wait for the end on the cell's own loop."""
    bound = context.pick(options.agent)
    over = _over(context, options.over)
    prompt = (cell if cell is not None and cell.strip() else options.text or "").strip() or None
    more: dict[str, Any] = {} if options.timeout is None else {"timeout_s": options.timeout}
    before = bound.last_map
    try:
        await bound.map(
            over,
            prompt,
            returns=None if options.returns is None else named_type(context, options.returns),
            n_parallel=options.parallel,
            n_retries=options.retries,
            max_cost_usd=options.max_cost,
            max_tokens=options.max_tokens,
            checkpoint=options.checkpoint,
            unique=options.unique,
            show=not options.quiet,
            **more,
        )
    finally:
        if bound.last_map is not before:  # else nothing was asked
            context.given = bound.last_map
            _keep(context, bound, options)


def _keep(context: Context, bound: BoundAgent, options: argparse.Namespace) -> None:
    if options.out is not None:
        context.user_ns[options.out] = bound.last_map
        if not options.quiet:
            print(f"{options.out}: a frame of {len(bound.last_map):,} rows.")


def _over(context: Context, path: str) -> Any:
    """The rows that a path names: `df`, `df.review`, `df["a column"]`."""
    try:
        return template.look_up(path, context.variables())
    except UsageError as exc:
        raise UsageError(str(exc).replace(f"{{{{{path}}}}}", f"--over {path}")) from None
