"""Completion of `%hermes` and `%%hermes` lines: sub-commands, options, agents, sessions, variables; `{{variables}}` below.

A matcher of IPython's second matcher API, which came with IPython 8.6. Before (Colab has 7.34) it is one of the first, which
sees the line alone: the variables of a body are left to IPython's own completion. It starts nothing: sessions are read only
from a Hermes that is open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from hermes_nb.errors import HermesNbError
from hermes_nb.magics import _subcommand, _topic
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._transform import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext
    from IPython.core.interactiveshell import InteractiveShell

IDENTIFIER = "hermes_nb.magics"
N_SESSIONS_MAX = 50

_HEAD = re.compile(rf"\s*%%{NAME}(?:\s|$)")
_PLACE = re.compile(r"(?<!\\)\{\{\s*([^\W\d]\w*)?$")
_LINE = re.compile(rf"\s*(?:\w+\s*=\s*)?%%?{NAME}\s+")


def install(shell: InteractiveShell, context: Context, is_ours: Callable[[], bool]) -> None:
    """Add the matcher to the shell's completer."""
    completer = shell.Completer
    if completer is None:
        return
    try:
        from IPython.core.completer import context_matcher
    except ImportError:
        completer.magic_arg_matchers.append(_line_matcher(completer, context, is_ours))
        return

    def matcher(asked: CompletionContext) -> Any:
        from IPython.core.completer import SimpleCompletion

        found = None
        if is_ours():
            before = asked.text_until_cursor
            found = complete(context, before) or in_body(context, asked.full_text, asked.cursor_line, before)
        if found is None:
            return {"completions": [], "suppress": False}
        fragment, kind, texts = found
        completions = [SimpleCompletion(text, type=kind) for text in texts]
        return {"completions": completions, "suppress": bool(completions), "matched_fragment": fragment}

    completer.custom_matchers.append(context_matcher(identifier=IDENTIFIER, priority=100)(matcher))


def remove(shell: InteractiveShell) -> None:
    """Take the matcher away."""
    for name in ("custom_matchers", "magic_arg_matchers"):
        matchers = getattr(shell.Completer, name, None)
        if matchers is not None:
            matchers[:] = [m for m in matchers if getattr(m, "matcher_identifier", None) != IDENTIFIER]


def _line_matcher(completer: Any, context: Context, is_ours: Callable[[], bool]) -> Callable[[str], list[str]]:
    """A matcher of the first API: it returns what takes the place of the last word, as the completer divides words."""

    def matcher(_: str) -> list[str]:
        before = completer.text_until_cursor
        found = complete(context, before) if is_ours() else None
        if found is None:
            return []
        fragment, _kind, texts = found
        n_before = len(fragment) - len(completer.splitter.split_line(before))
        return [text[n_before:] for text in texts if n_before >= 0]

    matcher.matcher_identifier = IDENTIFIER  # type: ignore[attr-defined]
    return matcher


def complete(context: Context, before: str) -> tuple[str, str, list[str]] | None:
    """What can stand at the cursor.

    Args:
        context: The magics' state.
        before: The line up to the cursor.

    Returns: the fragment to replace, the kind of the completions, and the completions, sorted; None when the line is not of
        this magic or free text is written.
    """
    match = _LINE.match(before)
    if match is None:
        return None
    words, fragment = _cut(before[match.end() :])
    if not words:
        return _starting(fragment, "sub-command", _subcommand.names())
    name = words[0]
    if name not in _subcommand.names():
        return None
    parser = _subcommand.load(name).parser()
    try:
        return _in_subcommand(context, parser, words[1:], fragment)
    except HermesNbError:
        return None


def in_body(context: Context, cell: str, line: int, before: str) -> tuple[str, str, list[str]] | None:
    """What can stand between `{{` and `}}` below a `%%hermes` line: names of variables.

    Args:
        context: The magics' state.
        cell: The whole cell.
        line: The cursor's line, from 0.
        before: That line up to the cursor.

    Returns: as `complete`; None when the cell is another one or no `{{` is open.
    """
    lines = cell.lstrip("\r\n").splitlines() or [""]
    head, place = _HEAD.match(lines[0]), _PLACE.search(before)
    if head is None or place is None or line == 0:
        return None
    # Without the option the braces reach the model as they are typed.
    kind = "variable" if "--format" in lines[0].split() else "variable (needs --format)"
    return _starting(place.group(1) or "", kind, context.variables())


def _cut(text: str) -> tuple[list[str], str]:
    """The whole words, and the one that the cursor ends."""
    words = text.split()
    if not words or text[-1].isspace():
        return words, ""
    return words[:-1], words[-1]


def _starting(fragment: str, kind: str, texts: Iterable[str]) -> tuple[str, str, list[str]]:
    return fragment, kind, sorted({text for text in texts if text.startswith(fragment)})


def _in_subcommand(context: Context, parser: Parser, words: list[str], fragment: str) -> tuple[str, str, list[str]] | None:
    option = words[-1] if words and parser.takes_value(words[-1]) else None
    if option is None and fragment.startswith("-") and "=" in fragment:
        option, _, fragment = fragment.partition("=")
        if not parser.takes_value(option):
            return None
    if option is not None:
        chosen = parser.options[option]
        if known := chosen.choices or getattr(chosen, "suggestions", None):
            return _starting(fragment, "value", map(str, known))
        return _value(context, chosen.dest, fragment)
    n_plain = _n_plain(parser, words)
    if parser.takes_text and n_plain:
        return None
    if fragment.startswith("-"):
        return _starting(fragment, "option", parser.options)
    if parser.positionals and parser.positionals[-1].nargs == "*":
        n_plain = min(n_plain, len(parser.positionals) - 1)
    if n_plain < len(parser.positionals):
        action = parser.positionals[n_plain]
        if action.choices is not None:
            return _starting(fragment, "action", map(str, action.choices))
        return _value(context, action.dest, fragment)
    return None if fragment else _starting("", "option", parser.options)


def _n_plain(parser: Parser, words: list[str]) -> int:
    """How many words are neither options nor values of one."""
    return sum(
        not word.startswith("-") and not parser.takes_value(before)
        for before, word in zip(["", *words], words, strict=False)
    )


def _value(context: Context, what: str, fragment: str) -> tuple[str, str, list[str]] | None:
    if what in ("tools", "variables"):
        fragment = fragment.rpartition(",")[2]
    source = _SOURCES.get(what)
    if source is None:
        return None
    kind, texts = source
    return _starting(fragment, kind, texts(context))


def _agents(context: Context) -> list[str]:
    return [*context.agents, *context.declared()]


def _sessions(context: Context) -> list[str]:
    hermes = context.opened_hermes
    return [] if hermes is None else [row.session_id for row in hermes.sessions(limit=N_SESSIONS_MAX)]


def _turns(context: Context) -> list[str]:
    return ["all", *(turn.id for turn in context.running)]


def _requests(context: Context) -> list[str]:
    return [str(request["request_id"]) for turn in context.running for request in turn.pending]


def _functions(context: Context) -> list[str]:
    """Variables that an agent could call: functions and tools."""
    return [
        name
        for name, value in context.variables().items()
        if callable(value) and not isinstance(value, type) and not type(value).__module__.startswith("IPython")
    ]


# By the `dest` of an option or the name of a positional.
_SOURCES: dict[str, tuple[str, Callable[[Context], list[str]]]] = {
    "agent": ("agent", _agents),
    "session": ("session", lambda context: ["new", *_sessions(context)]),
    "sessions": ("session", _sessions),
    "out": ("variable", lambda context: list(context.variables())),
    "variables": ("variable", lambda context: list(context.variables())),
    "tools": ("function", _functions),
    "subcommand": ("topic", lambda _: [*_subcommand.names(), *_topic.public_names(), *_topic.error_names()]),
    "turn": ("turn", _turns),
    "request": ("request", _requests),
}
