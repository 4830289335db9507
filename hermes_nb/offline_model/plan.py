"""What to do next in a conversation: call tools, ask for what is missing, or answer. Decided anew from the messages.

A prompt becomes steps, each a tool with its arguments; several steps come from `then`, sentences, `and` before another
tool's verb, or calls written out. A step whose arguments are not all in the prompt takes them from results before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hermes_nb.offline_model.clause import REFERS, Reader
from hermes_nb.offline_model.fill import fill
from hermes_nb.offline_model.match import Match
from hermes_nb.offline_model.profile import Param, Profile
from hermes_nb.offline_model.scene import Scene
from hermes_nb.offline_model.talk import PastCall, Talk
from hermes_nb.offline_model.thesaurus import notions, similarity
from hermes_nb.offline_model.words import STOPWORDS, VERBS, WEAK, stem, stems

MAX_STEPS = 8
_ELLIPTIC = re.compile(
    r"\s*(?:and|what about|how about|now|also|or|same|again|but|ok|okay|then|instead|for|in|with|on|from|to|at|by)\b",
    re.I,
)
_ASKING = frozenset("who what which when where why how is are was were do does did can could would will should".split())
_IN_PLACE = re.compile(
    r"\b(?:it|this|that|the (?:result|answer|sum|total|product|difference|average|mean|output|text|translation))\b"
    r"(?=\s*(?:$|[.,;?!]|(?:by|to|into|in|with|from|and|as|for|on|plus|minus|times)\b))",
    re.I,
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
    reader = Reader(profiles, today)
    steps = _steps(talk, reader)
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
        ready = _spelled_out(step, before, reader) if i or step.missing else step
        ready = _with_results(ready, before, is_first=i == 0)
        if ready.missing:
            return Decision(ask=ready)
        return Decision(tuple((step.profile.name, call) for call in ready.calls[n_done:]))
    return Decision()


# From words to steps


def _steps(talk: Talk, reader: Reader) -> list[Step]:
    if not reader.profiles or not talk.prompt.strip():
        return []
    literal = _literal(talk.prompt, reader)
    if literal:
        return literal[:MAX_STEPS]
    answered = _answer_to_question(talk, reader)
    if answered:
        return answered
    found = [_step(m, clause, talk) for clause, m in reader.clauses(talk.prompt)]
    if found:
        return [_carried(step, talk) for step in found[:MAX_STEPS]]
    followed = _follow_up(talk, reader)
    return [followed] if followed else []


def _literal(prompt: str, reader: Reader) -> list[Step]:
    """Steps for calls written out as `name(...)`, in their order."""
    hits = []
    for profile in reader.profiles:
        for match in re.finditer(rf"(?<![\w.]){re.escape(profile.name)}\s*\(", prompt):
            hits.append((match.start(), profile))
    hits.sort(key=lambda h: h[0])
    steps = []
    for start, profile in hits:
        filling = fill(Scene(prompt[start:], reader.today), profile)
        steps.append(Step(profile, (filling.values,), filling.missing, prompt[start:]))
    return steps


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
    if last is None or not step.missing or not _is_elliptic(talk.prompt) or REFERS.search(step.clause):
        return step
    found = {p.name: last.arguments[p.name] for p in step.missing if p.name in last.arguments}
    if len(found) < len(step.missing):
        return step
    kept = {n: v for n, v in last.arguments.items() if step.profile.param(n) is not None}
    return replace(step, calls=tuple({**kept, **c} for c in step.calls), missing=())


def _is_elliptic(prompt: str) -> bool:
    """Whether a prompt only makes sense after another: `and for Berlin?`, `In Fahrenheit`, `Madrid`."""
    if _ELLIPTIC.match(prompt):
        return True
    words = [w.partition("'")[0] for w in re.findall(r"[\w'-]+", prompt.lower())]
    return 0 < len(words) <= 4 and words[0] not in _ASKING and words[0] not in VERBS and not _is_known_verb(words[0])


def _is_known_verb(word: str) -> bool:
    return word not in STOPWORDS and (word in WEAK or bool(notions(stem(word))))


def _follow_up(talk: Talk, reader: Reader) -> Step | None:
    """`and for Berlin?`: the last tool again, with the new value in the place of the old one."""
    if not talk.last_calls or not _is_elliptic(talk.prompt):
        return None
    last = talk.last_calls[-1]
    profile = next((p for p in reader.profiles if p.name == last.name), None)
    if profile is None:
        return None
    if re.match(r"\s*(?:again|once more|same again|repeat(?: (?:it|that))?)\W*$", talk.prompt, re.I):
        return Step(profile, (dict(last.arguments),), (), talk.prompt)
    required = replace(profile, params=tuple(replace(p, is_required=p.name in last.arguments) for p in profile.params))
    filling = fill(reader.scene(talk.prompt), required)
    strong = {n: v for n, v in filling.values.items() if filling.strengths.get(n, 0.0) >= 0.45}
    if not strong or not _is_all_said(reader.scene(talk.prompt), [filling.spans[n] for n in strong], profile):
        return None
    base = {**last.arguments, **strong}
    calls = [base]
    for name, values in filling.more.items():
        if name in strong:
            calls.extend({**base, name: value} for value in values)
    return Step(profile, tuple(calls), (), talk.prompt)


def _is_all_said(scene: Scene, spans: Sequence[tuple[int, int]], profile: Profile) -> bool:
    """Whether the prompt holds nothing but the values, the tool's own words and words that say nothing."""
    own = profile.lexicon | profile.param_stems | {"instead", "pleas", "now", "about"}
    return all(not t.is_content or t.stem in own or any(a <= t.start and t.end <= b for a, b in spans) for t in scene.tokens)


def _answer_to_question(talk: Talk, reader: Reader) -> list[Step]:
    """The user's reply to our question for a missing value, put into the step it was asked for."""
    if not talk.earlier:
        return []
    prompt, done, answer = talk.earlier[-1]
    asked = re.match(r"To call `([^`]+)` I need", answer)
    profile = next((p for p in reader.profiles if asked and p.name == asked[1]), None)
    other = reader.best(talk.prompt)
    if profile is None or done or (other is not None and other.is_named):
        return []
    if other is not None and other.profile is not profile and other.is_enough and not other.filling.missing:
        return []
    for clause, match in reader.clauses(prompt):
        if match.profile is not profile or not match.filling.missing:
            continue
        wanted = replace(profile, params=match.filling.missing)
        reply = fill(reader.scene(talk.prompt), wanted)
        values = dict(reply.values)
        left = list(reply.missing)
        is_text = len(left) == 1 and left[0].kind in ("string", "any") and not left[0].choices
        if len(match.filling.missing) == 1 and is_text and _is_elliptic(talk.prompt):
            values[left[0].name] = _bare(talk.prompt)
            left = []
        if values:
            return [Step(profile, ({**match.filling.values, **values},), tuple(left), clause)]
    return []


def _bare(reply: str) -> str:
    text = re.sub(r"^\s*(?:it'?s|it is|for|in|to|of|the|use|take|please)\s+", "", reply.strip(), flags=re.I)
    return text.strip(" .!?\"'`")


# From results


def _spelled_out(step: Step, done: Sequence[PastCall], reader: Reader) -> Step:
    """The step read again with the former result in the place of `it`, `that` or `the result`, where it is one value."""
    value = done[-1].result if done else None
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > 300:
        return step
    said = f"'{value}'" if isinstance(value, str) else f"{value:.12g}" if isinstance(value, float) else str(value)
    if isinstance(value, str) and ("'" in value or not value.strip()):
        return step
    text, n = _IN_PLACE.subn(lambda _: said, step.clause, count=1)
    if not n:
        return step
    filling = fill(reader.scene(text), step.profile)
    if len(filling.missing) > len(step.missing):
        return step
    return replace(step, calls=(filling.values,), missing=filling.missing, strengths=dict.fromkeys(filling.values, 2.0))


def _with_results(step: Step, done: Sequence[PastCall], *, is_first: bool) -> Step:
    """The step with what former results give it: for a first step only where the prompt refers to them."""
    if not done or (is_first and not REFERS.search(step.clause)):
        return step
    result = done[-1].result
    weak = [
        p
        for p in step.profile.params
        if p.name in step.calls[0] and step.strengths.get(p.name, 2.0) < 0.75 and p.is_required and p.kind == "string"
    ]
    wanted = [*step.missing, *(weak if REFERS.search(step.clause) and not is_first else [])]
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
