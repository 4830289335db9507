"""What a docstring tells a model: the text without its sections, and a sentence for each parameter.

griffe reads the items of a section (Google, NumPy, Sphinx). Finding the sections is done here, because each dialect's
parser wants them placed and spaced in its own way: what is found is handed to griffe in the canonical form.
Annotations beat docstrings; that is `schema`'s business.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_nb import _syntax

_PARAMETERS = frozenset(
    "args arguments params parameters attributes".split()  # the last: fields of a class
    + [f"{kind} {word}" for kind in ("keyword", "other") for word in ("args", "arguments", "params", "parameters")]
)
_LEFT_OUT = frozenset(
    "classes example examples exceptions functions methods modules raise raises receive receives reference"
    " references return returns todo usage warns yield yields".split()
) | {"see also", "type args", "type arguments", "type parameters", "type aliases"}
# Sections whose text is for whoever calls: they stay part of the description.
_KEPT = frozenset("caution hint important note notes tip warning warnings".split())

_ANY_SECTION = re.compile(
    r"^\s*(?:(?:[\w ]+?)\s*:\s*$|[-=~]{2,}\s*$|#{1,6}\s|\*\*|__|[:@](?:param|arg|key|type|return|rtype|raise|except|yield)|"
    r"(?:returns?|raises?|yields?)\s*:\s)",
    re.IGNORECASE | re.MULTILINE,
)
_HEADER = re.compile(r"^([A-Za-z]+(?: [A-Za-z]+)?)\s*:$")
_INLINE = re.compile(r"^(returns?|raises?|yields?)\s*:\s+\S", re.IGNORECASE)
_UNDERLINE = re.compile(r"^(?:-{2,}|={2,}|~{2,})$")
_HEADING = re.compile(r"^#{1,6}\s+(?P<word>\S.*?)[\s#:]*$")  # of Markdown
_BOLD = re.compile(r"^(?P<mark>\*\*|__)(?P<word>[A-Za-z]+(?: [A-Za-z]+)?)\s*:?(?P=mark)\s*:?$")
_FIELD = re.compile(
    r"^[:@](?P<kind>param|parameter|arg|argument|key|keyword|kwarg|kwparam|type|kwtype|var|ivar|cvar|vartype|returns?|"
    r"rtype|raises?|except|exception|yields?|ytype|meta)\b(?P<rest>[^:]*):\s*(?P<text>.*)$"
)
_FIELD_PARAMETERS = frozenset("param parameter arg argument key keyword kwarg kwparam".split())
_BULLET = re.compile(r"^[-*+•]\s+")
_ITEM = re.compile(
    r"^(?P<mark>[`*]{0,3})\*{0,2}(?P<name>\w+)(?P=mark)\s*(?P<type>\(.*?\))?\s*(?P<sep>:|--|–|—|-\s)\s*(?P<text>.*)$"
)


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring as a model needs it.

    Attributes:
        description: The text with its sections left out; notes and warnings stay.
        parameters: Parameter name to its sentence, also for names the signature does not have.
    """

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def parse(text: str | None, names: Collection[str] = ()) -> Docstring:
    """The docstring, read in whichever dialect each of its sections is written.

    Args:
        text: As in `__doc__`; None and "" give an empty `Docstring`.
        names: Names of the signature; they tell an item from a continuation line where the indentation does not.
    """
    if not text or not text.strip():
        return Docstring()
    lines = inspect.cleandoc(text.expandtabs(4)).splitlines()
    if not _ANY_SECTION.search("\n".join(lines)):
        return Docstring(_tidy(lines))
    return _syntax.undisturbed(lambda: _read(lines, names))  # griffe parses the types that stand in a docstring


def _read(lines: list[str], names: Collection[str]) -> Docstring:
    reader = _Reader(lines, names)
    reader.read()
    return Docstring(_tidy(reader.text) or reader.returns, reader.parameters)


def written_doc(cls: type) -> str:
    """The docstring somebody wrote for a class itself; "" for an inherited one and the one `dataclass` writes."""
    text: str = vars(cls).get("__doc__") or ""
    is_generated = text.startswith(f"{cls.__name__}(") and hasattr(cls, "__dataclass_fields__")
    return "" if is_generated else text


class _Reader:
    def __init__(self, lines: list[str], names: Collection[str]) -> None:
        self.lines = lines
        self.names = frozenset(names)
        self.text: list[str] = []
        self.parameters: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.returns = ""

    def read(self) -> None:
        """Read all sections."""
        self._read()
        self.parameters = {**self.attributes, **self.parameters}

    def _read(self) -> None:
        at = 0
        is_code = False
        while at < len(self.lines):
            is_code ^= self.lines[at].lstrip().startswith("```")
            word, style = ("", "") if is_code else self._header(at)
            if style == "field":
                at = self._field(at)
            elif not style:
                self.text.append(self.lines[at])
                at += 1
            else:
                start = at + (2 if style == "numpy" else 1)
                end = self._end(at, start, style)
                body = self.lines[start:end]
                if word in _PARAMETERS:
                    self._items(body, style, self.attributes if word == "attributes" else self.parameters)
                elif word in _KEPT:
                    self.text += ["", f"{self.lines[at].strip()}:", *body, ""]
                else:
                    self.text.append("")
                    if word in ("return", "returns") and not self.returns:
                        head = "" if style == "inline" else "Returns: "
                        self.returns = head + " ".join(line.strip() for line in (body if head else self.lines[at:end]))
                at = end

    def _header(self, at: int) -> tuple[str, str]:
        """The section that opens on a line (lower case) and its dialect; ("", "") for ordinary text."""
        line = self.lines[at].strip()
        if not line:
            return "", ""
        if _FIELD.match(line):
            return "", "field"
        marked = _HEADING.match(line) or _BOLD.match(line)
        word = " ".join((marked["word"] if marked else line).rstrip(":").lower().split())
        if marked:
            style = "markdown" if line.startswith("#") else "google"
            return (word, style) if word in _PARAMETERS | _LEFT_OUT else ("", "")
        if at + 1 < len(self.lines) and _UNDERLINE.match(self.lines[at + 1].strip()):
            return (word, "numpy") if word in _PARAMETERS | _LEFT_OUT | _KEPT else ("", "")
        if _HEADER.match(line):
            return (word, "google") if word in _PARAMETERS | _LEFT_OUT and self._has_body(at) else ("", "")
        if _INLINE.match(line) and (at == 0 or not self.lines[at - 1].strip() or not self.text or not self.text[-1]):
            return line.partition(":")[0].lower(), "inline"
        return "", ""

    def _has_body(self, at: int) -> bool:
        following = next((line for line in self.lines[at + 1 :] if line.strip()), None)
        if following is None:
            return True
        if _indent(following) > _indent(self.lines[at]):
            return True
        return bool(self._item(following)) or bool(self._header(at + 1)[1])

    def _end(self, at: int, start: int, style: str) -> int:
        """Where the section that opens at `at` is over."""
        if style == "markdown":
            return self._next_heading(start)
        header = _indent(self.lines[at])
        first = next((line for line in self.lines[start:] if line.strip()), "")
        flush = style == "google" and _indent(first) <= header
        end = start
        while flush and end < len(self.lines) and not self.lines[end].strip():
            end += 1
        while end < len(self.lines):
            line = self.lines[end]
            if line.strip():
                if self._header(end)[1] and _indent(line) <= header:
                    break
                if style == "google" and not flush and _indent(line) <= header and not self._named(line):
                    break
                if flush and end > start and not self._item(line) and not self.lines[end - 1].strip():
                    break
                if style == "inline" and _indent(line) <= header and not self.lines[end - 1].strip():
                    break
            end += 1
        return end

    def _next_heading(self, start: int) -> int:
        """Where the next heading of Markdown is; a comment in a code block is none."""
        is_code = False
        for end in range(start, len(self.lines)):
            line = self.lines[end].strip()
            is_code ^= line.startswith("```")
            if not is_code and (_HEADING.match(line) or self._header(end)[1]):
                return end
        return len(self.lines)

    def _item(self, line: str) -> re.Match[str] | None:
        return _ITEM.match(_BULLET.sub("", line.strip()))

    def _named(self, line: str) -> bool:
        """Whether the line describes a parameter that the function has."""
        item = self._item(line)
        return bool(item) and item["name"] in self.names  # type: ignore[index]

    def _items(self, body: list[str], style: str, into: dict[str, str]) -> None:
        import griffe

        filled = [line for line in body if line.strip()]
        if not filled:
            return
        if style == "numpy":
            head = ["Parameters", "----------"]
            sections = griffe.parse_numpy(griffe.Docstring("\n".join(head + _numpy(body))), warnings=False)
        else:
            # griffe dedents all lines but the first together: a summary keeps the items indented under "Args:".
            head = ["-", "", "Args:"]
            sections = griffe.parse_google(griffe.Docstring("\n".join(head + self._google(filled))), warnings=False)
        self._keep(sections, into)

    def _google(self, lines: list[str]) -> list[str]:
        """Each item at four spaces and what continues it at eight, whatever the docstring's own indentation."""
        base = _indent(lines[0])
        found = [(line, self._item(line)) for line in lines]
        at_base = {item["name"] for line, item in found if item and _indent(line) <= base}
        canonical: list[str] = []
        for line, item in found:
            if item and (_indent(line) <= base or item["name"] in self.names - at_base):
                canonical.append(f"    {_canonical(item)}")
            elif line.strip() in self.names:  # a name without a word about it
                canonical.append(f"    {line.strip()}:")
            elif canonical:
                canonical.append(f"        {line.strip()}")
        return canonical

    def _field(self, at: int) -> int:
        """Read one field of a Sphinx field list (or an epydoc one); where it is over."""
        match = _FIELD.match(self.lines[at].strip())
        assert match is not None
        end = at + 1
        indent = _indent(self.lines[at])
        while end < len(self.lines) and not self._header(end)[1]:
            line = self.lines[end]
            following = next((later for later in self.lines[end:] if later.strip()), "")
            if not line.strip() and _indent(following) <= indent:
                break
            if line.strip() and not self.lines[end - 1].strip() and _indent(line) <= indent:
                break
            end += 1
        if match["kind"] in _FIELD_PARAMETERS and match["rest"].strip():
            import griffe

            value = " ".join([match["text"], *(line.strip() for line in self.lines[at + 1 : end])]).strip()
            name = match["rest"].split()[-1].lstrip("*\\")
            self._keep(griffe.parse_sphinx(griffe.Docstring(f":param {name}: {value}"), warnings=False), self.parameters)
        return end

    def _keep(self, sections: Sequence[Any], into: dict[str, str]) -> None:
        for section in sections:
            if section.kind.value != "parameters":
                continue
            for item in section.value:
                kind = str(item.annotation or "")
                description = " ".join((item.description or (kind if " " in kind else "")).split())
                if description:
                    into.setdefault(item.name.lstrip("*"), description)


def _numpy(lines: list[str]) -> list[str]:
    """Each item at the margin and its text at four spaces."""
    base = min(_indent(line) for line in lines if line.strip())
    canonical = []
    for line in lines:
        if _indent(line) <= base:
            canonical.append(_BULLET.sub("", line.strip()).replace("`", ""))
        else:
            canonical.append(f"    {line.strip()}" if line.strip() else "")
    return canonical


def _canonical(item: re.Match[str]) -> str:
    kind = f" {item['type']}" if item["type"] else ""
    return f"{item['name']}{kind}: {item['text']}"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _tidy(lines: list[str]) -> str:
    """The lines with runs of blank ones made one, and none at either end."""
    return re.sub(r"\n\s*\n+", "\n\n", "\n".join(line.rstrip() for line in lines)).strip()
