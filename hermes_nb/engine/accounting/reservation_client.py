"""Asks the kernel whether a call may begin under a limit that other turns share, and tells it when the call is over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hermes_nb.engine.accounting.budget import Bound
from hermes_nb.engine.durability.event_writer import EventWriter

if TYPE_CHECKING:
    from hermes_nb.model.message import BudgetAnswerKeys

_STOP_POLL_S = 0.05


class ReservationClient:
    """The asking of one turn.

    Args:
        turn_id: The turn.
        outbox: The way to the kernel.
        is_stopping: Whether the turn is to end.
    """

    def __init__(self, turn_id: str, outbox: EventWriter, *, is_stopping: Callable[[], bool]) -> None:
        self._turn_id = turn_id
        self._outbox = outbox
        self._is_stopping = is_stopping
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[threading.Event, list[float | None]]] = {}

    def ask(self, call_id: str, bound: Bound) -> Sequence[float | None]:
        """Wait until a call may begin, or may not any more; what was spent, for each shared limit; None if unknown.

        Raises:
            InterruptedError: The turn was stopped meanwhile.
        """
        answered = threading.Event()
        spent: list[float | None] = []
        with self._lock:
            self._waiting[call_id] = (answered, spent)
        self._outbox.send(
            "budget.ask",
            turn_id=self._turn_id,
            call_id=call_id,
            n_tokens=bound.n_tokens,
            cost_usd=bound.cost_usd,
            is_free=bound.is_free,
        )
        try:
            while not answered.wait(_STOP_POLL_S):
                if self._is_stopping():
                    raise InterruptedError("Stopped while it waited for other calls of its budget.")
        finally:
            with self._lock:
                del self._waiting[call_id]
        return spent

    def told(self, call_id: str) -> None:
        """A call is over, and recorded."""
        self._outbox.send("budget.done", turn_id=self._turn_id, call_id=call_id)

    def on_answer(self, message: BudgetAnswerKeys) -> None:
        """The kernel's answer, on the reading thread; one that nobody waits for is ignored."""
        with self._lock:
            waiting = self._waiting.get(str(message.get("call_id")))
            if waiting is not None:
                waiting[1].extend(None if n is None else float(n) for n in message.get("spent") or ())
                waiting[0].set()
