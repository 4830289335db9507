"""What a turn asks a person: approvals of calls of Hermes's own tools, and the model's questions (`clarify`).

"Always" means these exact arguments: who answers (the kernel) keeps them. Hermes is never told more than "once", since
what it keeps is a kind of command, and one approved `rm -rf` would be all of them.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hermes_nb.engine.durability.recorder import Recorder, new_id

CHOICES = ("once", "always", "deny")
_YES = frozenset({"once", "yes", "approve", "approved", "true", "session", "always"})
NO_ANSWER = "The user gave no answer."


class HumanInput:
    """Pending questions of one turn. Nothing is ever approved but by an answer; a stop denies."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self._pending: dict[str, tuple[threading.Event, list[Any]]] = {}
        self._is_closed = False
        # A context variable: Hermes asks from whatever thread or task the call went on in.
        self._is_admitted: contextvars.ContextVar[bool] = contextvars.ContextVar("hermes_nb_is_admitted", default=False)

    def admit(self, name: str, arguments: str, question: str, span_id: str) -> bool:
        """Whether a call of one of Hermes's tools may run."""
        data = {"question": question, "name": name, "arguments": arguments, "choices": list(CHOICES)}
        return _is_yes(self._ask("approval", data, default="deny", span_id=span_id))

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """While a call that was asked about runs here: Hermes's own question about it is answered already."""
        token = self._is_admitted.set(True)
        try:
            yield
        finally:
            self._is_admitted.reset(token)

    def approve(self, command: str, description: str, **options: Any) -> str:
        """Hermes's approval callback, for what looks dangerous to it: `once` or `deny`."""
        del options  # allow_permanent: nothing is ever allowed for good from a notebook
        if self._is_admitted.get():
            return "once"
        data = {"question": description, "name": "terminal", "arguments": command, "choices": list(CHOICES)}
        return "once" if _is_yes(self._ask("approval", data, default="deny")) else "deny"

    def clarify(self, question: str, choices: Sequence[str] | None = None, *, multi_select: bool = False, **_: Any) -> str:
        """Hermes's clarify callback: what the person said. Newer releases also say whether several may be chosen."""
        data: dict[str, Any] = {"question": f"{question} (You may name several.)" if multi_select else question}
        if choices:
            data["choices"] = [str(choice) for choice in choices]
        return str(self._ask("clarify", data, default=NO_ANSWER))

    def _ask(self, kind: str, data: dict[str, Any], *, default: str, span_id: str | None = None) -> Any:
        request_id = new_id()
        done = threading.Event()
        box: list[Any] = []
        with self._lock:
            self._pending[request_id] = (done, box)
            if self._is_closed:
                done.set()
        self._recorder.emit(f"{kind}.requested", {"request_id": request_id, **data}, span_id=span_id or request_id)
        done.wait()
        with self._lock:
            del self._pending[request_id]
        answer = box[0] if box else default
        self._recorder.emit(f"{kind}.responded", {"request_id": request_id, "answer": answer}, span_id=span_id or request_id)
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


def _is_yes(answer: Any) -> bool:
    return str(answer).strip().lower() in _YES
