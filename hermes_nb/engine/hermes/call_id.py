"""Ids of tool calls, each used once in a conversation.

Hermes 0.19 drops a call and its result whose id was used before (`agent/agent_runtime_helpers.py`, before each request): a
model that counts its calls anew in each answer, as some local servers do, would never see what its tools returned. Nor would
one whose calls have no id: Hermes says "[Result unavailable]" to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def used_in(messages: Iterable[Any]) -> set[str]:
    """Ids of the calls in chat messages."""
    return {
        str(call.get("id"))
        for message in messages
        if isinstance(message, Mapping)
        for call in message.get("tool_calls") or ()
        if isinstance(call, Mapping) and call.get("id")
    }


def make_unique(tool_calls: Sequence[Any], used: Iterable[str]) -> None:
    """Give calls without an id, or with one that was used before, another one, the same in each attempt of a turn."""
    taken = set(used)
    for position, call in enumerate(tool_calls, 1):
        given = getattr(call, "id", None)
        base = given if isinstance(given, str) and given.strip() else f"call_{position}"
        new, n = base, 1
        while new in taken:
            n += 1
            new = f"{base}_{n}"
        taken.add(new)
        if new != given:
            call.id = new
