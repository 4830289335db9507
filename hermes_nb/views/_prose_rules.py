"""What models write that CommonMark has not: bare addresses, tasks, line breaks in tables, text from right to left.

The same rules are in extensions/widgets/src/turn/rules.js.
"""

from __future__ import annotations

import re
from typing import Any

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\] ")
_BARE = re.compile(r"""https://[^\s<>"'`|]+""", re.IGNORECASE)
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
        if token.type == "inline" and token.children:
            token.children = _linked(state, token.children)
        is_first = token.type == "inline" and at >= 2 and state.tokens[at - 2].type == "list_item_open"
        if is_first and token.children and (task := _TASK.match(token.children[0].content)):
            first = token.children[0]
            first.content = ("☐ " if task[1] == " " else "☑ ") + first.content[task.end() :]


def _linked(state: Any, children: list[Any]) -> list[Any]:
    """The children of a block with the bare https addresses as links, those of links and code left alone."""
    made: list[Any] = []
    depth = 0
    for token in children:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type != "text" or depth or "://" not in token.content:
            made.append(token)
            continue
        at, new = 0, type(token)
        for found in _BARE.finditer(token.content):
            url = _address(found[0])
            href = state.md.normalizeLink(url)
            if url.endswith("://") or not _BARE.match(url) or not state.md.validateLink(href):
                continue
            made.append(new("text", "", 0, content=token.content[at : found.start()]))
            made.append(new("link_open", "a", 1, attrs={"href": href}))
            made.append(new("text", "", 0, content=url))
            made.append(new("link_close", "a", -1))
            at = found.start() + len(url)
        made.append(new("text", "", 0, content=token.content[at:]))
    return [token for token in made if token.type != "text" or token.content]


def _address(text: str) -> str:
    """An address without what ends the sentence around it; a bracket belongs to it where it was opened in it."""
    while text and (text.count("(") < text.count(")") if text[-1] == ")" else text[-1] in ".,;:!?]}*_"):
        text = text[:-1]
    return text
