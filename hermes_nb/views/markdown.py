"""What a cell shows while a turn runs: tool calls as they run, the answer as Markdown, one line of totals."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from hermes_nb.views._listing import MAX_ROWS, Listing, listing
from hermes_nb.views._prose import to_markdown
from hermes_nb.views._source import Source, folder_of
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import ANSWER_CHARS, ERROR_CHARS, Piece, Row, cut_text, is_log_shown, visible

# An underscore within a word is none of Markdown's.
_SPECIAL = re.compile(r"[\\`*\[\]<>#|~$!&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def render(source: Source, *, max_rows: int | None = MAX_ROWS, now_unix_s: float | None = None) -> str:
    """The log as Markdown, cheap enough to be drawn ten times a second while the turn runs.

    Args:
        source: Events, or a folder that a live display keeps.
        max_rows: Beyond this number the middle is left out, and a row says so; None for all.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        Rows (a model call only where it said something before its tool calls, or failed), the answer so far, the line
        of totals; "" for an empty log.
    """
    folder = folder_of(source)
    return compose(listing(folder, max_rows=max_rows), totals(folder, now_unix_s=now_unix_s))


def compose(listed: Listing, total: Mapping[str, Any]) -> str:
    """`render`, of what has been listed and added up."""
    blocks: list[str] = []
    lines: list[str] = []
    for entry in listed.entries:
        if isinstance(entry, str):
            blocks += ["\n".join(lines), to_markdown(entry)]
            lines = []
        elif entry.kind == "heading":
            blocks += ["\n".join(lines), _heading(entry) if entry.meta or entry.detail else ""]
            lines = []
        elif entry.kind == "log":
            if is_log_shown(entry):
                blocks += ["\n".join(lines), _log(entry)]
                lines = []
        elif _is_shown(entry):
            lines.append(row_markdown(entry))
    blocks.append("\n".join(lines))
    if not listed.entries:
        return ""
    blocks.append(f"<sub>{_escape(total_line(total))}</sub>")
    return "\n\n".join(block for block in blocks if block)


def row_markdown(row: Row) -> str:
    """One row as one item of a list; a running one has an hourglass."""
    if row.kind == "model" and row.span is not None and not row.error:
        return f"{'  ' * row.depth}- {row.icon} {_escape(cut_text(row.span.text, ANSWER_CHARS))}"
    mark = "⏳ " if row.span is not None and row.span.is_running else ""
    line = f"{'  ' * row.depth}- {mark}{row.icon} **{_escape(row.label)}**"
    line += f" {_escape(row.meta)}" if row.meta else ""
    if row.kind != "final":
        detail = "".join(map(_piece, row.detail))
        line += f" — {detail}" if detail else ""
    return f"{line} ⚠ {_escape(cut_text(row.error, ERROR_CHARS))}" if row.error else line


def _piece(piece: Piece) -> str:
    value = cut_text(piece.text, piece.limit, n_chars=piece.n_chars)
    if not value and piece.lead == " → ":
        return ""
    shown = _code(value) if piece.is_code else _escape(value)
    linked = f'<a href="{html.escape(piece.url)}">{shown}</a>' if piece.url else shown
    return f"{piece.lead}{linked}"


def _log(row: Row) -> str:
    """Lines as they are; an HTML block of this kind ends at its own end, whatever is in it."""
    lines = html.escape(visible("\n".join(p.text for p in row.detail)), quote=False)
    return f"<sub>{row.icon} {_escape(row.label)}</sub>\n\n<pre>\n{lines}\n</pre>"


def _heading(row: Row) -> str:
    detail = "".join(f" — {_code(cut_text(p.text, p.limit))}" for p in row.detail)
    return f"**{_escape(row.label)}** {_escape(row.meta)}".rstrip() + detail


def _is_shown(row: Row) -> bool:
    """A model call shows by what it said before its tool calls, and by what went wrong; the last one is the answer."""
    span = row.span
    if row.kind == "heading":
        return False
    if row.kind == "final":
        return span is not None and (span.status != "ok" or bool(row.meta))
    if row.kind == "model":
        return bool(row.error) or (span is not None and bool(span.tool_calls) and bool(span.text.strip()))
    return True


def _code(text: str) -> str:
    """A value as code: between backticks where nothing in it could end them, else as an element with entities."""
    if not text:
        return ""
    return f"<code>{_escape(text)}</code>" if _SPECIAL.search(text) else f"`{text}`"


def _escape(text: str) -> str:
    """Text that is nothing but text to any Markdown renderer: entities, which none of them takes for markup."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", " ".join(visible(text).split()))
