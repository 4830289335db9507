"""`%hermes last`: the newest result again."""

from __future__ import annotations

import argparse

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, variable_name

SUMMARY = "show the newest result again, or put it into a variable"
EXAMPLES = ("%hermes last", "%hermes last -o answer")


def parser() -> Parser:
    """The options."""
    parser = Parser("last")
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put the RunResult into this variable")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show it, or bind it."""
    context.settle()
    if context.last_result is None:
        raise UsageError("There is no result yet. Ask something first: %hermes run Your question")
    if options.out is not None:
        context.user_ns[options.out] = context.last_result
        return
    from IPython.display import display

    display(context.last_result)  # type: ignore[no-untyped-call]
