"""How well a number of the prompt fits a numeric parameter: unit, size, what it counts, the words around it."""

from __future__ import annotations

import itertools
import re
from typing import Any

from hermes_nb.offline_model import unit as units
from hermes_nb.offline_model.fit import Fit, Option
from hermes_nb.offline_model.mention import Mention
from hermes_nb.offline_model.profile import COUNT_WORDS, Param
from hermes_nb.offline_model.thesaurus import similarity
from hermes_nb.offline_model.words import STOPWORDS

_TOPS = frozenset("top first last best worst biggest largest smallest highest lowest least most max maximum limit".split())


def number(fit: Fit, param: Param, mention: Mention) -> Option | None:
    """The number as a value of the parameter; None when it can't be one."""
    value: Any = mention.value
    score = 0.4
    first = fit.scene.at(mention.start)
    last = fit.scene.behind(mention.end)
    anchor = fit.anchor(param, first, last)
    span = _span_of(fit, mention)
    if span:
        anchor = max(anchor, fit.anchor(param, fit.scene.at(span[0].start), fit.scene.behind(span[1].end)))
        score += 0.3 * _end_of(param, mention is span[0])
    own, theirs = param.unit, mention.unit
    if param.sort != "code" and fit.scene.text[mention.start : mention.stop].endswith("K") and _unit_named(param, "kelvin"):
        value = int(value / 1000)  # 300K is a temperature here
    if theirs and own and units.dimension(own) == units.dimension(theirs):
        converted = units.convert(value, theirs, own)
        value = value if converted is None else converted
        score += 0.5
    elif theirs == "percent":
        score += 0.35 if param.is_fraction or _is_rate(param) else -0.3
    elif units.dimension(theirs) == "money":
        score += 0.45 if _is_money(param) else -0.1
    elif any(p.sort == "unit" for p in fit.profile.params):
        pass  # the unit is another parameter's value
    elif theirs and not own and sum(p.is_number for p in fit.profile.params) == 1:
        score += 0.35 if _unit_named(param, theirs) else 0.0
    elif theirs and theirs != "degree" and (own or not _unit_named(param, theirs)):
        score += -1.2 if own else -0.3
    elif theirs:
        score += 0.35 if _unit_named(param, theirs) else 0.0
    if theirs == "percent" and param.is_fraction:
        value = round(value / 100, 10)
    score += anchor
    score += fit.lead(param, fit.scene.lead_of(first)[0]) * 0.5
    score += _year(param, mention) + _compared(fit, param, first)
    is_count = bool(COUNT_WORDS & set(param.words)) or param.name in ("n", "k", "top_n", "top_k")
    if is_count:
        score += _counted(fit, first, last)
    if mention.is_approximate and not mention.unit and anchor < 0.5:
        score -= 0.5
    elif mention.is_spelled and any(len(m.value) == mention.value and m.start > mention.start for m in fit.scene.lists):
        score -= 3.0  # `three sides of 3, 4 and 5`
    elif mention.is_spelled and anchor < 0.3 and not mention.unit and not (is_count and score >= 0.9):
        others = any(m.kind == "number" and not m.is_spelled for m in fit.scene.atoms)
        score -= 0.6 if others else 0.2
    if param.is_fraction and not 0 <= float(value) <= 1:
        score -= 0.8
    if mention.start in fit.aligned:
        score += 0.8 if fit.aligned[mention.start] == param.name else -0.8
    if not _allows(param, value):
        return None
    if "negativ" in param.told and value > 0 and _LOWERING.search(fit.scene.text[: mention.start]):
        value = -value
    if param.kind == "integer" and isinstance(value, float):
        value = int(value)
    return Option(value, score, mention.start, mention.end if mention.stop < 0 else mention.stop)


def _span_of(fit: Fit, mention: Mention) -> tuple[Mention, Mention] | None:
    """The two numbers of `between 25 and 34` or `from 1 to 5` that the number is one of."""
    numbers = [m for m in fit.scene.atoms if m.kind == "number"]
    for low, high in itertools.pairwise(numbers):
        if mention in (low, high):
            between = fit.scene.text[low.end : high.start].strip().lower()
            lead = fit.scene.lead_of(fit.scene.at(low.start))[0]
            if (lead, between) in (("between", "and"), ("from", "to"), ("from", "until")) or between in ("-", "–"):
                return low, high
    return None


_LOW = frozenset("min minimum low lower start from first begin since after".split())
_HIGH = frozenset("max maximum high upper end to last stop until before".split())


def _end_of(param: Param, is_first: bool) -> int:
    """1 when the parameter is the end of a span that the number stands at, -1 for the other end, 0 for none."""
    parts = set(param.parts)
    is_low, is_high = bool(parts & _LOW), bool(parts & _HIGH)
    return 0 if is_low == is_high else 1 if is_low == is_first else -1


_LOWERING = re.compile(r"\b(?:lower|reduce|decrease|drop|cut|shrink|less|down|back|subtract|minus)\b", re.I)
_AT_LEAST = re.compile(
    r"(?:more than|at least|over|above|greater than|higher than|minimum(?: of)?|older than|exceeding|from|>=?)\s*$",
    re.I,
)
_AT_MOST = re.compile(
    r"(?:less than|at most|under|below|lower than|up to|maximum(?: of)?|younger than|cheaper than|within"
    r"|no more than|<=?)\s*$",
    re.I,
)


def _compared(fit: Fit, param: Param, first: int) -> float:
    """What `more than` or `at most` before a number says for a parameter that is a minimum or a maximum."""
    before = fit.scene.text[: fit.scene.tokens[first].start].replace("$", "").rstrip() + " " if first else ""
    parts = set(param.parts)
    is_low, is_high = (
        bool(parts & {"min", "minimum", "lower", "least"}),
        bool(parts & {"max", "maximum", "upper", "most", "limit"}),
    )
    if _AT_LEAST.search(before):
        return 0.45 * (is_low - is_high)
    if _AT_MOST.search(before):
        return 0.45 * (is_high - is_low)
    return 0.0


def _counted(fit: Fit, first: int, last: int) -> float:
    """`top 5`, `ten best`, `three ... dice`: the number counts what the tool is about."""
    tokens = fit.scene.tokens
    if first and tokens[first - 1].lower in _TOPS:
        return 0.6
    for i in range(last, min(last + 5, len(tokens))):
        token = tokens[i]
        if i == last and token.lower in ("times", "time", "x"):
            return 0.6
        if token.is_break or token.text == "," or (fit.scene.is_free(i) and token.lower in STOPWORDS):
            break
        if token.lower in _TOPS or any(similarity(token.stem, w) >= 0.7 for w in fit.profile.lexicon):
            return 0.6
    return 0.2


def _unit_named(param: Param, unit: str) -> bool:
    dimension = units.dimension(unit)
    return any(similarity(w, dimension) >= 0.6 or w == unit for w in (*param.words, *param.told)) or (
        dimension in ("degree", "temperature") and bool({"temperatur", "temp", "angl", "degre"} & set(param.words))
    )


def _is_rate(param: Param) -> bool:
    words = {
        "rate",
        "percent",
        "percentag",
        "pct",
        "discount",
        "share",
        "interest",
        "growth",
        "tax",
        "tip",
        "ratio",
        "rat",
    }
    return bool(words & set(param.words)) or "percent" in param.told or "percentag" in param.told


def _is_money(param: Param) -> bool:
    words = (
        "amount price cost principal budget salary income revenue payment balance deposit money fee loan investment"
        " worth value total spend pay purchase sum debt tax wage capital bill"
    ).split()
    return any(w in set(param.parts) for w in words) or bool({"currenc", "dollar", "money"} & param.told)


def _year(param: Param, mention: Mention) -> float:
    looks = isinstance(mention.value, int) and 1400 <= mention.value <= 2150 and not mention.unit
    is_year = bool({"year", "season", "vintag"} & set(param.words)) and not set(param.parts) & {
        "years",
        "n",
        "num",
        "number",
    }
    if is_year:
        return 0.6 if looks else -0.6
    return -0.12 if looks else 0.0


def _allows(param: Param, value: float) -> bool:
    """Whether the schema allows the number."""
    schema = param.schema
    if param.kind == "integer" and value != int(value):
        return False
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    return not (
        (isinstance(low, int | float) and value < low)
        or (isinstance(high, int | float) and value > high)
        or (isinstance(above, int | float) and value <= above)
        or (isinstance(below, int | float) and value >= below)
    )
