"""Rows, answer and totals as plain text: what scripts and terminals print, and the text/plain of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_nb.views._listing import MAX_ROWS, Listing, listing
from hermes_nb.views._source import Source, folder_of
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import ERROR_CHARS, Row, cut_text, is_log_shown, visible


def render(
    source: Source, *, whole: bool = True, max_rows: int | None = MAX_ROWS, now_unix_s: float | None = None
) -> str:
    """The log as text, without escape sequences and without a final newline.

    Args:
        source: Events, or a folder that a live display keeps.
        whole: The answer in full below its row; False cuts it inside the row, as the Flyte report does.
        max_rows: Beyond this number the middle is left out, and a line says so; None for all.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        One line per row, the answer, and the line of totals; "" for an empty log.
    """
    folder = folder_of(source)
    return compose(listing(folder, whole=whole, max_rows=max_rows), totals(folder, now_unix_s=now_unix_s))


def compose(listed: Listing, total: Mapping[str, Any]) -> str:
    """`render`, of what has been listed and added up."""
    blocks: list[str] = []
    lines: list[str] = []
    for entry in listed.entries:
        if isinstance(entry, str) or entry.kind == "heading":
            blocks.append("\n".join(lines))
            lines = []
        if isinstance(entry, str):
            blocks.append(visible(entry))
        elif entry.kind == "log":
            lines += log_lines(entry) if is_log_shown(entry) else []
        else:
            lines.append(row_text(entry))
    blocks.append("\n".join(lines))
    if not any(blocks):
        return ""
    blocks.append(visible(total_line(total)))
    return "\n\n".join(block for block in blocks if block)


def row_text(row: Row) -> str:
    """One row as one line."""
    line = "  " * row.depth + " ".join(p for p in (row.icon, visible(row.label), visible(row.meta)) if p)
    if detail := detail_text(row):
        line += f" — {detail}"
    return f"{line} ⚠ {cut_text(row.error, ERROR_CHARS)}" if row.error else line


def log_lines(row: Row) -> list[str]:
    """A log's row as lines, indented."""
    lines = "\n".join(p.text for p in row.detail).splitlines()
    return [f"{row.icon} {visible(row.label)}", *(f"    {visible(line)}" for line in lines)]


def detail_text(row: Row) -> str:
    """A row's values, cut, on one line; an arrow to nothing is left out."""
    shown = ((p.lead, cut_text(p.text, p.limit, n_chars=p.n_chars)) for p in row.detail)
    parts = [f"{lead}{value}" for lead, value in shown if value or lead != " → "]
    return "".join(parts).strip()
