"""Words for the offline model: tokens, stems, number words, and which words say nothing about a tool.

English only, and light on purpose: it brings `customers` and `customer`, `scheduling` and `schedule` together, no more.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"[eE]-?mails?|[^\W\d_]+(?:['’][^\W\d_]{1,2})?(?:[_.]?\w+)*(?<![_.])"  # words, identifiers, codes
    r"|\d+(?:[.,]\d+)*\w*"  # numbers and codes that begin with a digit
    r"|\s*\n+\s*|[^\w\s]|_",
)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")

STOPWORDS = frozenset(
    """a an the this that these those it its i i'm me my mine we us our you your yours he she they them their his her
    is are was were be been being am do does did done doing have has had having will would shall should can could may
    might must and or but nor so if then than as of at by for from in into on onto to with without within about over
    under up out off what whats what's which who whom whose when where why how there here please kindly just also too
    very really some any each every all both no not only own same such please thanks thank want need like let lets
    let's one s t d ll re ve m now again hey hi hello ok okay yes well whether while because since until during
    between after before near nearby including against versus vs toward towards across among behind beyond despite except
    inside outside around along through throughout upon many much someone something anything everything somewhere
    per via using use used given let's i'd i'll i've it's that's there's us""".split()
)
# Verbs that people ask for anything with: they hardly tell one tool from another.
WEAK = frozenset(
    """get show give tell find list see look check compute calculate calcul display return fetch retrieve provide
    determine know print return run make do perform take go going want help figure work value number result results
    information info data detail details current total name new thing way lot kind type set obtain identify certain
    specific following based names rows""".split()
)
# Words that are hardly a value by themselves, though they may tell what is wanted.
HOLLOW = WEAK | frozenset("last past next previous upcoming recent latest right different two both".split())
# Verbs that open a request; a capital makes no name of them.
VERBS = frozenset(
    """sing tell write draw paint bake cook compose explain buy order play restart delete remind roll mix sort clean
    dim invert count set turn make send show give open close find book translate compute convert let please stop start
    help go come recommend suggest describe list read run call email add remove create update change move copy rename
    save load plot print check test train fit predict compare search get fetch""".split()
)
_IRREGULAR = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "people": "person",
    "persons": "person",
    "indices": "index",
    "mice": "mouse",
    "feet": "foot",
    "dice": "die",
    "criteria": "criterion",
    "daily": "day",
    "spent": "spend",
    "sold": "sell",
    "bought": "buy",
    "sent": "send",
    "ran": "run",
    "found": "find",
    "made": "make",
    "paid": "pay",
    "matrices": "matrix",
    "vertices": "vertex",
    "wrote": "write",
    "written": "write",
    "grew": "grow",
    "held": "hold",
    "series": "series",
    "species": "species",
    "analysis": "analyz",
    "analyses": "analyz",
    "statistics": "statist",
    "statistical": "statist",
    "physics": "physic",
    "news": "news",
    "news'": "news",
    "driven": "drive",
    "drove": "drive",
    "flew": "fly",
    "flown": "fly",
    "lost": "lose",
    "left": "left",
    "worst": "bad",
    "best": "best",
    "aged": "age",
    "ages": "age",
    "born": "birth",
    "died": "die",
    "leaves": "leaf",
    "halves": "half",
    "thickness": "thick",
}
_COMPOUNDS = {
    whole.replace("-", ""): tuple(whole.split("-"))
    for whole in """n-rows n-cols n-columns n-bins n-points n-samples n-items n-lines n-words n-features n-clusters
    n-components n-neighbors n-steps n-jobs n-results file-name user-name host-name time-zone zip-code user-id
    start-date end-date first-name last-name full-name file-path dir-name top-k top-n max-results date-time from-date
    to-date check-in check-out phone-number email-address min-value max-value start-time end-time sub-reddit key-word
    data-set data-frame out-file in-file out-path in-path url-path order-id item-id""".split()
}
_UNITS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "dozen": 12,
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "trillion": 10**12}
_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
}


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or sign of a text, with its place in it."""

    text: str
    lower: str
    stem: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it begins like a word."""
        return self.text[0].isalpha()

    @property
    def is_break(self) -> bool:
        """Whether a sentence or clause ends here."""
        return self.text[0] in ".!?;:" or "\n" in self.text

    @property
    def is_content(self) -> bool:
        """Whether it says something about what is wanted."""
        return self.is_word and self.lower not in STOPWORDS and len(self.lower) > 1


def tokens(text: str) -> list[Token]:
    """The tokens of a text, in order."""
    found = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        lower = word.lower().replace("’", "'")
        if lower.endswith("'s"):
            lower = lower[:-2]
        found.append(Token(word, lower, stem(lower), match.start(), match.end()))
    return found


def split_name(name: str) -> list[str]:
    """The lower-case words of an identifier: `fromUnit_2` gives from, unit, 2; `nrows` gives n, rows."""
    parts = (part.lower() for part in _CAMEL.findall(name))
    return [word for part in parts for word in _COMPOUNDS.get(part, (part,))]


def stems(text: str) -> list[str]:
    """Stems of the content words of a description or a name, in order."""
    found: list[str] = []
    for token in tokens(text):
        if token.is_word:
            parts = split_name(token.text) if "_" in token.text or not token.text.islower() else [token.lower]
            found.extend(stem(p) for p in parts if p not in STOPWORDS and len(p) > 1)
    return found


@functools.lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A light stem: number, tense and the usual endings gone, British spelling made American."""
    word = word.lower()
    word = _IRREGULAR.get(word, word)
    if not word.isalpha() or len(word) <= 3:
        return word
    word = word.replace("isation", "ization").replace("colour", "color").replace("metre", "meter")
    word = word.replace("centre", "center").replace("favour", "favor").replace("labour", "labor")
    if word.endswith("ise") and len(word) > 6:
        word = word[:-2] + "ze"
    word = _singular(word)
    for ending, rest, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= rest:
            word = word[: -len(ending)] + instead
            if ending in ("ing", "ed") and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if word.endswith("ll") and len(word) > 5:
        word = word[:-1]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("y"):
        word = word[:-1] + "i"
    return word


_ENDINGS = (
    ("ization", 3, "iz"),
    ("ically", 4, ""),
    ("ator", 4, "at"),
    ("ctor", 3, "ct"),
    ("stor", 4, "st"),
    ("itor", 3, "it"),
    ("ication", 3, "y"),
    ("ing", 3, ""),
    ("ion", 4, ""),
    ("ied", 3, "y"),
    ("ed", 3, ""),
    ("ly", 4, ""),
)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def number_word(words: list[str]) -> tuple[float, int] | None:
    """The number that the words begin with and how many words it takes: ["twenty", "-", "five"] gives (25, 3)."""
    total = current = 0.0
    n_used = 0
    is_any = False
    last_scale = float("inf")
    i = 0
    while i < len(words):
        word = words[i]
        if word in _UNITS:
            value = _UNITS[word]
            if is_any and last_scale == 1 and not (current % 10 == 0 and current % 100 >= 20 and 0 < value < 10):
                if value != 12 or word != "dozen":
                    break
                current *= value
            else:
                current += value
            last_scale = 1
            is_any = True
        elif word in _SCALES and (is_any or (i and words[i - 1] == "a")):
            if word == "hundred":
                current = max(current, 1) * 100
            else:
                total += max(current, 1) * _SCALES[word]
                current = 0
            last_scale = _SCALES[word]
            is_any = True
        elif is_any and word in ("-", "and") and i + 1 < len(words) and words[i + 1] in _UNITS:
            if word == "and" and last_scale == 1:
                break
            i += 1
            continue
        else:
            break
        i += 1
        n_used = i
    return (total + current, n_used) if is_any else None


def ordinal_word(word: str) -> int | None:
    """3 for `third`; None when it is no ordinal."""
    return _ORDINALS.get(word)


WEAK_STEMS = frozenset(stem(word) for word in WEAK)
