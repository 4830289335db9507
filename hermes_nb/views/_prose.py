"""A model's Markdown, made safe to show: as HTML that runs nothing and asks nobody, and as Markdown that loads nothing.

An image in an answer is a request that the model chose, with what it knows in the address; so images become links.
"""

from __future__ import annotations

import html
import re
from typing import Any

from hermes_nb._require import require
from hermes_nb.views.rows import valid

MAX_MARKDOWN_CHARS = 200_000
_SAFE_LINK = re.compile(r"(?i)(?:https?:|mailto:|#|/(?!/)|\./|\.\./|[\w.-]+(?:[/?#]|$))")
_FENCE = re.compile(r" {0,3}(?:[-*+>] +|\d+[.)] +)*(`{3,}|~{3,})")
_CODE = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])(?!https?://|mailto:)|!(?=\[)")


def to_html(text: str) -> str:
    """Markdown as HTML: tables, code and lists; raw HTML is shown as text, images as links, only web links are live.

    A text of more than 200,000 characters is shown as it is, with its line breaks.
    """
    text = valid(text)
    if len(text) > MAX_MARKDOWN_CHARS:
        return f"<pre>{html.escape(text)}</pre>"
    rendered: str = _parser().render(text)
    return rendered


def to_markdown(text: str) -> str:
    """The Markdown with raw HTML and images escaped outside code, so that no front end loads what they name."""
    lines: list[str] = []
    fence = ""
    for line in valid(text).split("\n"):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line[opened.end() :].strip():
                fence = ""
            lines.append(line)
        elif opened:
            fence = opened[1]
            lines.append(line)
        else:
            lines.append(_escape_line(line) if "<" in line or "![" in line else line)
    return "\n".join(lines)


def _escape_line(line: str) -> str:
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(line):
        parts += [_MARKUP.sub(r"\\\g<0>", line[at : code.start()]), code[0]]
        at = code.end()
    parts.append(_MARKUP.sub(r"\\\g<0>", line[at:]))
    return "".join(parts)


def _parser() -> Any:
    markdown_it = require("markdown_it", why="to show an answer as HTML")
    parser = markdown_it.MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = lambda url: bool(_SAFE_LINK.match(url.strip()))
    parser.add_render_rule("link_open", _link_open)
    return parser


def _link_open(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    opened: str = renderer.renderToken(tokens, index, options, env)
    return opened
