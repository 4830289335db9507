"""`%hermes memory`: what an agent has noted, and what it knows about its user; shown, changed, put back."""

from __future__ import annotations

import argparse

from hermes_nb._near import near
from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.workers.agent_home import AgentHome

SUMMARY = "show, change or put back what an agent remembers"
EXAMPLES = (
    "%hermes memory",
    "%hermes memory -a analyst add Figures are in thousands of euros",
    "%hermes memory remove 2",
    "%hermes memory undo",
    "%%hermes memory edit",
)
NOTES = """\
After the options: show (the default), add TEXT, remove NUMBER, edit, undo, clear.

An agent with toolsets=["memory"] keeps notes over sessions and kernels, and has them in the prompt of each new session.
It alone has them, unless agents share a home: Agent(..., profile_options={"home": "team"}). --user means what it knows about
its user instead. %%hermes memory edit takes the cell for the whole memory, a line for each entry. undo puts back what the
newest change replaced, or the one whose id follows; every change of a turn stands in its timeline, too."""

_ACTIONS = ("show", "add", "remove", "edit", "undo", "clear")
_MOST_SHOWN = 5
TAKES_CELL = True


def parser() -> Parser:
    """The options."""
    parser = Parser("memory", takes_text=True)
    parser.add_argument("-a", "--agent", metavar="NAME", help="whose; without it the only or the default agent's")
    parser.add_argument("--user", action="store_true", help="what it knows about its user, not its notes")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Do it, and show what the memory is then."""
    home = context.pick(options.agent).home
    target = "user" if options.user else "memory"
    entries = home.entries(target)
    action, _, text = (options.text or "").strip().partition(" ")
    action, text = action or "show", text.strip()
    if action not in _ACTIONS:
        raise UsageError(f"%hermes memory has no {action!r}.{near(action, _ACTIONS)} Known: {', '.join(_ACTIONS)}.")
    if action == "add":
        if not (said := text or (cell or "").strip()):
            raise UsageError("Write what to remember: %hermes memory add TEXT.")
        home.set_entries([*entries, said], target)
    elif action == "remove":
        at = _number(text, len(entries))
        home.set_entries([*entries[:at], *entries[at + 1 :]], target)
    elif action == "edit":
        if cell is None:
            raise UsageError("Write the entries into the cell, a line each: %%hermes memory edit.")
        home.set_entries([line for line in cell.splitlines() if line.strip()], target)
    elif action == "clear":
        home.set_entries([], target)
    elif action == "undo":
        print(f"Put back: {home.undo(text or None).path}.")
    elif text:
        raise UsageError(f"%hermes memory show takes no {text!r}. %hermes memory -h lists what there is.")
    _show(home)


def _number(text: str, n: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= n:
        raise UsageError(f"There is no entry {text!r}. Write a number of 1 to {n}." if n else "There is no entry to remove.")
    return int(text) - 1


def _show(home: AgentHome) -> None:
    rows = [
        (word, str(at), entry)
        for target, word in (("memory", "note"), ("user", "about the user"))
        for at, entry in enumerate(home.entries(target), 1)
    ]
    if rows:
        show(("kind", "number", "entry"), rows)
    else:
        print(f"Home {home.name!r} holds no memory yet.")
    show_changes(home, "memories/")


def show_changes(home: AgentHome, under: str) -> None:
    """The newest changes of its files below a folder, with the ids that `undo` takes."""
    changes = [change for change in home.changes() if change.path.startswith(under)][-_MOST_SHOWN:]
    if changes:
        show(("change", "by", "what"), [(c.id, c.turn_id or "you", f"{c.path}\n{c.diff}") for c in reversed(changes)])
