r"""Which parts of a model's Markdown are formulas: `\(x\)`, `\[x\]`, `$$x$$`, and `$x$` where it can't be a sum of money.

The same rules, in the same words, are in extensions/widgets/src/turn/formula.js; one list of cases tests both.
"""

from __future__ import annotations

import re
from typing import Any

# `$x$` begins and ends at the edge of a word, and not with a space: "$5 and then $7" and "$HOME/$USER" are none.
PATTERN = r"""
    \$\$(?P<dollars>(?:(?!\$\$)(?:[^\\]|\\.)){1,2000}?)\$\$
    | \\\[(?P<square>(?:(?!\\[\[\]]).){1,2000})\\\]
    | \\\((?P<round>(?:(?!\\[()]).){1,2000})\\\)
    | (?<![A-Za-z0-9$\\])\$(?P<dollar>(?![\s$])(?:[^$\\`\n]|\\[^\n]){1,1000}(?<!\s))\$(?![A-Za-z0-9$])"""
FORMULA = re.compile(PATTERN, re.VERBOSE | re.DOTALL)
# What begins with a digit is a sum of money, unless it is a number alone or has a sign that words have not.
_MONEY = re.compile(r"\d(?!(?:[\d.,]*\\?%?$)|.*[\\^_={}<>+*/])", re.DOTALL)
_BLOCK = ((r"\[", r"\]"), ("$$", "$$"))


def formula_at(text: str, at: int = 0) -> re.Match[str] | None:
    """The formula that begins at that place, None where none does."""
    found = FORMULA.match(text, at)
    return None if found is None or is_money(found) else found


def is_money(found: re.Match[str]) -> bool:
    """Whether what looks like a formula is text between two sums of money."""
    return bool(found["dollar"] and _MONEY.match(found["dollar"]))


def is_display(found: re.Match[str]) -> bool:
    """Whether the formula has a line of its own."""
    return found["dollars"] is not None or found["square"] is not None


def source_of(found: re.Match[str]) -> str:
    """The formula without its delimiters, "" for a match of another kind."""
    groups = found.groupdict()
    return next((groups[name] for name in ("dollars", "square", "round", "dollar") if groups.get(name)), "")


def use(parser: Any) -> None:
    """Give a MarkdownIt the tokens `formula` and `formula_block`, whose content has its delimiters."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _inline(state: Any, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    found = formula_at(state.src, state.pos)
    if found is None or found.end() > state.posMax:
        return False
    if not silent:
        state.push("formula", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _block(state: Any, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    lines: list[str] = []
    closing = ""
    for line in range(start, end):
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()
        if not lines:
            closing = next((close for opening, close in _BLOCK if text.startswith(opening)), "")
        if not closing or not text or (lines and state.sCount[line] < state.blkIndent):
            return False
        lines.append(text)
        if text.endswith(closing) and (len(lines) > 1 or len(text) > 4):
            break
    else:
        return False
    source = "\n".join(lines)
    found = formula_at(source)
    if found is None or found.end() != len(source):
        return False
    if not silent:
        token = state.push("formula_block", "", 0)
        token.content, token.block, token.map = source, True, [start, start + len(lines)]
        state.line = start + len(lines)
    return True
