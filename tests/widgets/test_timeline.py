"""A timeline without a browser: what it answers, how often it speaks, and what it is without the extra `widgets`."""

from __future__ import annotations

import itertools
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hermes_nb
from hermes_nb.errors import MissingPackageError, StoreError, UsageError
from hermes_nb.host.execution.timer import Timer
from hermes_nb.views.page import read_report
from hermes_nb.widgets import _view
from hermes_nb.widgets._log import Log
from hermes_nb.widgets.follow import timeline
from hermes_nb.widgets.timeline import INTERVAL_S, Timeline
from tests.golden.logs import Log as Writer
from tests.golden.logs import load


class Clock(Timer):
    """A timer whose time passes when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Callable[[], None]:
        self.due.append((self.now + max(0.0, delay_s), callback))
        return lambda: None

    def pass_to(self, now: float) -> None:
        while ready := sorted((d for d in self.due if d[0] <= now), key=lambda d: d[0]):
            self.due.remove(ready[0])
            self.now = max(self.now, ready[0][0])
            ready[0][1]()
        self.now = now


class Sent(list[tuple[dict[str, Any], list[bytes]]]):
    """What a view was told to send."""

    def send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        self.append((content, buffers or []))


@pytest.fixture
def answer() -> Callable[[dict[str, Any]], Sent]:
    """What a view of the failed golden log answers."""
    log = Log(load("failed"))
    log.fold()

    def answer(message: Any) -> Sent:
        sent = Sent()
        listener = _view.ViewListener(log, lambda theme: sent.send({"figure": theme}), lambda keeps: None, lambda: None)
        listener.answer(message, sent.send)
        return sent

    return answer


def test_the_panel_of_a_step_is_fetched(answer: Callable[[dict[str, Any]], Sent]) -> None:
    ((told, _),) = answer({"t": "detail", "n": 2})
    panel = told["detail"]
    assert (panel["title"], panel["kind"], panel["is_error"], panel["parent"]) == ("total", "tool call", True, 0)
    assert ["error", "KeyError: 'x'", 0] in panel["texts"]
    assert any(label == "arguments" and "column" in text for label, text, _ in panel["texts"])
    assert answer({"t": "detail", "n": 99})[0][0]["detail"] is None


def test_the_table_is_fetched_by_pages(answer: Callable[[dict[str, Any]], Sent]) -> None:
    ((told, _),) = answer({"t": "rows", "id": 7, "numbers": [1, 99]})
    assert told == {"t": "rows", "id": 7, "rows": [["100", "10", "", "Sum the column."], []]}


def test_texts_are_searched_by_all_words(answer: Callable[[dict[str, Any]], Sent]) -> None:
    ((told, (numbers,)),) = answer({"t": "find", "id": 3, "text": "COLUMN total"})
    assert told == {"t": "found", "id": 3}
    assert struct.unpack("I", numbers) == (2,)
    assert answer({"t": "find", "id": 4, "text": "  "})[0][1] == [b""]


@pytest.mark.parametrize("message", [None, 3, {}, {"t": "rows"}, {"t": "detail", "n": "x"}, {"t": "eval", "n": 1}])
def test_a_message_that_means_nothing_does_no_harm(answer: Callable[[Any], Sent], message: Any) -> None:
    for content, _ in answer(message):
        assert content.get("detail") is None
        assert content.get("rows", []) == []


def test_a_small_finished_log_carries_its_panels() -> None:
    head = Log(load("plain")).snapshot()
    assert [d["title"] for d in head["details"]] == ["analyst", "scripted-1", "top_customers", "scripted-1"]
    assert Log(load("huge")).snapshot()["details"] is not None
    writer = Writer()
    writer.turn("x")
    for i in range(300):
        writer.tool(f"c{i}", "f", "{}", "r")
    assert Log(writer.events).snapshot()["details"] is None


def test_it_speaks_at_most_thirty_times_a_second() -> None:
    clock = Clock()
    shown = Timeline(timer=clock, clock=lambda: clock.now)
    shown.followed(lambda: None)
    view = shown.widget.children[0]
    sent: list[tuple[float, dict[str, Any], int]] = []
    view.send = lambda content, buffers: sent.append((clock.now, content, len(buffers[0])))
    writer = Writer()
    writer.turn("x")
    for i in range(1000):
        writer.tool(f"c{i}", "f", "{}", "r")
    for i, event in enumerate(writer.events):
        shown.feed(event)
        clock.pass_to(i / 2000)  # 2,000 events in a second
    clock.pass_to(2)
    assert 20 <= len(sent) <= 31
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(sent)]
    assert min(gaps) >= INTERVAL_S - 1e-9
    assert sum(content["n"] for _, content, _ in sent) >= 1001
    shown.close()


@pytest.mark.parametrize("between_s", [0.01, 0.0])  # the whole turn may come between two looks
def test_the_end_of_a_turn_leaves_the_static_version_where_nobody_keeps_one(between_s: float) -> None:
    clock = Clock()
    shown = Timeline(timer=clock, clock=lambda: clock.now)
    shown.followed(lambda: None)
    replaced: list[dict[str, str]] = []

    class Place:
        is_headless = False
        between = None

        def replace(self, bundle: dict[str, str]) -> None:
            replaced.append(bundle)

    view = shown.widget.children[0]
    shown._place = Place()  # type: ignore[assignment]
    for event in load("plain"):
        shown.feed(event)
        if between_s:
            clock.pass_to(clock.now + between_s)
    clock.pass_to(clock.now + 1)
    assert "Ada" in view.static["text/html"]
    assert replaced == []
    clock.pass_to(clock.now + 5)
    ((static,),) = (replaced,)
    assert sorted(static) == ["text/html", "text/plain"]
    assert "top_customers" in static["text/plain"]


def test_a_front_end_that_keeps_a_static_version_keeps_the_widget() -> None:
    clock = Clock()
    shown = Timeline(load("running"), timer=clock, clock=lambda: clock.now)
    shown.followed(lambda: None)
    view = shown.widget.children[0]
    shown._place = type("Place", (), {"is_headless": True, "between": None})()
    view._on_message(view, {"t": "ready", "keeps": True}, [])
    clock.pass_to(1)
    assert "fetch" in view.static["text/html"]
    end = Writer()
    end.now += 100
    end.turn_id = load("running")[0].turn_id
    shown.feed(end.done("Done.", ms=1.0, n_models=1, n_tools=3) or end.events[-1])
    clock.pass_to(20)
    assert shown._view is view
    shown.close()


def test_it_is_silent_while_no_browser_shows_it() -> None:
    clock = Clock()
    shown = Timeline(timer=clock, clock=lambda: clock.now)
    view = shown.widget.children[0]
    sent = Sent()
    view.send = sent.send
    view._on_message(view, {"t": "gone"}, [])
    for event in load("plain"):
        shown.feed(event)
        clock.pass_to(clock.now + 0.1)
    assert sent == []
    view._on_message(view, {"t": "ready", "keeps": False}, [])
    clock.pass_to(clock.now + 0.1)
    assert [content["n"] for content, _ in sent] == [4]
    shown.close()


def test_a_page_that_is_loaded_again_gets_the_log_as_it_is() -> None:
    shown = Timeline(load("plain"))
    view = shown.widget.children[0]
    assert view.get_state()["log"]["n"] == 4
    shown.feed(load("failed")[0])
    for event in load("nested"):
        shown.feed(event)
    assert view.get_state()["log"]["n"] > 4
    shown.close()


def test_outside_a_notebook_it_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    timeline(load("plain"))._ipython_display_()
    out = capsys.readouterr().out
    assert "top_customers" in out
    assert "Ada" in out


def test_several_sources_are_one_timeline() -> None:
    other = Writer("s-2", producer="worker-2")
    other.turn("And you?", agent="scout")
    other.done("Fine.", ms=1.0, n_models=0, n_tools=0)
    both = timeline(load("plain"), other.events)
    assert repr(both) == "<Timeline: 5 spans>"
    assert list(both.frame().agent.unique()) == ["analyst", "scout"]


def test_a_page_is_saved_into_a_folder_that_was_not_there_or_the_place_is_named(tmp_path: Path) -> None:
    shown = timeline(load("plain"))
    assert shown.save(tmp_path / "new" / "session.html").is_file()
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreError, match=r"taken/session\.html' can't be written: .*Choose another place\."):
        shown.save(tmp_path / "taken" / "session.html")


def test_it_is_saved_as_a_page(tmp_path: Path) -> None:
    path = timeline(load("plain")).save(tmp_path / "session.html")
    assert read_report(path.read_text(encoding="utf-8")) == load("plain")


@pytest.mark.parametrize(
    ("sources", "said"),
    [((), "needs something to show"), ((3,), "int has no timeline"), (([1],), "list has no timeline"), (("s-1",), "stored")],
)
def test_what_has_no_timeline_is_a_usage_error(sources: tuple[Any, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        timeline(*sources)


@pytest.mark.parametrize("package", ["ipywidgets", "anywidget"])
def test_without_the_extra_all_but_the_widget_works(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _view._view_class.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    shown = timeline(load("plain"))
    with pytest.raises(MissingPackageError, match=r"%pip install 'hermes-nb\[widgets\]'"):
        _ = shown.widget
    assert len(shown.frame()) == 4
    assert shown.figure().data
    assert "Ada" in shown.html
    assert json.dumps(shown.figure_bundle())


def test_the_window_shows_it() -> None:
    assert hermes_nb.timeline is timeline
    assert hermes_nb.Timeline is Timeline


def test_a_turn_that_never_comes_holds_up_one_cell_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_nb.widgets.timeline.SETTLE_S", 0.02)
    forgotten: list[object] = []
    shown = Timeline(timer=Clock())
    shown.followed(lambda: None, is_behind=lambda: True)
    between = type("Between", (), {"forget": lambda self, wait: forgotten.append(wait)})()
    shown._place = type("Place", (), {"is_headless": True, "between": between})()
    shown._settle()
    assert forgotten == [shown._settle]
    shown._behind[:] = [lambda: False]
    shown._settle()
    assert len(forgotten) == 1
