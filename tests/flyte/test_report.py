"""The Timeline tab as a function of the events."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from hermes_nb.flyte.task.memory import Memory, spoken
from hermes_nb.flyte.task.report import Reporter, bars, events_in, render
from hermes_nb.model.event import Event, EventNumberer
from hermes_nb.model.span import fold


def a_log(text: str = "Done.") -> list[Event]:
    numberer = EventNumberer("r1.a0.1", iter(float(n) for n in range(1, 100)).__next__)

    def make(kind: str, span_id: str, **data: Any) -> Event:
        parent = None if span_id == "t" else "t"
        return numberer.make(kind, session_id="s", turn_id="t", span_id=span_id, parent_id=parent, data=data)

    return [
        make("turn.started", "t", prompt="Hi", agent="a", model="m", provider="p", tools=[]),
        make("model.started", "m1", api_call=1, n_messages=1, model="m"),
        make("model.delta", "m1", text=text),
        make("model.completed", "m1", api_call=1, text=text, tool_calls=[], model="m", n_messages=1, replayed=True),
        make("turn.completed", "t", text=text, status="completed", duration_ms=5.0),
    ]


def test_events_come_back_from_a_report_but_for_deltas() -> None:
    events = a_log()
    assert events_in(f"<html>{render(events)}</html>") == [e for e in events if e.kind != "model.delta"]


def test_hostile_text_ends_no_element() -> None:
    events = a_log('</script><script>alert(1)</script><img src=x onerror=alert(2)> "\u2028')
    html = render(events)
    assert html.count("<script") == html.count("</script>") == 1
    assert "<img" not in html
    assert events_in(html)[-1].data["text"] == events[-1].data["text"]


def test_a_replayed_step_is_told_apart_without_colour() -> None:
    drawn = bars(fold(a_log()))
    assert "repeating-linear-gradient" in drawn
    assert "replayed" in drawn


def test_a_page_without_events_has_none() -> None:
    assert events_in("<html></html>") == []


async def test_what_an_earlier_attempt_saved_is_recalled_once(tmp_path: Any) -> None:
    saved = tmp_path / "payload"
    saved.write_text("\n".join(e.to_json() for e in a_log()))

    class Checkpoint:
        async def load(self) -> Any:
            await asyncio.sleep(0)
            return saved

    reporter = Reporter()
    await reporter.recall(SimpleNamespace(checkpoint=Checkpoint(), attempt_number=1))
    for event in a_log():
        reporter.add(event)
    assert [e.kind for e in reporter.events] == ["turn.started", "model.started", "model.completed", "turn.completed"]


def test_memory_is_what_the_adapter_keeps() -> None:
    history = [
        {"role": "user", "content": "Q1"},
        {"role": "assistant", "content": "", "tool_calls": [{}]},
        {"role": "tool", "content": "42"},
        {"role": "assistant", "content": "A1"},
    ]
    assert spoken(history) == [{"role": "user", "content": "Q1"}, {"role": "assistant", "content": "A1"}]
    same, more = Memory("k", history), Memory("k", history[:1])
    assert not same.knows_more(spoken(history))
    assert more.knows_more(spoken(history))
    assert not Memory("", history).knows_more([{"role": "user", "content": "other"}])
