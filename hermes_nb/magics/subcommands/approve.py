"""`%hermes approve`: answer what turns in the background ask."""

from __future__ import annotations

import argparse

from hermes_nb.errors import UsageError
from hermes_nb.magics import _question
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser

SUMMARY = "list what background turns ask, allow or deny it, or answer"
EXAMPLES = (
    "%hermes approve",
    "%hermes approve r-3f2a",
    "%hermes approve r-3f2a --always",
    "%hermes approve r-3f2a --deny",
    "%hermes approve r-3f2a --answer 'the blue one'",
)
NOTES = """\
A cell that waits for its turn asks itself. --always allows this tool with these exact arguments for the agent's session."""


def parser() -> Parser:
    """The options."""
    parser = Parser("approve")
    parser.add_argument("request", nargs="?", metavar="REQUEST", help="a request's id or the start of one")
    parser.add_argument("--always", action="store_true", help="allow it from now on, with these arguments")
    parser.add_argument("--deny", action="store_true", help="do not allow it")
    parser.add_argument("--answer", metavar="TEXT", help="the answer to a question in words")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Answer, or list."""
    asked = [(turn, request) for turn in context.running for request in turn.pending]
    if options.request is None:
        for turn, request in asked:
            print(f"{request['request_id']}  {turn.agent_name} asks: {_question.describe(request)}")
        if not asked:
            print("Nothing is asked.")
        return
    found = [(turn, request) for turn, request in asked if str(request["request_id"]).startswith(options.request)]
    if len(found) != 1:
        known = ", ".join(str(request["request_id"]) for _, request in asked) or "none"
        raise UsageError(f"No open request has the id {options.request!r}. Open: {known}.")
    turn, request = found[0]
    answer = _answer(options, is_approval=_question.is_approval(request))
    turn.approve(str(request["request_id"]), answer)
    print(f"{'Denied' if answer == 'deny' else 'Answered'}: {_question.describe(request)}")


def _answer(options: argparse.Namespace, *, is_approval: bool) -> str:
    if options.always + options.deny + (options.answer is not None) > 1:
        raise UsageError("--always, --deny and --answer exclude each other.")
    if not is_approval:
        if options.answer is None:
            raise UsageError("This is a question. Answer it with --answer '...'.")
        return str(options.answer)
    if options.answer is not None:
        raise UsageError("This asks for permission. Allow it as it is or with --always, or --deny it.")
    return "deny" if options.deny else "always" if options.always else "once"
