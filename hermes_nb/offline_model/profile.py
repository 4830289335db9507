"""What the offline model knows of a tool: its schema, read into parameters with the words that point to them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_nb.offline_model.unit import unit_named
from hermes_nb.offline_model.words import split_name, stem, stems

PREPOSITIONS = frozenset(
    """from to into in at for of on about with by as against vs versus between until till since before after via using
    through per than named called titled labelled labeled saying says over under above below near around regarding concerning
    against where within reading including is""".split()
)

# A parameter's sort -> words of its name (or description) that show it. The first sort that fits wins.
_SORTS = [
    line.split(": ")
    for line in """
email: email e-mail recipient
phone: phone telephone mobile
url: url uri link website webpage endpoint
sql: sql statement
path: path file filename filepath directory folder dir csv
datetime: datetime timestamp
month: month
date: date day due deadline birthday birthdate dob
time: clock
language: language lang tongue
currency: currency currencies
unit: unit units
column: column columns col field variable feature attribute
expression: expression formula equation function
query: query keyword keywords topic search term q
text: text message body content note sentence paragraph description comment prompt question string word phrase task todo
place: city location place country state region origin destination address town area airport capital where venue zip
class: type kind category class genre mode format level status style cuisine brand specialty topping flavor
title: title name label subject heading nickname alias
person: person assignee author artist user employee attendee owner actor player director guest contact customer member
code: symbol ticker sku code id identifier version uuid isbn key number serial reference gene extension suffix plate coupon
""".strip().splitlines()
]
_SORT_OF_WORD = {form: sort for sort, words in reversed(_SORTS) for w in words.split() for form in (f"{w}s", w)}
_TEXT_SORTS = frozenset({"text", "query", "title"})

# Which sorts and which words of a parameter a preposition points to.
_LEADS: dict[str, str] = {
    "from": "source origin start departure base from sender begin since first old supplier input initial store depot",
    "to": "target destination end recipient arrival to until last new language goal email assignee quote output into"
    " final receiver unit format currency",
    "into": "target to into language destination format output unit currency",
    "in": "city location place country region language currency unit room file path text state area store town color column"
    " series data dataset"
    " warehouse directory folder environment format year month document database table district venue document",
    "at": "place location time address rate temperature volume hour url speed price start venue",
    "for": "query topic city name item product keyword subject person symbol company user location place country"
    " destination customer employee account year duration genre recipient category department team project",
    "of": "name column text path file product symbol country city formula item document account company"
    " number material values value"
    " ingredient substance"
    " target subject artist team title",
    "on": "date day topic column path room environment account target platform field subject list category",
    "about": "query topic subject text keyword",
    "with": "attendees guests password seed new person replacement participants partner value",
    "by": "author artist column by key factor sort field creator owner director method aggregate days amount index",
    "as": "format type role output title name",
    "named": "name title label",
    "called": "name title label",
    "titled": "title name",
    "labelled": "label name",
    "labeled": "label name",
    "saying": "text body message content",
    "says": "text body message content",
    "reading": "text body message content",
    "between": "start end x y first second from to base quote min max minimum maximum lower upper low high",
    "after": "start after since day minimum",
    "since": "start since after",
    "until": "end until",
    "till": "end until",
    "before": "end before",
    "over": "minimum threshold years period min",
    "above": "minimum threshold min",
    "below": "maximum threshold max",
    "under": "maximum threshold max",
    "via": "method mode channel via",
    "using": "method algorithm model mode tool using engine",
    "per": "group by column",
    "near": "location place city near",
    "around": "location place city",
    "regarding": "topic subject query",
    "including": "features include fields options details items information",
    "than": "threshold minimum maximum value",
    "where": "column condition filter where",
    "against": "opponent database target against second column",
    "vs": "second column opponent",
    "versus": "second column opponent",
    "within": "radius duration limit within",
    "through": "end",
}
LEADS = {lead: frozenset(stem(w) for w in words.split()) | frozenset(words.split()) for lead, words in _LEADS.items()}

_LISTED = re.compile(r"['\"`]([\w.+#/ -]{1,24})['\"`]")
_ONE_OF = re.compile(
    r"(?:one of|either|options?(?: are)?|choices?|can be|allowed(?: values)?|must be|values?)\s*:?\s*([^.;()]{3,160})",
    re.I,
)
_FRACTION = re.compile(
    r"\b(?:fraction|proportion|ratio|decimal)\b|between 0(?:\.0)? and 1(?:\.0)?(?!\d|\.\d*[1-9])"
    r"|0(?:\.0)?\s?[-–]\s?1(?:\.0)?\b(?!\d)|\[0, 1\]",
    re.I,
)
_EXAMPLES = re.compile(r"(?:e\.g\.,?|for example,?|such as|like)\s*([^.;)]*)", re.I)
_UNIT_IN_TEXT = re.compile(
    r"\b(?:in|as)\s+(?:whole\s+)?([a-z]{2,12}|%)(?!\w)|\(([^\W\d_]{1,12}|%)\)|[Nn]umber of ([a-z]+)\b", re.I
)
COUNT_WORDS = frozenset(stem(w) for w in "n k limit count top num number max maximum size results amount quantity".split())


@dataclass(frozen=True)
class Param:
    """One parameter. `kind` is its JSON type (`any` where several fit), `sort` what its words say it holds."""

    name: str
    schema: Mapping[str, Any]
    kind: str
    is_required: bool
    words: tuple[str, ...]  # stems of its name
    parts: tuple[str, ...]  # lower-case words of its name, prepositions too
    told: frozenset[str]  # stems of its description, examples left out
    shown: frozenset[str]  # stems of the examples in it
    shapes: frozenset[str]  # of the examples that look like codes
    sort: str
    choices: tuple[Any, ...] = ()
    is_closed: bool = True  # whether nothing but the choices fits
    unit: str = ""
    is_fraction: bool = False
    item: Param | None = None
    leads: frozenset[str] = frozenset()  # prepositions that its description puts before it
    description: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it takes a number and nothing else."""
        return self.kind in ("integer", "number")

    @property
    def has_default(self) -> bool:
        """Whether the schema gives a default."""
        return "default" in self.schema


@dataclass(frozen=True)
class Profile:
    """A tool, ready to be matched."""

    name: str
    description: str
    params: tuple[Param, ...]
    name_stems: tuple[str, ...]
    first_stems: frozenset[str]  # of the description's first sentence
    rest_stems: frozenset[str]
    param_stems: frozenset[str]
    told_stems: frozenset[str]
    choice_stems: frozenset[str]
    lexicon: frozenset[str] = field(default_factory=frozenset)

    def param(self, name: str) -> Param | None:
        """The parameter of that name."""
        return next((p for p in self.params if p.name == name), None)


def profile(function: Mapping[str, Any]) -> Profile:
    """The profile of a function as a chat request offers it (`name`, `description`, `parameters`)."""
    name = str(function.get("name") or "")
    description = str(function.get("description") or "")
    schema = function.get("parameters")
    schema = schema if isinstance(schema, dict) else {}
    properties = schema.get("properties")
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    params = tuple(
        _param(str(n), p if isinstance(p, dict) else {}, schema, n in required, description)
        for n, p in (properties if isinstance(properties, dict) else {}).items()
    )
    first, _, rest = description.partition(". ")
    name_stems = tuple(stem(w) for w in split_name(name) if not w.isdigit() and w not in ("the", "a", "of", "by", "to"))
    first_stems = frozenset(stems(first))
    choice_stems = frozenset(
        s for p in params for c in (*p.choices, *(p.item.choices if p.item else ())) for s in stems(str(c))
    )
    return Profile(
        name=name,
        description=description,
        params=params,
        name_stems=name_stems,
        first_stems=first_stems,
        rest_stems=frozenset(stems(rest)),
        param_stems=frozenset(w for p in params for w in p.words),
        told_stems=frozenset(w for p in params for w in p.told),
        choice_stems=choice_stems,
        lexicon=frozenset(name_stems) | first_stems,
    )


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its `$ref` followed and `null` taken out of a union; a union of several keeps the first."""
    merged = dict(schema)
    for _ in range(8):
        ref = merged.pop("$ref", None)
        if isinstance(ref, str) and ref.startswith("#/"):
            target: Any = root
            for part in ref[2:].split("/"):
                target = target.get(part, {}) if isinstance(target, dict) else {}
            merged = {**(target if isinstance(target, dict) else {}), **merged}
            continue
        options = merged.pop("anyOf", None) or merged.pop("oneOf", None) or merged.pop("allOf", None)
        if not isinstance(options, list):
            break
        real = [o for o in options if isinstance(o, dict) and o.get("type") != "null"]
        kinds = {o.get("type") for o in real}
        if (
            len(real) > 1
            and "array" not in kinds
            and len(kinds - {"integer", "number"}) + bool(kinds & {"integer", "number"}) > 1
        ):
            merged["type"] = "any"
        elif real:
            merged = {**real[0], **merged}
    return merged


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        real = [k for k in kind if k != "null"]
        kind = real[0] if len(real) == 1 else "any"
    if isinstance(kind, str):
        return {
            "dict": "object",
            "float": "number",
            "tuple": "array",
            "list": "array",
            "bool": "boolean",
            "int": "integer",
        }.get(kind, kind)
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if values and all(isinstance(v, str) for v in values):
        return "string"
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "any"


def _param(name: str, raw: Mapping[str, Any], root: Mapping[str, Any], is_required: bool, about: str) -> Param:
    schema = _resolve(raw, root)
    kind = _kind(schema)
    description = str(schema.get("description") or "")
    parts = tuple(split_name(name)) or (name.lower(),)
    words = tuple(stem(p) for p in parts if (p not in PREPOSITIONS or len(parts) == 1) and not p.isdigit())
    choices = tuple(schema.get("enum") or ([schema["const"]] if "const" in schema else ()))
    is_closed = bool(choices)
    if not choices and kind == "string":
        choices = _choices_told(description)
    items = schema.get("items")
    if not isinstance(items, dict):
        prefix = schema.get("prefixItems")
        items = prefix[0] if isinstance(prefix, list) and prefix and isinstance(prefix[0], dict) else {}
    item = _param(name, {"description": description, **items}, root, False, about) if kind == "array" else None
    return Param(
        name=name,
        schema=schema,
        kind=kind,
        is_required=is_required,
        words=words,
        parts=parts,
        told=frozenset(stems(_EXAMPLES.sub(" ", description))),
        shown=frozenset(w for m in _EXAMPLES.finditer(description) for w in stems(m[1])),
        shapes=frozenset(
            shape(w) for m in _EXAMPLES.finditer(description) for w in re.findall(r"[\w-]+", m[1]) if is_code_like(w)
        ),
        sort=_sort(parts, schema, description, kind),
        choices=choices,
        is_closed=is_closed,
        unit=_unit(parts, description),
        is_fraction=_is_fraction(schema, parts, description),
        item=item,
        leads=_leads_told(parts, about, description),
        description=description,
    )


def _choices_told(description: str) -> tuple[str, ...]:
    """Values a description lists in quotes, or after `one of`; they are hints, not limits."""
    if re.search(r"e\.g\.|for example|such as|like", description, re.I):
        return ()
    quoted = _LISTED.findall(description)
    if len(quoted) >= 2:
        return tuple(dict.fromkeys(quoted))
    match = _ONE_OF.search(description)
    if match and ("," in match[1] or " or " in match[1]):
        values = [v.strip(" '\"`") for v in re.split(r",|\bor\b|\|", match[1])]
        values = [v for v in values if v and len(v.split()) <= 2]
        return tuple(values) if len(values) >= 2 else ()
    return ()


def _sort(parts: Sequence[str], schema: Mapping[str, Any], description: str, kind: str) -> str:
    formats = {"date": "date", "date-time": "datetime", "time": "time", "email": "email", "uri": "url", "path": "path"}
    if schema.get("format") in formats:
        return formats[schema["format"]]
    if kind not in ("string", "any", "array"):
        return ""
    if "time" in parts and not {"zone", "timezone"} & set(parts):
        return "time"
    for word in reversed(parts):
        if word in _SORT_OF_WORD:
            return _SORT_OF_WORD[word]
    first = re.findall(r"[a-z-]+", description.partition(".")[0].lower())[:10]
    told = {_SORT_OF_WORD[w] for w in first if w in _SORT_OF_WORD}
    return next((s for s, _ in _SORTS if s in told and s not in _TEXT_SORTS and s != "code"), "")


def _unit(parts: Sequence[str], description: str) -> str:
    last = parts[-1]
    unit = unit_named(last) or ({"s": "second", "m": "m", "g": "g", "l": "liter"}.get(last, "") if len(parts) > 1 else "")
    if unit:
        return unit
    for groups in _UNIT_IN_TEXT.findall(description):
        word = next(g for g in groups if g)
        if unit := unit_named(word):
            return unit
    return next((u for p in parts if (u := unit_named(p))), "")


def _is_fraction(schema: Mapping[str, Any], parts: Sequence[str], description: str) -> bool:
    if {"percent", "pct", "percentage"} & set(parts) or re.search(r"percent|%", description, re.I):
        return bool(re.search(r"decimal|fraction", description, re.I))
    if _FRACTION.search(description) or {"fraction", "ratio", "proportion", "probability"} & set(parts):
        return True
    top = schema.get("maximum", schema.get("exclusiveMaximum"))
    if isinstance(top, int | float) and top <= 1:
        return True
    default = schema.get("default")
    if isinstance(default, float) and 0 < default < 1:
        return True
    words = {"rate", "yield", "interest", "return", "growth", "inflation", "probability", "confidence", "alpha"}
    if _kind(schema) == "number" and words & set(parts) and not isinstance(default, int | float):
        return True  # code takes a rate as a fraction, unless it says otherwise
    shown = re.search(r"e\.g\.,?\s*(?:for \d+%?,?\s*)?(\d*\.\d+)", description)
    return bool(shown and float(shown[1]) < 1)


def _leads_told(parts: Sequence[str], *texts: str) -> frozenset[str]:
    """Prepositions right before the parameter's name in a description: `convert FROM one unit TO another`."""
    found = {p for p in parts if p in PREPOSITIONS and len(parts) > 1}
    if found:
        return frozenset(found)
    names = {stem(p) for p in parts if p not in PREPOSITIONS}
    for text in texts:
        words = re.findall(r"[a-z]+", text.lower())
        for i, word in enumerate(words):
            if stem(word) in names:
                before = [w for w in words[max(0, i - 3) : i] if w in LEADS]
                if before and before[-1] != "of":
                    found.add(before[-1])
            if word in ("from", "to", "into") and i + 1 == len(words) and text is not texts[0]:
                found.add(word)
    return frozenset(found)


def is_code_like(word: str) -> bool:
    """Whether a word is a code: capitals only, or letters and digits."""
    return (word.isupper() and len(word) > 1) or (any(c.isdigit() for c in word) and any(c.isalpha() for c in word))


def shape(word: str) -> str:
    """What a code looks like: `A0` for `LH400`, `A-0` for `AB-12`, `A` for `AAPL`."""
    signs = ("A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else c for c in word)
    return "".join(sign for sign, _ in itertools.groupby(signs))
