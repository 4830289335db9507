"""Rows, answer and totals as plain text: what scripts and terminals print, and the text/plain of a cell."""

from __future__ import annotations

from hermes_nb.views._source import Source, folder_of
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import ERROR_CHARS, Row, cut_text, visible
from hermes_nb.views.rows import render as render_rows


def render(source: Source, *, whole: bool = True, now_unix_s: float | None = None) -> str:
    """The log as text, without escape sequences and without a final newline.

    Args:
        source: Events, or a folder that a live display keeps.
        whole: The answer in full below its row; False cuts it inside the row, as the Flyte report does.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        One line per row, the answer, and the line of totals; "" for an empty log.
    """
    folder = folder_of(source)
    lines: list[str] = []
    for row in render_rows(folder):
        if row.kind == "heading" and lines:
            lines.append("")
        if row.kind == "final" and whole and row.span is not None and row.span.text.strip():
            lines += [row_text(row, with_detail=False), "", visible(row.span.text).strip("\n"), ""]
        else:
            lines.append(row_text(row))
    if not lines:
        return ""
    if lines[-1]:
        lines.append("")
    lines.append(visible(total_line(totals(folder, now_unix_s=now_unix_s))))
    return "\n".join(lines)


def row_text(row: Row, *, with_detail: bool = True) -> str:
    """One row as one line."""
    line = "  " * row.depth + " ".join(p for p in (row.icon, visible(row.label), visible(row.meta)) if p)
    detail = "".join(p.lead + cut_text(p.text, p.limit) for p in row.detail) if with_detail else ""
    if detail.strip():
        line += f" — {detail}"
    return f"{line} ⚠ {cut_text(row.error, ERROR_CHARS)}" if row.error else line
