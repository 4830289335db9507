"""Everything in a prompt that a parameter may take, by the parameter's type."""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hermes_nb.offline_model.choice import booleans, choices
from hermes_nb.offline_model.fit import Fit, Option
from hermes_nb.offline_model.literal import items
from hermes_nb.offline_model.mention import Mention
from hermes_nb.offline_model.number import number
from hermes_nb.offline_model.profile import Param
from hermes_nb.offline_model.row import rows
from hermes_nb.offline_model.scene import TextSpan
from hermes_nb.offline_model.string import string


def options(fit: Fit, param: Param) -> Iterator[Option]:
    """Every value the prompt offers for a parameter, in no order."""
    if param.choices:
        yield from choices(fit, param)
        if param.is_closed:
            return
    if param.kind == "boolean":
        yield from booleans(fit, param)
    elif param.is_number:
        yield from _numbers(fit, param)
    elif param.kind == "array":
        yield from _arrays(fit, param)
    elif param.kind == "object":
        yield from _objects(fit, param)
    else:
        if param.kind == "any":
            yield from _numbers(fit, param)
        yield from _strings(fit, param)


def _numbers(fit: Fit, param: Param) -> Iterator[Option]:
    listed = [m for m in fit.scene.lists if all(isinstance(v, int | float) for v in m.value)]
    for mention in fit.scene.atoms:
        if mention.kind == "number" and (option := number(fit, param, mention)):
            sisters = next((m for m in listed if m.start <= mention.start and mention.end <= m.end), None)
            more: tuple[tuple[Any, int, int], ...] = ()
            if sisters is not None and mention.start == sisters.start:
                row = [m for m in fit.scene.atoms if m.kind == "number" and sisters.start < m.start < sisters.end]
                more = tuple((m.value, m.start, m.end) for m in row)
            yield Option(option.value, option.score, option.start, option.end, more)
        elif mention.kind == "code" and (number_of := _initial(param, str(mention.value))) is not None:
            yield Option(number_of, 1.2, mention.start, mention.end)
        elif mention.kind in ("date", "datetime", "time") and (value := _part_of(param, mention)) is not None:
            yield Option(value, 0.75, mention.start, mention.start)


def _initial(param: Param, code: str) -> int | None:
    """3 of `Q3`, for a parameter `quarter`."""
    match = re.fullmatch(r"([A-Za-z])(\d{1,2})", code)
    is_meant = match is not None and param.parts[0] in ("quarter", "week", "chapter", "version", "grade", "level")
    return int(match[2]) if match is not None and is_meant and match[1].lower() == param.parts[0][0] else None


def _part_of(param: Param, mention: Mention) -> int | None:
    """The year, month, day, hour or minute of a date or a time, where the parameter is named so."""
    moment, parts = str(mention.value), set(param.parts)
    at = {"year": (0, 4), "month": (5, 7), "day": (8, 10)} if mention.kind != "time" else {}
    clock = {"time": 0, "datetime": 11}.get(mention.kind)
    if clock is not None:
        at |= {"hour": (clock, clock + 2), "hours": (clock, clock + 2)}
        at |= {"minute": (clock + 3, clock + 5), "minutes": (clock + 3, clock + 5)}
    return next((int(moment[a:b]) for word, (a, b) in at.items() if word in parts and moment[a:b].isdigit()), None)


def _strings(fit: Fit, param: Param) -> Iterator[Option]:
    coordinated = rows(fit.scene)
    for span in fit.scene.spans:
        if option := string(fit, param, span):
            sisters = next((c for c in coordinated if c[0].start == span.start and c[0].end == span.end), None)
            more: tuple[tuple[Any, int, int], ...] = ()
            if sisters and len({_LIKE.get(s.form, s.form) for s in sisters}) == 1:
                found = [o for s in sisters[1:] if (o := string(fit, param, _with_lead(s, span.lead)))]
                if all(o.score >= 0.4 for o in found):
                    more = tuple((o.value, o.start, o.end) for o in found)
            yield Option(option.value, option.score, option.start, option.end, more)


_LIKE = {"caps": "proper"}


def _arrays(fit: Fit, param: Param) -> Iterator[Option]:
    item = param.item
    scene = fit.scene
    if item is None:
        return
    if item.choices:
        hits = sorted((o for o in choices(fit, item)), key=lambda o: o.start)
        if hits:
            values = list(dict.fromkeys(o.value for o in hits))
            yield Option(values, 1.0 + 0.1 * len(values), hits[0].start, hits[-1].end)
        if item.is_closed:
            return
    for mention in scene.lists:
        values = items(param, mention.value)
        numeric = all(isinstance(v, int | float) for v in values)
        if len(values) == len(mention.value) and (numeric or item.kind not in ("integer", "number")):
            first, last = scene.at(mention.start), fit.scene.behind(mention.end)
            good = 0.85 if item.is_number else 1.1 if not numeric else 0.3
            yield Option(values, good + fit.anchor(param, first, last) + 0.05 * len(values), mention.start, mention.end)
    if item.is_number and {"rang", "interval", "limit", "bound", "period", "span", "window"} & set(param.words):
        yield from _ranges(fit, param, item)
    if item.is_number:
        for single in scene.atoms:
            if single.kind == "number" and (option := number(fit, param, single)):
                yield Option([option.value], option.score - 0.2, option.start, option.end)
        return
    if item.kind in ("string", "any"):
        yield from _string_lists(fit, param, item)


def _ranges(fit: Fit, param: Param, item: Param) -> Iterator[Option]:
    """`from 2015 to 2021`, `between 0 and 1`, as two numbers."""
    numbers = [m for m in fit.scene.atoms if m.kind == "number"]
    for low, high in itertools.pairwise(numbers):
        between = fit.scene.text[low.end : high.start].strip().lower()
        if between in ("to", "and", "-", "–", "until", "through"):
            yield Option(items(param, [low.value, high.value]), 1.1, low.start, high.end)


def _string_lists(fit: Fit, param: Param, item: Param) -> Iterator[Option]:
    as_item = replace(item, name=param.name, words=param.words, parts=param.parts, sort=param.sort, is_required=True)
    others = {p.name.lower() for p in fit.profile.params if p.name != param.name}
    for run in rows(fit.scene):
        while len(run) > 2 and run[-1].value.split()[0].lower() in others:
            run = run[:-1]  # `x, y and z, seed 1`
        members = [o for i in range(len(run)) if (o := _member(fit, as_item, run, i))]
        if len(members) < len(run):
            continue
        around = max(fit.anchor(param, fit.scene.at(members[0].start), run[-1].last), fit.lead(param, run[0].lead))
        if not param.is_required and around < 0.25:
            continue
        score = max(sum(o.score for o in members) / len(members), members[0].score, members[-1].score) + 0.25
        values = list(dict.fromkeys(o.value for o in members))
        yield Option(values, score, members[0].start, members[-1].end)
    as_item = replace(as_item, is_required=param.is_required)
    listed = [(r[0].start, r[-1].end) for r in rows(fit.scene)]
    for span in fit.scene.spans:
        if span.form != "tail" and (option := string(fit, as_item, span)):
            partial = any(a <= span.start and span.end <= b for a, b in listed)
            yield Option([option.value], option.score - (0.5 if partial else 0.1), option.start, option.end)


def _member(fit: Fit, item: Param, run: list[TextSpan], index: int) -> Option | None:
    """One value of a row; the first and the last may have words around them: `the columns AGE, PRICE and TAX per year`."""
    span = run[index]
    near = [span]
    if index in (0, len(run) - 1) and span.form == "chunk":
        inside = [s for s in fit.scene.spans if s.form == "chunk" and span.start <= s.start and s.end <= span.end]
        near = [s for s in inside if (s.end == span.end if index == 0 else s.start == span.start)]
    found = [o for s in near if (o := string(fit, item, _with_lead(s, run[0].lead)))]
    return max(found, key=lambda o: o.score, default=None)


def _with_lead(span: TextSpan, lead: str) -> TextSpan:
    return TextSpan(span.form, span.value, span.start, span.end, span.first, span.last, span.lead or lead)


def _objects(fit: Fit, param: Param) -> Iterator[Option]:
    match = re.search(r"\{.*\}", fit.scene.text, re.S)
    if match:
        try:
            value = json.loads(match.group())
        except ValueError:
            try:
                value = ast.literal_eval(match.group())
            except (ValueError, SyntaxError):
                value = None
        if isinstance(value, dict):
            yield Option(value, 1.2, match.start(), match.end())
