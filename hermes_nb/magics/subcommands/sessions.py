"""`%hermes sessions`: the stored conversations, forks under what they were forked from."""

from __future__ import annotations

import argparse
from pathlib import Path

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, positive_count
from hermes_nb.magics._table import show

SUMMARY = "list, search, rename, delete, export and import the stored conversations"
EXAMPLES = (
    "%hermes sessions",
    "%hermes sessions -a analyst --limit 5",
    "%hermes sessions --search 'best customer'",
    "%hermes sessions s-3f2a --rename 'Churn, second try'",
    "%hermes sessions --export talks.jsonl",
    "%hermes sessions --import talks.jsonl",
    "%hermes sessions --delete s-3f2a",
)
NOTES = """\
Go on with one by its id, the start of its id, or its title: %hermes run -s s-3f2a Your question
Forks stand under the session they were forked from. --export with a SESSION writes that one and those it was forked from.
--delete forgets a session for good: no file of the state folder holds its texts any more (worker logs are emptied), and
another kernel that still has it begins a new one. What you exported or recorded stays; --import takes it again."""

_COLUMNS = ("session", "agent", "title", "turns", "last used", "tokens in / out", "cost")
_ACTIONS = ("search", "rename", "delete", "export_file", "import_file")


def parser() -> Parser:
    """The options."""
    parser = Parser("sessions")
    parser.add_argument("session", nargs="?", metavar="SESSION", help="the session for --rename or --export")
    parser.add_argument("-a", "--agent", metavar="NAME", help="those of one agent")
    parser.add_argument("--limit", metavar="N", type=positive_count, default=20, help="at most so many (20)")
    parser.add_argument("--search", metavar="TEXT", help="prompts and answers that hold these words")
    parser.add_argument("--rename", metavar="TITLE", help="give SESSION this title")
    parser.add_argument("--delete", metavar="ID", help="forget this session")
    parser.add_argument("--export", dest="export_file", metavar="FILE", help="write sessions to a JSONL file")
    parser.add_argument("--import", dest="import_file", metavar="FILE", help="read such a file")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Do what is asked, or show the tree."""
    given = [name for name in _ACTIONS if getattr(options, name) is not None]
    if len(given) > 1:
        raise UsageError("--search, --rename, --delete, --export and --import exclude each other.")
    if options.session is not None and not {*given} & {"rename", "export_file"}:
        raise UsageError(
            f"What about session {options.session}? --rename TITLE or --export FILE; %hermes usage {options.session} lists"
            " its turns."
        )
    hermes = context.hermes
    if options.search is not None:
        _search(context, options)
    elif options.rename is not None:
        if options.session is None:
            raise UsageError("--rename needs the session: %hermes sessions SESSION --rename TITLE")
        print(f"Session {hermes.library.rename(options.session, options.rename)} is now {options.rename.strip()!r}.")
    elif options.delete is not None:
        n_warnings = len(hermes.warnings)
        print(f"Session {hermes.library.delete(options.delete)} is deleted.")
        for _, _, text in hermes.warnings[n_warnings:]:
            print(text)
    elif options.export_file is not None:
        n_sessions = hermes.library.export(Path(options.export_file).expanduser(), options.session)
        print(f"{_counted(n_sessions, 'session')} written to {options.export_file}.")
    elif options.import_file is not None:
        n_sessions, n_new = hermes.library.load(Path(options.import_file).expanduser())
        print(f"{_counted(n_sessions, 'session')} read from {options.import_file}; {_counted(n_new, 'event')} were new.")
    else:
        _list(context, options)


def _list(context: Context, options: argparse.Namespace) -> None:
    from hermes_nb.api.library import tree
    from hermes_nb.model.format import format_cost, format_time

    rows = context.hermes.sessions(limit=options.limit, agent=options.agent)
    if not rows:
        whose = "" if options.agent is None else f" of agent {options.agent!r}"
        print(f"There is no session{whose} yet. The first %hermes run starts one.")
        return
    show(
        _COLUMNS,
        [
            (
                row.session_id,
                row.agent,
                f"└{'─' * depth} {row.title}" if depth else row.title,
                str(row.n_turns),
                format_time(row.last_used_unix_s, "%Y-%m-%d %H:%M"),
                f"{_number(row.input_tokens)} / {_number(row.output_tokens)}",
                format_cost(row.cost_usd, is_whole=row.is_cost_whole),
            )
            for depth, row in tree(rows)
        ],
    )


def _search(context: Context, options: argparse.Namespace) -> None:
    hits = [h for h in context.hermes.library.search(options.search) if options.agent in (None, h.agent)][: options.limit]
    if not hits:
        print(f"Nothing is found for {options.search!r}.")
        return
    show(
        ("session", "turn", "agent", "title", "in", "found"),
        [(h.session_id, h.turn_id, h.agent, h.title, h.part, h.excerpt) for h in hits],
    )


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
