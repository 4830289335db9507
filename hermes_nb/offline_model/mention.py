"""What a prompt mentions that can be a value: quoted text, numbers, dates, codes, addresses, lists.

No tool is known here.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from hermes_nb.offline_model.date import dates
from hermes_nb.offline_model.unit import unit_of
from hermes_nb.offline_model.words import Token, number_word, ordinal_word, tokens

QUOTED = re.compile(
    r"```(?:\w+\n)?(?P<fence>.+?)```|`(?P<tick>[^`]+)`|\"(?P<double>[^\"]+)\"|“(?P<curly>[^”]+)”|«(?P<guillemet>[^»]+)»"
    r"|(?<![\w'])'(?P<single>[^'\n]+(?:'\w[^'\n]*)*)'(?!\w)",
    re.S,
)
_URL = re.compile(r"\b(?:https?|ftp|s3|gs|file)://[^\s,;\"')>]+|\bwww\.[^\s,;\"')>]+")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PATH = re.compile(
    r"(?<![\w/])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+*-]*)*|(?<![\w/])/(?![\w/])|(?<!\w)[A-Za-z]:\\[\w\\. -]+"
    r"|\b[\w.-]+(?:/[\w.*-]+)*\.(?:csv|tsv|txt|json|jsonl|ya?ml|toml|py|ipynb|md|pdf|docx?|xlsx?|parquet|log|html?|xml"
    r"|sql|db|sqlite|png|jpe?g|gif|svg|zip|gz|tar|cfg|ini|sh|js|ts|c|h|cpp|rs|go|java|tex|wav|mp3|mp4|pptx?|bak|webp|bmp|tiff?|avi|mov|mkv|flac|ogg|heic|r|jl|pkl|npy|feather|bib)\b"
    r"|(?<![\w/])(?!and/|his/|he/|she/|yes/|km/|w/)[a-z_.][\w.-]{2,}/[\w.-]{2,}(?![\w/])"
    r"|(?<![\w/])[\w.-]+/(?=[\s?!,;]|$)|\b(?:[\w.-]+/){2,}[\w.-]*|\b[\w.-]+/(?=[\w.-]*[a-z])[\w.-]+\.\w+"
)
_HANDLE = re.compile(r"(?<!\w)[#@][^\W\d_][\w-]*")
_PHONE = re.compile(r"(?<![\w.])\+\d[\d ().-]{6,}\d(?!\w)|(?<![\w.-])\(?\d{3}\)?[-. ]\d{3,4}[-. ]\d{4}(?![\w.-])")
_CODE = re.compile(
    r"\b10\.\d{4,9}/[\w.;()/:-]*\w|\b\d+/[A-Z]+\d+\b|"
    r"\b(?=[\w.-]*\d)(?=[\w.-]*[^\W\d_])(?!\d[\d.,]*[^\W\d_]{1,3}\b(?![-.]\w))(?!\d[\d.,]*-[a-z]+)(?!\d[\d.]*[eE][-+]?\d+\b)(?!\d+[x×]\d+\b)\w+(?:[-.]\w+)*"
    r"|\bv?\d+\.\d+\.\d+(?:[-.]\w+)*|#\d+(?=\b)|\b[A-Z]{1,5}[-_][A-Z\d][\w-]*"
    r"|(?<![\w.-])\d+(?:-\d+){2,}-?[\dXx]?(?![\w-])|(?<![\w.])\.[a-z]\w{0,4}(?=[\s?!,;]|$)"
)
_LIST = re.compile(r"[\[(][^\[\]()]*[,;][^\[\]()]*[\])]|\[[^\[\]]*\]|\[\s*\[.*?\]\s*\]")
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]])[-−+])?(?P<money>[$€£¥]\s?)?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+)"
    r"(?P<scale>\s?(?:[kK]|mn|bn|[mM]illion|[bB]illion|[tT]housand|[tT]rillion|M|B)(?![\w.]))?"
    r"(?P<ordinal>(?:st|nd|rd|th)\b)?"
)
_SCALES = {
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "million": 1e6,
    "b": 1e9,
    "bn": 1e9,
    "billion": 1e9,
    "trillion": 1e12,
}
_JOINTS = frozenset({",", "and", "&", "or", "plus", "x", "×", "by"})


@dataclass(frozen=True, slots=True)
class Mention:
    """A value in the prompt.

    `kind` is quoted, fence, url, email, phone, path, code, date, time, datetime, number or list.
    """

    kind: str
    value: Any
    start: int
    end: int
    unit: str = ""  # of a number: `percent`, `USD`, `minute`, `km` ... (see `unit`)
    is_approximate: bool = False  # a number spelled as a word that may be no number at all (`one`)
    is_spelled: bool = False  # a number written in words
    stop: int = -1  # of a number: where its digits end and its unit begins

    def overlaps(self, start: int, end: int) -> bool:
        """Whether it shares text with a span."""
        return self.start < end and start < self.end


def mentions(text: str, today: str) -> list[Mention]:
    """Everything mentioned, in order of appearance; only lists overlap what they are made of.

    Args:
        text: The prompt.
        today: ISO date that `tomorrow` and the like count from.
    """
    found: list[Mention] = []

    def add(kind: str, value: Any, start: int, end: int, **extra: Any) -> None:
        if not any(m.overlaps(start, end) for m in found):
            found.append(Mention(kind, value, start, end, **extra))

    for match in QUOTED.finditer(text):
        kind = "fence" if match["fence"] else "quoted"
        value = next(g for g in match.groups() if g is not None)
        add(kind, value.strip() if kind == "fence" else value, match.start(), match.end())
    for kind, pattern in (("url", _URL), ("email", _EMAIL)):
        for match in pattern.finditer(text):
            value = match.group().rstrip(".!?")
            add(kind, value, match.start(), match.start() + len(value))
    for match in _PHONE.finditer(text):
        add("phone", match.group(), match.start(), match.end())
    for date in dates(text, today):
        add(date.kind, date.value, date.start, date.end)
    for match in _PATH.finditer(text):
        value = match.group().rstrip(".")
        if value and not re.fullmatch(r"[\d.]+/[\d.]+", value):
            add("path", value, match.start(), match.start() + len(value))
    for match in _HANDLE.finditer(text):
        add("code", match.group(), match.start(), match.end())
    for match in _CODE.finditer(text):
        if not re.fullmatch(r"(?:\d+(?:st|nd|rd|th)|\d+s)", match.group()):
            value = match.group().lstrip("#")
            if value.isdigit():
                add("number", int(value), match.start(), match.end())
            else:
                add("code", value, match.start(), match.end())
    _add_numbers(text, found, add)
    found.sort(key=lambda m: m.start)
    return sorted([*found, *_lists(text, found)], key=lambda m: (m.start, -m.end))


def _add_numbers(text: str, found: list[Mention], add: Any) -> None:
    for match in _NUMBER.finditer(text):
        digits = match["digits"]
        before, after = text[: match.start("digits")], text[match.end() :]
        is_by = bool(re.search(r"\d\s?[x×]$", before))  # 800x600
        if before and not is_by and (before[-1].isalpha() or before[-1] == "_" or re.search(r"[^\W\d]\^-?$", before)):
            continue  # the digits of a word, or of a unit (m^2)
        scale = (match["scale"] or "").strip().lower()
        if scale in ("m", "b", "k") and match["scale"].startswith(" "):
            scale = ""  # `5 m` is a length
        value = float(digits.replace(",", "")) * _SCALES.get(scale, 1)
        if match["sign"] in ("-", "−"):
            value = -value
        unit, end = unit_of(after if scale or not match["scale"] else match["scale"] + after, match["money"] or "")
        stop = match.end() if scale or not match["scale"] else match.end() - len(match["scale"])
        number: float | int = int(value) if value == int(value) and "e" not in digits.lower() else value
        if "." in digits and not scale:
            number = value
        add("number", number, match.start(), stop + end, unit=unit, stop=stop)
    words = [t for t in tokens(text) if not any(m.overlaps(t.start, t.end) for m in found)]
    _add_number_words(text, words, add)


def _add_number_words(text: str, words: list[Token], add: Any) -> None:
    i = 0
    while i < len(words):
        token = words[i]
        spelled = number_word([t.lower for t in words[i : i + 9]])
        ordinal = ordinal_word(token.lower)
        if spelled:
            value, n_used = spelled
            last = words[i + n_used - 1]
            unit, end = unit_of(text[last.end :], "")
            is_vague = token.lower == "one" and n_used == 1
            number = int(value) if value == int(value) else value
            add(
                "number",
                number,
                token.start,
                last.end + end,
                unit=unit,
                is_approximate=is_vague,
                is_spelled=True,
                stop=last.end,
            )
            i += n_used
            continue
        if token.lower in ("a", "an", "half") and i + 1 < len(words):
            unit, end = unit_of(text[token.end :], "")
            if unit in ("minute", "hour", "day", "week", "month", "year", "second") and end:
                value = 0.5 if token.lower == "half" else 1
                add("number", value, token.start, token.end + end, unit=unit, is_approximate=True, stop=token.end)
        if ordinal and token.lower != "second":
            add("number", ordinal, token.start, token.end, is_approximate=True)
        i += 1


def _lists(text: str, found: list[Mention]) -> list[Mention]:
    lists: list[Mention] = []
    for match in _LIST.finditer(text):
        try:
            value = ast.literal_eval(match.group())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            inner = [part.strip().strip("'\"") for part in match.group()[1:-1].split(",")]
            value = inner if match.group()[0] == "[" and all(inner) else None
        if isinstance(value, list | tuple) and value:
            lists.append(Mention("list", list(value), match.start(), match.end()))
    run: list[Mention] = []
    numbers = [m for m in found if m.kind == "number" and not any(x.overlaps(m.start, m.end) for x in lists)]
    for mention in [*numbers, None]:
        if mention is not None and run and _is_joined(text, run[-1], mention):
            run.append(mention)
            continue
        if len(run) > 1:
            unit = run[-1].unit if len({m.unit for m in run if m.unit}) == 1 else ""
            lists.append(Mention("list", [m.value for m in run], run[0].start, run[-1].end, unit=unit))
        run = [] if mention is None else [mention]
    return lists


def _is_joined(text: str, left: Mention, right: Mention) -> bool:
    if left.unit and right.unit and left.unit != right.unit:
        return False
    between = text[left.end : right.start]
    words = between.replace(",", " , ").split()
    if words:
        return all(w in _JOINTS for w in words)
    return between.isspace() and text[left.start].isdigit() and text[right.start].isdigit()
