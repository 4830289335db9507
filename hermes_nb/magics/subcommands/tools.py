"""`%hermes tools`: the functions of the notebook that an agent may call; attach and detach them between turns."""

from __future__ import annotations

import argparse

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, name_list
from hermes_nb.magics._table import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.sessions.agent import BoundAgent

SUMMARY = "list, attach or detach the tools of an agent"
EXAMPLES = (
    "%hermes tools",
    "%hermes tools -a analyst",
    "%hermes tools attach top_customers,plot",
    "%hermes tools detach plot -a analyst",
)
NOTES = """\
What is attached here counts from the next turn on, until the agent is bound again. Tools of the agent's own declaration are
taken away there: change it and bind it with %hermes agent."""

_ACTIONS = ("list", "attach", "detach")


def parser() -> Parser:
    """The options."""
    parser = Parser("tools")
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list", help="list (the default), attach or detach")
    parser.add_argument("tools", nargs="?", metavar="F,...", type=name_list, help="functions or tools by name")
    parser.add_argument("-a", "--agent", metavar="NAME", help="whose tools; without it the only or the default agent's")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Do it."""
    if (options.tools is None) != (options.action == "list"):
        raise UsageError("Write %hermes tools attach NAME,... or %hermes tools detach NAME,...; %hermes tools lists them.")
    bound = context.pick(options.agent)
    if options.action == "attach":
        context.attach(bound, options.tools)
    elif options.action == "detach":
        context.detach(bound, options.tools)
    _show(bound)


def _show(bound: BoundAgent) -> None:
    bound.renew_tools()
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
