"""What is said again to clients that hear only the running cell, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hermes_nb.host.output.headless_update import HeadlessUpdates


class Events:
    """As of IPython's shell."""

    def __init__(self) -> None:
        self.calls: dict[str, list[Callable[..., None]]] = {"pre_run_cell": [], "post_run_cell": []}

    def register(self, name: str, call: Callable[..., None]) -> None:
        self.calls[name].append(call)

    def trigger(self, name: str) -> None:
        for call in self.calls[name]:
            call(None)


@pytest.fixture
def events() -> Events:
    return Events()


def test_what_comes_between_two_cells_is_said_again_once_and_newest_alone(events: Events) -> None:
    between, sent = HeadlessUpdates(events), []

    def update(where: str, what: Any) -> None:
        between.update(where, lambda: sent.append((where, what)))

    update("a", 1)
    events.trigger("post_run_cell")
    update("a", 2)
    update("a", 3)
    update("b", 4)
    assert sent == [("a", 1), ("a", 2), ("a", 3), ("b", 4)]
    events.trigger("pre_run_cell")
    assert sent[4:] == [("a", 3), ("b", 4)]
    update("a", 5)
    events.trigger("post_run_cell")
    events.trigger("pre_run_cell")
    assert sent[6:] == [("a", 5)]


def test_who_waits_at_a_cells_end_still_counts_as_in_it(events: Events) -> None:
    between, sent = HeadlessUpdates(events), []

    def wait() -> None:
        between.update("a", lambda: sent.append("in time"))

    between.before_end(wait)
    events.trigger("post_run_cell")
    between.forget(wait)
    events.trigger("pre_run_cell")
    events.trigger("post_run_cell")
    assert sent == ["in time"]
