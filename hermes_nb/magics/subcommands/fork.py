"""`%hermes fork`: a new conversation from the beginning of another."""

from __future__ import annotations

import argparse

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent

SUMMARY = "start a conversation from the beginning of another, at no cost"
EXAMPLES = ("%hermes fork", "%hermes fork s-3f2a --at t-9c01b7aa12", "%hermes fork -a other --title 'A cheaper model'")
NOTES = """\
The agent's next runs go on with the fork; the session it came from stays as it is; -s goes back to it. --at takes a turn or
a step of one (turn/span, as result.spans names them). With -a another agent, another model or other tools go on from there.
%hermes usage SESSION lists a session's turns."""


def parser() -> Parser:
    """The options."""
    parser = Parser("fork")
    parser.add_argument("session", nargs="?", metavar="SESSION", help="the session to fork; else the agent's own")
    parser.add_argument("--at", metavar="TURN|STEP", help="the last thing both share; else all so far")
    parser.add_argument("-a", "--agent", metavar="NAME", help="who goes on; else the session's agent")
    parser.add_argument("--title", metavar="TEXT", default="", help="the fork's title")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Make the fork and say what it is."""
    hermes = context.hermes
    bound = _who(context, options)
    source = options.session or bound.session_id
    if source is None:
        raise UsageError(f"Agent {bound.name!r} has no session to fork yet. Run it first, or name a session.")
    made = hermes.io.call(hermes.conversations.fork(source, agent=bound.name, at=options.at, title=options.title))
    bound.session_id = made.id
    shared = made.parent
    assert shared is not None
    print(f"Session {made.id} is a fork of {shared.session_id} after {shared.at}. {bound.name}'s next run continues it.")


def _who(context: Context, options: argparse.Namespace) -> BoundAgent:
    if options.agent is not None or options.session is None:
        return context.pick(options.agent)
    hermes = context.hermes
    return context.pick(hermes.io.call(hermes.conversations.open_session(options.session)).agent)
