"""A prompt, or a clause of it, read without knowing any tool: tokens, mentions, spans that may be a string value."""

from __future__ import annotations

import bisect
import itertools
import re
from dataclasses import dataclass

from hermes_nb.offline_model.mention import Mention, mentions
from hermes_nb.offline_model.profile import PREPOSITIONS
from hermes_nb.offline_model.thesaurus import notions
from hermes_nb.offline_model.words import STOPWORDS, VERBS, WEAK, Token, tokens

_SQL = re.compile(
    r"\b(?:SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|WITH|CREATE\s+TABLE|DROP\s+TABLE|ALTER\s+TABLE|EXPLAIN|PRAGMA)\s.+"
    r"|\bselect\s.+?\sfrom\s.+|\bselect\s+[\d*(].*",
    re.S,
)
_EXPRESSION = re.compile(
    r"(?<![\w.])[-(]*(?:\d[\w.]*|[a-zA-Z]\w?|(?:sqrt|sin|cos|tan|log|ln|exp|abs)\([^)]*\))\)*"
    r"(?:\s*(?:\*\*|[-+*/^×÷=])\s*[-(]*(?:\d[\w.]*|[a-zA-Z]\w?|(?:sqrt|sin|cos|tan|log|ln|exp|abs)\([^)]*\))\)*)+"
)
_CONNECTORS = frozenset("of de la le du van von der den di del and the for y & -".split())
_DETERMINERS = frozenset(
    "the a an my our your his her their its this that these those some any all every each new current following me us"
    " please to be".split()
)
_TITLES = frozenset("st mt dr mr mrs ms prof jr sr no a b c d e f g h i j k l m n o p q r s t u v w x y z".split())
_WHEN = re.compile(
    r"\b(?:this|next|last|coming|past)\s+(?:weekend|week|month|year|quarter|spring|summer|autumn|fall|winter)\b", re.I
)
_ADDRESS = re.compile(
    r"\b\d+[a-z]?\s+(?:[^\W\d_]+\s+){1,3}(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|way|square)\b",
    re.I,
)
_TO_DO = re.compile(
    r"\b(?:remind(?:er)?(?:\s+me)?|remember|forget|need|have|ought|supposed)\s+(?:(?:me|us)\s+)?to\b(?!\s+(?:remember|be)\b)",
    re.I,
)
_SAID = frozenset({"that", "saying", "says", "reading", ":"})
_NAMED = frozenset({"proper", "caps", "quoted", "code", "ident", "path", "number"})
LONG_LIST = 12  # the members of a longer list are no values of their own
_MAX_TAILS = 7
_CUES = PREPOSITIONS | {"that", ":", "=", "say", "says", "me"}


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A stretch of the prompt that may be a string value.

    `form` says what it looks like: quoted, fence, url, email, path, code, number, unit, date, datetime, time, when
    (`this weekend`), sql, expression, proper (capitalised), proper_pair (`Austin, TX`), caps, ident, chunk (a run of
    content words) or tail (everything after a cue). `lead` is the preposition before it, `object` for what follows the
    verb of its clause.
    """

    form: str
    value: str
    start: int
    end: int
    first: int  # index of its first token
    last: int  # index behind its last token
    lead: str = ""


class Scene:
    """What there is in a text."""

    def __init__(self, text: str, today: str) -> None:
        self.text = text
        self.today = today
        self.tokens: list[Token] = tokens(text)
        self.mentions: list[Mention] = mentions(text, today)
        self.lists = [m for m in self.mentions if m.kind == "list"]
        long = [m for m in self.lists if len(m.value) > LONG_LIST]
        self.atoms = [m for m in self.mentions if m.kind != "list" and not any(x.overlaps(m.start, m.end) for x in long)]
        self._starts = [t.start for t in self.tokens]
        self._ends = [t.end for t in self.tokens]
        self._covered: list[Mention | None] = [None] * len(self.tokens)
        for mention in (*self.atoms, *long):
            for i in range(self.at(mention.start), self.behind(mention.end)):
                self._covered[i] = mention
        self.verbs = self._verbs()
        self.names: list[tuple[int, int]] = []  # token ranges of capitalised names, as long as they go
        self.spans: list[TextSpan] = self._spans()
        self.rows: list[list[TextSpan]] | None = None  # see `row`

    def at(self, position: int) -> int:
        """Index of the first token that ends behind a position of the text."""
        return bisect.bisect_right(self._ends, position)

    def behind(self, position: int) -> int:
        """Index of the first token that begins at or after a position of the text."""
        return bisect.bisect_left(self._starts, position)

    def is_free(self, index: int) -> bool:
        """Whether no mention covers a token."""
        return self._covered[index] is None

    def _verbs(self) -> frozenset[int]:
        """Indices of tokens that open a clause and so are likely its verb."""
        opening = True
        found = set()
        for i, token in enumerate(self.tokens):
            if token.is_break or token.lower == "then" or (token.lower == "and" and self._opens_clause(i + 1)):
                opening = True
            elif i and self.tokens[i - 1].text == "," and token.lower.endswith("ing") and self.is_free(i):
                found.add(i)
            elif opening and token.is_word and token.lower not in _SKIPPED_OPENINGS:
                if self.is_free(i) and token.lower not in STOPWORDS:
                    found.add(i)
                opening = False
        return frozenset(found)

    def name_around(self, first: int, last: int) -> tuple[int, int] | None:
        """The capitalised name that a range of tokens is a part of; None when it is no part, or the whole."""
        return next(((a, b) for a, b in self.names if a < last and first < b and (a < first or last < b)), None)

    def _opens_clause(self, index: int) -> bool:
        """Whether what follows an `and` looks like a verb with its object: `and take the ...`, not `and income?`."""
        after = self.tokens[index + 1 : index + 2]
        opens = bool(after) and after[0].lower in (_DETERMINERS | {"it", "them"}) - {"to", "be", "please"}
        return opens and self.is_free(index) and not self.tokens[index].text[0].isupper()

    def lead_of(self, index: int, n_through: int = 0) -> tuple[str, int]:
        """The preposition before a token (articles skipped, and up to `n_through` nouns) and its index; "" and -1 for
        none; `object` for what follows a verb or a count."""
        i = index - 1
        if (
            n_through
            and i >= 0
            and self._is_inner(i)
            and self.tokens[i].lower not in PREPOSITIONS
            and i not in self.verbs
            and not self.tokens[i].text[0].isupper()
        ):
            return self.lead_of(i, n_through - 1)
        while i >= 0 and self.tokens[i].lower in _DETERMINERS and self.tokens[i].lower not in PREPOSITIONS:
            i -= 1
        if i >= 0 and self.tokens[i].lower in PREPOSITIONS and self.is_free(i):
            if self.tokens[i].lower == "is" and index - i > 1:
                return "", -1
            return self.tokens[i].lower, i
        if i >= 0 and (i in self.verbs or self._is_count(i, index)):
            return "object", i
        if i > 0 and self.tokens[i].lower in ("and", "or", ",", "&"):
            return self._lead_of_run(i)
        return "", -1

    def _is_count(self, i: int, index: int) -> bool:
        covering = self._covered[i]
        return index - i == 1 and covering is not None and covering.kind == "number" and not covering.unit

    def _lead_of_run(self, index: int) -> tuple[str, int]:
        """The preposition that a member of `from A, B and C` shares with the first."""
        for i in range(index - 1, max(-1, index - 9), -1):
            token = self.tokens[i]
            if not self.is_free(i) or token.lower in ("and", "or", ",", "&"):
                continue
            if token.is_break or i in self.verbs:
                break
            if token.lower in PREPOSITIONS:
                return token.lower, i
        return "", -1

    def _spans(self) -> list[TextSpan]:
        spans = [self._of_mention(m) for m in self.atoms if m.kind != "number" or not m.is_approximate]
        for form, pattern in (("sql", _SQL), ("expression", _EXPRESSION), ("when", _WHEN), ("address", _ADDRESS)):
            for match in pattern.finditer(self.text):
                value = match.group().strip().rstrip("?.!" if form == "sql" else "?.!=").strip()
                if form != "expression" or re.search(r"\d|\^", value):
                    spans.append(self._span(form, match.start(), match.start() + len(value), value))
        spans.extend(self._unit_words())
        spans.extend(self._propers())
        spans.extend(self._chunks())
        spans.extend(self._tails())
        unique: dict[tuple[str, int, int], TextSpan] = {}
        for span in spans:
            if span.value:
                unique.setdefault((span.form, span.start, span.end), span)
        return list(unique.values())

    def _unit_words(self) -> list[TextSpan]:
        """The unit of a number (`from` it something is converted), and what is asked for by `how many` (`to`)."""
        spans = []
        for mention in self.atoms:
            word = self.text[mention.stop : mention.end].strip(" -") if mention.stop > 0 else ""
            if word:
                start = self.text.index(word, mention.stop)
                spans.append(self._span("unit", start, mention.end, word, "from"))
            elif mention.unit.isupper() and mention.unit.isalpha() and self.text[mention.start] in "$€£¥":
                spans.append(self._span("unit", mention.start, mention.start + 1, mention.unit, "from"))
        for i, token in enumerate(self.tokens[:-2]):
            if token.lower == "how" and self.tokens[i + 1].lower in ("many", "much") and self._is_inner(i + 2):
                spans.append(self._run("unit", i + 2, i + 3, "to"))
                if self._is_inner(i + 3):
                    spans.append(self._run("unit", i + 2, i + 4, "to"))
        return spans

    def _of_mention(self, mention: Mention) -> TextSpan:
        form = mention.kind
        value = mention.value if isinstance(mention.value, str) else self.text[mention.start : mention.end]
        return self._span(form, mention.start, mention.end, str(value))

    def _span(self, form: str, start: int, end: int, value: str | None = None, lead: str | None = None) -> TextSpan:
        first = self.at(start)
        last = max(first, self.behind(end))
        if lead is None:
            lead = self.lead_of(first, 3 if form in _NAMED else 0)[0]
        return TextSpan(form, self.text[start:end].strip() if value is None else value, start, end, first, last, lead)

    def _run(self, form: str, first: int, last: int, lead: str | None = None) -> TextSpan:
        start, end = self.tokens[first].start, self.tokens[last - 1].end
        value = self.text[start:end].strip()
        for ending in ("'s", "’s"):
            if value.endswith(ending):
                value = value[:-2]
        return self._span(form, start, end, value, lead)

    def _propers(self) -> list[TextSpan]:
        spans: list[TextSpan] = []
        i = 0
        while i < len(self.tokens):
            if not self._is_capital(i):
                i += 1
                continue
            last = i + 1
            while last < len(self.tokens) and self.is_free(last):
                token = self.tokens[last]
                if self._is_capital(last) or (token.text == "." and self.tokens[last - 1].lower in _TITLES):
                    last += 1
                elif (
                    ((token.lower in _CONNECTORS and token.lower not in ("and", "for", "the", "-")) or token.text in "-&")
                    and last + 1 < len(self.tokens)
                    and self._is_capital(last + 1)
                ):
                    last += 2
                else:
                    break
            spans.extend(self._proper(i, last))
            i = last
        return spans

    def _proper(self, first: int, last: int) -> list[TextSpan]:
        words = self.tokens[first:last]
        spans: list[TextSpan] = []
        if first > 1 and self.tokens[first - 1].text == "The" and not self.tokens[first - 2].is_break:
            first, words = first - 1, [self.tokens[first - 1], *words]  # `The Beatles`
        while first in self.verbs and last - first > 2 and words[1].lower in _CONNECTORS:
            first, words = first + 2, words[2:]  # `Concerts of Taylor Swift`
        is_verb = first in self.verbs and self._is_verb(first)
        self.names.append((first + 1 if is_verb and last - first > 1 else first, last))
        is_caps = len(words) == 1 and words[0].text.isupper() and len(words[0].text) > 1
        if first in self.verbs and last - first > 1:
            spans.append(self._run("proper", first + 1, last))  # `Convert Euro`: the verb is no part of the name
        if not is_verb or is_caps:
            spans.append(self._run("caps" if is_caps else "proper", first, last))
        elif len(words[0].text) > 2 and words[0].lower not in WEAK:
            spans.append(self._run("chunk", first, last))
        spans.extend(self._longer(first, last))
        if last - first > 1 and first not in self.verbs:
            edges = (words[-2].lower, words[1].lower)
            spans.extend([self._run("proper", first, last - 1)] * (edges[0] not in _CONNECTORS))
            spans.extend([self._run("proper", first + 1, last, "")] * (edges[1] not in _CONNECTORS))
        spans.extend(self._owned(first, last))
        if last - first > 1 and any(w.text.isupper() and len(w.text) > 1 for w in words):
            spans.extend(
                self._run("caps", first + k, first + k + 1)
                for k, w in enumerate(words)
                if w.text.isupper() and len(w.text) > 1
            )
        after = self.tokens[last : last + 2]
        if len(after) == 2 and after[0].text == "," and self._is_capital(last + 1) and not is_caps:
            end = last + 2
            while end < len(self.tokens) and self._is_capital(end):
                end += 1
            spans.append(self._run("proper_pair", first, end))
        return spans

    def _owned(self, first: int, last: int) -> list[TextSpan]:
        """The name behind an `of` (`GDP of New Zealand`) and the one before a `'s` (`France's GDP`)."""
        spans = []
        for i in range(first + 1, last - 1):
            if self.tokens[i].lower == "of":
                is_caps = last - i == 2 and self.tokens[i + 1].text.isupper()
                spans.append(self._run("caps" if is_caps else "proper", i + 1, last))
        for i in range(first, last - 1):
            if self.tokens[i].text.lower().endswith(("'s", "’s")):
                is_caps = i == first and self.tokens[i].text[:-2].isupper()
                spans.append(self._run("caps" if is_caps else "proper", first, i + 1))
        return spans

    def _is_verb(self, index: int) -> bool:
        """Whether the capital that opens a clause is one of a verb, not of a name."""
        token, after = self.tokens[index], self.tokens[index + 1 : index + 2]
        is_known = token.lower in VERBS or bool(notions(token.stem))
        return is_known or (bool(after) and after[0].lower in _DETERMINERS - {"to", "be", "please"})

    def _longer(self, first: int, last: int) -> list[TextSpan]:
        """The name with what follows it: a number (`Boeing 747`), a noun or two (`Amazon rainforest`)."""
        spans = []
        if first in self.verbs and last - first == 1:
            return []
        if self.tokens[last - 1].text.lower().endswith(("'s", "’s")):
            return []
        start = first + 1 if first in self.verbs and not self.tokens[first].text.isupper() else first
        if last < len(self.tokens) and self.tokens[last].text.isdigit():
            spans.append(self._run("proper", start, last + 1))
        for end in range(last + 1, min(last + 3, len(self.tokens) + 1)):
            if not self._is_inner(end - 1):
                break
            spans.append(self._run("proper", start, end))
        return spans

    def _is_capital(self, index: int) -> bool:
        token = self.tokens[index]
        if not token.is_word or not token.text[0].isupper() or not self.is_free(index):
            return False
        if len(token.text) == 1 and self.tokens[index + 1 : index + 2] and self.tokens[index + 1].text == "&":
            return True
        return token.lower not in STOPWORDS or (token.text.isupper() and len(token.text) > 1)

    def _chunks(self) -> list[TextSpan]:
        spans: list[TextSpan] = []
        first = 0
        for i in range(len(self.tokens) + 1):
            if i < len(self.tokens) and self._is_inner(i):
                continue
            if i > first:
                spans.extend(self._windows(first, i))
                if i < len(self.tokens) and self.tokens[i].text.isdigit() and self.tokens[i - 1].is_word:
                    spans.append(self._run("chunk", i - 1, i + 1))  # `room 5`
            first = i + 1
        return spans

    def _is_inner(self, index: int) -> bool:
        token = self.tokens[index]
        if token.text == "-" and 0 < index < len(self.tokens) - 1:
            before, after = self.tokens[index - 1], self.tokens[index + 1]
            return before.is_word and after.is_word and before.end == token.start and token.end == after.start
        if not token.is_word or not self.is_free(index):
            return False
        return token.lower not in STOPWORDS or self._is_hyphened(index)

    def _is_hyphened(self, index: int) -> bool:
        """Whether a hyphen ties a word to another, as in `us-east`."""
        token = self.tokens[index]
        before, after = self.tokens[max(0, index - 1) : index], self.tokens[index + 1 : index + 2]
        return any(t.text == "-" and t.end == token.start for t in before) or any(
            t.text == "-" and t.start == token.end for t in after
        )

    def _windows(self, first: int, last: int) -> list[TextSpan]:
        """Every run of up to five words inside a chunk; which of them is the value depends on the tool."""
        spans = []
        for a in range(first, min(last, first + 6)):
            for b in range(a + 1, min(last, a + 5) + 1):
                if "-" in (
                    self.tokens[a].text,
                    self.tokens[b - 1].text,
                    *(t.text for t in self.tokens[a - 1 : a] + self.tokens[b : b + 1]),
                ):
                    continue  # a hyphen holds words together
                if b - a == 1 and ("_" in self.tokens[a].text or _is_camel(self.tokens[a].text)):
                    spans.append(self._run("ident", a, b))
                else:
                    lead = None if a == first else ""
                    spans.append(self._run("chunk", a, b, lead))
        return spans

    def _tails(self) -> list[TextSpan]:
        spans: list[TextSpan] = []
        starts = [(self.at(m.end() - 1) + 1, "to-do") for m in _TO_DO.finditer(self.text)]
        for i, token in enumerate(self.tokens):
            if self.is_free(i) and token.lower in _CUES:
                starts.append((i + 1, token.lower))
            elif i in self.verbs:
                starts.append((i + 1, "object"))
        for start, lead in starts:
            first = start
            while first < len(self.tokens) and self.tokens[first].lower in _DETERMINERS and lead not in _SAID:
                first += 1
            if first < len(self.tokens) and self._opens_no_tail(first):
                continue
            ends = (end for end in self._tail_ends(first) if any(self.is_free(i) for i in range(first, end)))
            spans.extend(self._run("tail", first, end, lead) for end in ends)
        return spans

    def _opens_no_tail(self, index: int) -> bool:
        """Whether a stretch from a token on is better seen as something else: a preposition's, or quoted text."""
        covering = self._covered[index]
        return self.tokens[index].lower in PREPOSITIONS or (covering is not None and covering.kind == "quoted")

    def _tail_ends(self, first: int) -> list[int]:
        """Where a stretch may end: before a preposition, a comma, a value, and where the clause does."""
        ends: list[int] = []
        i = first
        while i < len(self.tokens) and not self._ends_clause(i):
            token, is_free = self.tokens[i], self.is_free(i)
            is_edge = is_free and (token.lower in PREPOSITIONS or token.lower in (",", "and", "or"))
            if i > first and (is_edge or (not is_free and self._is_inner(i - 1))):
                ends.append(i)
            i += 1
        ends.append(i)
        return [e for e in ends[-_MAX_TAILS:] if e > first]

    def _ends_clause(self, index: int) -> bool:
        token = self.tokens[index]
        if not self.is_free(index) or not (token.is_break or token.lower in ("which", "who")):
            return False
        after = self.tokens[index + 1 : index + 2]
        return not (token.text == "." and after and after[0].start == token.end)


_SKIPPED_OPENINGS = frozenset(
    "who please can could would will you kindly i we want need to like let's lets me us help now also just then and so"
    " i'd hey hi hello".split()
)


def _is_camel(word: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in itertools.pairwise(word))
