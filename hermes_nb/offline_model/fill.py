"""Filling a tool's parameters from a scene: the best set of values that do not share words of the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hermes_nb.offline_model.fit import Fit, Option
from hermes_nb.offline_model.literal import assigned, literal_call, named
from hermes_nb.offline_model.options import options
from hermes_nb.offline_model.profile import Param, Profile
from hermes_nb.offline_model.profile import profile as profile_of
from hermes_nb.offline_model.scene import Scene

BEAM = 40
N_OPTIONS = 9
REQUIRED_FROM = 0.3  # a required parameter takes an option from this score on
OPTIONAL_FROM = 0.75  # an optional one needs a word that points to it
MISSING = 0.5


@dataclass(frozen=True)
class Filling:
    """A tool's arguments as far as the prompt gives them.

    Attributes:
        values: By parameter; defaults are left out.
        missing: Required parameters without a value.
        score: How well the prompt and the parameters fit each other, for ranking.
        more: Parameter -> further values, where the prompt lists several for one (`Paris and Rome`).
        used: The parts of the prompt that became values.
        strengths: Parameter -> how well its value fits it.
        spans: Parameter -> where its value stands in the prompt.
    """

    values: dict[str, Any]
    missing: tuple[Param, ...]
    score: float
    more: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    used: tuple[tuple[int, int], ...] = ()
    strengths: dict[str, float] = field(default_factory=dict)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _State:
    score: float
    chosen: tuple[tuple[Param, Option], ...]


def fill(scene: Scene, profile: Profile) -> Filling:
    """The tool's arguments from the scene."""
    literal = literal_call(scene.text, profile)
    if literal is not None:
        missing = tuple(p for p in profile.params if p.is_required and p.name not in literal)
        whole = ((0, len(scene.text)),)
        return Filling(literal, missing, 1.5, used=whole, strengths=dict.fromkeys(literal, 2.0))
    fit = Fit(scene, profile)
    fixed = {p.name: o for p in profile.params if (o := assigned(scene, profile, p) or named(scene, p))}
    per_param: list[tuple[Param, list[Option]]] = []
    for param in profile.params:
        found = [fixed[param.name]] if param.name in fixed else _found(fit, param)
        threshold = REQUIRED_FROM if param.is_required else OPTIONAL_FROM
        if param.is_number and _is_lone(scene, profile):
            threshold = 0.4
        per_param.append((param, [o for o in _distinct(found) if o.score >= threshold][:N_OPTIONS]))
    best = _search(per_param, scene)
    return _filling(scene, profile, best)


def _is_lone(scene: Scene, profile: Profile) -> bool:
    """Whether one number is mentioned and one parameter takes a number: they belong together."""
    n_numbers = sum(m.kind == "number" and not m.is_approximate for m in scene.atoms)
    return n_numbers == 1 and sum(p.is_number for p in profile.params) == 1


def _found(fit: Fit, param: Param) -> list[Option]:
    """What the parameter may take, best first; an object is filled field by field."""
    found = list(options(fit, param))
    if param.kind == "object" and not found:
        inner = profile_of({"name": param.name, "description": param.description, "parameters": param.schema})
        filled = fill(fit.scene, inner) if inner.params else None
        if filled is not None and filled.values and not filled.missing:
            start, end = min(s for s, _ in filled.used), max(e for _, e in filled.used)
            found.append(Option(filled.values, 0.8, start, end))
    return sorted(found, key=lambda o: -o.score)


def _distinct(found: list[Option]) -> Iterator[Option]:
    seen: set[str] = set()
    for option in found:
        key = f"{option.value!r}{option.start}"
        if key not in seen:
            seen.add(key)
            yield option


def _search(per_param: list[tuple[Param, list[Option]]], scene: Scene) -> _State:
    beam = [_State(0.0, ())]
    for param, found in per_param:
        grown: list[_State] = []
        for state in beam:
            grown.append(_State(state.score - (MISSING if param.is_required else 0.0), state.chosen))
            for option in found:
                if not any(o.start < option.end and option.start < o.end for _, o in state.chosen):
                    gain = (
                        option.score
                        + _order(state, param, option)
                        - (0 if param.is_required else 0.5 if param.is_number else 0.65)
                    )
                    grown.append(_State(state.score + gain, (*state.chosen, (param, option))))
        grown.sort(key=lambda s: -s.score)
        beam = grown[:BEAM]
    return max(beam, key=lambda s: s.score - _unused(scene, s))


def _order(state: _State, param: Param, option: Option) -> float:
    """Values of like parameters usually come in the order of the parameters."""
    like = [(p, o) for p, o in state.chosen if p.kind == param.kind and p.sort == param.sort]
    same = [o for p, o in like if p.words == param.words]
    if same:
        return 0.15 if same[-1].end <= option.start else -0.15
    return 0.0 if not like else 0.06 if like[-1][1].end <= option.start else -0.06


def _unused(scene: Scene, state: _State) -> float:
    """What it costs that the prompt mentions values nobody takes."""
    costs = {
        "quoted": 0.4,
        "fence": 0.4,
        "date": 0.35,
        "datetime": 0.35,
        "time": 0.25,
        "path": 0.4,
        "url": 0.45,
        "email": 0.45,
        "code": 0.3,
        "number": 0.25,
    }
    total = 0.0
    for mention in scene.atoms:
        if not mention.is_approximate and not any(mention.overlaps(o.start, o.end) for _, o in state.chosen):
            total += costs.get(mention.kind, 0.0)
    for first, last in scene.names:
        start, end = scene.tokens[first].start, scene.tokens[last - 1].end
        if not any(o.start < end and start < o.end for _, o in state.chosen):
            total += 0.15
    return min(total, 1.2)


def _filling(scene: Scene, profile: Profile, best: _State) -> Filling:
    chosen = {p.name: o for p, o in best.chosen}
    values = {p.name: chosen[p.name].value for p in profile.params if p.name in chosen}
    missing = tuple(p for p in profile.params if p.is_required and p.name not in chosen)
    required = [p for p in profile.params if p.is_required]
    score = -_unused(scene, best) - 0.5 * len(missing)
    for param, option in best.chosen:
        score += (0.3 if param in required else 0.25) * min(1.4, option.score)
        score -= 0.2 if option.score < 0.45 and param in required else 0.0
    more = {
        p.name: tuple(v for v, _, _ in o.more)
        for p, o in best.chosen
        if o.more and not any(a < x.end and x.start < b for _, a, b in o.more for _, x in best.chosen)
    }
    used = tuple((o.start, o.end) for _, o in best.chosen)
    strengths = {p.name: o.score for p, o in best.chosen}
    return Filling(values, missing, score, more, used, strengths, {p.name: (o.start, o.end) for p, o in best.chosen})
