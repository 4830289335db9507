"""Words put into a running turn: each is read by the model, or handed back and said so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_nb.sessions.course import TurnCourse


class Steers:
    """The steers of one turn."""

    def __init__(self, turn: TurnCourse) -> None:
        self._turn = turn
        self._open: list[str] = []
        self._unread: list[str] = []

    @property
    def unread(self) -> str | None:
        """The words that were never read; None when there are none."""
        return "\n\n".join(self._unread) or None

    def sent(self, text: str) -> None:
        """Words are on their way; any thread."""
        self._open.append(text)

    def settle(self, data: Mapping[str, Any]) -> None:
        """The worker says what became of some; on the IO loop."""
        text = str(data.get("text") or "")
        if text in self._open:
            self._open.remove(text)
        if not data.get("applied"):
            self._hand_back(text)

    def close(self) -> None:
        """The turn is over: what the worker never answered was not read."""
        left, self._open = self._open, []
        for text in left:
            self._turn.emit("steer.received", {"text": text, "applied": False})
            self._hand_back(text)

    def _hand_back(self, text: str) -> None:
        self._unread.append(text)
        message = f"The model ended before it could read {text!r}. Ask it as the next question (turn.unread_steer)."
        self._turn.emit("warning", {"code": "steer-unread", "message": message})
