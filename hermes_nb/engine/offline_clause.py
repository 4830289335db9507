"""A prompt taken apart into clauses that ask for a tool each: `then`, sentences, list points, `and` before another verb."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from hermes_nb.engine.offline_match import Match, rank
from hermes_nb.engine.offline_profile import Profile
from hermes_nb.engine.offline_scene import Scene
from hermes_nb.engine.offline_thesaurus import similarity
from hermes_nb.engine.offline_words import stem

MAX_PIECES = 10
MAX_JOINTS = 6  # places where `and` may part two requests
_STRONG = re.compile(
    r"(?:,|;|\.)?\s+(?:and\s+)?(?:then|after that|afterwards|subsequently|finally)[,:]?\s+"
    r"|(?<=[.!?;])\s+|\n+\s*(?:[-*•]|\d+[.)])?\s*",
    re.I,
)
_WEAK = re.compile(r",?\s+(?:and|plus|as well as)\s+(?:also\s+)?|,\s+(?=[a-z]+\s)", re.I)
REFERS = re.compile(
    r"\b(?:it|that|this|those|these|them|the (?:results?|answer|sum|total|value|number|output|mean|average|product"
    r"|difference))\b",
    re.I,
)


class Reader:
    """Reads clauses against the same tools; what was read once is remembered."""

    def __init__(self, profiles: Sequence[Profile], today: str) -> None:
        self.profiles = profiles
        self.today = today
        self._best: dict[str, Match | None] = {}
        self._scenes: dict[str, Scene] = {}

    def scene(self, text: str) -> Scene:
        """What there is in a text."""
        if text not in self._scenes:
            self._scenes[text] = Scene(text, self.today)
        return self._scenes[text]

    def best(self, text: str) -> Match | None:
        """The tool that fits a text best; None without tools."""
        if text not in self._best:
            ranked = rank(self.scene(text), self.profiles)
            self._best[text] = ranked[0] if ranked else None
        return self._best[text]

    def clauses(self, prompt: str) -> list[tuple[str, Match]]:
        """The clauses that ask for a tool each, with their matches; [] when nothing is asked for."""
        whole = self.best(prompt)
        pieces = self._split(prompt)
        pieces = (
            pieces[:MAX_PIECES]
            if len(pieces) <= MAX_PIECES
            else [*pieces[: MAX_PIECES - 1], " ".join(pieces[MAX_PIECES - 1 :])]
        )
        groups: list[tuple[str, Match | None]] = []
        for piece in pieces:
            match = self.best(piece)
            if match is None or not match.is_enough:
                if groups:
                    text, former = groups[-1]
                    groups[-1] = (f"{text} {piece}", former)
                else:
                    groups.append((piece, None))
                continue
            if groups and (groups[-1][1] is None or _is_same_request(groups[-1], piece, match)):
                groups[-1] = (f"{groups[-1][0]} {piece}", match if groups[-1][1] is None else groups[-1][1])
                continue
            groups.append((piece, match))
        asked = [(text, match) for text, match in groups if match is not None]
        found: list[tuple[str, Match]] = []
        for text, former in asked:
            parts = self._weak_parts(text)
            if parts:
                found.extend(parts)
                continue
            match = self.best(text) if len(asked) > 1 else whole
            found.append((text, match if match is not None and match.is_enough else former))
        if not found and whole is not None and whole.is_enough:
            found = [(prompt, whole)]
        return found

    def _split(self, prompt: str) -> list[str]:
        """The pieces between matches of a pattern, except inside quotes, lists, code and addresses."""
        scene = self.scene(prompt)
        closed = [(m.start, m.end) for m in scene.mentions if m.kind not in ("number",)]
        closed += [(s.start, s.end) for s in scene.spans if s.form in ("sql", "expression")]
        pieces, start = [], 0
        for match in _STRONG.finditer(prompt):
            if any(a < match.end() and match.start() < b for a, b in closed):
                continue
            pieces.append(prompt[start : match.start()])
            start = match.end()
        pieces.append(prompt[start:])
        return [p.strip() for p in pieces if p.strip(" .,;!?\n")]

    def _weak_parts(self, text: str) -> list[tuple[str, Match]]:
        """The two requests in `plot a and describe b`; [] where `and` joins no two tools."""
        scene = self.scene(text)
        for match in itertools.islice(_WEAK.finditer(text), MAX_JOINTS):
            left, right = text[: match.start()].strip(), text[match.end() :].strip()
            if not left or not right or any(m.start < match.end() and match.start() < m.end for m in scene.mentions):
                continue
            first, second = self.best(left), self.best(right)
            if first is None or second is None or first.profile is second.profile:
                continue
            if first.words < 0.9 or second.words < 0.9 or first.filling.missing:
                continue
            if second.filling.missing and not REFERS.search(right) and not _is_imperative(right, second):
                continue
            return [(left, first), *(self._weak_parts(right) or [(right, second)])]
        return []


def _is_same_request(group: tuple[str, Match | None], piece: str, match: Match) -> bool:
    """Whether a piece only says more about the tool before it."""
    former = group[1]
    if former is None or former.profile is not match.profile:
        return False
    return bool(former.filling.missing or match.filling.missing or not match.filling.values)


def _is_imperative(text: str, match: Match) -> bool:
    """Whether a clause begins with a word of its tool's name or description, as `convert ...`."""
    first = re.match(r"\W*([A-Za-z]+)", text)
    return first is not None and any(similarity(stem(first[1]), w) >= 0.7 for w in match.profile.lexicon)
