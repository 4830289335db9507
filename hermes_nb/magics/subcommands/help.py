"""`%hermes help`: what there is, and each sub-command in full."""

from __future__ import annotations

import argparse

from hermes_nb.magics import _subcommand
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._topic import explain

SUMMARY = "show what there is, or explain a sub-command, a name or an error"
EXAMPLES = ("%hermes help", "%hermes help run", "%hermes help ToolRetry")

# The order in which a newcomer meets them; what is not named here follows, sorted.
_ORDER = ("agent", "run", "chat", "last", "timeline", "sessions", "stop", "approve", "tools", "help", "doctor")


def parser() -> Parser:
    """The options."""
    parser = Parser("help")
    parser.add_argument("subcommand", nargs="?", metavar="NAME", help="a sub-command, a name of hermes_nb, or an error")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Print it."""
    print(explain(options.subcommand) if options.subcommand else overview())


def ordered() -> list[str]:
    """Names of the sub-commands in the order in which a newcomer meets them."""
    known = _subcommand.names()
    return [name for name in _ORDER if name in known] + [name for name in known if name not in _ORDER]


def overview() -> str:
    """All sub-commands: one line and one example each."""
    lines = ["Run Hermes agents from this notebook. Sub-commands of %hermes:", ""]
    for name in ordered():
        subcommand = _subcommand.load(name)
        lines += [f"  {name:<9} {subcommand.SUMMARY}", f"  {'':<9}   {subcommand.EXAMPLES[0].splitlines()[0]}"]
    lines += [
        "",
        "%hermes help NAME explains one. %%hermes run takes a question of several lines from the cell.",
        "A comment may end a line: %hermes agent analyst  # the one for sales. In a question on the line, # is part of it.",
        "In Python: hermes_nb.help(NAME), help(hermes_nb). When something is odd: %hermes doctor.",
    ]
    return "\n".join(lines)


def details(name: str) -> str:
    """One sub-command: its line, usage, options, examples and notes.

    Raises:
        UsageError: There is none of that name.
    """
    subcommand = _subcommand.load(name)
    parser = subcommand.parser()
    examples = ["  " + example.replace("\n", "\n  ") for example in subcommand.EXAMPLES]
    parts = [
        f"%hermes {name}: {subcommand.SUMMARY}",
        parser.format_help().rstrip(),
        "examples:\n" + "\n\n".join(examples),
    ]
    notes = getattr(subcommand, "NOTES", "").strip()
    return "\n\n".join([*parts, notes] if notes else parts)
