"""A conversation as Hermes's messages, from its events: what the next request is built on.

Pure. A turn that ended before any reply leaves nothing: its prompt is dropped, because Hermes merges consecutive user
messages and the stopped prompt would be glued to the next one. A turn stopped later ends paired: each tool call has a
result, and an assistant message closes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hermes_nb.model.event import TURN_ENDS, Event

INTERRUPTED = "Operation interrupted."

Message = dict[str, Any]
_WHY = {
    "timeout": "the turn reached its time limit",
    "closed": "the kernel or Hermes closed",
    "cancelled": "the task that waited for the turn was cancelled",
    "": "the turn was cut off",
}


def why_ended(reason: str) -> str:
    """Why a turn ended early, as a clause: for the model."""
    return _WHY.get(reason, "the user stopped the turn")


def not_started(name: str, why: str) -> str:
    """What the model reads in place of the result of a call that never began."""
    return json.dumps({"error": f"{name} was not started: {why}."})


def cut_short(name: str, why: str) -> str:
    """What the model reads in place of the result of a call that had been asked for."""
    return json.dumps({"error": f"{name} was stopped: {why}. It may have run."})


def messages(events: Iterable[Event]) -> list[Message]:
    """The conversation so far.

    Args:
        events: A session's events in the order they were produced; deltas may be missing, duplicates are ignored.

    Returns:
        Messages with role, content, tool_calls, tool_call_id, name, and reasoning where the model gave some.
    """
    turns: dict[str, dict[tuple[str, int, int], Event]] = {}
    for event in events:
        turns.setdefault(event.turn_id, {}).setdefault((event.producer, event.attempt, event.seq), event)
    conversation: list[Message] = []
    for turn in turns.values():
        of_turn = _told_best(list(turn.values()))
        end = next((e for e in reversed(of_turn) if e.is_turn_end), None)
        told = end.data.get("messages") if end is not None else None
        if isinstance(told, list):
            if end is not None and end.data.get("messages_of") == "session":
                conversation = []
            conversation += [dict(m) for m in told if isinstance(m, Mapping)]
        else:
            conversation += turn_messages([(e.kind, e.data) for e in of_turn if e.parent_id in (None, e.turn_id)])
    return conversation


def turn_messages(events: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Message]:
    """Messages of one turn, from its events as (kind, data)."""
    found: list[Message] = []
    results: dict[str, list[str]] = {}
    end = next(((k, d) for k, d in reversed(events) if k in TURN_ENDS), None)
    why = why_ended(str(end[1].get("reason") or "") if end is not None else "")
    begun = {str(data.get("tool_call_id")) for kind, data in events if kind == "tool.started"}

    def left_out(name: str, call_id: str) -> str:
        return cut_short(name, why) if call_id in begun else not_started(name, why)

    for kind, data in events:
        if kind == "tool.completed":
            results.setdefault(str(data.get("tool_call_id")), []).append(str(data.get("result", "")))
    used: dict[str, int] = {}
    for kind, data in events:
        if kind == "turn.started":
            found.append({"role": "user", "content": data.get("prompt_parts") or data.get("prompt", "")})
        elif kind == "model.completed":
            found += _reply(data, results, used, left_out)
    if end is None or end[0] != "turn.completed":
        text = str(end[1].get("text") or "").strip() if end is not None else ""
        said = [m for m in found if m["role"] == "assistant"]
        if text and not (said and said[-1]["content"] == text):
            found.append({"role": "assistant", "content": text})
        elif found and found[-1]["role"] == "tool":
            found.append({"role": "assistant", "content": INTERRUPTED})
    return found if any(m["role"] == "assistant" for m in found) else []


def _reply(
    data: Mapping[str, Any],
    results: Mapping[str, list[str]],
    used: dict[str, int],
    left_out: Callable[[str, str], str],
) -> list[Message]:
    told = data.get("tool_calls")
    calls = [_call(c) for c in told if isinstance(c, Mapping)] if isinstance(told, list) else []
    text = str(data.get("text") or "")
    if not calls and not text.strip():
        return []  # an empty reply is asked again, and never kept
    message: Message = {"role": "assistant", "content": text.strip()}
    if data.get("reasoning"):
        message["reasoning"] = message["reasoning_content"] = data["reasoning"]
    if not calls:
        return [message]
    message["tool_calls"] = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in calls
    ]
    answers: list[Message] = []
    for call in calls:
        given = results.get(call["id"], [])
        at = used.get(call["id"], 0)
        used[call["id"]] = at + 1
        content = given[at] if at < len(given) else left_out(call["name"], call["id"])
        answers.append({"role": "tool", "name": call["name"], "content": content, "tool_call_id": call["id"]})
    return [message, *answers]


def _call(told: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(told.get(key) or "") for key in ("id", "name", "arguments")}


def _told_best(events: list[Event]) -> list[Event]:
    """One attempt of a turn. A resumed turn says everything again, as replayed; one that is not over may have said less."""
    attempts: dict[int, list[Event]] = {}
    for event in events:
        attempts.setdefault(event.attempt, []).append(event)

    def worth(attempt: int) -> tuple[bool, int, int]:
        of_it = attempts[attempt]
        return any(e.is_turn_end for e in of_it), sum(e.kind.endswith(".completed") for e in of_it), attempt

    return attempts[max(attempts, key=worth)]


def same_messages(left: Sequence[Mapping[str, Any]], right: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two lists mean the same to a model: role, content, calls and results, whatever else they carry."""
    return [_essence(m) for m in left] == [_essence(m) for m in right]


def essence(message: Mapping[str, Any]) -> Message:
    """A message of Hermes's reduced to what a log needs to send it again."""
    kept = ("role", "content", "name", "tool_call_id", "reasoning", "reasoning_content", "reasoning_details")
    small = {k: message[k] for k in kept if message.get(k) is not None}
    small.setdefault("content", "")
    if message.get("tool_calls"):
        small["tool_calls"] = [
            {k: call[k] for k in ("id", "type", "function", "extra_content") if k in call} for call in message["tool_calls"]
        ]
    return small


def _essence(message: Mapping[str, Any]) -> tuple[Any, ...]:
    content = message.get("content")
    calls = [
        (c.get("id"), c["function"]["name"], _normal(c["function"]["arguments"])) for c in message.get("tool_calls") or []
    ]
    return (
        message.get("role"),
        content.strip() if isinstance(content, str) else content,
        calls,
        message.get("tool_call_id"),
        message.get("reasoning") or None,
        message.get("reasoning_details") or None,
    )


def _normal(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return arguments
