"""The turns of a conversation as panes: those that are stored, and those that come, from this chat or from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_nb.model.event import Event
from hermes_nb.widgets._turn_model import TurnModel


class History:
    """Panes by turn, in the order in which turns began.

    Args:
        agent: Whose conversation it is.
        events: What is stored of it.
    """

    def __init__(self, agent: str, events: Iterable[Event] = ()) -> None:
        self._agent = agent
        self.panes: dict[str, TurnModel] = {}
        for event in events:
            self.feed(event)

    def feed(self, event: Event) -> TurnModel | None:
        """Take an event; its pane when that is a new one."""
        pane, made = self.panes.get(event.turn_id), None
        if pane is None:
            made = pane = self.panes[event.turn_id] = TurnModel(event.turn_id, agent=self._agent)
        if event.kind == "turn.started":
            self.panes.pop(str(event.data.get("replaces") or ""), None)
        pane.is_queued = False
        pane.feed(event)
        return made

    def add(self, pane: TurnModel) -> None:
        """Take the pane of a turn that has no event yet."""
        self.panes[pane.turn_id] = pane

    def last(self, n: int) -> list[TurnModel]:
        """The newest `n`."""
        return list(self.panes.values())[-n:] if n > 0 else []
