"""`%hermes usage`: tokens and cost, by turn, session or day."""

from __future__ import annotations

import argparse

from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api._usage import By, UsageRow

SUMMARY = "show tokens and cost by day, session or turn"
EXAMPLES = ("%hermes usage", "%hermes usage --by session", "%hermes usage s-3f2a")
NOTES = """\
Figures are what the providers reported; what nobody reported is "unknown", and a sum of which a part is unknown says
"at least". A cost that the provider gives is taken as it is. With a SESSION its turns are listed. Tokens in
include cached ones, tokens out include reasoning. Limits: --max-cost and --max-tokens of %hermes run for a turn,
Agent(session_options={"max_cost_usd": 1}) for a session, HERMES_NB_MAX_COST_USD and HERMES_NB_MAX_TOKENS for a day."""

_COLUMNS = ("turns", "tokens in", "cached", "tokens out", "reasoning", "cost")
_PROMPT_CHARS = 60


def parser() -> Parser:
    """The options."""
    parser = Parser("usage")
    parser.add_argument("session", nargs="?", metavar="SESSION", help="the turns of this session")
    parser.add_argument("--by", choices=("day", "session", "turn"), help="what a row is; day, or turn with a SESSION")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show the table, with the sum below."""
    from hermes_nb.api._usage import summed, total

    turns = context.hermes.library.turns(options.session)
    if not turns:
        print("Nothing was asked yet.")
        return
    by: By = options.by or ("turn" if options.session else "day")
    rows = summed(turns, by)
    head = (by, "asked", *_COLUMNS[1:]) if by == "turn" else (by, *_COLUMNS)
    shown = [_cells(row, _short(row.about) if by == "turn" else str(row.n_turns)) for row in rows]
    if len(rows) > 1:
        shown.append(_cells(total(turns), f"{len(turns)} turns" if by == "turn" else str(len(turns))))
    show(head, shown)


def _cells(row: UsageRow, second: str) -> tuple[str, ...]:
    names = ("input_tokens", "cache_read_tokens", "output_tokens", "reasoning_tokens")
    return (row.name, second, *(_count(getattr(row, name), is_whole=name not in row.partial) for name in names), _cost(row))


def _count(n: int | None, *, is_whole: bool) -> str:
    if n is None:
        return "unknown"
    return f"{n:,}" if is_whole else f"at least {n:,}"


def _cost(row: UsageRow) -> str:
    from hermes_nb.model.format import format_cost

    return format_cost(row.cost_usd, is_whole=row.is_cost_whole)


def _short(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= _PROMPT_CHARS else line[: _PROMPT_CHARS - 1] + "…"
