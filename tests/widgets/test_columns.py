"""What the browser is told: read back as the browser reads it."""

from __future__ import annotations

import math
import struct
import sys
from array import array

import pytest
from hypothesis import given, settings

from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder
from hermes_nb.model.status import SPAN_STATUSES
from hermes_nb.widgets._columns import GONE, KINDS, MAX_NAMES
from hermes_nb.widgets._log import Log
from tests.golden.logs import ALL, load
from tests.golden.logs import Log as Writer
from tests.golden.strategies import logs

Row = tuple[float, float, str, str, str, str, bool]


def read(data: bytes, names: list[str]) -> list[Row]:
    """A snapshot, as `log.js` reads it."""
    n = len(data) // 17
    columns = [array(code) for code in "dfHHB"]
    at = 0
    for column in columns:
        column.frombytes(data[at : at + n * column.itemsize])
        at += n * column.itemsize
    return [row(*values, names) for values in zip(*columns, strict=True)]


def row(start: float, length: float, name: int, agent: int, code: int, names: list[str]) -> Row:
    kind = "gone" if code & 7 == GONE else KINDS[code & 7]
    return (start, length, names[name], names[agent], kind, SPAN_STATUSES[code >> 3 & 7], bool(code & 64))


class Browser:
    """Keeps what it was told, as the browser does."""

    def __init__(self, log: Log) -> None:
        log.changes()
        head = log.snapshot()
        self.names = list(head["names"])
        self.rows = dict(enumerate(read(head["data"], self.names)))

    def take(self, log: Log) -> int:
        head, data = log.changes()
        self.names[head["from"] :] = head["names"]
        for at in range(0, len(data), 21):
            number, *values = struct.unpack_from("<IdfHHB", data, at)
            self.rows[number] = row(*values, self.names)
        return len(data)


def shown(events: list[Event]) -> list[Row]:
    folder = Folder()
    folder.feed_all(events)
    return [
        (
            s.start_unix_s,
            math.nan if s.end_unix_s is None else struct.unpack("f", struct.pack("f", s.end_unix_s - s.start_unix_s))[0],
            s.name or s.kind,
            s.agent,
            s.kind,
            s.status,
            s.replayed,
        )
        for s in folder.spans()
    ]


def known(rows: dict[int, Row]) -> list[str]:
    return sorted(repr(r) for r in rows.values() if r[4] != "gone")


@pytest.mark.skipif(sys.byteorder != "little", reason="arrays are read in this machine's order")
@pytest.mark.parametrize("name", sorted(set(ALL) - {"unicode", "huge"}))
def test_a_snapshot_says_what_the_spans_say(name: str) -> None:
    events = load(name) if name in ALL else []
    log = Log(events)
    head = log.snapshot()
    assert sorted(map(repr, read(head["data"], head["names"]))) == sorted(map(repr, shown(events)))


@settings(max_examples=40, deadline=None)
@given(logs())
def test_told_in_pieces_the_browser_knows_the_same(events: list[Event]) -> None:
    log = Log(events[:3])
    browser = Browser(log)
    for at in range(3, len(events), 2):
        for event in events[at : at + 2]:
            log.feed(event)
        if at % 4 == 1:
            log.folder()  # a view that is asked for in between takes nothing away
        browser.take(log)
    assert known(browser.rows) == sorted(map(repr, shown(events)))


def test_a_hundred_thousand_spans_stay_below_2_mb() -> None:
    writer = Writer()
    writer.turn("x")
    for i in range(1000):
        writer.tool(f"c{i}", f"tool{i % 7}", "{}", "r", s=0.001)
    log = Log(writer.events)
    per_span = len(log.snapshot()["data"]) / 1001
    assert per_span * 100_000 < 1_800_000


def test_an_update_of_a_running_turn_stays_below_1_kb() -> None:
    writer = Writer()
    writer.turn("x")
    log = Log(writer.events)
    browser = Browser(log)
    for i in range(20):
        writer.events.clear()
        writer.tool(f"c{i}", "fetch", "{}", "r" * 1000)
        for event in writer.events:
            log.feed(event)
        assert browser.take(log) < 200
    assert browser.take(log) == 0


def test_more_names_than_a_column_can_say_are_other_names() -> None:
    writer = Writer()
    writer.turn("x")
    writer.tool("c", "fetch", "{}", "r")
    log = Log(writer.events)
    log.fold()
    columns = log._columns
    columns.names += [f"n{i}" for i in range(len(columns.names), MAX_NAMES - 1)]
    columns._name("one more")
    columns._name("and one more")
    assert columns.names[-1] == "(other names)"
    assert len(columns.names) == MAX_NAMES


def test_a_turn_without_its_kernel_does_not_run_on() -> None:
    log = Log(load("running"))
    head = log.snapshot()
    assert head["live"] is False
    assert head["now"] == max(e.at_unix_s for e in load("running"))
    log.is_followed = True
    assert log.snapshot()["live"] is True
