"""Which of the offered tools a prompt asks for, if any."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_nb.engine.offline_fill import Filling, fill
from hermes_nb.engine.offline_profile import Profile
from hermes_nb.engine.offline_scene import Scene
from hermes_nb.engine.offline_thesaurus import PHRASES, similarity
from hermes_nb.engine.offline_words import WEAK

ENOUGH = 0.62  # least lexical evidence for calling anything
# Values that look like nothing else: finding one where the tool wants one is evidence for the tool.
_TELLING = {"path": 1.0, "url": 1.0, "email": 1.0, "sql": 1.5}


@dataclass(frozen=True)
class Match:
    """A tool and how well the prompt fits it: `words` from names and descriptions, `score` with its arguments."""

    profile: Profile
    filling: Filling
    words: float
    score: float
    is_named: bool = False

    @property
    def is_enough(self) -> bool:
        """Whether it is evidence enough to call the tool."""
        return self.is_named or self.words >= ENOUGH


def rank(scene: Scene, profiles: Sequence[Profile]) -> list[Match]:
    """The tools, best first."""
    asked = _asked(scene)
    rarity = {word: _rarity(word, profiles) for word, _ in asked}
    ranked = []
    for profile in profiles:
        words = sum(weight * rarity[word] * _closeness(word, profile) for word, weight in asked)
        words += _coverage(profile, [w for w, _ in asked])
        filling = fill(scene, profile)
        if not filling.missing:
            words += 0.25 * sum(
                _TELLING.get(p.sort, 0.0) for p in profile.params if filling.strengths.get(p.name, 0.0) > 0.9
            )
        is_named = _is_named(scene.text, profile)
        score = words + 0.6 * filling.score + (5.0 if is_named else 0.0)
        ranked.append(Match(profile, filling, words, score, is_named))
    ranked.sort(key=lambda m: -m.score)
    return ranked


def _asked(scene: Scene) -> list[tuple[str, float]]:
    """Stems of the prompt and how much each tells: values tell little, weak verbs less than nouns."""
    asked: dict[str, float] = {}
    lowers = [t.stem for t in scene.tokens]
    for i, token in enumerate(scene.tokens):
        weight = 0.0
        if token.is_content:
            weight = 0.3 if token.lower in WEAK else 1.0
            if not scene.is_free(i):
                weight *= 0.15
            elif token.text[0].isupper() and i not in scene.verbs and i > 0:
                weight *= 0.6
        if weight:
            asked[token.stem] = max(weight, asked.get(token.stem, 0.0))
        for n in (2, 3, 4):
            implied = PHRASES.get(tuple(lowers[i : i + n]))
            if implied:
                asked[implied] = max(0.9, asked.get(implied, 0.0))
    if re.search(r"\d\s*\+\s*\d", scene.text):
        asked.setdefault("add", 0.8)
    return list(asked.items())


def _closeness(word: str, profile: Profile) -> float:
    """How close a word is to the tool: its name counts most, then the description, parameters, choices."""
    best = 0.0
    for stems, weight in (
        (profile.name_stems, 1.0),
        (profile.first_stems, 0.85),
        (profile.rest_stems, 0.5),
        (profile.param_stems, 0.55),
        (profile.choice_stems, 0.6),
        (profile.told_stems, 0.4),
    ):
        for other in stems:
            if other in WEAK and word != other:
                continue
            found = similarity(word, other) * weight * (0.35 if other in WEAK else 1.0)
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


def _is_named(text: str, profile: Profile) -> bool:
    """Whether the prompt spells the tool's name as code: with an underscore, in backticks or with a parenthesis."""
    name = re.escape(profile.name)
    if "_" in profile.name and re.search(rf"(?<!\w){name}(?!\w)", text):
        return True
    return bool(re.search(rf"`{name}`|(?<![\w.]){name}\(", text))
