"""Steps, answer and totals as plain text: what scripts and terminals print, and the text/plain of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_nb.views._input import Source, folder_of
from hermes_nb.views._listing import MAX_ROWS, Listing, Prose, listing
from hermes_nb.views._steps import Step, is_shown_open, step_line
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import visible


def render(source: Source, *, max_rows: int | None = MAX_ROWS, now_unix_s: float | None = None) -> str:
    """The log as text, without escape sequences and without a final newline.

    Args:
        source: Events, or a folder that a live display keeps.
        max_rows: Beyond this number the middle is left out, and a line says so; None for all.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        One line per step, the answer, and the line of totals; "" for an empty log.
    """
    folder = folder_of(source)
    return compose(listing(folder, max_rows=max_rows), totals(folder, now_unix_s=now_unix_s))


def compose(listed: Listing, total: Mapping[str, Any]) -> str:
    """`render`, of what has been listed and added up."""
    blocks: list[str] = []
    lines: list[str] = []
    for entry in listed.entries:
        if isinstance(entry, Prose) or entry["kind"] == "heading":
            blocks.append("\n".join(lines))
            lines = []
        if isinstance(entry, Prose):
            blocks.append(visible(entry.text))
        else:
            lines += step_lines(entry)
    blocks.append("\n".join(lines))
    if not any(blocks) and not total["n_spans"]:
        return ""
    blocks.append(visible(total_line(total)))
    return "\n\n".join(block for block in blocks if block)


def step_lines(step: Step) -> list[str]:
    """One row as one line; the lines of a log that is shown follow it, indented."""
    if not is_shown_open(step):
        return [step_line(step)]
    logged = "\n".join(detail.get("text", "") for detail in step["details"])
    return [step_line(step), *(f"    {visible(line)}" for line in logged.splitlines())]


def lines_over(source: Source) -> list[str]:
    """The lines of what is over, up to the first step that still runs, or the first prose."""
    lines: list[str] = []
    for entry in listing(source, max_rows=None).entries:
        if isinstance(entry, Prose) or entry["kind"] in ("ending", "log") or "began" in entry:
            break
        lines += step_lines(entry)
    return lines
