"""A turn as a browser keeps it: what is told turns the old state into the new one, and text travels once."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.model.event import Event
from hermes_nb.views.markdown import render
from hermes_nb.widgets._turn_model import TurnModel
from tests.golden.logs import STORED, Log, load


class Mirror:
    """What a browser has, by `extensions/widgets/src/state.js`."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.head = dict(told["head"])
        self.items = {name: dict(item) for name, item in told["items"]}

    def apply(self, ops: list[list[Any]]) -> None:
        for what, name, *rest in json.loads(json.dumps(ops)):
            if what == "head":
                self.head.update(name)
            elif what == "put":
                names = list(self.items)
                names.insert(rest[0], name)
                self.items = {one: self.items.get(one, rest[1]) for one in names}
            elif what == "del":
                del self.items[name]
            elif what == "set":
                merged = {**self.items[name], **rest[0]}
                self.items[name] = {k: v for k, v in merged.items() if v is not None}
            else:
                assert what == "add"
                self.items[name][rest[0]] += rest[1]


def whole(pane: TurnModel) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(pane.whole()))
    return told


def one_turn(name: str) -> list[Event]:
    events = load(name)
    return [e for e in events if e.turn_id == events[0].turn_id] if events else []


@pytest.mark.parametrize("name", sorted(STORED))
def test_changes_lead_to_the_whole(name: str) -> None:
    events = one_turn(name)
    pane = TurnModel("t")
    mirror = Mirror(whole(pane))
    for event in events:
        pane.feed(event)
        mirror.apply(pane.changes())
    told = whole(pane)
    assert list(mirror.items.items()) == [tuple(pair) for pair in told["items"]]
    assert mirror.head == told["head"]


def test_a_static_form_in_between_takes_nothing_from_the_browser() -> None:
    pane = TurnModel("t", prompt="Hello?")
    mirror = Mirror(whole(pane))
    assert pane.shown()[0] == "Hello?"
    for event in one_turn("plain"):
        pane.feed(event)
        pane.shown()
        mirror.apply(pane.changes())
    assert mirror.head["status"] == "ok"
    assert list(mirror.items.items()) == [tuple(pair) for pair in whole(pane)["items"]]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_changes_lead_to_the_whole_in_any_order(data: Any) -> None:
    events = data.draw(st.permutations(one_turn("two_attempts")))
    pane = TurnModel("t")
    mirror = Mirror(whole(pane))
    for event in events:
        pane.feed(event)
        if data.draw(st.booleans()):
            mirror.apply(pane.changes())
    mirror.apply(pane.changes())
    assert list(mirror.items.items()) == [tuple(pair) for pair in whole(pane)["items"]]


@pytest.mark.parametrize("name", ["plain", "failed", "stopped", "nested"])
def test_it_says_what_the_static_form_says(name: str) -> None:
    events = one_turn(name)
    pane = TurnModel("t")
    for event in events:
        pane.feed(event)
    told, still = json.dumps(whole(pane), ensure_ascii=False), render(events)
    answer = next((e.data["text"] for e in events if e.is_turn_end), "")
    assert not answer or any(str(answer).strip() == item.get("text") for _, item in whole(pane)["items"])
    for event in events:
        if event.kind == "tool.completed":
            shown_as = {"delegate_task": "Helper: Find hotels."}.get(event.data["name"], event.data["name"])
            assert shown_as in told
            assert shown_as in still


def test_streamed_text_travels_once() -> None:
    log = Log()
    log.turn("Tell a story.")
    pane = TurnModel("t")
    for event in log.events:
        pane.feed(event)
    pane.changes()
    n_bytes = 0
    pane.feed(log.put("model.started", "m1", api_call=1, n_messages=1, model="m", provider="p"))
    for i in range(2_000):
        pane.feed(log.put("model.delta", "m1", text=f"word {i} "))
        n_bytes += len(json.dumps(pane.changes()))
    assert n_bytes < 2_000 * 120


@pytest.mark.serial
def test_twenty_thousand_deltas_cost_little() -> None:
    """Fed as they come from a worker that joins what comes within 30 ms, told 16 times a second: a turn of ten seconds."""
    log = Log()
    log.turn("Tell a story.")
    log.put("model.started", "m1", api_call=1, n_messages=1, model="m", provider="p")
    for i in range(333):
        log.put("model.delta", "m1", text="".join(f"word {60 * i + k} " for k in range(60)))
    pane = TurnModel("t")
    began_s = time.process_time()
    for i, event in enumerate(log.events):
        pane.feed(event)
        if i % 2:
            json.dumps(pane.changes())
    assert time.process_time() - began_s < 0.3


def test_pictures_are_bounded() -> None:
    log = Log()
    log.turn("Plot.")
    log.tool("c1", "plot", "{}", "done")
    pane = TurnModel("t")
    for event in log.events:
        pane.feed(event)
    pane.changes()
    for _ in range(40):
        pane.add_picture("c1", "data:image/png;base64,AAAA")
    pane.add_picture("c1", "data:image/png;base64," + "A" * 3_000_000)
    ((what, _, fields),) = pane.changes()
    assert what == "set"
    assert len(fields["pictures"]) <= 20
