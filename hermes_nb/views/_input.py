"""What every view starts from: events, or a `Folder` that a live display keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder, Note, Span

Source: TypeAlias = Iterable[Event] | Folder


@dataclass(slots=True)
class Story:
    """One attempt of a turn: its span, what happened in it by start, and its notes by time."""

    turn: Span | None = None
    steps: list[Span] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def answer(self) -> str:
        """What the turn answered, or has so far; "" for an attempt that another took over."""
        return "" if self.turn is None or self.turn.status == "killed" else self.turn.text


def folder_of(source: Source) -> Folder:
    """The folder itself, or a new one fed with the events."""
    if isinstance(source, Folder):
        return source
    folder = Folder()
    folder.feed_all(source)
    return folder


def stories(source: Source) -> list[Story]:
    """Spans and notes by attempt of a turn, in the order in which the attempts started."""
    folder = folder_of(source)
    spans = folder.spans()
    found = {s.key[:3]: Story(s) for s in spans if s.kind == "turn"}
    for span in spans:
        if span.kind != "turn":
            found.setdefault(span.key[:3], Story()).steps.append(span)
    for note in folder.notes():
        found.setdefault((note.session_id, note.turn_id, note.attempt), Story()).notes.append(note)
    return list(found.values())


def has_several_turns(told: list[Story]) -> bool:
    """Whether the log holds more than one turn, so that each needs its prompt beside it."""
    return len({(s.turn.session_id, s.turn.turn_id) for s in told if s.turn is not None}) > 1
