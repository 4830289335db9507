"""Rows, answer and totals as self-contained HTML: no script, no request, colours of the front end, light and dark."""

from __future__ import annotations

import html

from hermes_nb.views._prose import prose
from hermes_nb.views._source import Source, folder_of
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import ERROR_CHARS, Row, cut_html, valid
from hermes_nb.views.rows import render as render_rows


def render(source: Source, *, now_unix_s: float | None = None) -> str:
    """The log as one HTML fragment. Everything that comes from a log is escaped.

    Args:
        source: Events, or a folder that a live display keeps.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        A `<div>`; "" for an empty log.
    """
    folder = folder_of(source)
    parts: list[str] = []
    for row in render_rows(folder):
        parts.append(row_html(row))
        if row.kind == "final" and row.span is not None and row.span.text.strip():
            parts.append(f'<div class="hnb-answer">{prose(row.span.text)}</div>')
    if not parts:
        return ""
    parts.append(f'<div class="hnb-total">{_escape(total_line(totals(folder, now_unix_s=now_unix_s)))}</div>')
    return f'<div class="hnb">{"".join(parts)}</div>'


def row_html(row: Row) -> str:
    """One row as one `<div>`."""
    label, meta = _escape(row.label), _escape(row.meta)
    detail = "".join(
        f"{p.lead}<code>{cut_html(p.text, p.limit)}</code>" if p.is_code else f"{p.lead}{cut_html(p.text, p.limit)}"
        for p in row.detail
    )
    error = f' <span class="hnb-error">⚠ {cut_html(row.error, ERROR_CHARS)}</span>' if row.error else ""
    return (
        f'<div class="hnb-row">{row.icon} <b>{label}</b> <span class="hnb-meta">{meta}</span>'
        f"{f' — {detail}' if detail else ''}{error}</div>"
    )


def _escape(text: str) -> str:
    return html.escape(valid(text))
