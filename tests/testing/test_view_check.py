import importlib
import json
import threading
import time
from types import SimpleNamespace

import pytest

from hermes_nb import _registry
from hermes_nb.testing import assert_view_conforms
from hermes_nb.testing.log import LOGS, hostile


def view(render, name="mine"):
    if not render.__doc__:
        render.__doc__ = "One line."
    return SimpleNamespace(__name__=f"package.{name}", render=render)


@pytest.mark.parametrize("name", _registry.names("views"))
def test_the_views_of_the_house_conform(name):
    assert_view_conforms(importlib.import_module(f"hermes_nb.views.{name}"))


def keys(events):
    return sorted({e.key for e in events})


@pytest.mark.parametrize(
    "render",
    [
        lambda events: str(len(keys(events))),
        lambda events: {"n": len(keys(events))},
        lambda events: f"<p>{len(keys(events))}</p>",
        lambda events: keys(events),
    ],
)
def test_simple_views_conform(render):
    assert_view_conforms(view(render))


calls = iter(range(10_000))


def sort_in_place(events):
    events.sort(key=lambda e: -e.seq)
    return "x"


def choke(events):
    return {"worker": json.dumps([e.data["prompt"] for e in events])}


def change(events):
    for event in events:
        event.data.clear()
    return "x"


def raw(events):
    prompts = sorted({str(e.data.get("prompt", "")) for e in events})
    return "<p>" + "".join(prompts).encode("utf-8", "replace").decode() + "</p>"


@pytest.mark.parametrize(
    ("render", "fault"),
    [
        (lambda events: str(next(calls)), "two results for the same events"),
        (lambda events: str(len(list(events))), "counts events twice"),
        (lambda events: time.time() and "x", "reads the clock"),
        (lambda events: "\ud800", "UTF-8 can't carry"),
        (lambda events: {"x": float("nan")}, "not JSON"),
        (lambda events: {"x": {1}}, "not JSON"),
        (lambda events: "x" if keys(events) else None, "different types"),
        (sort_in_place, "raises on the iterated empty log"),
        (choke, "raises on the plain log: KeyError"),
        (change, "changes the plain log"),
        (raw, "live HTML"),
    ],
)
def test_what_breaks_a_promise_is_named(render, fault):
    with pytest.raises(AssertionError, match=fault):
        assert_view_conforms(view(render))


def test_a_module_without_render_or_docstring_is_named():
    with pytest.raises(AssertionError, match="View 'mine' has no function render"):
        assert_view_conforms(SimpleNamespace(__name__="mine"))
    bare = SimpleNamespace(__name__="mine", render=lambda events: "x")
    with pytest.raises(AssertionError, match="no docstring"):
        assert_view_conforms(bare)


def test_options_reach_the_view():
    seen = []

    def render(events, *, theme):
        """One line."""
        seen.append(theme)
        return "x"

    assert_view_conforms(view(render), theme="dark")
    assert set(seen) == {"dark"}


def test_the_logs_are_events_of_one_numbering_each():
    for make in LOGS.values():
        events = make()
        assert len({e.key for e in events}) == len(events)
    assert any("<script>" in str(e.data) for e in hostile())


def test_only_the_view_s_own_thread_finds_the_clock_stopped() -> None:
    ended, went_on = threading.Event(), []

    def ticks() -> None:
        while not ended.is_set():
            time.time()
            time.monotonic()
        went_on.append(True)

    other = threading.Thread(target=ticks)
    other.start()
    try:
        assert_view_conforms(_registry.load("views", "text"))
    finally:
        ended.set()
        other.join()
    assert went_on == [True]
