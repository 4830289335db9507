"""A small table for a cell: text for terminals and HTML for notebooks, of the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = "color:var(--jp-content-font-color1,inherit);font-size:var(--jp-ui-font-size1,13px)"
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;background:none;border:none"


def as_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns under their names."""
    lines = [list(columns), *([" ".join(cell.split()) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_html(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as an HTML table in the front end's own colours."""
    head = "".join(f'<th style="{_CELL};font-weight:600">{escape(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows)
    return f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Display it."""
    show_bundle(as_text(columns, rows), as_html(columns, rows))


def show_bundle(text: str, html: str) -> None:
    """Display text and HTML of the same thing."""
    from IPython.display import display

    display({"text/plain": text, "text/html": html}, raw=True)  # type: ignore[no-untyped-call]
