"""How well a span of the prompt fits a string parameter: what it looks like, the words around it, whose name it says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hermes_nb.offline_model import unit as units
from hermes_nb.offline_model.fit import Fit, Option
from hermes_nb.offline_model.profile import Param, shape
from hermes_nb.offline_model.scene import TextSpan
from hermes_nb.offline_model.thesaurus import notions, similarity
from hermes_nb.offline_model.words import HOLLOW

# Sort of a parameter: form of a span and how much it looks the part (1 is perfect); `any` is for parameters of no sort.
_TABLE = """
any: quoted 0.8 phone 0.5 proper 0.55 caps 0.55 ident 0.55 code 0.55 path 0.3 url 0.2 email 0.15 chunk 0.3 tail 0.12 fence
    0.6 proper_pair 0.3 expression 0.2 unit 0.1 number 0.3
place: address 0.95 proper 0.8 caps 0.4 quoted 0.65 chunk 0.25 tail 0.1 proper_pair 0.85 code 0.15
person: proper 0.8 quoted 0.65 email 0.4 chunk 0.25 caps 0.3 ident 0.35 code 0.3 tail 0.1
text: quoted 0.95 tail 0.5 chunk 0.25 proper 0.35 fence 0.9 ident 0.3 code 0.2 caps 0.25
query: quoted 0.9 tail 0.45 chunk 0.4 proper 0.5 ident 0.4 caps 0.4 code 0.4
title: quoted 0.9 tail 0.3 chunk 0.28 proper 0.6 ident 0.5 code 0.45 caps 0.4
class: quoted 0.8 chunk 0.42 proper 0.35 caps 0.35 ident 0.5 code 0.4 tail 0.05
column: quoted 0.85 ident 0.85 chunk 0.4 caps 0.4 proper 0.4 code 0.35 tail 0.05
code: code 0.9 caps 0.75 quoted 0.75 number 0.5 ident 0.55 proper 0.2 chunk 0.1 email 0.2
path: path 0.95 quoted 0.7 url 0.3 ident 0.4 code 0.3 chunk 0.2 caps 0.2 proper 0.2
url: url 1 path 0.4 quoted 0.4
phone: phone 1 quoted 0.5 code 0.4 number 0.4
email: email 1 quoted 0.3 proper 0.35 chunk 0.1
sql: sql 1.2 fence 0.95 quoted 0.85
expression: expression 0.85 quoted 0.9 code 0.75 fence 0.7 tail 0.1 caps 0.4 proper 0.4 chunk 0.1
language: proper 0.6 quoted 0.15 caps 0.3 chunk 0.15
currency: unit 0.3 caps 0.8 quoted 0.4 proper 0.3 chunk 0.1
month: month 1 date 0.8 proper 0.4 quoted 0.5 chunk 0.1
unit: unit 0.35 quoted 0.5 chunk 0.12 proper 0.3 caps 0.2
date: when 0.8 date 1 datetime 0.8 quoted 0.4 tail 0.02
datetime: datetime 1 date 0.8 quoted 0.4
time: time 1 datetime 0.6 quoted 0.4 tail 0.02
"""


def _read(table: str) -> dict[str, dict[str, float]]:
    forms: dict[str, dict[str, float]] = {}
    for line in table.strip().replace("\n    ", " ").splitlines():
        sort, _, cells = line.partition(": ")
        words = cells.split()
        forms["" if sort == "any" else sort] = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    return forms


_FORMS = _read(_TABLE)
_PLACING = frozenset("of in for about on at from to into near against vs versus per between".split())
_LOOSE = frozenset({"chunk", "tail", "proper", "caps", "ident", "code", "unit", "proper_pair", "expression"})
_FREE = frozenset({"text", "query", "title"})
# What a sort is called in the table of prepositions.


def string(fit: Fit, param: Param, span: TextSpan) -> Option | None:
    """The span as a value of a string parameter; None when it can't be one."""
    forms = _FORMS.get(param.sort, _FORMS[""])
    base = forms.get(
        span.form,
        0.6 * _FORMS[""].get(span.form, 0.0)
        if param.sort not in ("url", "email", "sql", "date", "time", "datetime")
        else 0.0,
    )
    value: str = span.value
    start, end = span.start, span.end
    if span.form in ("proper", "caps", "chunk", "ident") and (_cuts_name(fit, span) or _is_owned(fit, span)):
        return None
    if span.form == "tail" and param.sort not in _FREE and span.last - span.first > 8:
        return None
    known = _known(param, value, span.form)
    if known:
        value, gain = known
        base += gain
    looks_like_year = span.form == "number" and "year" in param.words and re.fullmatch(r"(?:1[4-9]|20|21)\d\d", value)
    if looks_like_year:
        base = 0.8
    if base <= 0:
        return None
    if param.sort in fit.typed and span.form != param.sort and span.form not in ("datetime", "quoted"):
        base -= 0.4  # the prompt has a value of just that kind
    if span.form == "proper_pair" and not re.search(r", [A-Z]{2}\b|\w, [A-Z]", f"{_second(value)}{param.description}"):
        return None
    anchor = fit.anchor(param, span.first, span.last)
    before = span.lead
    if not before and span.form in ("chunk", "ident"):
        before = _lead_behind_own(fit, span.first)
    lead = fit.lead(param, before)
    if span.form == "number" and not looks_like_year and anchor < 0.4 and param.sort not in ("code", "phone"):
        return None
    is_code = param.sort == "code" and span.form == "code"
    is_sort = param.sort == "class" and span.form == "chunk" and (_is_own(fit, span.last) or span.lead == "object")
    if (
        not param.is_required
        and span.form in _LOOSE
        and not (is_code or is_sort or _is_named_by(param, span))
        and anchor < 0.35
        and lead < 0.25
        and not known
    ):
        return None
    score = base + anchor + lead
    if value.lower() in fit.choices and not param.choices:
        score -= 0.6  # it is a choice of another parameter
    if param.choices:
        score -= 0.8  # the description lists what it takes
    if lead == 0 and span.lead in _PLACING and span.form in ("chunk", "proper", "caps"):
        score += 0.1
    if span.form in ("chunk", "tail", "proper", "ident", "caps"):
        score -= _own_words(fit, param, span)
    if span.form in ("proper", "caps") and any(t.stem in param.words for t in fit.scene.tokens[span.first : span.last]):
        score += 0.5  # the name says what it is: `Hilton Hotel`, `Premier League`
    opening = fit.scene.tokens[span.first].stem if span.first < len(fit.scene.tokens) else ""
    if span.form == "proper" and span.last - span.first > 1 and opening in fit.profile.lexicon - set(param.words):
        score -= 0.1  # `DNA ATGGCC`
    if span.form == "chunk" and any(span.first <= a and b <= span.last for a, b in fit.scene.names):
        score -= 0.25  # a name with other words around it
    if span.form == "tail" and param.sort in _FREE and (span.lead == "to-do" or span.lead in _SAID):
        score += 0.4
    if span.form == "chunk" and param.sort == "text" and span.last - span.first == 1:
        score -= 0.1  # a word is hardly a text
    if value and shape(value) in param.shapes:
        score += 0.3
    elif param.shapes and span.form in ("number", "code", "caps"):
        score -= 0.3  # not what the examples look like
    if param.shown and any(t.stem in param.shown for t in fit.scene.tokens[span.first : span.last]):
        score += 0.3  # one of the examples
    if span.form == "chunk" and span.lead == "object":
        score += 0.15
    if span.form == "chunk" and span.lead in _PLACING and fit.scene.tokens[span.last - 1].text.isdigit():
        score += 0.15  # `in room 5`
    if param.sort == "unit" and not param.is_required and span.form == "unit":
        n_amounts = sum(p.is_number and p.is_required for p in fit.profile.params)
        if n_amounts != 1 or len(param.words) > 1:
            return None
    if param.sort == "class" and span.form == "chunk" and _is_own(fit, span.last):
        score += 0.25 if param.is_required else 0.4  # `violent` crimes: what kind of the thing the tool is about
    elif is_sort:
        score += 0.0 if param.is_required else 0.25  # top 10 `comedies`
    if span.form in ("chunk", "proper") and not known:
        score += 0.03 * (span.last - span.first) if not _is_stretched(fit, span) else -0.05
    if span.form == "tail":
        if param.sort not in _FREE and not known:
            score -= 0.25
        score += 0.02 * min(8, span.last - span.first)
    return Option(value, score, start, end)


_SAID = frozenset({"that", "saying", "says", "reading"})
_SUPERLATIVES = frozenset(
    """best worst closest nearest cheapest fastest shortest longest highest lowest largest biggest smallest newest oldest
    top first last next good great local nearby popular favorite favourite available most least more less fewer
    tomorrow today yesterday tonight now currently""".split()
)


def _lead_behind_own(fit: Fit, first: int) -> str:
    """The preposition before the tool's own words before a value: `of experiment BASELINE`."""
    i = first
    while i > 0 and fit.scene.is_free(i - 1) and fit.scene.tokens[i - 1].stem in fit.own:
        i -= 1
    return fit.scene.lead_of(i)[0] if i < first else ""


def _is_named_by(param: Param, span: TextSpan) -> bool:
    """Whether a name behind a preposition may be meant for an optional parameter that takes names."""
    return span.form in ("proper", "caps") and span.lead in _PLACING and param.sort in ("place", "person", "title", "")


def _second(pair: str) -> str:
    """`, TX` of `Austin, TX`; "" where what follows the comma is no two letters."""
    match = re.search(r", [A-Z]{2}\Z", pair)
    return match.group() if match else ""


def _known(param: Param, value: str, span_form: str) -> tuple[str, float] | None:
    """The value as the parameter's description wants it, where it is a currency, language, country or unit."""
    lower = value.lower()
    wants_code = "code" in param.told or "iso" in param.told
    about = set(param.words) | (param.told if param.sort in ("currency", "language", "place", "code", "") else set())
    if param.sort == "currency" or {"currenc", "currency", "currenci"} & about:
        if value in units.CURRENCY_CODES:
            return value, 0.2
        if lower in units.CURRENCY_OF or lower in ("pound", "pounds"):
            return units.CURRENCY_OF.get(lower, "GBP"), 0.6
    if (param.sort == "language" or {"languag"} & about) and lower in units.LANGUAGE_CODES:
        return (units.LANGUAGE_CODES[lower] if wants_code else value), 0.4
    if {"country", "countri", "nation"} & about and lower in units.COUNTRY_CODES:
        return (units.COUNTRY_CODES[lower] if wants_code else value), 0.2
    if param.sort == "unit" and (units.unit_named(lower) or lower in units.CURRENCY_OF):
        return value, 0.55
    return None


def _is_stretched(fit: Fit, span: TextSpan) -> bool:
    """Whether a capitalised name was given a noun that follows it."""
    return span.form == "proper" and any(a == span.first and b < span.last for a, b in fit.scene.names)


def _is_own(fit: Fit, index: int) -> bool:
    tokens = fit.scene.tokens
    if index >= len(tokens) or not tokens[index].is_content:
        return False
    return tokens[index].stem in fit.own or any(similarity(tokens[index].stem, w) >= 0.7 for w in fit.profile.lexicon)


def _cuts_name(fit: Fit, span: TextSpan) -> bool:
    """Whether the span leaves out a part of a capitalised name, other than what the tool calls it (`Lawyer John Doe`)."""
    name = fit.scene.name_around(span.first, span.last)
    if name is None:
        return False
    tokens = fit.scene.tokens
    rest = [i for i in range(*name) if not span.first <= i < span.last]
    is_asked = all(tokens[i].stem in fit.profile.lexicon for i in rest if tokens[i].lower != "of")
    is_of = any(tokens[i].lower == "of" for i in rest)
    is_before = all(i < span.first for i in rest) and not (is_of and fit.scene.lead_of(name[0])[0] in _PLACING)
    is_owner = all(i >= span.last for i in rest) and _owns(fit, span.last - 1, rest)
    return bool(rest) and not (is_asked and (is_before or is_owner))


def _owns(fit: Fit, index: int, after: Sequence[int]) -> bool:
    """Whether a word is the owner of what the tool gives, which follows: `France's GDP`, `FR GDP`."""
    tokens = fit.scene.tokens
    if not after or not all(tokens[i].stem in fit.profile.lexicon for i in after):
        return False
    is_acronym = all(tokens[i].text.isupper() and tokens[i].stem in fit.profile.name_stems for i in after)
    return tokens[index].text.lower().endswith(("'s", "’s")) or is_acronym


def _is_owned(fit: Fit, span: TextSpan) -> bool:
    """Whether the span is what the tool gives and its owner, of whom alone the value is."""
    return any(_owns(fit, i, range(i + 1, span.last)) for i in range(span.first, span.last - 1))


def _own_words(fit: Fit, param: Param, span: TextSpan) -> float:
    """The penalty for a value made of words that name the tool or a parameter."""
    tokens = fit.scene.tokens
    inside = range(span.first, min(span.last, span.first + 30))
    words = [i for i in inside if tokens[i].is_content]
    if not words:
        return {"caps": 0.0, "proper": 0.0, "tail": 0.2}.get(span.form, 0.5)
    named = {i for a, b in fit.scene.names for i in range(a, b)}
    empty = {i for i in words if tokens[i].lower in _SUPERLATIVES or tokens[i].lower in HOLLOW}
    own = {i for i in words if tokens[i].stem in fit.own or tokens[i].stem in param.told} | empty
    if len(words) > 1:
        own |= {
            i for i in (words[0], words[-1]) if any(similarity(tokens[i].stem, w) >= 0.7 for w in fit.profile.name_stems)
        }
    if span.form == "proper":
        later = [i for i in words if i not in named]
        if any(i in own or tokens[i].stem in fit.profile.told_stems for i in later):
            return 0.4
        opens = span.first in fit.scene.verbs and (span.first in own or bool(notions(tokens[span.first].stem)))
        return 0.45 if own == set(words) else 0.6 if opens else 0.0
    if span.form == "tail" and span.lead in _SAID:
        return 0.0  # what is to be said may say anything
    verbs = any(i in fit.scene.verbs for i in inside)
    told = sum(i not in own and tokens[i].stem in fit.told for i in words)
    share = (len(own) + 0.5 * told) / len(words)
    opening = 0.25 if span.form == "tail" and words[0] in own else 0.0
    return (0.8 if span.form != "tail" else 0.6) * share + 0.35 * verbs + opening


# Choices and booleans
