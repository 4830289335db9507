"""All views of a log say the same: how many, in which order, who, how long, and what it adds up to."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from hermes_nb.model.event import Event
from hermes_nb.model.span import USAGE_KEYS, Span, fold
from hermes_nb.views import figure, frame, html, rows, text, usage
from hermes_nb.views._listing import Prose, listing
from hermes_nb.views._steps import step_line
from hermes_nb.views._total import total_line, totals
from tests.golden.logs import ALL, load
from tests.golden.strategies import logs


class Lines(HTMLParser):
    """The text of each row of the HTML view; what a row opens to is left out, but for the calls of a group."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: list[int] = []
        self._hidden = 0
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        css = dict(attrs).get("class") or ""
        if self._hidden or css.startswith(("hnb-detail", "hnb-prose", "hnb-total")):
            self._hidden += tag not in ("img", "br", "hr")
        elif tag == "tr":
            self._open.append(len(self.lines))
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif tag == "tr":
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and not self._hidden:
            self.lines[self._open[-1]] += data


def check(events: list[Event]) -> None:
    spans = fold(events)
    sums = totals(events)
    check_rows(events, spans)
    check_frame(events, spans, sums)
    check_figure(events, spans)
    check_sums(events, sums)


def check_rows(events: list[Event], spans: list[Span]) -> None:
    tab = rows.render(events)
    steps = [r.span for r in tab if r.span is not None and r.kind not in ("heading", "final")]
    assert Counter(s.key for s in steps) == Counter(s.key for s in spans if s.kind != "turn")
    assert [r.span for r in tab if r.kind == "heading"] == [s for s in spans if s.kind == "turn"]
    check_steps(events, spans)


def check_steps(events: list[Event], spans: list[Span]) -> None:
    """Each call and each delegated agent has one row, or is part of one; HTML and text have the same rows."""
    listed = [entry for entry in listing(events, max_rows=None).entries if not isinstance(entry, Prose)]
    calls = [inner for step in listed for inner in (step.get("steps") or [step]) if inner["kind"] == "call"]
    agents = {s.parent_key for s in spans if s.kind == "agent"}
    asking = {(*s.key[:3], s.span_id.rpartition("/")[0]) for s in spans if s.kind == "wait" and s.is_running}
    shown = [s for s in spans if s.kind == "tool" and s.key not in agents and s.key not in asking]
    assert sum(step["is_code"] for step in calls) == len(shown)
    assert sum(step["kind"] == "agent" for step in listed) == sum(s.kind == "agent" for s in spans)
    written = "\n".join(line for step in listed for line in [step_line(step)])
    assert all(line in text.render(events, max_rows=None) for line in written.splitlines())
    flat = [inner for step in listed for inner in (step, *step.get("steps", ()))]
    lines = Lines(html.render(events, max_rows=None)).lines
    assert len(lines) == len(flat)
    for step, line in zip(flat, lines, strict=True):
        for part in (step["icon"], step["call"], step["summary"], step["duration"]):
            assert part in line


def check_frame(events: list[Event], spans: list[Span], sums: dict[str, object]) -> None:
    table = frame.render(events)
    assert list(table.span_id) == [rows.valid(s.span_id) for s in spans]
    assert list(table.name) == [rows.valid(s.name) for s in spans]
    assert list(table.kind) == [s.kind for s in spans]
    assert [None if d != d else d for d in table.duration_ms] == [s.duration_ms for s in spans]
    assert len(table) == sums["n_spans"]
    for key in USAGE_KEYS:
        total = table[key].sum(min_count=1)
        assert (None if total is frame.require("pandas", why="").NA else total) == sums[key]
    cost = table.cost_usd.sum(min_count=1)
    assert sums["cost_usd"] == (None if cost != cost else pytest.approx(cost))
    assert table.n_retries.sum() == sums["n_retries"]
    assert table.replayed.sum() == sums["n_replayed"]


def check_figure(events: list[Event], spans: list[Span]) -> None:
    made = figure.render(events)
    meta = made["layout"]["meta"]
    bars = [
        (base / meta["per_s"], x / meta["per_s"], hover)
        for trace in made["data"]
        for base, x, hover in zip(trace["base"], trace["x"], trace["hovertext"], strict=True)
    ]
    assert len(bars) == len(spans) == meta["n_spans"]
    starts = sorted(round(base, 5) for base, _, _ in bars)
    assert starts == pytest.approx([s.start_unix_s - meta["start_unix_s"] for s in spans], abs=2e-5)
    ended = [s for s in spans if s.end_unix_s is not None]
    lengths = sorted(s.end_unix_s - s.start_unix_s for s in ended if s.end_unix_s is not None)
    drawn = sorted(x for _, x, hover in bars if "· running" not in hover)
    assert drawn == pytest.approx(lengths, abs=2e-5)
    named = Counter(re.findall(r"^<b>(.*?)</b>", "\n".join(hover for _, _, hover in bars), re.M))
    assert named == Counter(figure.label_text(s.name or s.kind, 60) for s in spans)


def check_sums(events: list[Event], sums: dict[str, object]) -> None:
    line = total_line(sums)
    assert text.render(events).endswith(rows.visible(line))
    for trace in usage.render(events)["data"]:
        key = {"tokens in": "input_tokens", "tokens out": "output_tokens", "of them cached": "cache_read_tokens"}
        assert trace["y"][-1] == pytest.approx(sums[key.get(trace["name"], "cost_usd")])


@pytest.mark.parametrize("name", sorted(set(ALL) - {"empty", "huge"}))
def test_all_views_of_a_golden_log_agree(name: str) -> None:
    check(load(name))


@settings(max_examples=150, deadline=None)
@given(logs())
def test_all_views_of_any_log_agree(events: list[Event]) -> None:
    check(events)


def test_turns_add_up_to_the_session() -> None:
    table = frame.render([e for name in ("plain", "two_attempts", "nested") for e in renamed(name)])
    by_turn = table.groupby("turn_id").input_tokens.sum()
    assert dict(by_turn) == {"plain": 300, "two_attempts": 300, "nested": 1300}
    assert table.input_tokens.sum() == by_turn.sum()


def renamed(name: str) -> list[Event]:
    """A golden log with its own turn id and producer."""
    made = []
    for e in load(name):
        data = e.to_dict() | {"turn_id": name, "producer": f"{name}-{e.producer}"}
        data |= {k: name for k in ("span_id", "parent_id") if data[k] == "t1"}
        made.append(Event.from_dict(data))
    return made
