"""`%hermes skills`: the skills that an agent has; shown, written, taken away, put back."""

from __future__ import annotations

import argparse

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show
from hermes_nb.magics.subcommands.memory import show_changes

SUMMARY = "show, write or take away the skills of an agent"
EXAMPLES = (
    "%hermes skills",
    "%hermes skills show quarterly-report",
    "%%hermes skills edit quarterly-report -a analyst",
    "%hermes skills remove quarterly-report",
    "%hermes skills undo",
)
NOTES = """\
A skill is a text with instructions (SKILL.md) that an agent with toolsets=["skills"] reads when it needs them. It begins
with a head of name and description between lines of three dashes. %%hermes skills edit NAME takes the cell for the whole
text. Skills are of one agent, or of those that share a home: Agent(..., profile_options={"home": "team"})."""

TAKES_CELL = True
_ACTIONS = ("list", "show", "edit", "remove", "undo")


def parser() -> Parser:
    """The options."""
    parser = Parser("skills")
    actions = f"one of {', '.join(_ACTIONS)}; list is the default"
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list", help=actions)
    parser.add_argument("name", nargs="?", metavar="NAME", help="the skill; of undo, the id of a change")
    parser.add_argument("-a", "--agent", metavar="NAME", help="whose; without it the only or the default agent's")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Do it."""
    home, name = context.pick(options.agent).home, options.name
    if options.action == "undo":
        print(f"Put back: {home.undo(name).path}.")
    elif options.action != "list" and not name:
        raise UsageError(f"Write which skill: %hermes skills {options.action} NAME.")
    elif options.action == "show":
        if name not in home.skills:
            raise UsageError(f"Home {home.name!r} has no skill {name!r}. It has: {', '.join(home.skills) or 'none'}.")
        print(home.skills[name])
        return
    elif options.action == "edit":
        if cell is None or not cell.strip():
            raise UsageError(f"Write its text into the cell: %%hermes skills edit {name}.")
        home.set_skill(name, cell)
    elif options.action == "remove":
        home.set_skill(name, None)
    if not home.skills:
        print(f"Home {home.name!r} holds no skills yet. %%hermes skills edit NAME writes one.")
    else:
        show(("skill", "description"), [(skill, _about(text)) for skill, text in home.skills.items()])
    show_changes(home, "skills/")


def _about(text: str) -> str:
    """The description of a SKILL.md's head."""
    lines = (line.partition(":") for line in text.splitlines()[:20])
    return next((value.strip().strip("'\"") for key, _, value in lines if key.strip() == "description"), "")
