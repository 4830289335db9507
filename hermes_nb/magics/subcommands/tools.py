"""`%hermes tools`: the functions of the notebook that an agent may call."""

from __future__ import annotations

import argparse

from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show

SUMMARY = "list the tools of an agent"
EXAMPLES = ("%hermes tools", "%hermes tools -a analyst")


def parser() -> Parser:
    """The options."""
    parser = Parser("tools")
    parser.add_argument("-a", "--agent", metavar="NAME", help="whose tools; without it the only or the default agent's")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show the table."""
    bound = context.pick(options.agent)
    if not bound.tools:
        print(f"Agent {bound.name} has no tools. Give it some with Agent(..., tools=[my_function]).")
        return
    rows = []
    for tool in bound.tools:
        spec = tool.spec()
        parameters = ", ".join(spec.parameters.get("properties", {}))
        runs = "on the loop" if spec.is_async else "in a thread" if spec.parallel else "on the main thread"
        rows.append((spec.name, f"({parameters})", runs, spec.description.partition("\n")[0]))
    show(("tool", "parameters", "runs", "description"), rows)
