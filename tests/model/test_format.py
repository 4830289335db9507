"""Figures are the same in Python and in the browser; the tests of `extensions` have the same list."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest

from hermes_nb.model.format import format_ms, format_time, format_tokens
from hermes_nb.views import html, markdown, rows, text
from tests.golden.logs import ALL, HERE, Log, load

LISTED = json.loads((HERE / "formats.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("ms", "said"), LISTED["durations"])
def test_a_duration_has_the_unit_that_people_would_take(ms: float, said: str) -> None:
    assert format_ms(ms) == said


@pytest.mark.parametrize(("sent", "got", "cached", "said"), LISTED["tokens"])
def test_tokens_that_are_unknown_are_not_0(sent: int | None, got: int | None, cached: int | None, said: str) -> None:
    assert format_tokens(sent, got, cached=cached) == said


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize(("at_unix_s", "said"), LISTED["days"])
def test_a_day_is_a_day(at_unix_s: float, said: str) -> None:
    assert format_time(at_unix_s) == said


@pytest.mark.parametrize("name", sorted(ALL))
def test_no_view_has_four_digits_of_milliseconds(name: str) -> None:
    for view in (html, markdown, text):
        assert not re.search(r"\d{4,} ms\b", view.render(load(name)))


def test_a_long_step_is_told_in_seconds() -> None:
    log = Log()
    log.turn("x")
    log.tool("c1", "f", "{}", "1", s=4.4)
    (tool,) = (row for row in rows.render(log.events) if row.kind == "tool")
    assert tool.meta == "tool · 4.4 s"
    assert tool.span is not None
    assert "4.4 s" in repr(tool.span)
