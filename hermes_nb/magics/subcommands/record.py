"""`%hermes record`: keep this notebook's turns in a file from which it can be run again without a model."""

from __future__ import annotations

import argparse

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser

SUMMARY = "record the turns of this notebook, so far and from now on"
EXAMPLES = ("%hermes record talk.jsonl", "%hermes record --stop")
NOTES = """\
The file holds what was asked, the model's answers and results of tools: JSON lines fit for git, keys masked. Set
HERMES_NB_REPLAY=talk.jsonl before the kernel starts and Run All gives the same answers again, without key and network; the
functions of tools do not run then. A question the recording does not hold is an error that says what differs;
HERMES_NB_REPLAY_MISS=live sends it to the model instead. %%hermes run --replay talk.jsonl replays one cell."""


def parser() -> Parser:
    """The options."""
    parser = Parser("record")
    parser.add_argument("file", nargs="?", metavar="FILE", help="where to; what is there is replaced")
    parser.add_argument("--stop", action="store_true", help="record no further turns")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Start, stop, or tell."""
    hermes = context.hermes
    if options.stop:
        if options.file is not None:
            raise UsageError("FILE and --stop exclude each other.")
        path = hermes.stop_recording()
        print("Nothing was recorded." if path is None else f"Recording ended: {path}")
    elif options.file is None:
        print("Nothing is recorded." if hermes.tape is None else f"Recording into {hermes.tape.path}")
    else:
        n_turns = hermes.record(options.file)
        print(f"Recording into {options.file}: {n_turns} turn{'' if n_turns == 1 else 's'} so far, and each to come.")
