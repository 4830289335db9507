"""What a click does to a turn: through its handle, as the API does. What went wrong is said in the widget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_nb.errors import HermesNbError

if TYPE_CHECKING:
    from hermes_nb.host.base import Sink
    from hermes_nb.sessions.turn import Turn


def act(turn: Turn, message: dict[str, Any], *, sink: Sink) -> tuple[bool, str]:
    """Do what a browser asks of a turn.

    Args:
        turn: The turn.
        message: `do`, and what it needs: `text` of a steer, `id` and `answer` of an answer.
        sink: Where a turn that is asked again shows.

    Returns: whether it was done, and a line that says so or why not; "" where the widget shows it anyway.
    """
    what = str(message.get("do"))
    try:
        if what == "stop":
            turn.stop("user")
            return True, "Stopping."
        if what == "steer":
            return _steer(turn, str(message.get("text") or ""))
        if what == "answer":
            turn.approve(str(message.get("id")), str(message.get("answer")))
            return True, "Answered."
        if what == "retry":
            turn.again(sink)
            return True, "Asked again."
        if what == "fork":
            return _fork(turn)
    except (HermesNbError, RuntimeError) as exc:  # RuntimeError: the Hermes it belongs to is closed
        return False, str(exc)
    return False, f"This widget knows no action {what!r}."


def _steer(turn: Turn, text: str) -> tuple[bool, str]:
    if not text.strip():
        return False, "Write a word first."
    if turn.is_done:
        return False, "The turn is over. Ask it as the next question."
    turn.put_in(text)
    return True, "Sent. The model reads it after its next tool call."


def _fork(turn: Turn) -> tuple[bool, str]:
    bound, hermes = turn.agent, turn.agent.hermes
    made = hermes.io.call(hermes.fork(turn.session_id, agent=bound.name, at=turn.id))
    bound.session_id = made.id
    return True, f"Session {made.id} goes on from here. {bound.name}'s next run continues it."
