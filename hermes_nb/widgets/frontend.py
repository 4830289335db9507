"""What rooms below make of the widgets (see `hermes_nb._frontend`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.widgets.chat import Chat
    from hermes_nb.widgets.turn import Stage


def stage() -> Stage:
    """Return what makes the places of a kernel's turns."""
    from hermes_nb.widgets.turn import Stage

    return Stage()


def chat(bound: BoundAgent, session_id: str | None) -> Chat:
    """Return a conversation in one output (see `BoundAgent.chat_widget`)."""
    from hermes_nb.widgets.chat import Chat

    return Chat(bound, session_id=session_id)
