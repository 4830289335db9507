"""Which of the offered tools a prompt asks for, if any."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hermes_nb.offline_model.fill import Filling, fill
from hermes_nb.offline_model.profile import Profile, shape
from hermes_nb.offline_model.scene import Scene
from hermes_nb.offline_model.thesaurus import PHRASES, similarity
from hermes_nb.offline_model.words import HOLLOW, WEAK, WEAK_STEMS, stem

ENOUGH = 0.62  # least evidence in words for calling anything
ASK_ENOUGH = 0.75  # for asking for what is missing
KINDRED_ENOUGH = 0.9  # the same where all of it is kindred words
# Values that look like nothing else: finding one where the tool wants one is evidence for the tool.
_TELLING = {"path": 1.0, "url": 1.0, "email": 1.0, "phone": 1.0, "sql": 1.5, "unit": 1.0, "currency": 1.0}
_SPEAKING = frozenset({"currency", "unit", "language"})  # sorts whose values are words that tools are found by
_SIGNS = (
    (re.compile(r"\d\s*\+\s*\d"), "add"),
    (re.compile(r"\bwhat (?:does|do)\b.*\bmean\b", re.I), "definition"),
    (re.compile(r"(?:%|percent)\s+off\b", re.I), "discount"),
    (re.compile(r"\d\s*(?:[*×]|times)\s*\d"), "multiply"),
)
_HOW_TO = re.compile(r"\s*(?:how (?:do|does|can|to|would)\b|why\b|explain\b|tell me about\b|write (?:me )?an?\b)", re.I)


@dataclass(frozen=True)
class Match:
    """A tool and how well the prompt fits it.

    Attributes:
        words: Evidence from names and descriptions, less for words that fit several tools.
        closest: How close the closest word of the prompt comes to the tool.
        evidence: What speaks for calling it at all: the words, and arguments that are unmistakable.
        score: For ranking: words and arguments together.
        is_named: The prompt spells the tool's name as code.
    """

    profile: Profile
    filling: Filling
    words: float
    closest: float
    evidence: float
    score: float
    is_named: bool = False

    @property
    def is_enough(self) -> bool:
        """Whether it is evidence enough to call the tool."""
        if self.filling.missing and self.evidence < ASK_ENOUGH:
            return self.is_named
        return self.is_named or self.evidence >= (ENOUGH if self.closest >= 0.5 else KINDRED_ENOUGH)


@dataclass(frozen=True, slots=True)
class _Word:
    stem: str
    weight: float
    start: int
    end: int
    is_implied: bool = False


def rank(scene: Scene, profiles: Sequence[Profile]) -> list[Match]:
    """The tools, best first."""
    asked = _asked(scene)
    rarity = {w.stem: _rarity(w.stem, profiles) for w in asked}
    ranked = [_match(scene, profile, asked, rarity) for profile in profiles]
    ranked.sort(key=lambda m: (not m.is_enough, -m.score))
    return ranked


def _match(scene: Scene, profile: Profile, asked: Sequence[_Word], rarity: Mapping[str, float]) -> Match:
    filling = fill(scene, profile)
    values = [
        span
        for name, span in filling.spans.items()
        if (p := profile.param(name)) is not None
        and not p.choices
        and p.kind in ("string", "any", "array")
        and p.sort not in _SPEAKING
    ]
    best: dict[str, float] = {}
    closest = 0.0
    n_unexplained = 0
    for word in asked:
        close = _closeness(word.stem, profile, in_params=not word.is_implied)
        weight = word.weight
        if any(a <= word.start and word.end <= b for a, b in values):
            if close < 0.6:
                continue  # a value says little about the tool
            weight *= 0.5
        closest = max(closest, close)
        is_value = any(a <= word.start and word.end <= b for a, b in filling.spans.values())
        n_unexplained += word.weight >= 0.6 and close < 0.3 and not is_value and not word.is_implied
        found = weight * close
        best[word.stem] = max(found, best.get(word.stem, 0.0))
    coverage = _coverage(profile, list(best)) + _spelled_part(scene.text, profile)
    words = sum(found * rarity[stem] for stem, found in best.items()) + coverage
    evidence = max(words, 0.8 * (sum(best.values()) + coverage))
    if not filling.missing:
        telling = 0.6 * any(
            p.shapes and isinstance(v, str) and shape(v) in p.shapes
            for p in profile.params
            if (v := filling.values.get(p.name)) is not None
        )
        telling += 0.25 * sum(_TELLING.get(p.sort, 0.0) for p in profile.params if filling.strengths.get(p.name, 0.0) > 0.9)
        if _fits_like_a_glove(scene, filling):
            telling += 0.35
            closest = max(closest, 0.5)
        if telling >= 0.5:
            closest = max(closest, 0.5)
        words += telling
        evidence += telling
        evidence += min(0.4, 0.2 * sum(strength >= 1.05 for strength in filling.strengths.values()))
    weak = any(
        p.is_required
        and p.kind == "string"
        and filling.strengths.get(p.name, 1.0) < 0.5
        and str(filling.values.get(p.name, "")).replace(" ", "").isalpha()
        and str(filling.values[p.name]).islower()
        for p in profile.params
    )
    if weak and coverage < 0.45 and len(profile.name_stems) > 1:
        evidence -= 0.3  # half of the tool's name, and a value that is hardly one
    if _HOW_TO.match(scene.text) and sum(strength >= 1.05 for strength in filling.strengths.values()) < 2:
        evidence -= 0.35  # a question for knowledge, more often than not
    is_named = _is_named(scene.text, profile)
    score = words + 0.6 * filling.score - 0.06 * min(4, n_unexplained) + (5.0 if is_named else 0.0)
    return Match(profile, filling, words, closest, evidence, score, is_named)


def _fits_like_a_glove(scene: Scene, filling: Filling) -> bool:
    """Whether two values or more fit well and the prompt mentions no other."""
    strong = [n for n, strength in filling.strengths.items() if strength >= 0.85]
    spans = list(filling.spans.values())
    names = [(scene.tokens[a].start, scene.tokens[b - 1].end) for a, b in scene.names]
    values = [(m.start, m.end) for m in scene.atoms if not m.is_approximate] + names
    return len(strong) >= 2 and len(strong) == len(spans) and all(any(a < y and x < b for x, y in spans) for a, b in values)


def _asked(scene: Scene) -> list[_Word]:
    """Stems of the prompt and how much each tells: values tell little, weak verbs less than nouns."""
    asked: list[_Word] = []
    lowers = [t.stem for t in scene.tokens]
    for i, token in enumerate(scene.tokens):
        if token.is_content:
            weight = 0.3 if token.lower in WEAK or token.stem in WEAK_STEMS else 0.6 if token.lower in HOLLOW else 1.0
            if not scene.is_free(i):
                weight *= 0.15
            elif token.text[0].isupper() and i not in scene.verbs and i > 0:
                weight *= 0.6
            asked.append(_Word(token.stem, weight, token.start, token.end))
        for n in (1, 2, 3, 4):
            implied = PHRASES.get(tuple(lowers[i : i + n]))
            if implied and scene.is_free(i):
                asked.append(_Word(implied, 0.9, token.start, scene.tokens[min(i + n, len(lowers)) - 1].end, True))
    for pattern, meaning in _SIGNS:
        if pattern.search(scene.text):
            asked.append(_Word(stem(meaning), 0.8, 0, 0))
    return asked


def _closeness(word: str, profile: Profile, *, in_params: bool = True) -> float:
    """How close a word is to the tool: its name counts most, then the description, parameters, choices."""
    best = 0.0
    fields = (
        (profile.name_stems, 1.0),
        (profile.first_stems, 0.85),
        (profile.rest_stems, 0.5),
        (profile.param_stems, 0.55),
        (profile.choice_stems, 0.6),
        (profile.told_stems, 0.4),
    )
    for stems, weight in fields if in_params else fields[:3]:
        for other in stems:
            if other in WEAK and word != other:
                continue
            found = similarity(word, other) * weight
            best = max(best, found)
    return best


def _rarity(word: str, profiles: Sequence[Profile]) -> float:
    """1 for a word that fits one tool alone, less the more tools it fits."""
    n = sum(_closeness(word, p) >= 0.4 for p in profiles)
    return 1.0 if n <= 1 else max(0.3, 1.0 - math.log(n) / math.log(len(profiles) + 2))


def _coverage(profile: Profile, asked: Sequence[str]) -> float:
    """How much of the tool's own name the prompt says."""
    names = [n for n in profile.name_stems if n not in WEAK] or list(profile.name_stems)
    if not names:
        return 0.0
    hits = sum(max((similarity(n, w) for w in asked), default=0.0) for n in names)
    return 0.6 * hits / len(names)


def _spelled_part(text: str, profile: Profile) -> float:
    """Whether the prompt spells a part of the tool's name that is no word: `base64` of `base64_encode`."""
    parts = [p for p in profile.name.lower().split("_") if any(c.isdigit() for c in p) and len(p) > 2]
    return 0.6 if any(re.search(rf"(?<!\w){re.escape(p)}(?!\w)", text, re.I) for p in parts) else 0.0


def _is_named(text: str, profile: Profile) -> bool:
    """Whether the prompt spells the tool's name as code: with an underscore, in backticks or with a parenthesis."""
    name = re.escape(profile.name)
    if "_" in profile.name and re.search(rf"(?<!\w){name}(?!\w)", text):
        return True
    return bool(re.search(rf"`{name}`|(?<![\w.]){name}\(", text))
