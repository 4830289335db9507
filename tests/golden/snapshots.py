"""The forms of a log that are kept as snapshots, by file ending. A page is looked at in a browser instead."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from hermes_nb.model.event import Event
from hermes_nb.views import figure, frame, html, markdown, otlp, text, usage


def _html(events: Sequence[Event]) -> str:
    return html.render(events).removeprefix(f"<style>{html.STYLE}</style>\n") + "\n"


def _markdown(events: Sequence[Event]) -> str:
    return markdown.render(events) + "\n"


def _text(events: Sequence[Event]) -> str:
    return text.render(events) + "\n"


def _frame(events: Sequence[Event]) -> str:
    table = frame.render(events)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.itertuples(index=False):
        writer.writerow(_plain(value) for value in row)
    return out.getvalue().replace("\r", "\\r")


def _plain(value: Any) -> str:
    """A value as no version of pandas prints it differently."""
    if str(value) in ("<NA>", "NaT", "nan"):
        return ""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _json(events: Sequence[Event]) -> str:
    made = {"figure": figure.render(events), "usage": usage.render(events), "otlp": otlp.render(events, content=True)}
    for view in ("figure", "usage"):
        del made[view]["layout"]["template"]  # type: ignore[call-overload]
    for span in made["otlp"]:
        span["attributes"] = dict(sorted(span["attributes"].items()))  # type: ignore[index,call-overload]
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


SNAPSHOTS: dict[str, Callable[[Sequence[Event]], str]] = {
    "html": _html,
    "md": _markdown,
    "txt": _text,
    "csv": _frame,
    "json": _json,
}
