"""A turn's place in a cell, without a browser: who answers gets the widget, who does not the same text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_nb.host.output.bandwidth import Bandwidth
from hermes_nb.host.output.display_sink import WAITING
from hermes_nb.host.output.traceback_view import TRACEBACK
from hermes_nb.views._bundle import bundle
from hermes_nb.widgets._comm import VIEW
from hermes_nb.widgets._picture import picture
from hermes_nb.widgets.turn import GRACE_S, KEEP_S, Stage, TurnSink
from tests.golden.logs import Log, load
from tests.widgets.test_timeline import Clock

EVENTS = load("plain")
FINAL = bundle(EVENTS)


class Cell:
    """A cell as a front end shows it: one output per display id."""

    can_update = keeps_place = True
    is_headless = False
    between = None

    def __init__(self) -> None:
        self.outputs: dict[str, dict[str, Any]] = {}
        self.n_sent = 0

    def send(self, data: Mapping[str, Any], *, display_id: str, update: bool) -> None:
        assert update == (display_id in self.outputs)
        self.outputs[display_id] = dict(data)
        self.n_sent += 1

    @property
    def shown(self) -> dict[str, Any]:
        (only,) = self.outputs.values()
        return only


class Asked:
    """A turn that records what is done to it."""

    id, prompt, agent_name, is_done = "t1", "Which customers matter most, and why?", "analyst", False

    def __init__(self, agent: Any = None) -> None:
        self.agent = agent or SimpleNamespace(runtime_name="process")
        self.done: list[Any] = []

    def stop(self, reason: str) -> None:
        self.done.append(("stop", reason))

    def approve(self, request_id: str, answer: str) -> None:
        self.done.append((request_id, answer))

    def put_in(self, text: str) -> None:
        self.done.append(("steer", text))


class Rig:
    def __init__(self, agent: Any = None) -> None:
        self.clock, self.cell, self.decided, self.turn = Clock(), Cell(), list[bool](), Asked(agent)
        self.sink = TurnSink(
            self.cell, self.clock, Bandwidth(), clock=lambda: self.clock.now, on_decided=self.decided.append
        )
        self.sent: list[dict[str, Any]] = []
        self.sink._line.view.send = self.sent.append
        self.sink.attach(self.turn)  # type: ignore[arg-type]

    def hear(self, **message: Any) -> None:
        self.sink._hear(message)

    def feed(self, *events: Any) -> None:
        for event in events:
            self.sink.feed(event)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [m for m in self.sent if m["t"] == kind]


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_the_first_output_is_both(rig: Rig) -> None:
    assert set(rig.cell.shown) == {"text/markdown", VIEW}
    assert rig.cell.shown["text/markdown"] == WAITING
    assert rig.sink.has_buttons, "a cell must not ask by input while a browser may still answer"


def test_a_front_end_without_widgets_gets_the_same_text(rig: Rig) -> None:
    rig.feed(*EVENTS[:-1])
    rig.clock.pass_to(GRACE_S + 1)
    assert set(rig.cell.shown) == {"text/markdown"}
    assert "top_customers" in rig.cell.shown["text/markdown"]
    assert not rig.sink.has_buttons
    assert rig.decided == [False]
    rig.feed(EVENTS[-1])
    rig.sink.finish(FINAL)
    assert rig.cell.shown == FINAL
    assert rig.sent == []


def test_a_turn_that_ends_at_once_is_shown_at_once(rig: Rig) -> None:
    rig.feed(*EVENTS)
    rig.sink.finish(FINAL)
    assert {k: v for k, v in rig.cell.shown.items() if k != VIEW} == FINAL
    rig.clock.pass_to(GRACE_S + 1)
    assert rig.cell.shown == FINAL


def test_a_browser_that_answers_late_shows_the_ended_turn(rig: Rig) -> None:
    rig.feed(*EVENTS)
    rig.sink.finish(FINAL)
    rig.hear(t="ready", keeps=True)
    rig.clock.pass_to(60)
    ((turn,),) = [m["turns"] for m in rig.of("all")]
    assert turn["head"]["status"] == "ok"
    assert VIEW in rig.cell.shown
    assert rig.sink._line.view.static == FINAL


def test_a_browser_that_keeps_no_static_form_is_given_it_at_the_end(rig: Rig) -> None:
    rig.hear(t="ready", keeps=False)
    rig.feed(*EVENTS)
    rig.sink.finish(FINAL)
    rig.clock.pass_to(KEEP_S + 1)
    assert rig.cell.shown == FINAL
    assert rig.sink._line.view is None


def test_a_closed_tab_leaves_the_static_form(rig: Rig) -> None:
    rig.hear(t="ready", keeps=False)
    rig.hear(t="gone")
    assert not rig.sink.has_buttons
    rig.feed(*EVENTS)
    rig.sink.finish(FINAL)
    rig.clock.pass_to(1)
    assert rig.cell.shown == FINAL


def test_it_speaks_at_most_twelve_times_a_second(rig: Rig) -> None:
    rig.hear(t="ready", keeps=True)
    log = Log()
    log.turn("Tell a story.")
    log.put("model.started", "m1", api_call=1, n_messages=1, model="m", provider="p")
    rig.feed(*log.events)
    for i in range(20_000):
        rig.clock.pass_to(i / 2_000)
        rig.feed(log.put("model.delta", "m1", text=f"word {i} "))
    told = len(rig.of("ops"))
    assert 20 < told <= 125
    assert len(json.dumps(rig.sent)) < 1_000_000 * 10
    assert rig.cell.n_sent == 1


def test_a_second_view_is_told_all(rig: Rig) -> None:
    rig.hear(t="ready", keeps=True)
    rig.feed(*EVENTS[:5])
    rig.hear(t="ready", keeps=True)
    assert len(rig.of("all")) == 2
    rig.hear(t="gone")
    assert rig.sink.has_buttons


def test_clicks_go_to_the_turn(rig: Rig) -> None:
    rig.hear(t="ready", keeps=True)
    rig.hear(t="do", n=1, do="stop", turn="t1")
    rig.hear(t="do", n=2, do="answer", id="r1", answer="once", turn="t1")
    rig.hear(t="do", n=3, do="steer", text="Be brief.", turn="t1")
    rig.hear(t="do", n=4, do="steer", text=" ", turn="t1")
    rig.hear(t="do", n=5, do="stop", turn="another")
    rig.hear(t="do", n=6, do="explode")
    assert rig.turn.done == [("stop", "user"), ("r1", "once"), ("steer", "Be brief.")]
    assert [(m["n"], m["ok"]) for m in rig.of("said")] == [(n, n <= 3) for n in range(1, 7)]


@pytest.mark.parametrize("message", [{}, {"t": "detail"}, {"t": "detail", "k": 3}, {"t": "eval"}, {"t": "do"}])
def test_a_message_that_means_nothing_does_no_harm(rig: Rig, message: dict[str, Any]) -> None:
    rig.hear(t="ready", keeps=True)
    rig.sink._hear(message)
    assert rig.turn.done == []


def test_a_cleared_cell_shows_the_turn_again(rig: Rig) -> None:
    rig.hear(t="ready", keeps=True)
    rig.cell.outputs.clear()
    rig.sink.show_again()
    assert VIEW in rig.cell.shown


def test_a_client_that_never_answers_is_asked_twice() -> None:
    clock = Clock()
    stage = Stage(late=clock)
    parent = {"header": {"session": "client"}}

    def place() -> TurnSink | None:
        made = stage(Cell(), parent, clock, Bandwidth())  # type: ignore[arg-type]
        clock.pass_to(clock.now + GRACE_S + 1)
        return made

    assert [place() is None for _ in range(4)] == [False, False, True, True]


PNG = {"image/png": "AAAA", "text/plain": "<Figure size 300x200 with 1 Axes>"}


def test_a_plot_is_in_its_row_alone_once_a_browser_shows_it_and_in_the_saved_row(rig: Rig) -> None:
    rig.feed(*EVENTS[:-1])
    assert not rig.sink.on_display("c1", PNG), "the cell shows it: nobody else does yet"
    rig.hear(t="ready", keeps=True)
    assert rig.sink.is_in_place()
    assert rig.sink.on_display("c1", PNG)
    assert not rig.sink.on_display("c1", {**PNG, "application/vnd.plotly.v1+json": {}}), "that can be clicked in the cell"
    assert not rig.sink.on_display("c1", {"text/html": "<b>x</b>"})
    rig.feed(EVENTS[-1])
    rig.sink.finish(FINAL)
    saved = rig.sink._line.view.static["text/html"]
    assert saved.count('<img class="hnb-picture" src="data:image/png;base64,AAAA"') == 3
    assert "top_customers" in saved


def test_pictures_are_data_and_never_markup() -> None:
    assert picture({"image/png": "AA\nAA"}) == "data:image/png;base64,AAAA"
    assert picture({"image/png": b"\0\0\0"}) == "data:image/png;base64,AAAA"
    svg = picture({"image/svg+xml": '<svg onload="alert(1)"/>'})
    assert svg is not None
    assert svg.startswith("data:image/svg+xml;base64,")
    assert "<" not in svg
    assert picture({"text/html": "<b>x</b>"}) is None


def test_a_tool_that_raised_shows_its_traceback_in_its_row_live_and_saved(rig: Rig) -> None:
    log = Log()
    log.turn("Sum the revenue.")
    log.tool("c1", "broken", "{}", '{"error": "KeyError"}', status="error", error="'revenue'", error_type="KeyError")
    log.done("There is none.", ms=100, n_models=0, n_tools=1)
    rig.hear(t="ready", keeps=True)
    rig.feed(*log.events[:-1])
    text = "\x1b[36mCell\x1b[39m In[1], line 3\n\x1b[31mKeyError\x1b[39m: '<b>'\x1b]0;title\x07"
    assert not rig.sink.on_display("c1", {TRACEBACK: text})
    item = next(item for _, item in rig.sink._pane.whole()["items"] if item["kind"] == "call")
    assert [detail["label"] for detail in item["details"]] == ["Traceback", "What the model received"]
    assert item["details"][0]["runs"] == [("link", "Cell"), ("", " In[1], line 3\n"), ("bad", "KeyError"), ("", ": '<b>'")]
    rig.feed(log.events[-1])
    rig.sink.finish(bundle(log.events))
    saved = rig.sink._line.view.static["text/html"]
    assert '<span class="hnb-ink-bad">KeyError</span>: &#x27;&lt;b&gt;&#x27;</pre>' in saved
