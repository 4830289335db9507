"""A model's Markdown, made safe to show: as HTML that runs nothing and asks nobody, and as Markdown that loads nothing.

An image in an answer is a request that the model chose, with what it knows in the address; so images become links.
"""

from __future__ import annotations

import html
import re
from typing import Any

from hermes_nb._quiet import quietly
from hermes_nb._require import require
from hermes_nb.views import _formula, _prose_rules
from hermes_nb.views.rows import valid

MAX_MARKDOWN_CHARS = 200_000
_SAFE_LINK = re.compile(r"(?i)(?:https?:|mailto:|#|/(?!/)|\./|\.\./|[\w.-]+(?:[/?#]|$))")
_OPENS = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
MAX_LINE_CHARS = 5_000
_MAY_LIVE = re.compile(r"<|!\[|\][(:]|\$|\\[][()]")
_UNCLEAR = re.compile(r"``|\\`|~|(?i:https?:|ftp:|www\.|@)")
# Emphasis, tables and links may end within a code span in one of the two; marked takes a backtick for a part of the
# address before it, and of what is struck out.
_CUTS_CODE = re.compile(r"[*_~|`$\[\]\\]")
_UNSURE = re.compile(r"(?i)(?:https?:|ftp:|www\.|@)\S*`|~")
_LIVE = r"""
    (?P<escaped>\\.)
    | (?P<auto><https?://[^\s<>`]*>)
    | (?P<tag><(?=[A-Za-z/!?]))
    | (?P<image>!(?=\[))
    | (?<=\])(?P<link>[(:])(?=\s*<?(?P<target>[^\s>)]*))"""
_SUM = r"(?P<sum>\\\$|(?<!\$)\$(?!\$))"
_MAY_BE_CODE_TOKEN = re.compile(_LIVE, re.VERBOSE)
_TEXT_TOKEN = re.compile(rf"{_formula.PATTERN} | {_SUM} | {_LIVE}", re.VERBOSE)
_CODE_TOKEN = re.compile(
    rf"(?P<code>(?P<run>`+)(?!`).+?(?<!`)(?P=run)(?!`)) | (?P<odd>`+) | {_formula.PATTERN} | {_SUM} | {_LIVE}", re.VERBOSE
)
_MAY_BE_INDENTED_CODE = re.compile(r"(?: {4}|\t)\s*(?![-*+] |\d+[.)] )\S")
# An element of its own: what sets formulas looks for pairs of dollars within one.
_DOLLAR = "<span>&#36;</span>"


def to_html(text: str) -> str:
    """Markdown as HTML: tables, code and lists; raw HTML is shown as text, images as links, only web links are live.

    A text of more than 200,000 characters is shown as it is, with its line breaks.
    """
    text = valid(text)
    if len(text) > MAX_MARKDOWN_CHARS:
        return f"<pre>{html.escape(text)}</pre>"
    parser = _parser()
    with quietly("markdown_it"):
        rendered: str = parser.render(text)
    return rendered


def to_markdown(text: str) -> str:
    """The Markdown with raw HTML, images and links to anything but the web made text, outside of code.

    Formulas stand between dollars, and a dollar that is money can't be taken for one of them.

    A front end runs what it trusts: in JupyterLab a script or a `javascript:` link in the Markdown of a cell that just
    ran is live. So whatever is not surely code, for CommonMark and for marked (JupyterLab's), is escaped, and a text
    whose fences the two may read differently is shown as it is. A fence left open is closed: more may follow.
    """
    text = valid(text).replace("\r\n", "\n").replace("\r", "\n")
    lines: list[str] = []
    fence = _Fence()
    is_clear = True
    for line in text.split("\n"):
        was_open = fence.is_open
        if fence.holds(line):
            lines.append(line if was_open else _escape(line, trusts_code=False)[0])
            is_clear = True
            continue
        if fence.is_unsure:
            return _as_it_is(text)
        if line.strip() in (r"\[", r"\]"):
            line = "$$"
        safe, is_even = _escape(line, trusts_code=is_clear)
        lines.append(safe)
        is_clear = not line.strip(" \t") or (is_clear and is_even)
    if fence.is_open:
        lines.append(fence.end)
    return "\n".join(lines)


def _as_it_is(text: str) -> str:
    """A fenced block that nothing in the text can end."""
    mark = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{mark}text\n{text}\n{mark}"


class _Fence:
    """Whether a line belongs to a fenced block, by the rules that CommonMark and marked (JupyterLab) share.

    Where they differ, or where the end of a list may have ended a fence, it gives up: `is_unsure`.
    """

    def __init__(self) -> None:
        self.is_unsure = False
        self._mark = ""
        self._indent = 0

    @property
    def end(self) -> str:
        """The line that ends the block."""
        return " " * self._indent + self._mark

    @property
    def is_open(self) -> bool:
        """True inside of a block."""
        return bool(self._mark)

    def holds(self, line: str) -> bool:
        """True for the lines of a block, its first and last included."""
        if not self._mark:
            opened = _OPENS.match(line)
            if opened:
                self._indent, self._mark = len(opened[1]), opened[2]
            return opened is not None
        rest, indent = line.strip(), len(line) - len(line.lstrip(" "))
        if rest.startswith(self._mark) and not rest.strip("`~"):
            is_exact = set(line.strip(" ")) == {self._mark[0]}
            if is_exact and self._indent == 0 and indent > 3:
                return True
            self._mark = ""
            self.is_unsure = not (is_exact and (indent <= 3 if self._indent == 0 else indent == self._indent))
            return not self.is_unsure
        if line.strip(" \t") and indent < self._indent:
            self._mark = ""
            self.is_unsure = True
        return not self.is_unsure


def _escape(line: str, *, trusts_code: bool) -> tuple[str, bool]:
    """The line with what could be live made text; whether every run of backticks surely found its match within it."""
    if not _MAY_LIVE.search(line):
        ticks = line.count("`")
        if not ticks or (trusts_code and ticks % 2 == 0 and not _UNCLEAR.search(line)):
            return line, True
    if not trusts_code or len(line) > MAX_LINE_CHARS or _UNSURE.search(line):
        is_code = "`" in line or _MAY_BE_INDENTED_CODE.match(line)
        return (_MAY_BE_CODE_TOKEN if is_code else _TEXT_TOKEN).sub(_made_text, line), "`" not in line
    if _MAY_BE_INDENTED_CODE.match(line):
        return _MAY_BE_CODE_TOKEN.sub(_made_text, line), "`" not in line
    parts: list[str] = []
    is_even = True
    at = 0
    for match in _CODE_TOKEN.finditer(line):
        parts.append(line[at : match.start()])
        at = match.end()
        code = match["code"]
        if not code:
            is_even = is_even and not match["odd"]
            parts.append(match[0] if match["odd"] else _made_text(match))
        elif match["run"] == "`" and not _CUTS_CODE.search(code[1:-1]):
            parts.append(code)
        else:
            parts.append(_MAY_BE_CODE_TOKEN.sub(_made_text, code))
    parts.append(line[at:])
    return "".join(parts), is_even


def _made_text(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("sum"):
        return _DOLLAR
    if formula := _formula.source_of(match):
        if _formula.is_money(match):
            return f"{_DOLLAR}{_TEXT_TOKEN.sub(_made_text, formula)}{_DOLLAR}"
        mark = "$$" if _formula.is_display(match) else "$"
        return _MAY_BE_CODE_TOKEN.sub(_made_text, f"{mark}{formula.strip()}{mark}")
    if match["tag"] or match[0] == "\\<":
        return "< " if "$" in match.string else "&lt;"
    if match["image"]:
        return "&#33;"
    if match["link"] and not _SAFE_LINK.match(match["target"]):
        return "&#40;" if match["link"] == "(" else "&#58;"
    return match[0]


def _parser() -> Any:
    markdown_it = require("markdown_it", why="to show an answer as HTML")
    parser = markdown_it.MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    _formula.use(parser)
    _prose_rules.use(parser)
    parser.validateLink = lambda url: bool(_SAFE_LINK.match(url.strip()))
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("formula", _formula_html)
    parser.add_render_rule("formula_block", _formula_html)
    return parser


def _formula_html(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """An element that front ends set as a formula, inside of what they do not."""
    tag = "div" if tokens[index].block else "span"
    return f'<{tag} class="hnb-formula tex2jax_process mathjax_process">{html.escape(tokens[index].content)}</{tag}>'


def _link_open(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    opened: str = renderer.renderToken(tokens, index, options, env)
    return opened
