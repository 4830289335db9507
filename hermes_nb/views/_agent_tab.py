"""Rows in the grammar of Flyte's Agent tab, as HTML and as text."""

from __future__ import annotations

import html

from hermes_nb.views.rows import ERROR_CHARS, Piece, Row, cut_html, cut_text, visible
from hermes_nb.views.rows import valid as _valid

# Where the style element is stripped: JupyterLab has a look of its own for code.
_NOTHING = ' style="display:none"'
_BARE = ' style="background:none;padding:0;white-space:normal"'


def row_html(row: Row) -> str:
    """One row as one element: icon, label, meta, detail, error, as the Flyte report has them."""
    if row.kind == "log":
        lines = _escape(visible("\n".join(p.text for p in row.detail)))
        return f"<details><summary>{row.icon} <b>{_escape(row.label)}</b></summary><pre>{lines}</pre></details>"
    meta = f' <span class="hnb-meta">{_escape(row.meta)}</span>' if row.meta else ""
    values = ((p.lead, _linked(p, cut_html(p.text, p.limit, n_chars=p.n_chars)), p.is_code) for p in row.detail)
    detail = "".join(_piece(lead, value, is_code) for lead, value, is_code in values)
    detail = f" — {detail}" if detail else ""
    error = f' <span class="hnb-error">⚠ {cut_html(row.error, ERROR_CHARS)}</span>' if row.error else ""
    if row.kind == "heading":
        return f'<h4 class="hnb-heading">{_escape(row.label)}{meta}{detail}</h4>'
    indent = f' style="margin-left:{row.depth * 1.6:g}em"' if row.depth else ""
    icon = f'<span class="hnb-icon">{row.icon}</span>'
    return f'<div class="hnb-row"{indent}>{icon} <b>{_escape(row.label)}</b>{meta}{detail}{error}</div>'


def row_text(row: Row) -> str:
    """One row as one line; the lines of a log follow it, indented."""
    if row.kind == "log":
        lines = "\n".join(p.text for p in row.detail).splitlines()
        return "\n".join([f"{row.icon} {visible(row.label)}", *(f"    {visible(line)}" for line in lines)])
    line = "  " * row.depth + " ".join(p for p in (row.icon, visible(row.label), visible(row.meta)) if p)
    shown = ((p.lead, cut_text(p.text, p.limit, n_chars=p.n_chars)) for p in row.detail)
    detail = "".join(f"{lead}{value}" for lead, value in shown if value or lead != " → ").strip()
    line += f" — {detail}" if detail else ""
    return f"{line} ⚠ {cut_text(row.error, ERROR_CHARS)}" if row.error else line


def _piece(lead: str, value: str, is_code: bool) -> str:
    if not is_code:
        return f'{lead}<span class="hnb-dim">{value}</span>'
    own = _NOTHING if not value else _BARE if value.startswith("<details") else ""
    return f"{lead}<code{own}>{value}</code>"


def _linked(piece: Piece, value: str) -> str:
    if not piece.url:
        return value
    return f'<a href="{_escape(piece.url)}" target="_blank" rel="noopener noreferrer">{value}</a>'


def _escape(text: str) -> str:
    return html.escape(_valid(text))
