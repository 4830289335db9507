"""What to do next in a conversation: call tools, ask for what is missing, or answer. Decided anew from the messages.

A prompt becomes steps, each a tool with its arguments; several steps come from `then`, sentences, `and` before another
tool's verb, or calls written out. A step whose arguments are not all in the prompt takes them from results before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hermes_nb.engine.offline_fill import fill
from hermes_nb.engine.offline_match import Match, rank
from hermes_nb.engine.offline_profile import Param, Profile
from hermes_nb.engine.offline_scene import Scene
from hermes_nb.engine.offline_talk import Done, Talk
from hermes_nb.engine.offline_thesaurus import similarity
from hermes_nb.engine.offline_words import stem, stems

MAX_STEPS = 8
_STRONG = re.compile(
    r"(?:,|;|\.)?\s+(?:and\s+)?(?:then|after that|afterwards|subsequently|finally)[,:]?\s+"
    r"|(?<=[.!?;])\s+|\n+\s*(?:[-*•]|\d+[.)])?\s*",
    re.I,
)
_WEAK = re.compile(r",?\s+(?:and|plus|as well as)\s+(?:also\s+)?|,\s+(?=[a-z]+\s)", re.I)
_REFERS = re.compile(
    r"\b(?:it|that|this|those|these|them|the (?:results?|answer|sum|total|value|number|output|mean|average|product"
    r"|difference))\b",
    re.I,
)
_ELLIPTIC = re.compile(
    r"\s*(?:and|what about|how about|now|also|or|same|again|but|ok|okay|then|for|in|with|on)\b", re.I
)


@dataclass(frozen=True)
class Step:
    """One tool to call, with every set of arguments to call it with (several for `Paris and Rome`)."""

    profile: Profile
    calls: tuple[dict[str, Any], ...]
    missing: tuple[Param, ...] = ()
    clause: str = ""
    strengths: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """What to do: `calls` to make now, or `ask` a step's missing parameters, or (neither) answer from what was done."""

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    ask: Step | None = None
    is_match: bool = True


def decide(talk: Talk, profiles: Sequence[Profile], today: str) -> Decision:
    """The next move."""
    steps = _steps(talk, profiles, today)
    if not steps:
        return Decision(is_match=bool(talk.done))
    if any(d.error for d in talk.done):
        return Decision()
    n_done = len(talk.done)
    for i, step in enumerate(steps):
        if n_done >= len(step.calls):
            n_done -= len(step.calls)
            continue
        before = [*talk.last_calls, *talk.done] if i == 0 else talk.done
        ready = _with_results(step, before, is_first=i == 0)
        if ready.missing:
            return Decision(ask=ready)
        return Decision(tuple((step.profile.name, call) for call in ready.calls[n_done:]))
    return Decision()


# From words to steps


def _steps(talk: Talk, profiles: Sequence[Profile], today: str) -> list[Step]:
    if not profiles or not talk.prompt.strip():
        return []
    literal = _literal(talk.prompt, profiles, today)
    if literal:
        return literal[:MAX_STEPS]
    answered = _answer_to_question(talk, profiles, today)
    if answered:
        return answered
    found = [_step(m, clause, talk) for clause, m in _clauses(talk.prompt, profiles, today)]
    if found:
        return [_carried(step, talk) for step in found[:MAX_STEPS]]
    followed = _follow_up(talk, profiles, today)
    return [followed] if followed else []


def _literal(prompt: str, profiles: Sequence[Profile], today: str) -> list[Step]:
    """Steps for calls written out as `name(...)`, in their order."""
    hits = []
    for profile in profiles:
        for match in re.finditer(rf"(?<![\w.]){re.escape(profile.name)}\s*\(", prompt):
            hits.append((match.start(), profile))
    hits.sort(key=lambda h: h[0])
    steps = []
    for start, profile in hits:
        filling = fill(Scene(prompt[start:], today), profile)
        steps.append(Step(profile, (filling.values,), filling.missing, prompt[start:]))
    return steps


def _clauses(prompt: str, profiles: Sequence[Profile], today: str) -> list[tuple[str, Match]]:
    """The clauses that ask for a tool each, with their matches; [] when nothing is asked for."""
    whole = _best(prompt, profiles, today)
    pieces = _split(prompt, _STRONG, today)
    groups: list[tuple[str, Match | None]] = []
    for piece in pieces:
        match = _best(piece, profiles, today)
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
        parts = _weak_parts(text, profiles, today)
        if parts:
            found.extend(parts)
            continue
        match = _best(text, profiles, today) if len(asked) > 1 else whole
        found.append((text, match if match is not None and (len(asked) == 1 or match.is_enough) else former))
    if not found and whole is not None and whole.is_enough:
        found = [(prompt, whole)]
    return found


def _best(text: str, profiles: Sequence[Profile], today: str) -> Match | None:
    ranked = rank(Scene(text, today), profiles)
    return ranked[0] if ranked else None


def _is_same_request(group: tuple[str, Match | None], piece: str, match: Match) -> bool:
    """Whether a piece only says more about the tool before it."""
    former = group[1]
    if former is None or former.profile is not match.profile:
        return False
    return bool(former.filling.missing or match.filling.missing or not match.filling.values)


def _split(prompt: str, pattern: re.Pattern[str], today: str) -> list[str]:
    """The pieces between matches of a pattern, except inside quotes, lists, code and addresses."""
    scene = Scene(prompt, today)
    closed = [(m.start, m.end) for m in scene.mentions if m.kind not in ("number",)]
    closed += [(s.start, s.end) for s in scene.spans if s.form in ("sql", "expression")]
    pieces, start = [], 0
    for match in pattern.finditer(prompt):
        if any(a < match.end() and match.start() < b for a, b in closed):
            continue
        pieces.append(prompt[start : match.start()])
        start = match.end()
    pieces.append(prompt[start:])
    return [p.strip() for p in pieces if p.strip(" .,;!?\n")]


def _weak_parts(text: str, profiles: Sequence[Profile], today: str) -> list[tuple[str, Match]]:
    """The two requests in `plot a and describe b`; [] where `and` joins no two tools."""
    scene = Scene(text, today)
    for match in _WEAK.finditer(text):
        left, right = text[: match.start()].strip(), text[match.end() :].strip()
        if not left or not right or any(m.start < match.end() and match.start() < m.end for m in scene.mentions):
            continue
        first, second = _best(left, profiles, today), _best(right, profiles, today)
        if first is None or second is None or first.profile is second.profile:
            continue
        if first.words < 0.9 or second.words < 0.9 or first.filling.missing:
            continue
        if second.filling.missing and not _REFERS.search(right) and not _is_imperative(right, second):
            continue
        return [(left, first), *(_weak_parts(right, profiles, today) or [(right, second)])]
    return []


def _is_imperative(text: str, match: Match) -> bool:
    """Whether a clause begins with a word of its tool's name or description, as `convert ...`."""
    first = re.match(r"\W*([A-Za-z]+)", text)
    return bool(first) and any(similarity(stem(first[1]), w) >= 0.7 for w in match.profile.lexicon) if first else False


def _step(match: Match, clause: str, talk: Talk) -> Step:
    filling = match.filling
    calls = [filling.values]
    for name, others in filling.more.items():
        calls.extend({**filling.values, name: value} for value in others)
    if len(filling.more) != 1:
        calls = calls[:1]
    missing, values = [], dict(calls[0])
    for param in filling.missing:
        if talk.variables and param.kind in ("string", "any") and "variabl" in {*param.told, *param.words}:
            values[param.name] = talk.variables[0]
            calls = [values]
        else:
            missing.append(param)
    return Step(match.profile, tuple(calls), tuple(missing), clause, filling.strengths)


# From former turns


def _carried(step: Step, talk: Talk) -> Step:
    """What is missing, taken from the last call of the same tool: `and in Fahrenheit?`."""
    last = next((d for d in reversed(talk.last_calls) if d.name == step.profile.name), None)
    if last is None or not step.missing or not _is_elliptic(talk.prompt) or _REFERS.search(step.clause):
        return step
    found = {p.name: last.arguments[p.name] for p in step.missing if p.name in last.arguments}
    if len(found) < len(step.missing):
        return step
    kept = {n: v for n, v in last.arguments.items() if step.profile.param(n) is not None}
    return replace(step, calls=tuple({**kept, **c} for c in step.calls), missing=())


def _is_elliptic(prompt: str) -> bool:
    return bool(_ELLIPTIC.match(prompt)) or len(prompt.split()) <= 6


def _follow_up(talk: Talk, profiles: Sequence[Profile], today: str) -> Step | None:
    """`and for Berlin?`: the last tool again, with the new value in the place of the old one."""
    if not talk.last_calls or not _is_elliptic(talk.prompt):
        return None
    last = talk.last_calls[-1]
    profile = next((p for p in profiles if p.name == last.name), None)
    if profile is None:
        return None
    if re.match(r"\s*(?:again|once more|same again|repeat(?: (?:it|that))?)\W*$", talk.prompt, re.I):
        return Step(profile, (dict(last.arguments),), (), talk.prompt)
    required = replace(profile, params=tuple(replace(p, is_required=p.name in last.arguments) for p in profile.params))
    filling = fill(Scene(talk.prompt, today), required)
    strong = {n: v for n, v in filling.values.items() if filling.strengths.get(n, 0.0) >= 0.45}
    if not strong:
        return None
    base = {**last.arguments, **strong}
    calls = [base]
    for name, values in filling.more.items():
        if name in strong:
            calls.extend({**base, name: value} for value in values)
    return Step(profile, tuple(calls), (), talk.prompt)


def _answer_to_question(talk: Talk, profiles: Sequence[Profile], today: str) -> list[Step]:
    """The user's reply to our question for a missing value, put into the step it was asked for."""
    if not talk.earlier:
        return []
    prompt, done, answer = talk.earlier[-1]
    asked = re.match(r"To call `([^`]+)` I need", answer)
    profile = next((p for p in profiles if asked and p.name == asked[1]), None)
    if profile is None or done:
        return []
    for clause, match in _clauses(prompt, profiles, today):
        if match.profile is not profile or not match.filling.missing:
            continue
        wanted = replace(profile, params=match.filling.missing)
        reply = fill(Scene(talk.prompt, today), wanted)
        values = dict(reply.values)
        left = list(reply.missing)
        if len(match.filling.missing) == 1 and left and left[0].kind in ("string", "any") and not left[0].choices:
            values[left[0].name] = _bare(talk.prompt)
            left = []
        if values:
            return [Step(profile, ({**match.filling.values, **values},), tuple(left), clause)]
    return []


def _bare(reply: str) -> str:
    text = re.sub(r"^\s*(?:it'?s|it is|for|in|to|of|the|use|take|please)\s+", "", reply.strip(), flags=re.I)
    return text.strip(" .!?\"'`")


# From results


def _with_results(step: Step, done: Sequence[Done], *, is_first: bool) -> Step:
    """The step with what former results give it: for a first step only where the prompt refers to them."""
    if not done or (is_first and not _REFERS.search(step.clause)):
        return step
    result = done[-1].result
    weak = [
        p for p in step.profile.params
        if p.name in step.calls[0] and step.strengths.get(p.name, 2.0) < 0.75 and p.is_required and p.kind == "string"
    ]  # fmt: skip
    wanted = [*step.missing, *(weak if _REFERS.search(step.clause) else [])]
    found: dict[str, Any] = {}
    for param in wanted:
        value = _value_for(param, result, n_wanted=len(wanted))
        if value is not None:
            found[param.name] = value
    if not found:
        return step
    missing = tuple(p for p in step.missing if p.name not in found)
    return replace(step, calls=tuple({**c, **found} for c in step.calls), missing=missing)


def _value_for(param: Param, result: Any, *, n_wanted: int) -> Any:
    """The part of a result that fits a parameter; None when nothing does."""
    if isinstance(result, dict):
        best = max(result, key=lambda k: _likeness(param, str(k)), default=None)
        if best is not None and _likeness(param, str(best)) >= 0.6 and _fits(param, result[best]):
            return _as(param, result[best])
        fitting = [v for v in result.values() if _fits(param, v)]
        return _as(param, fitting[0]) if len(fitting) == 1 or (fitting and param.is_number and n_wanted == 1) else None
    if isinstance(result, list) and result and param.kind != "array":
        return _value_for(param, result[0], n_wanted=n_wanted)
    if isinstance(result, list) and param.kind == "array" and result and isinstance(result[0], dict):
        key = max(result[0], key=lambda k: _likeness(param, str(k)))
        column = [row.get(key) for row in result if isinstance(row, dict)]
        return column if all(param.item is None or _fits(param.item, v) for v in column) else None
    if isinstance(result, str) and param.is_number:
        number = re.search(r"-?\d+(?:\.\d+)?", result)
        return _as(param, float(number.group())) if number else None
    return _as(param, result) if _fits(param, result) else None


def _likeness(param: Param, key: str) -> float:
    return max((similarity(w, k) for w in param.words for k in stems(key)), default=0.0)


def _fits(param: Param, value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return param.kind == "boolean" and value is not None
    if param.is_number:
        return isinstance(value, int | float)
    if param.kind == "string":
        return isinstance(value, str) or (isinstance(value, int | float) and param.sort in ("code", "text"))
    if param.kind == "array":
        return isinstance(value, list)
    return param.kind in ("any", "object") and isinstance(value, dict | str | int | float)


def _as(param: Param, value: Any) -> Any:
    if param.kind == "integer" and isinstance(value, float):
        return round(value)
    if param.kind == "string" and isinstance(value, int | float):
        return f"{value:g}"
    return int(value) if isinstance(value, float) and param.is_number and value == int(value) else value
