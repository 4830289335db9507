"""Rows, answer and totals as plain text: what scripts and terminals print, and the text/plain of a cell."""

from __future__ import annotations

from hermes_nb.views._source import Source, folder_of, has_several_turns, stories
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import ERROR_CHARS, Row, cut_text, story_rows, visible


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
    told = stories(folder)
    blocks: list[str] = []
    for story in told:
        rows = story_rows(story, with_prompt=has_several_turns(told))
        answer = visible(story.answer).strip() if whole else ""
        blocks.append("\n".join(row_text(row, with_detail=not (answer and row.kind == "final")) for row in rows))
        if answer:
            blocks.append(answer)
    if not blocks:
        return ""
    blocks.append(visible(total_line(totals(folder, now_unix_s=now_unix_s))))
    return "\n\n".join(blocks)


def row_text(row: Row, *, with_detail: bool = True) -> str:
    """One row as one line."""
    line = "  " * row.depth + " ".join(p for p in (row.icon, visible(row.label), visible(row.meta)) if p)
    if with_detail and (detail := detail_text(row)):
        line += f" — {detail}"
    return f"{line} ⚠ {cut_text(row.error, ERROR_CHARS)}" if row.error else line


def detail_text(row: Row) -> str:
    """A row's values, cut, on one line; an arrow to nothing is left out."""
    shown = ((p.lead, cut_text(p.text, p.limit, n_chars=p.n_chars)) for p in row.detail)
    parts = [f"{lead}{value}" for lead, value in shown if value or lead != " → "]
    return "".join(parts).strip()
