"""The forms of a log that are kept as snapshots, by file ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hermes_nb.model.event import Event
from hermes_nb.views import html, markdown, text


def _html(events: Sequence[Event]) -> str:
    return html.render(events).removeprefix(f"<style>{html.STYLE}</style>\n") + "\n"


def _markdown(events: Sequence[Event]) -> str:
    return markdown.render(events) + "\n"


def _text(events: Sequence[Event]) -> str:
    return text.render(events) + "\n"


SNAPSHOTS: dict[str, Callable[[Sequence[Event]], str]] = {"html": _html, "md": _markdown, "txt": _text}
