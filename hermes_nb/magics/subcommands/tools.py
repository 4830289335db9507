"""`%hermes tools`: the functions of the notebook and the tools of Hermes that an agent may call."""

from __future__ import annotations

import argparse

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, name_list
from hermes_nb.magics._table import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent

SUMMARY = "list, attach, detach or refresh the tools of an agent"
EXAMPLES = (
    "%hermes tools",
    "%hermes tools -a analyst",
    "%hermes tools attach top_customers,plot",
    "%hermes tools detach plot -a analyst",
    "%hermes tools refresh",
)
NOTES = """\
Below the functions stand the tools that each toolset of Hermes gives, and those it does not give here, with what they need.

What is attached here counts from the next turn on, until the agent is bound again. Tools of the agent's own declaration are
taken away there: change it and bind it with %hermes agent.

A cell that defines a tool may be run again: the next call runs the new function. What the model is told of it (description,
parameters) stays as a session was told it first; a new session begins with the new form, and refresh takes it in those there
are, from the next turn on. The same holds for tools of a module that %autoreload or importlib.reload takes anew."""

_ACTIONS = ("list", "attach", "detach", "refresh")


def parser() -> Parser:
    """The options."""
    parser = Parser("tools")
    actions = f"{', '.join(_ACTIONS)}; list is the default"
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list", help=actions)
    parser.add_argument("tools", nargs="*", metavar="F,...", type=name_list, help="functions or tools by name")
    parser.add_argument("-a", "--agent", metavar="NAME", help="whose tools; without it the only or the default agent's")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Do it."""
    tools = [name for names in options.tools for name in names]
    if options.action != "refresh" and bool(tools) == (options.action == "list"):
        raise UsageError("Write %hermes tools attach NAME,... or %hermes tools detach NAME,...; %hermes tools lists them.")
    bound = context.pick(options.agent)
    if options.action == "refresh":
        names = ", ".join(bound.definitions.tell_anew(tools or None))
        print(f"From the next turn on the model is told the new form of: {names}." if names else "No tool has a new form.")
        return
    if options.action == "attach":
        context.attach(bound, tools)
    elif options.action == "detach":
        context.detach(bound, tools)
    _show(bound)


def _show(bound: BoundAgent) -> None:
    bound.definitions.renew()
    toolsets = bound.tools_by_toolset
    if not bound.tools and not toolsets:
        print(f"Agent {bound.name} has no tools. Give it some with Agent(..., tools=[my_function]).")
        return
    if bound.tools:
        _show_functions(bound)
    rows = []
    for name, offer in toolsets.items():
        rows += [(name, tool, "") for tool in offer.tools]
        rows += [(name, tool, f"not offered: needs {need}") for tool, need in offer.missing.items()]
    if rows:
        show(("toolset of Hermes", "tool", ""), rows)


def _show_functions(bound: BoundAgent) -> None:
    rows = []
    for tool in bound.tools:
        spec = tool.spec()
        parameters = ", ".join(spec.parameters.get("properties", {}))
        runs = "on the loop" if spec.is_async else "in a thread" if spec.parallel else "on the main thread"
        rows.append((spec.name, f"({parameters})", runs, spec.description.partition("\n")[0]))
    show(("tool", "parameters", "runs", "description"), rows)
    kept = ", ".join(bound.definitions.pinned.changed(bound.session_id, bound.tools)) if bound.session_id else ""
    if kept:
        print(f"Session {bound.session_id} goes on with an earlier form of: {kept}. %hermes tools refresh takes the new.")
