"""Rows, answer and totals as self-contained HTML: no script, no request, colours of the front end, light and dark.

Jupyter front ends prefer text/html to text/markdown, so this is what a finished turn looks like in JupyterLab too, and
in nbconvert, VS Code and on GitHub. Where a front end strips the style element, the rows still read as lines; JupyterLab
does so in a notebook that was not run there, and has it from our extension.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from hermes_nb.views._listing import MAX_ROWS, Listing, listing
from hermes_nb.views._prose import to_html
from hermes_nb.views._source import Source, folder_of
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import ERROR_CHARS, MAX_CHARS, Piece, Row, cut_html, is_log_shown, valid, visible

STYLE = """
.hnb{font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:var(--jp-content-font-size1,14px);\
line-height:1.5;color:var(--jp-content-font-color1,inherit);max-width:60em;overflow-wrap:anywhere}
.hnb h4.hnb-heading{margin:8px 0 4px;font-size:1em;font-weight:600}
.hnb .hnb-row{padding:3px 0 3px 1.8em;text-indent:-1.8em;font-size:.93em;\
border-bottom:1px solid var(--jp-border-color2,rgba(128,128,128,.25))}
.hnb .hnb-row>*{text-indent:0}
.hnb .hnb-icon{display:inline-block;width:1.5em;text-align:center}
.hnb .hnb-meta,.hnb .hnb-dim,.hnb .hnb-total{color:var(--jp-content-font-color2,inherit)}
.hnb .hnb-row code{font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.93em;background:none;\
color:inherit;padding:0;white-space:normal}
.hnb .hnb-error{color:var(--jp-error-color1,#d9443f);font-weight:500}
.hnb details.hnb-more{display:inline-block;vertical-align:top;max-width:100%}
.hnb details.hnb-more>summary{cursor:pointer;display:inline}
.hnb details.hnb-more>summary::after{content:" ▸";opacity:.6}
.hnb details.hnb-more[open]>summary::after{content:" ▾"}
.hnb pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:24em;overflow:auto;margin:4px 0;padding:6px 8px;\
font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.9em;color:inherit;\
background:var(--jp-layout-color2,rgba(128,128,128,.12));border-radius:3px}
.hnb .hnb-row a{color:var(--jp-content-link-color,#0072b2)}
.hnb .hnb-log{font-size:.93em;padding:3px 0}
.hnb .hnb-log>summary{cursor:pointer}
.hnb .hnb-answer{padding:10px 0 4px}
.hnb .hnb-answer>:first-child{margin-top:0}
.hnb .hnb-answer pre{max-height:none}
.hnb .hnb-answer table{border-collapse:collapse;margin:.6em 0;display:block;overflow-x:auto}
.hnb .hnb-answer th,.hnb .hnb-answer td{padding:3px 10px;\
border:1px solid var(--jp-border-color2,rgba(128,128,128,.35));text-align:left}
.hnb .hnb-answer a{color:var(--jp-content-link-color,#0072b2)}
.hnb .hnb-total{font-size:.86em;padding-top:6px}
""".strip()

# Where the style element is stripped: JupyterLab has a look of its own for code.
NOTHING = ' style="display:none"'
BARE = ' style="background:none;padding:0;white-space:normal"'


def render(source: Source, *, max_rows: int | None = MAX_ROWS, now_unix_s: float | None = None) -> str:
    """The log as one HTML fragment. Everything that comes from a log is escaped.

    Args:
        source: Events, or a folder that a live display keeps.
        max_rows: Beyond this number the middle is left out, and a row says so; None for all.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        A `<style>` and a `<div>`; "" for an empty log.
    """
    folder = folder_of(source)
    return compose(listing(folder, max_rows=max_rows), totals(folder, now_unix_s=now_unix_s))


def compose(listed: Listing, total: Mapping[str, Any]) -> str:
    """`render`, of what has been listed and added up."""
    return f"<style>{STYLE}</style>\n{body}" if (body := fragment(listed, total)) else ""


def fragment(listed: Listing, total: Mapping[str, Any]) -> str:
    """The `<div>` without its style, for a page that has it already."""
    if not listed.entries:
        return ""
    parts = ['<div class="hnb tex2jax_ignore mathjax_ignore">']
    for entry in listed.entries:
        if isinstance(entry, str):
            parts.append(f'<div class="hnb-answer tex2jax_process mathjax_process">{to_html(entry)}</div>')
        else:
            parts.append(row_html(entry, max_chars=listed.max_opened_chars))
    parts.append(f'<div class="hnb-total">{_escape(total_line(total))}</div></div>')
    return "\n".join(parts)


def row_html(row: Row, *, max_chars: int = MAX_CHARS) -> str:
    """One row as one element: icon, label, meta, detail, error, as the Flyte report has them."""
    if row.kind == "log":
        return _log_html(row)
    meta = f' <span class="hnb-meta">{_escape(row.meta)}</span>' if row.meta else ""
    values = ((p.lead, _linked(p, cut_html(p.text, p.limit, n_chars=p.n_chars, max_chars=max_chars)), p.is_code)
              for p in row.detail)  # fmt: skip
    detail = "".join(_piece(lead, value, is_code) for lead, value, is_code in values)
    detail = f" — {detail}" if detail else ""
    error = f' <span class="hnb-error">⚠ {cut_html(row.error, ERROR_CHARS)}</span>' if row.error else ""
    if row.kind == "heading":
        return f'<h4 class="hnb-heading">{_escape(row.label)}{meta}{detail}</h4>'
    indent = f' style="margin-left:{row.depth * 1.6:g}em"' if row.depth else ""
    icon = f'<span class="hnb-icon">{row.icon}</span>'
    return f'<div class="hnb-row"{indent}>{icon} <b>{_escape(row.label)}</b>{meta}{detail}{error}</div>'


def _piece(lead: str, value: str, is_code: bool) -> str:
    if not is_code:
        return f'{lead}<span class="hnb-dim">{value}</span>'
    own = NOTHING if not value else BARE if value.startswith("<details") else ""
    return f"{lead}<code{own}>{value}</code>"


def _linked(piece: Piece, value: str) -> str:
    if not piece.url:
        return value
    return f'<a href="{_escape(piece.url)}" target="_blank" rel="noopener noreferrer">{value}</a>'


def _log_html(row: Row) -> str:
    lines = _escape(visible("\n".join(p.text for p in row.detail)))
    is_open = " open" if is_log_shown(row) else ""
    return (
        f'<details class="hnb-log"{is_open}><summary><span class="hnb-icon">{row.icon}</span> <b>{_escape(row.label)}</b>'
        f"</summary><pre>{lines}</pre></details>"
    )


def _escape(text: str) -> str:
    return html.escape(valid(text))
