"""What a click does to a turn: through its handle, as the API does. What went wrong is said in the widget."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hermes_nb.api._launch import again
from hermes_nb.errors import HermesNbError, UsageError

if TYPE_CHECKING:
    from hermes_nb.api.turn import Turn
    from hermes_nb.host.base import Sink


def can_promote(turn: Turn) -> bool:
    """Whether a turn's question can be taken to Flyte from its widget: Flyte is installed, and it did not run there."""
    return importlib.util.find_spec("flyte") is not None and not turn.agent.runtime_name.startswith("flyte")


def act(
    turn: Turn, message: dict[str, Any], *, sink: Sink, promote: Callable[[Turn], None] | None = None
) -> tuple[bool, str]:
    """Do what a browser asks of a turn.

    Args:
        turn: The turn.
        message: `do`, and what it needs: `text` of a steer, `id` and `answer` of an answer.
        sink: Where a turn that is asked again shows.
        promote: Opens the form that takes an ended turn's question to Flyte; None where there is none.

    Returns: whether it was done, and a line that says so or why not; "" where the widget shows it anyway.
    """
    what = str(message.get("do"))
    try:
        if what == "stop":
            turn.stop("user")
            return True, ""
        if what == "steer":
            return _steer(turn, str(message.get("text") or ""))
        if what == "answer":
            turn.approve(str(message.get("id")), str(message.get("answer")))
            return True, ""
        if what == "retry":
            again(turn, sink)
            return True, ""
        if what == "fork":
            return _fork(turn)
        if what == "promote" and promote is not None:
            if not turn.is_done:
                raise UsageError("The turn has not ended. Promote it when it has.")
            promote(turn)
            return True, ""
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
    made = hermes.io.call(hermes.conversations.fork(turn.session_id, agent=bound.name, at=turn.id))
    bound.session_id = made.id
    return True, f"Session {made.id} goes on from here. {bound.name}'s next run continues it."
