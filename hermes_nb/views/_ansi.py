"""Text with colours of a terminal as runs of few kinds, which each view colours as its theme does."""

from __future__ import annotations

import colorsys
import re
from itertools import groupby

from hermes_nb.views.rows import visible

_CODE = re.compile(r"\x1b\[([0-9;]*)m")
_OTHER = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_BASIC = ("", "bad", "good", "meta", "link", "meta", "link", "")
_LEVELS = (0, 95, 135, 175, 215, 255)

Run = tuple[str, str]


def plain(text: str) -> str:
    """The text without sequences of a terminal."""
    return _OTHER.sub("", text)


def runs(text: str) -> list[Run]:
    """The text as (kind, text); kinds: `bad`, `good`, `link`, `meta`, `mark` for what is highlighted, "" for the rest."""
    found: list[Run] = []
    kind = ground = ""
    at = 0
    for match in _CODE.finditer(text):
        found.append((ground or kind, text[at : match.start()]))
        at = match.end()
        kind, ground = _after(match[1], kind, ground)
    found.append((ground or kind, text[at:]))
    told = [(name, visible(plain(part))) for name, part in found]
    return [
        (name, "".join(part for _, part in group)) for name, group in groupby((r for r in told if r[1]), lambda run: run[0])
    ]


def _after(codes: str, kind: str, ground: str) -> Run:
    given = [int(code or 0) for code in codes.split(";")]
    while given:
        code = given.pop(0)
        if code in (38, 48) and given[:1] == [5] and len(given) > 1:
            kind, ground = (_hue(given[1]), ground) if code == 38 else (kind, "mark")
            del given[:2]
        elif code in (38, 48):
            break
        elif code == 0:
            kind = ground = ""
        elif 30 <= code <= 37 or 90 <= code <= 97:
            kind = _BASIC[code % 10]
        elif code == 39:
            kind = ""
        elif 40 <= code <= 47 or 100 <= code <= 107:
            ground = "mark"
        elif code == 49:
            ground = ""
    return kind, ground


def _hue(number: int) -> str:
    """The kind that comes next to one of 256 colours."""
    if number < 16:
        return _BASIC[number % 8]
    if number >= 232:
        return ""
    at = number - 16
    red, green, blue = (_LEVELS[step] / 255 for step in (at // 36 % 6, at // 6 % 6, at % 6))
    hue, saturation, _ = colorsys.rgb_to_hsv(red, green, blue)
    if saturation < 0.2:
        return ""
    names = ((20, "bad"), (70, "meta"), (170, "good"), (260, "link"), (340, "meta"), (361, "bad"))
    return next(name for limit, name in names if hue * 360 < limit)
