"""Spans: what took time in a turn, folded from its events. Pure; how they look is `hermes_nb.views`' job.

An interval is what was measured, never tidied: a child may outlive its parent, parallel children overlap, and time
spent is a union (`busy_ms`), not a sum. What no event said stays missing (`None`, an absent key), never 0.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_nb.model._folder import Folder
from hermes_nb.model._span import OPERATIONS, USAGE_KEYS, Note, Span, busy_ms
from hermes_nb.model.event import Event

__all__ = ["OPERATIONS", "USAGE_KEYS", "Folder", "Note", "Span", "busy_ms", "fold"]


def fold(events: Iterable[Event]) -> list[Span]:
    """The spans of a log.

    The result does not depend on the order in which events of different producers arrived, on how the log was cut in
    pieces, nor on events that came twice. Unknown kinds are passed over, a missing start or end is tolerated.

    Returns:
        Spans ordered by start; a parent comes before the children that start with it.
    """
    folder = Folder()
    folder.feed_all(events)
    return folder.spans()
