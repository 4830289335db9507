"""What a notebook shows of a run of Flyte besides its steps: phase, link and the tail of its log."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from hermes_nb.model.event import Event
from hermes_nb.views import html, markdown, text
from hermes_nb.views.rows import render
from tests.golden.logs import Log

HOSTILE = "</pre><script>alert(1)</script> **bold** `x` \x1b[31m"


def run_log(*, url: str = "https://flyte.example/r1?a=1&b=2", end: str = "") -> list[Event]:
    log = Log()
    log.put("flyte.run", "t1", phase="submitting")
    log.turn("Hi")
    log.put("flyte.run", "t1", phase="running", run="r1", url=url, attempt=1)
    log.put("flyte.log", "t1", lines=["first line"])
    log.put("flyte.log", "t1", lines=["second line", "", HOSTILE])
    if end == "completed":
        log.done("Done.", ms=5, n_models=0, n_tools=0)
    elif end == "failed":
        log.put("turn.failed", "t1", text="", error="It broke.", error_type="FlyteRunFailed")
    turn_id = next(e.turn_id for e in log.events if e.kind == "turn.started")
    assert {e.turn_id for e in log.events} == {turn_id}
    return log.events


def test_a_phase_is_a_row_and_the_newest_log_is_the_last_one_before_the_end() -> None:
    rows = [(r.kind, r.label) for r in render(run_log(end="failed")) if r.kind != "heading"]
    assert rows == [("note", "Flyte"), ("note", "Flyte"), ("log", "log"), ("final", "failed")]


@pytest.mark.parametrize(("end", "is_shown"), [("", True), ("failed", True), ("completed", False)])
def test_the_log_is_shown_while_it_runs_and_when_it_failed(end: str, is_shown: bool) -> None:
    events = run_log(end=end)
    for view in (markdown, text):
        shown = view.render(events)
        assert ("second line" in shown) is is_shown
        assert "first line" not in shown
    drawn = html.render(events)
    assert "second line" in drawn
    assert ("<details open>" in drawn) is is_shown


def test_a_log_can_break_out_of_nothing() -> None:
    events = run_log()
    for drawn in (markdown.render(events), html.render(events)):
        assert drawn.count("</pre>") == 1
        assert "<script" not in drawn
    assert "\x1b" not in text.render(events) + markdown.render(events) + html.render(events)
    assert "&lt;/pre&gt;" in markdown.render(events)


def attributes(drawn: str) -> set[str]:
    """Names of the attributes of links, as a browser reads them."""
    found: set[str] = set()

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.update(name for name, _ in attrs if tag == "a")

    Links().feed(drawn)
    return found


def test_the_link_is_one_and_only_of_the_web() -> None:
    for drawn in (markdown.render(run_log()), html.render(run_log())):
        assert 'href="https://flyte.example/r1?a=1&amp;b=2"' in drawn
    assert "https://flyte.example/r1?a=1&b=2" in text.render(run_log())
    for bad in ("javascript:alert(1)", 'https://x/" onclick="alert(1)', "file:///etc/passwd"):
        for view in (markdown, html):
            drawn: Any = view.render(run_log(url=bad))
            assert 'href="javascript' not in drawn
            assert 'href="file' not in drawn
            assert attributes(drawn) <= {"class", "href", "target", "rel"}
