"""What a cell shows: tool calls as they run, the answer as Markdown, one line of totals."""

from __future__ import annotations

from hermes_nb.views._source import Source, folder_of, stories
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import ERROR_CHARS, Row, cut_text, story_rows, valid


def render(source: Source, *, now_unix_s: float | None = None) -> str:
    """The log as Markdown, cheap enough to be drawn ten times a second while the turn runs.

    Args:
        source: Events, or a folder that a live display keeps.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        Rows, answer so far, line of totals; "" for an empty log.
    """
    folder = folder_of(source)
    blocks: list[str] = []
    for story in stories(folder):
        lines = [_line(row) for row in story_rows(story) if _is_shown(row)]
        if lines:
            blocks.append("\n".join(lines))
        if story.turn is not None and story.turn.text.strip():
            blocks.append(valid(story.turn.text).strip("\n"))
    if not blocks and not folder.spans():
        return ""
    blocks.append(f"<sub>{_escape(total_line(totals(folder, now_unix_s=now_unix_s)))}</sub>")
    return "\n\n".join(blocks)


def _is_shown(row: Row) -> bool:
    if row.kind == "final":
        return row.span is not None and row.span.status != "ok"
    return row.kind not in ("heading", "model") or bool(row.error)


def _line(row: Row) -> str:
    detail = "".join(p.lead + (_code(cut_text(p.text, p.limit)) if p.is_code else _escape(p.text)) for p in row.detail)
    mark = " ⏳" if row.span is not None and row.span.is_running else ""
    line = f"{'  ' * row.depth}- {row.icon}{mark} **{_escape(row.label)}** {_escape(row.meta)}"
    line += f" — {detail}" if detail.strip() and row.kind != "final" else ""
    return f"{line} ⚠ {_escape(cut_text(row.error, ERROR_CHARS))}" if row.error else line


def _code(text: str) -> str:
    return f"`` {text.replace('`', chr(0x2CB))} ``" if text else ""


def _escape(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|~$!" else c for c in valid(text)).replace("\n", " ")
