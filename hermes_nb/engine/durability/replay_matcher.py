"""Committed steps of a turn that goes on with another model, other tools or instructions: its requests are others by their
fingerprints, and the same by what was said so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hermes_nb.engine.durability.recorder import HEAD_CHARS
from hermes_nb.engine.hermes.reply import flat_text
from hermes_nb.model.event import Event

Key = tuple[str, int]


class Carried:
    """The model responses of earlier attempts, to be met again one after another, from the first.

    Args:
        events: The turn's, of all attempts, as committed.
        turn_id: The turn; calls of agents it delegated to are not carried.
        mask: What events went through.
    """

    def __init__(self, events: Iterable[Event], turn_id: str, mask: Callable[[str], str]) -> None:
        told = [e for e in events if e.kind == "model.completed" and e.parent_id == turn_id and not e.data.get("replayed")]
        self._steps = [
            (
                (e.data.get("n_messages"), e.data.get("last_message")),
                (str(e.data.get("fingerprint")), int(e.data.get("occurrence") or 0)),
            )
            for e in told
        ]
        self._mask = mask
        self._n_taken = 0

    def take(self, request: Mapping[str, Any]) -> Key | None:
        """The key of the response that this request had; None once the conversation took another way."""
        if self._n_taken >= len(self._steps):
            return None
        said, key = self._steps[self._n_taken]
        if said != self._said(request.get("messages") or request.get("input") or []):
            self._n_taken = len(self._steps)
            return None
        self._n_taken += 1
        return key

    def _said(self, messages: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
        return len(messages), self._mask(flat_text(messages[-1])[:HEAD_CHARS]) if messages else ""
