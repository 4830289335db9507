"""A prompt taken apart into clauses that ask for a tool each: `then`, sentences, list points, `and` before another verb."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from hermes_nb.offline_model.fill import fill
from hermes_nb.offline_model.match import Match, rank
from hermes_nb.offline_model.profile import Profile
from hermes_nb.offline_model.scene import Scene
from hermes_nb.offline_model.thesaurus import similarity
from hermes_nb.offline_model.words import stem

MAX_PIECES = 10
MAX_JOINTS = 6  # places where `and` may part two requests
_STRONG = re.compile(
    r"(?:,|;|\.)?\s+(?:and\s+)?(?:then|after that|afterwards|subsequently|finally)[,:]?\s+"
    r"|(?<=[.!?;])\s+|\n+\s*(?:[-*•]|\d+[.)])?\s*",
    re.I,
)
_POINT = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+")
_BETWEEN = re.compile(r"\bbetween\s+(?:the\s+)?\S+$", re.I)
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
        groups: list[tuple[str, Match | None]] = []
        for piece, is_next in self._split(prompt):
            match = self.best(piece)
            if match is not None and not match.is_enough:
                match = None
            former = groups[-1] if groups else None
            if match is None and is_next and former is not None:
                match = self._again(piece, former[1])
            if former is None or (match is not None and not self._is_more(former, piece, match, is_next=is_next)):
                groups.append((piece, match))
            else:
                groups[-1] = (f"{former[0]} {piece}", former[1] or match)
        asked = [(text, match) for text, match in groups if match is not None]
        found: list[tuple[str, Match]] = []
        for text, match in asked:
            parts = self._weak_parts(text)
            whole = self.best(prompt if len(asked) == 1 else text)
            own = match if whole is None or not whole.is_enough or whole.profile is not match.profile else whole
            found.extend(parts or [(text, whole if len(asked) == 1 and whole is not None and whole.is_enough else own)])
        whole = self.best(prompt)
        if not found and whole is not None and whole.is_enough:
            found = [(prompt, whole)]
        return found

    def _again(self, piece: str, former: Match | None) -> Match | None:
        """The former tool with the values of `..., then Ford and Toyota`; None where they do not fill it."""
        if former is None:
            return None
        filling = fill(self.scene(piece), former.profile)
        is_whole = bool(filling.values) and not filling.missing and filling.score > 0.3
        return replace(former, filling=filling) if is_whole else None

    def _is_more(self, group: tuple[str, Match | None], piece: str, match: Match, *, is_next: bool) -> bool:
        """Whether a piece only says more about the request before it."""
        former = group[1]
        if former is None:
            return True
        if is_next and not former.filling.missing:
            return False
        if match.filling.missing and not REFERS.search(piece) and not _is_imperative(piece, match):
            return True
        is_same = former.profile is match.profile
        return is_same and bool(former.filling.missing or match.filling.missing or not match.filling.values)

    def _split(self, prompt: str) -> list[tuple[str, bool]]:
        """The pieces between sentence ends, list points and `then`, and whether `then` came before; not inside quotes,
        lists, code and addresses."""
        scene = self.scene(prompt)
        closed = [(m.start, m.end) for m in scene.mentions if m.kind not in ("number",)]
        closed += [(s.start, s.end) for s in scene.spans if s.form in ("sql", "expression")]
        pieces: list[tuple[str, bool]] = []
        start, is_next = 0, False
        for match in _STRONG.finditer(prompt):
            if any(a < match.end() and match.start() < b for a, b in closed) or len(pieces) >= MAX_PIECES:
                continue
            pieces.append((prompt[start : match.start()], is_next))
            start, is_next = match.end(), bool(re.search(r"[a-z\n]", match.group(), re.I))
        pieces.append((prompt[start:], is_next))
        pieces = [(p.strip(), n) for p, n in pieces if p.strip(" .,;!?\n") and not _POINT.fullmatch(f"{p} ")]
        return [(_POINT.sub("", p), n) for p, n in pieces]

    def _weak_parts(self, text: str) -> list[tuple[str, Match]]:
        """The two requests in `plot a and describe b`; [] where `and` joins no two tools."""
        scene = self.scene(text)
        for match in itertools.islice(_WEAK.finditer(text), MAX_JOINTS):
            left, right = text[: match.start()].strip(), text[match.end() :].strip()
            if (
                _BETWEEN.search(left)
                or not left
                or not right
                or any(m.start < match.end() and match.start() < m.end for m in scene.mentions)
            ):
                continue
            first, second = self.best(left), self.best(right)
            if first is None or second is None or first.profile is second.profile:
                continue
            if first.evidence < 0.9 or second.evidence < 0.9 or first.filling.missing:
                continue
            if second.filling.missing and not REFERS.search(right) and not _is_imperative(right, second):
                continue
            return [(left, first), *(self._weak_parts(right) or [(right, second)])]
        return []


def _is_imperative(text: str, match: Match) -> bool:
    """Whether a clause begins with a word of its tool's name or description, as `convert ...`."""
    first = re.match(r"\W*([A-Za-z]+)", text)
    return first is not None and any(similarity(stem(first[1]), w) >= 0.7 for w in match.profile.lexicon)
