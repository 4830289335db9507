"""Write anew what the pages say of the code: the README's badge, the sub-commands, the table of events.

.venv/bin/python scripts/readme.py

The owner and name of the repository stand once, in hermes_nb/_version.py; a fork sets them there.
"""

from __future__ import annotations

import re
from pathlib import Path

from hermes_nb._version import REPOSITORY
from hermes_nb.magics import _subcommand
from hermes_nb.magics.subcommands.help import details, ordered
from hermes_nb.model import event

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
COMMANDS = ROOT / "docs" / "reference" / "commands.md"
EVENTS = ROOT / "docs" / "reference" / "events.md"
BADGE = "[![Open in Binder](https://mybinder.org/badge_logo.svg)](https://mybinder.org/v2/gh/{repository}/HEAD?labpath=notebooks%2F01_hello.ipynb)"


def readme(text: str) -> str:
    """The README with the badge of this repository."""
    badge = BADGE.format(repository=REPOSITORY)
    return re.sub(r"\[!\[Open in Binder\]\([^)]*\)\]\([^)]*\)", lambda _: badge, text)


def commands() -> str:
    """The page of sub-commands: a table, then each with its options, examples and notes."""
    rows = "".join(f"| [`%hermes {name}`](#{name}) | {_subcommand.load(name).SUMMARY} |\n" for name in ordered())
    parts = [f"## {name}\n\n```text\n{details(name)}\n```\n" for name in ordered()]
    return (
        "# Sub-commands\n\n"
        "`%hermes help` lists them in the notebook, `%hermes help NAME` explains one;"
        " Tab completes names, options and values.\n"
        "This page is written by `scripts/readme.py` from what each says of itself.\n\n"
        f"| sub-command | what it does |\n|---|---|\n{rows}\n" + "\n".join(parts)
    )


def events(text: str) -> str:
    """The page of events with the table of kinds, as the module that defines them has it."""
    rows = "\n".join(line for line in (event.__doc__ or "").splitlines() if line.startswith("|"))
    return re.sub(r"<!-- kinds -->\n(\|.*\n)*", lambda _: f"<!-- kinds -->\n{rows}\n", text)


def written() -> dict[Path, str]:
    """What each page should be, by its file."""
    return {
        README: readme(README.read_text(encoding="utf-8")),
        COMMANDS: commands(),
        EVENTS: events(EVENTS.read_text(encoding="utf-8")),
    }


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
