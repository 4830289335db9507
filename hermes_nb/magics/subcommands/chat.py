"""`%hermes chat`: a conversation with an agent in one output."""

from __future__ import annotations

import argparse

from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, variable_name

SUMMARY = "talk with an agent in one output: history, queue, sessions, timeline"
EXAMPLES = ("%hermes chat", "%hermes chat -a analyst -s 'Churn, second try'", "%hermes chat -a analyst -o talk")
NOTES = """\
Without -a the only agent, or the default one. Without -s the agent's own conversation goes on; `-s new` starts one.
What is sent while a turn runs waits for its end; Steer puts it into the turn. Tools print and plot below the chat.
Needs the extra `widgets`. What is saved with the notebook is the transcript. In Python: bound.chat_widget()."""


def parser() -> Parser:
    """The options."""
    parser = Parser("chat")
    parser.add_argument("-a", "--agent", metavar="NAME", help="who is talked with: an agent's name or variable")
    parser.add_argument("-s", "--session", metavar="ID", help="the conversation: an id, the start of one, a title, or `new`")
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put the chat into this variable")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show the chat."""
    bound = context.pick(options.agent)
    for _, text in bound.notices.take():
        print(text, flush=True)
    if options.session == "new":
        bound.session_id = None
        chat = bound.chat_widget()
    else:
        chat = bound.chat_widget(session_id=options.session)
    if options.out is not None:
        context.user_ns[options.out] = chat
    chat.show()
