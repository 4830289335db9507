"""What a turn asks a person: approvals of Hermes's own dangerous commands, and the model's questions (`clarify`)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from hermes_nb.engine.recorder import Recorder, new_id

CHOICES = ("once", "session", "deny")
_YES = {"once": "once", "yes": "once", "approve": "once", "approved": "once", "true": "once", "session": "session",
        "always": "session"}  # fmt: skip
NO_ANSWER = "The user gave no answer."


class Questions:
    """Pending questions of one turn. Nothing is ever approved but by an answer; a stop denies."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self._pending: dict[str, tuple[threading.Event, list[Any]]] = {}
        self._is_closed = False

    def approve(self, command: str, description: str, **options: Any) -> str:
        """Hermes's approval callback: `once`, `session` or `deny`."""
        del options  # allow_permanent: nothing is ever allowed for good from a notebook
        data = {"question": description, "name": "terminal", "arguments": command, "choices": list(CHOICES)}
        if command.startswith("<execute_code>"):
            data |= {"question": "Run this Python code on your machine?", "name": "execute_code", "arguments": description}
        answer = self._ask("approval", data, default="deny")
        return _YES.get(str(answer).strip().lower(), "deny")

    def clarify(self, question: str, choices: Sequence[str] | None = None) -> str:
        """Hermes's clarify callback: what the person said."""
        data: dict[str, Any] = {"question": question}
        if choices:
            data["choices"] = [str(choice) for choice in choices]
        return str(self._ask("clarify", data, default=NO_ANSWER))

    def _ask(self, kind: str, data: dict[str, Any], *, default: str) -> Any:
        request_id = new_id()
        done = threading.Event()
        box: list[Any] = []
        with self._lock:
            self._pending[request_id] = (done, box)
            if self._is_closed:
                done.set()
        self._recorder.emit(f"{kind}.requested", {"request_id": request_id, **data}, span_id=request_id)
        done.wait()
        with self._lock:
            del self._pending[request_id]
        answer = box[0] if box else default
        self._recorder.emit(f"{kind}.responded", {"request_id": request_id, "answer": answer}, span_id=request_id)
        return answer

    def answer(self, request_id: str, answer: Any) -> None:
        """A person answered, on the reading thread; an answer to nothing is ignored."""
        with self._lock:
            waiting = self._pending.get(request_id)
            if waiting is not None and not waiting[0].is_set():
                waiting[1].append("once" if answer is True else "deny" if answer is False else answer)
                waiting[0].set()

    def close(self) -> None:
        """Nobody will answer: what is asked now and later gets its default."""
        with self._lock:
            self._is_closed = True
            for done, _ in self._pending.values():
                done.set()
