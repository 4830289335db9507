"""Words put into a running turn: each is read by the model, or handed back and said so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_nb.turns.context import RunningTurn


class Steering:
    """The steers of one turn."""

    def __init__(self, turn: RunningTurn) -> None:
        self._turn = turn
        self._open: list[str] = []
        self._unread: list[str] = []

    @property
    def unread(self) -> str | None:
        """The words that were never read; None when there are none."""
        return "\n\n".join(self._unread) or None

    def steer(self, text: str) -> bool:
        """Put words in; any thread. Returns whether the model will read them; False where another kernel runs the turn."""
        turn = self._turn
        if turn.is_done or not turn.is_here or not text.strip() or "steer" in turn.worker.lacks:
            return False
        self._open.append(text)
        return turn.io.call(turn.worker.steer(turn.id, text))

    def put_in(self, text: str) -> None:
        """Put words in without waiting to hear whether they are read; `unread` tells in the end."""
        self._open.append(text)
        self._turn.io.soon(self._send, text)

    def _send(self, text: str) -> None:
        if self._turn.is_sent:
            self._turn.worker.send("turn.steer", turn_id=self._turn.id, text=text)

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
