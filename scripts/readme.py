"""Write the README's table of sub-commands anew, from what each says of itself.

    .venv/bin/python scripts/readme.py
"""

from __future__ import annotations

import re
from pathlib import Path

from hermes_nb.magics import _subcommand
from hermes_nb.magics.subcommands.help import ordered

README = Path(__file__).resolve().parents[1] / "README.md"
HEAD = "| sub-command | what it does |\n|---|---|\n"


def table() -> str:
    """The table, without its head."""
    return "".join(f"| `%hermes {name}` | {_subcommand.load(name).SUMMARY} |\n" for name in ordered())


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    README.write_text(re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: HEAD + table(), text), encoding="utf-8")
