"""`%hermes sessions`: the stored conversations."""

from __future__ import annotations

import argparse
import datetime

from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, positive_count
from hermes_nb.magics._table import show

SUMMARY = "list the stored conversations, last used first"
EXAMPLES = ("%hermes sessions", "%hermes sessions -a analyst --limit 5")
NOTES = "Go on with one by its id, the start of its id, or its title: %hermes run -s s-3f2a Your question"

_COLUMNS = ("session", "agent", "title", "turns", "last used", "tokens in / out", "cost")


def parser() -> Parser:
    """The options."""
    parser = Parser("sessions")
    parser.add_argument("-a", "--agent", metavar="NAME", help="those of one agent")
    parser.add_argument("--limit", metavar="N", type=positive_count, default=20, help="at most so many (20)")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show the table."""
    wanted = options.limit if options.agent is None else 1000
    rows = [r for r in context.hermes.sessions(limit=wanted) if options.agent in (None, r.agent)][: options.limit]
    if not rows:
        whose = "" if options.agent is None else f" of agent {options.agent!r}"
        print(f"There is no session{whose} yet. The first %hermes run starts one.")
        return
    show(
        _COLUMNS,
        [
            (
                row.session_id,
                row.agent,
                row.title,
                str(row.n_turns),
                datetime.datetime.fromtimestamp(row.last_used_unix_s).strftime("%Y-%m-%d %H:%M"),
                f"{_number(row.input_tokens)} / {_number(row.output_tokens)}",
                "unknown" if row.cost_usd is None else f"${row.cost_usd:.4f}",
            )
            for row in rows
        ],
    )


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
