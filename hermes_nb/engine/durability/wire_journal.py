"""A journal that is kept by the kernel, for a worker whose disk is not the kernel's, or is gone when the worker is.

What costs money (responses, tool results) goes over the wire and is used when the kernel says that it is on its disk. Events
are sent as always; the kernel writes them before it shows them.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from hermes_nb.engine import wire
from hermes_nb.engine.durability.journal import JournalError, Response, ToolResult
from hermes_nb.model.event import Event
from hermes_nb.model.message_part import KeptTold

if TYPE_CHECKING:
    from hermes_nb.model.message import KernelMessage, StepStored
    from hermes_nb.model.message_sender import SendToKernel

_GRACE_S = 1.0
_NOTHING: KeptTold = {"responses": [], "tool_results": []}


class WireJournal:
    """As `Journal`, by messages; any thread may call.

    Args:
        send: Writes one message to the wire.
    """

    def __init__(self, send: SendToKernel) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._n_sent = 0
        self._waiting: dict[int, tuple[threading.Event, list[str]]] = {}
        self._kept: dict[str, KeptTold] = {}

    def commit(
        self, events: Sequence[Event] = (), *, kept: Response | ToolResult | None = None, at_unix_s: float = 0.0
    ) -> None:
        """Let the kernel keep a step, and return when it has. Events need nothing: they are sent, in their order.

        Raises:
            JournalError: The kernel could not keep it.
        """
        if kept is None:
            return
        with self._lock:
            self._n_sent += 1
            step = self._n_sent
            is_stored, problem = self._waiting[step] = threading.Event(), []
            table: Literal["responses", "tool_results"] = "responses" if isinstance(kept, Response) else "tool_results"
            at = events[0].at_unix_s if events else at_unix_s
            self._send("step.kept", step=step, table=table, fields=asdict(kept), at_unix_s=at)
        is_stored.wait()  # a worker whose kernel is gone ends at once
        if problem:
            raise JournalError(problem[0])

    def on_stored(self, message: StepStored) -> None:
        """The kernel's `step.stored`."""
        with self._lock:
            waiting = self._waiting.pop(int(message["step"]), None)
        if waiting is not None:
            waiting[1].extend([str(message["error"])] if message.get("error") else [])
            waiting[0].set()

    def take_up(self, turn_id: str, kept: KeptTold) -> None:
        """What earlier attempts kept of a turn, as `turn.start` brings it."""
        self._kept[turn_id] = kept

    def responses(self, turn_id: str) -> dict[tuple[str, int], dict[str, Any]]:
        """Responses kept for a turn, by (fingerprint, occurrence), oldest first."""
        kept = self._kept.get(turn_id, _NOTHING)["responses"]
        return {(str(r["fingerprint"]), int(r["occurrence"])): r["body"] for r in kept}

    def tool_results(self, turn_id: str) -> dict[str, ToolResult]:
        """Tool results kept for a turn, by call key."""
        return {
            str(r["call_key"]): ToolResult(
                turn_id, str(r["call_key"]), str(r["name"]), str(r["arguments"]), int(r["attempt"]), r["body"]
            )
            for r in self._kept.get(turn_id, _NOTHING)["tool_results"]
        }

    def events(self, turn_id: str) -> list[Event]:
        """Events kept for a turn."""
        return [Event.from_dict(event) for event in self._kept.get(turn_id, _NOTHING).get("events", ())]

    def close(self) -> None:
        """Nothing is open."""

    def messages(self, descriptor: int, gone: Callable[[], None]) -> Iterator[KernelMessage]:
        """As `wire.read_messages`, read by a thread of its own: what waits for `step.stored` may hold up whoever obeys.

        Args:
            descriptor: Where to read.
            gone: Ends the process; called when the kernel is gone and nobody has obeyed that for a second.
        """
        read: queue.SimpleQueue[KernelMessage | None] = queue.SimpleQueue()

        def run() -> None:
            for message in wire.read_messages(descriptor):
                if message["kind"] == "step.stored":
                    self.on_stored(message)
                else:
                    read.put(message)
            read.put(None)
            threading.Event().wait(_GRACE_S)
            gone()

        threading.Thread(target=run, name="hermes-nb-reader", daemon=True).start()
        while (message := read.get()) is not None:
            yield message
