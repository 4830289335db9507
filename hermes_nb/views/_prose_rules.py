"""What models write that CommonMark has not: tasks, line breaks in tables, and text that runs from right to left.

The same rules are in extensions/widgets/src/turn/rules.js.
"""

from __future__ import annotations

import re
from typing import Any

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\] ")
_BLOCKS = frozenset(
    "paragraph_open list_item_open td_open th_open heading_open blockquote_open bullet_list_open ordered_list_open".split()
)


def use(parser: Any) -> None:
    """Give a MarkdownIt these rules."""
    parser.inline.ruler.before("autolink", "br", _break)
    parser.core.ruler.push("hermes", _mark)


def _break(state: Any, silent: bool) -> bool:
    found = _BREAK.match(state.src, state.pos)
    if found is None or found.end() > state.posMax:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


def _mark(state: Any) -> None:
    """Each block in the direction of its first letter, and tasks with a box."""
    for at, token in enumerate(state.tokens):
        if token.type in _BLOCKS:
            token.attrSet("dir", "auto")
        is_first = token.type == "inline" and at >= 2 and state.tokens[at - 2].type == "list_item_open"
        if is_first and token.children and (task := _TASK.match(token.children[0].content)):
            first = token.children[0]
            first.content = ("☐ " if task[1] == " " else "☑ ") + first.content[task.end() :]
