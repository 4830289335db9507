from __future__ import annotations

import json
import random
from typing import Any

import pytest

from hermes_nb.model.event import Event
from hermes_nb.model.history import INTERRUPTED, messages

Row = tuple[str, dict[str, Any]]


def log(*turns: list[Row], attempt: int = 1) -> list[Event]:
    """Events of turns t1, t2, ... of one session."""
    rows = [(f"t{n}", kind, data) for n, turn in enumerate(turns, 1) for kind, data in turn]
    return [
        Event(
            1,
            "w",
            seq,
            0.0,
            "s",
            turn_id,
            f"{turn_id}-{seq}",
            None if kind.startswith("turn.") else turn_id,
            attempt,
            kind,
            data,
        )
        for seq, (turn_id, kind, data) in enumerate(rows, 1)
    ]


def asked(prompt: str) -> Row:
    return "turn.started", {"prompt": prompt}


def said(text: str = "", *calls: tuple[str, str, str], **more: Any) -> Row:
    tool_calls = [{"id": i, "name": n, "arguments": a} for i, n, a in calls]
    return "model.completed", {"text": text, "tool_calls": tool_calls, **more}


def ran(call_id: str, name: str, result: str, status: str = "ok") -> Row:
    return "tool.completed", {"tool_call_id": call_id, "name": name, "result": result, "status": status}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


ANSWERED = [asked("hi"), said("Hello."), ("turn.completed", {"text": "Hello.", "status": "completed"})]


def test_tool_rounds_become_paired_messages_with_raw_arguments() -> None:
    turn = [
        asked("go"),
        said("", ("c1", "f", '{ "x":1}'), ("c2", "g", "{}")),
        ran("c2", "g", "two"),
        ran("c1", "f", "one"),
        said("Done."),
        ("turn.completed", {"text": "Done."}),
    ]
    assert messages(log(turn)) == [
        user("go"),
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{ "x":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "name": "f", "content": "one", "tool_call_id": "c1"},
        {"role": "tool", "name": "g", "content": "two", "tool_call_id": "c2"},
        assistant("Done."),
    ]


def test_call_ids_that_a_model_uses_again_are_paired_in_order() -> None:
    turn = [
        asked("go"),
        said("", ("c", "f", "{}")),
        ran("c", "f", "1"),
        said("", ("c", "f", "{}")),
        ran("c", "f", "2"),
        said("x"),
        ("turn.completed", {"text": "x"}),
    ]
    assert [m["content"] for m in messages(log(turn)) if m["role"] == "tool"] == ["1", "2"]


@pytest.mark.parametrize("end", ["turn.stopped", "turn.failed"])
def test_a_turn_that_ended_before_any_reply_is_dropped(end: str) -> None:
    lost = [asked("never mind"), ("model.started", {}), (end, {"text": ""})]
    assert messages(log(lost, ANSWERED)) == [user("hi"), assistant("Hello.")]


def test_a_turn_whose_worker_was_killed_before_a_reply_is_dropped() -> None:
    assert messages(log([asked("x"), ("model.started", {})], ANSWERED)) == [user("hi"), assistant("Hello.")]


def test_a_turn_stopped_while_streaming_keeps_the_partial_answer() -> None:
    turn = [asked("tell"), ("model.started", {}), ("turn.stopped", {"text": "Once upon"})]
    assert messages(log(turn)) == [user("tell"), assistant("Once upon")]


def test_a_turn_stopped_amid_a_batch_ends_paired_and_closed() -> None:
    turn = [
        asked("go"),
        said("Let me see.", ("c1", "f", "{}"), ("c2", "g", "{}")),
        ran("c1", "f", "stopped", "stopped"),
        ("turn.stopped", {"text": "Let me see."}),
    ]
    told = messages(log(turn))
    assert [m["role"] for m in told] == ["user", "assistant", "tool", "tool", "assistant"]
    assert json.loads(told[3]["content"]) == {"error": "g was not started: the turn was cut off."}
    assert told[-1] == assistant(INTERRUPTED)


def test_a_call_without_a_result_is_told_by_what_ended_the_turn() -> None:
    begun = ("tool.started", {"tool_call_id": "c1", "name": "f", "arguments": "{}"})
    calls = said("", ("c1", "f", "{}"), ("c2", "g", "{}"))

    def told(*end: Any) -> list[str]:
        found = messages(log([asked("go"), calls, begun, *end]))
        return [json.loads(m["content"])["error"] for m in found if m["role"] == "tool"]

    assert told() == [
        "f was stopped: the turn was cut off. It may have run.",
        "g was not started: the turn was cut off.",
    ]
    assert (
        told(("turn.stopped", {"text": "", "reason": "timeout"}))[1] == "g was not started: the turn reached its time limit."
    )
    assert told(("turn.stopped", {"text": "", "reason": "interrupt"}))[1] == "g was not started: the user stopped the turn."


def test_an_empty_reply_that_was_asked_again_leaves_nothing() -> None:
    turn = [asked("hi"), said(""), said("Yes."), ("turn.completed", {"text": "Yes."})]
    assert messages(log(turn)) == [user("hi"), assistant("Yes.")]


def test_messages_in_the_end_event_replace_what_the_events_tell() -> None:
    held = [user("go"), assistant("steered")]
    turn = [asked("go"), said("x"), ("turn.completed", {"text": "x", "messages": held, "messages_of": "turn"})]
    assert messages(log(ANSWERED, turn)) == [user("hi"), assistant("Hello."), *held]


def test_a_compressed_session_starts_anew() -> None:
    held = [user("summary"), assistant("ok")]
    turn = [asked("go"), said("x"), ("turn.completed", {"text": "x", "messages": held, "messages_of": "session"})]
    assert messages(log(ANSWERED, turn, ANSWERED)) == [*held, user("hi"), assistant("Hello.")]


def test_reasoning_is_given_back() -> None:
    turn = [asked("hi"), said("Yes.", reasoning="Hm."), ("turn.completed", {"text": "Yes."})]
    assert messages(log(turn))[1] == assistant("Yes.") | {"reasoning": "Hm.", "reasoning_content": "Hm."}


def test_calls_of_a_delegated_agent_are_not_of_the_conversation() -> None:
    events = log(ANSWERED)
    inner = Event(1, "w", 99, 0.0, "s", "t1", "m", "agent-span", 1, *said("inner"))
    assert messages([*events[:1], inner, *events[1:]]) == [user("hi"), assistant("Hello.")]


def test_a_resumed_turn_counts_once() -> None:
    first = log([asked("go"), said("", ("c", "f", "{}")), ran("c", "f", "1")])
    again = log(
        [
            asked("go"),
            said("", ("c", "f", "{}"), replayed=True),
            ran("c", "f", "1"),
            said("Done."),
            ("turn.completed", {"text": "Done."}),
        ],
        attempt=2,
    )
    told = messages([*first, *again])
    assert [m["role"] for m in told] == ["user", "assistant", "tool", "assistant"]


def test_a_resumed_turn_that_was_killed_again_loses_nothing() -> None:
    first = log([asked("go"), said("", ("c", "f", "{}")), ran("c", "f", "1")])
    again = log([asked("go")], attempt=2)
    assert [m["role"] for m in messages([*first, *again])] == ["user", "assistant", "tool", "assistant"]


def test_duplicates_change_nothing() -> None:
    events = log(ANSWERED, ANSWERED)
    doubled = [e for e in events for _ in range(2)]
    assert messages(doubled) == messages(events)
    shuffled = events + random.Random(1).sample(events, len(events))
    assert messages(shuffled) == messages(events)
