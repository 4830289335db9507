"""A log read back from the store means what it meant: whole, in pieces, twice, producers interleaved otherwise."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.model.event import Event
from hermes_nb.model.span import Span, fold
from hermes_nb.store.sqlite import Store
from tests.golden.strategies import logs


def _spoken(events: list[Event]) -> list[Event]:
    """As they cross the wire: a lone surrogate is '?' there."""
    return [Event.from_json(event.to_json()) for event in events]


def _spans(events: list[Event]) -> list[Span]:
    return sorted(fold(events), key=lambda span: span.key)


async def _through_store(batches: list[list[Event]]) -> list[Event]:
    with tempfile.TemporaryDirectory() as folder:
        store = await Store.open(Path(folder) / "store.db")
        try:
            for batch in batches:
                await store.ingest(batch)
            return await store.events()
        finally:
            await store.close()


@given(logs(), st.data())
@settings(max_examples=40, deadline=None)
def test_what_the_store_gives_back_folds_to_the_same_spans(events: list[Event], data: st.DataObject) -> None:
    events = _spoken(events)
    batches: list[list[Event]] = []
    left = events
    while left:
        n = data.draw(st.integers(1, len(left)))
        batches.append(left[:n])
        left = left[n:]
    again = data.draw(st.lists(st.sampled_from(batches), max_size=3)) if batches else []
    read = asyncio.run(_through_store([*batches, *again]))
    assert [event.key for event in read] == [event.key for event in events]
    assert _spans(read) == _spans(events)


@given(logs(), st.data())
@settings(max_examples=40, deadline=None)
def test_producers_may_arrive_in_any_order_to_each_other(events: list[Event], data: st.DataObject) -> None:
    events = _spoken(events)
    ends = {event.turn_id: data.draw(st.sampled_from(["p", "q"])) for event in events}  # who produced which turn
    told = [Event(e.v, ends[e.turn_id], *_rest(e)) for e in events]
    first = [e for e in told if e.producer == "p"]
    second = [e for e in told if e.producer == "q"]
    swapped = asyncio.run(_through_store([second, first]))
    assert _spans(swapped) == _spans(told)


def _rest(event: Event) -> tuple[object, ...]:
    fields = event.to_dict()
    return tuple(
        fields[k]
        for k in (
            "seq",
            "at_unix_s",
            "session_id",
            "turn_id",
            "span_id",
            "parent_id",
            "attempt",
            "kind",
            "data",
        )
    )
