"""Choices and yes-or-no parameters: which of them the prompt mentions, in its own words or kindred ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hermes_nb.offline_model import unit as units
from hermes_nb.offline_model.fit import Fit, Option
from hermes_nb.offline_model.number import number
from hermes_nb.offline_model.profile import Param
from hermes_nb.offline_model.scene import Scene
from hermes_nb.offline_model.thesaurus import similarity
from hermes_nb.offline_model.words import STOPWORDS, WEAK, stem

_OPERATORS = {
    ">=": ("at least", "no less than", "or more", "greater than or equal to", "minimum of", "or above", "not below"),
    "<=": ("at most", "no more than", "or less", "less than or equal to", "maximum of", "up to", "or below"),
    ">": (
        "greater than",
        "more than",
        "above",
        "over",
        "larger than",
        "higher than",
        "bigger than",
        "exceeds",
        "older than",
        "exceeding",
    ),
    "<": ("less than", "fewer than", "below", "under", "smaller than", "lower than", "cheaper than", "younger than"),
    "==": ("equal to", "equals", "is exactly", "exactly", "is"),
    "=": ("equal to", "equals", "is exactly", "exactly", "is"),
    "!=": ("not equal to", "is not", "isn't", "other than", "different from"),
    "+": ("plus", "add", "sum of"),
    "-": ("minus", "subtract"),
    "*": ("times", "multiplied by", "multiply"),
    "/": ("divided by", "divide"),
}
# Choices whose kindred words are hardly ever meant otherwise.
_PLAIN = frozenset("sum mean average median max maximum min minimum count std asc desc ascending descending".split())
_OPERATOR_NAMES = {
    "gt": ">",
    "ge": ">=",
    "gte": ">=",
    "lt": "<",
    "le": "<=",
    "lte": "<=",
    "eq": "==",
    "equals": "==",
    "ne": "!=",
    "neq": "!=",
    "greater_than": ">",
    "less_than": "<",
    "equal": "==",
    "not_equals": "!=",
}
_NEGATIONS = frozenset(
    "not no without don't doesn't never exclude excluding except omit disable off false hide skip skipping avoid".split()
)
_AFFIRMATIONS = frozenset("with include including enable enabled want plus also and".split())
_OPPOSITES = {
    "ascending": (
        "descending",
        "decreasing",
        "reverse",
        "largest first",
        "highest first",
        "newest first",
        "desc",
        "high to low",
    ),
    "descending": ("ascending", "increasing", "smallest first", "lowest first", "oldest first", "asc", "low to high"),
    "case_sensitive": ("ignoring case", "ignore case", "case-insensitive", "case insensitive", "regardless of case"),
    "ignore_case": ("case-sensitive", "case sensitive", "matching case"),
    "inclusive": ("exclusive",),
    "exclusive": ("inclusive",),
    "asc": ("descending", "desc"),
    "desc": ("ascending", "asc"),
    "public": ("private", "secret"),
    "private": ("public",),
    "verbose": ("quiet", "silent", "quietly"),
    "visible": ("hidden", "invisible"),
    "online": ("offline",),
    "on": ("off",),
    "enabled": ("disable", "disabled", "off"),
    "open": ("close", "closed"),
    "active": ("inactive",),
}
_SAME = {
    "ascending": ("ascending", "increasing", "smallest first", "lowest first", "oldest first"),
    "descending": ("descending", "decreasing", "largest first", "highest first", "newest first", "reverse"),
    "reverse": ("descending", "reverse", "reversed", "backwards"),
    "ignore_case": ("ignoring case", "ignore case", "case-insensitive", "case insensitive", "regardless of case"),
    "case_sensitive": ("case-sensitive", "case sensitive", "matching case"),
    "on": ("on",),
    "recursive": ("recursive", "recursively", "subfolders", "subdirectories"),
    "round_trip": ("round trip", "return ticket", "return flight"),
    "fast": ("fast", "express", "quickly"),
}
# What a question for the ends of an order says of its direction; weaker than the words above.
_LEAST = "lowest smallest fewest least cheapest shortest slowest poorest".split()
_MOST = "highest largest biggest most greatest longest fastest richest".split()
_ENDS = {"ascending": (_LEAST, _MOST), "asc": (_LEAST, _MOST), "descending": (_MOST, _LEAST), "desc": (_MOST, _LEAST)}


def choices(fit: Fit, param: Param) -> Iterator[Option]:
    """Each choice of the parameter that the prompt mentions."""
    for choice in param.choices:
        yield from _choice(fit, param, choice)


def _choice(fit: Fit, param: Param, choice: Any) -> Iterator[Option]:
    if isinstance(choice, bool) or choice is None:
        return
    if isinstance(choice, int | float):
        for mention in fit.scene.atoms:
            if mention.kind == "number" and mention.value == choice:
                found = number(fit, param, mention)
                if found:
                    yield Option(choice, found.score + 0.3, found.start, found.end)
        return
    spelled = str(choice)
    words = [w for w in re.split(r"[\s_-]+", spelled) if w]
    pattern = r"[\s_-]+".join(re.escape(w) for w in words) if words else re.escape(spelled)
    edge_left, edge_right = (
        (r"(?<!\w)" if spelled[:1].isalnum() else ""),
        (r"(?!\w)" if spelled[-1:].isalnum() else ""),
    )
    flags = 0 if len(spelled) == 1 else re.IGNORECASE
    is_any = False
    if spelled[:1].isalnum():
        for match in re.finditer(edge_left + pattern + r"(?:e?s)?" + edge_right, fit.scene.text, flags):
            covering = next((m for m in fit.scene.atoms if m.overlaps(match.start(), match.end())), None)
            if covering is not None and covering.kind in ("path", "url", "email") and str(covering.value) != spelled:
                continue  # a part of something else
            is_any = True
            at = fit.scene.at(match.start())
            extra = fit.anchor(param, at, fit.scene.behind(match.end())) + fit.lead(param, fit.scene.lead_of(at)[0])
            lone = 0.5 if len(spelled) <= 2 and spelled.isalpha() and extra < 0.4 else 0.0
            ordinary = 0.35 if spelled.lower() in STOPWORDS and extra < 0.4 else 0.0
            yield Option(choice, 1.2 + 0.3 * extra - lone - ordinary, match.start(), match.end())
    else:
        yield from _operator(fit, spelled, choice)
    if not is_any:
        yield from _kindred(fit, param, choice, words)


def _operator(fit: Fit, spelled: str, choice: Any) -> Iterator[Option]:
    match = re.search(r"(?<![<>=!])" + re.escape(spelled) + r"(?![<>=])", fit.scene.text)
    if match:
        yield Option(choice, 1.4, match.start(), match.end())
    for phrase in _OPERATORS.get(spelled, ()):
        found = re.search(rf"\b{phrase}\b", fit.scene.text, re.IGNORECASE)
        if found:
            yield Option(choice, 1.0 + 0.01 * len(phrase), found.start(), found.end())


def _kindred(fit: Fit, param: Param, choice: Any, words: list[str]) -> Iterator[Option]:
    spelled = str(choice).lower()
    stems = [stem(w.lower()) for w in words]
    unit = {"c": "celsius", "f": "fahrenheit", "k": "kelvin"}.get(spelled) or units.unit_named(spelled)
    for i, token in enumerate(fit.scene.tokens):
        if not fit.scene.is_free(i) and token.text != "%":
            continue
        known = (
            units.CURRENCY_OF.get(token.lower) == choice
            or (bool(unit) and units.unit_named(token.lower) == unit)
            or units.LANGUAGE_CODES.get(token.lower) == choice
            or _is_adjective(token.lower, spelled)
        )
        if known:
            yield Option(choice, 1.0 + 0.3 * fit.lead(param, fit.scene.lead_of(i)[0]), token.start, token.end)
        elif token.is_content and len(stems) == 1 and token.stem not in fit.profile.name_stems:
            near = similarity(token.stem, stems[0])
            if len(spelled) >= 3 and token.lower.startswith(spelled) and token.lower != spelled:
                near = max(near, 0.75)  # `asc` of ascending
            if near >= 0.6 and token.lower not in WEAK:
                yield Option(choice, 0.35 + near * 0.5 + (0.12 if spelled in _PLAIN else 0.0), token.start, token.end)
    for phrase in _OPERATORS.get(_OPERATOR_NAMES.get(spelled, ""), ()):
        found = re.search(rf"\b{phrase}\b", fit.scene.text, re.IGNORECASE)
        if found:
            yield Option(choice, 1.0 + 0.01 * len(phrase), found.start(), found.end())


def _is_adjective(word: str, name: str) -> bool:
    """Whether a word is a name's adjective: `European` of Europe, `African` of Africa, `American` of Americas."""
    base = name.removesuffix("s")
    return len(base) >= 4 and word.removesuffix("s") in (f"{base}n", f"{base}an", f"{base}ian")


def booleans(fit: Fit, param: Param) -> Iterator[Option]:
    """Yes or no, where the prompt speaks of it: its own words, their opposites, a negation before them."""
    scene, lower = fit.scene, fit.scene.text.lower()
    key = "_".join(param.parts)
    for table, value in ((_OPPOSITES, False), (_SAME, True)):
        for name, phrases in table.items():
            if name == key or (len(param.parts) > 1 and name in param.parts and name not in ("on",)):
                for phrase in phrases:
                    match = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", lower)
                    if match:
                        yield Option(value, 1.5, match.start(), match.end())
    for value, ends in zip((True, False), _ENDS.get(key.removeprefix("sort_"), ()), strict=False):
        for match in re.finditer(rf"(?<!\w)(?<!at )(?:{'|'.join(ends)})(?!\w)", lower):
            yield Option(value, 1.1, match.start(), match.end())
    words = [
        w
        for w in param.words
        if w
        not in (
            "onli",
            "only",
            "all",
            "is",
            "should",
            "use",
            "show",
            "with",
            "get",
            "include",
            "enabl",
            "flag",
            "allow",
            "do",
        )
    ]
    if not words:
        return
    if len(words) > 1 and words[0] in _AVOIDING:
        yield from _avoided(scene, words[1:])
    name_stems = set(fit.profile.name_stems)
    for i, token in enumerate(scene.tokens):
        if not scene.is_free(i) or not token.is_word:
            continue
        run = _matched(scene, i, words) or (_scattered(scene, i, words) if len(words) > 1 else 0)
        is_asked_for = i > 0 and scene.tokens[i - 1].lower in _AFFIRMATIONS
        if not run or (len(words) == 1 and token.stem in name_stems and not is_asked_for and not _is_negated(scene, i)):
            continue
        value = not _is_negated(scene, i)
        yield Option(value, 1.25, token.start, scene.tokens[i + run - 1].end)


_AVOIDING = frozenset({"avoid", "exclud", "skip", "ignor", "disabl", "no", "without", "omit", "hid", "drop"})


def _avoided(scene: Scene, words: list[str]) -> Iterator[Option]:
    """`without tolls`, for a parameter that says `avoid_tolls`."""
    for i in range(len(scene.tokens)):
        run = _matched(scene, i, words)
        if run and _is_negated(scene, i):
            yield Option(True, 1.3, scene.tokens[i].start, scene.tokens[i + run - 1].end)


def _scattered(scene: Scene, index: int, words: list[str]) -> int:
    """How many tokens from an index on hold all the words, in any order (`tolls avoided`); 0 when they don't."""
    left = set(words)
    for i in range(index, min(index + len(words) + 3, len(scene.tokens))):
        token = scene.tokens[i]
        if token.is_break or token.text == ",":
            break
        left = {w for w in left if w != token.stem and similarity(w, token.stem) < 0.6}
        if i == index and len(left) == len(words):
            break
        if not left:
            return i - index + 1
    return 0


def _matched(scene: Scene, index: int, words: list[str]) -> int:
    """How many tokens from an index on say the words, hyphens left out; 0 when they don't."""
    i, n = index, 0
    for word in words:
        while (
            i > index
            and i < len(scene.tokens)
            and (scene.tokens[i].text in "-_" or scene.tokens[i].lower in ("the", "a", "any", "all", "of", "out"))
        ):
            i += 1
        if i >= len(scene.tokens) or (scene.tokens[i].stem != word and similarity(scene.tokens[i].stem, word) < 0.6):
            return 0
        i += 1
        n = i - index
    return n


def _is_negated(scene: Scene, index: int) -> bool:
    for i in range(index - 1, max(-1, index - 4), -1):
        token = scene.tokens[i]
        if token.is_break or token.text == ",":
            return False
        if token.lower in _NEGATIONS:
            return True
    return scene.tokens[index].lower.startswith(("un", "non")) and not scene.tokens[index].lower.startswith(
        ("unique", "unit")
    )
