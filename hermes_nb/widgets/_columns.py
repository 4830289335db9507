"""Spans as numbered columns: how 100,000 of them reach a browser in under 2 MB, and a change of one in 21 bytes.

A span gets its number when it is first seen and keeps it. Whole: columns one after another (see `snapshot`). Changed:
one record after another (see `changes`). Numbers are little-endian; names travel once, in a table.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_nb.model.span import Span
from hermes_nb.model.status import SPAN_STATUSES

KINDS = ("turn", "model", "tool", "agent", "wait")
GONE = 7  # in place of a kind: a span that a later event took back
MAX_NAMES = 65_536
_REPLAYED, _UNTIMED = 1 << 6, 1 << 7
_RECORD = struct.Struct("<IdfHHB")
_KIND = {name: i for i, name in enumerate(KINDS)}
_STATUS = {name: i << 3 for i, name in enumerate(SPAN_STATUSES)}
_REST = "(other names)"
_NAN = float("nan")


def code_of(span: Span) -> int:
    """Kind (bits 0-2), status (3-5), replayed (6) and without a measured duration (7), in one byte."""
    return (
        _KIND[span.kind]
        | _STATUS[span.status]
        | (_REPLAYED if span.replayed else 0)
        | (_UNTIMED if span.duration_ms is None else 0)
    )


@dataclass(slots=True)
class Change:
    """What a browser has not been told yet.

    Attributes:
        numbers: Of the spans that are new or changed.
        n_names: How many names it knows.
    """

    numbers: dict[int, None] = field(default_factory=dict)
    n_names: int = 0


class Columns:
    """The spans that a widget shows, by number. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.names: list[str] = []
        self._name_numbers: dict[str, int] = {}
        self._numbers: dict[tuple[str, str, int, str], int] = {}
        self._starts, self._lengths = array("d"), array("f")
        self._of_name, self._of_agent, self._codes = array("H"), array("H"), array("B")

    def number(self, key: tuple[str, str, int, str] | None) -> int | None:
        """The number of the span with that key; None when there is none."""
        return None if key is None else self._numbers.get(key)

    def put(self, spans: Iterable[Span], *, instead_of: Sequence[int] = ()) -> list[int]:
        """Take spans in; numbers of those that are new, changed or gone. The same object as before did not change.

        Args:
            spans: Spans as folded now.
            instead_of: Numbers of the spans of the same turns as folded before; what is not among `spans` is gone.
        """
        changed: list[int] = []
        kept: set[int] = set()
        for span in spans:
            number = self._numbers.get(span.key)
            if number is None:
                number = self._numbers[span.key] = len(self.spans)
                self.spans.append(span)
                columns: tuple[array[Any], ...] = (self._starts, self._lengths, self._of_name, self._of_agent, self._codes)
                for column in columns:
                    column.append(0)
            elif self.spans[number] is span and self._codes[number] & GONE != GONE:
                kept.add(number)
                continue
            self._set(number, span)
            changed.append(number)
            kept.add(number)
        for number in instead_of:
            if number not in kept and self._codes[number] != GONE:
                self._codes[number] = GONE
                changed.append(number)
        return changed

    def _set(self, number: int, span: Span) -> None:
        self.spans[number] = span
        self._starts[number] = span.start_unix_s
        self._lengths[number] = _NAN if span.end_unix_s is None else span.end_unix_s - span.start_unix_s
        self._of_name[number] = self._name(span.name or span.kind)
        self._of_agent[number] = self._name(span.agent)
        self._codes[number] = code_of(span)

    def _name(self, name: str) -> int:
        number = self._name_numbers.get(name)
        if number is None:
            number = len(self.names)
            if number >= MAX_NAMES:
                return MAX_NAMES - 1
            if number == MAX_NAMES - 1:
                name = _REST
            self._name_numbers[name] = number
            self.names.append(name.encode("utf-8", "replace").decode("utf-8"))
        return number

    def snapshot(self) -> bytes:
        """All spans: starts (float64, s since the epoch), lengths (float32, s, NaN while running), names and agents (uint16,
        places in `names`), codes (uint8)."""
        columns: list[array[Any]] = [self._starts, self._lengths, self._of_name, self._of_agent, self._codes]
        if sys.byteorder != "little":
            columns = [array(column.typecode, column) for column in columns]
            for column in columns:
                column.byteswap()
        return b"".join(column.tobytes() for column in columns)

    def changes(self, numbers: Iterable[int]) -> bytes:
        """Records of number (uint32), start (float64), length (float32), name, agent (uint16), code (uint8)."""
        columns: tuple[array[Any], ...] = (self._starts, self._lengths, self._of_name, self._of_agent, self._codes)
        return b"".join(_RECORD.pack(number, *(column[number] for column in columns)) for number in numbers)
