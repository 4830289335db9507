"""How well a mention or a span of the prompt fits a parameter: what it looks like, and which words stand around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hermes_nb.offline_model.profile import LEADS, PREPOSITIONS, Param, Profile
from hermes_nb.offline_model.scene import Scene
from hermes_nb.offline_model.thesaurus import similarity
from hermes_nb.offline_model.words import STOPWORDS, WEAK

_FILLERS = frozenset(
    "of is are was = : the a an as at be equals equal being set named called value about around exactly to for with on"
    " than least most more less over under above below only in by and's - ( my our number".split()
)
# What a sort is called in the table of prepositions.
_TYPED = frozenset({"email", "url", "path", "date", "time", "phone"})
_APART = frozenset({"in", "on", "for", "by", "with", "from", "at"})
_KIN = {
    "place": ("location", "city", "place"),
    "person": ("person",),
    "text": ("text",),
    "query": ("query", "topic"),
    "title": ("title", "name"),
    "column": ("column",),
    "code": ("symbol",),
    "path": ("path", "file"),
    "language": ("language",),
    "currency": ("currency",),
    "unit": ("unit",),
    "date": ("date", "day"),
    "email": ("email",),
}


@dataclass(frozen=True, slots=True)
class Option:
    """One way to fill a parameter: the value, where it comes from, how well it fits; `more` holds its sister values
    (value, start, end) where the prompt lists several (`Paris and Rome`)."""

    value: Any
    score: float
    start: int
    end: int
    more: tuple[tuple[Any, int, int], ...] = ()


class Fit:
    """Scores of one tool's parameters against one scene."""

    def __init__(self, scene: Scene, profile: Profile) -> None:
        self.scene = scene
        self.profile = profile
        self.own = frozenset(profile.lexicon | profile.param_stems)
        self.choices = {str(c).lower() for p in profile.params if p.is_closed for c in p.choices if len(str(c)) > 2}
        self.told = frozenset(w for p in profile.params if p.is_number for w in p.told)
        self.typed = {m.kind for m in scene.atoms} & _TYPED
        self.aligned = self._alignments()

    # Words around

    def anchor(self, param: Param, first: int, last: int) -> float:
        """How strongly the words right before and after a stretch of tokens name the parameter, 0 to about 1.2."""
        return max(self._left(param, first), self._right(param, last))

    def word(self, param: Param, stem: str) -> float:
        """How well one word names the parameter: 1 for a word of its name, less for a kindred or a described one."""
        if stem in param.words or (stem in param.parts and len(param.parts) == 1):
            if len(param.words) < 2:
                return 1.0
            return 0.35 if stem in self.profile.name_stems else 0.85
        best = max((similarity(w, stem) for w in param.words), default=0.0)
        if best >= 0.6:
            return best * (0.4 if stem in self.profile.name_stems else 0.8)
        if stem in param.told and stem not in WEAK and not self._is_shared(param, stem):
            return 0.4 if param.is_number else 0.3
        return best * 0.5

    def _is_shared(self, param: Param, stem: str) -> bool:
        return any(stem in p.told or stem in p.words for p in self.profile.params if p is not param)

    def _left(self, param: Param, first: int) -> float:
        tokens = self.scene.tokens
        best, n_others, hits, nearness = 0.0, 0.0, 0, 1.0
        i = first - 1
        while i >= 0 and n_others < 3:
            token = tokens[i]
            if token.is_break and token.text != ":":
                break
            if not self.scene.is_free(i) or token.text == "," or token.lower in ("and", "or"):
                break
            if token.lower in ("saying", "says", "reading", "that"):
                break
            if token.lower in _APART and token.lower not in param.parts:
                nearness = 0.6  # `values in country`: another phrase begins
            if n_others and token.lower in PREPOSITIONS and token.lower not in ("of", "is", "to", "as"):
                break
            if token.is_word and (token.lower not in _FILLERS or (token.lower in param.parts and len(param.parts) == 1)):
                found = self._word_at(param, i)
                if found:
                    decayed = found * (0.8**n_others) * nearness
                    best = max(best, decayed)
                    hits += decayed > 0.4
                elif token.lower not in STOPWORDS:
                    n_others += 1
                else:
                    n_others += 0.5
            i -= 1
        return best + 0.15 * max(0, hits - 1)

    def _right(self, param: Param, last: int) -> float:
        tokens = self.scene.tokens
        best = 0.0
        steps = 0
        for i in range(last, min(last + 4, len(tokens))):
            token = tokens[i]
            if token.text in "-%" or token.lower in ("of", "different", "separate"):
                continue
            if token.is_break or token.text == "," or not self.scene.is_free(i) or token.lower in STOPWORDS:
                break
            best = max(best, self._word_at(param, i) * (0.95, 0.75, 0.4)[steps])
            steps += 1
            if steps == 3:
                break
        return best

    def _word_at(self, param: Param, index: int) -> float:
        return self.word(param, self.scene.tokens[index].stem)

    def lead(self, param: Param, lead: str) -> float:
        """What the preposition before a value says for the parameter; negative when it points to another one."""
        if not lead or lead == "object":
            return 0.0
        names = set(param.parts) | set(param.words) | set(_KIN.get(param.sort, ()))
        if lead in param.leads or (lead in param.parts):
            return 0.6
        pointed = LEADS.get(lead, frozenset())
        if names & pointed:
            named = bool((set(param.parts) | set(param.words)) & pointed)
            return (0.45 if named else 0.3) - (
                0.12 if lead == "of" and param.sort == "place" and not param.is_required else 0.0
            )
        others = (p for p in self.profile.params if p is not param)
        if any(lead in p.leads or lead in p.parts for p in others):
            return -0.35
        return -0.1 if lead == "by" else 0.0

    def _alignments(self) -> dict[int, str]:
        """`base and height as 6 and 10`: where a value starts -> the parameter named at its place in the row before."""
        aligned: dict[int, str] = {}
        for listed in self.scene.lists:
            members = [m for m in self.scene.atoms if m.kind == "number" and listed.start <= m.start < listed.end]
            named: list[str] = []
            for i in range(self.scene.at(listed.start) - 1, -1, -1):
                token = self.scene.tokens[i]
                if token.is_break or not self.scene.is_free(i):
                    break
                best = max(self.profile.params, key=lambda p: self.word(p, token.stem), default=None)
                if best is not None and best.name not in named and self.word(best, token.stem) >= 0.8:
                    named.append(best.name)
            if len(named) == len(members) > 1:
                aligned.update(zip((m.start for m in members), reversed(named), strict=True))
        return aligned
