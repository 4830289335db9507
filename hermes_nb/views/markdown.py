"""What a cell shows while a turn runs: tool calls as they run, the answer as Markdown, one line of totals."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from hermes_nb.views._input import Source, folder_of
from hermes_nb.views._listing import MAX_ROWS, Listing, Prose, listing
from hermes_nb.views._markdown_safety import to_markdown
from hermes_nb.views._steps import Step, is_shown_open
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import visible

# An underscore within a word is none of Markdown's.
_SPECIAL = re.compile(r"[\\`*\[\]<>#|~$!&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def render(source: Source, *, max_rows: int | None = MAX_ROWS, now_unix_s: float | None = None) -> str:
    """The log as Markdown, cheap enough to be drawn ten times a second while the turn runs.

    Args:
        source: Events, or a folder that a live display keeps.
        max_rows: Beyond this number the middle is left out, and a row says so; None for all.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        Steps, the answer so far, the line of totals; "" for an empty log.
    """
    folder = folder_of(source)
    return compose(listing(folder, max_rows=max_rows), totals(folder, now_unix_s=now_unix_s))


def bundle(made: str) -> dict[str, str]:
    """The Markdown as an output of a cell, by MIME type.

    Args:
        made: What `render` gave.
    """
    return {"text/markdown": made, "text/plain": made}


def compose(listed: Listing, total: Mapping[str, Any]) -> str:
    """`render`, of what has been listed and added up."""
    blocks: list[str] = []
    lines: list[str] = []
    for entry in listed.latest:
        if isinstance(entry, Prose) or is_shown_open(entry):
            blocks += ["\n".join(lines), to_markdown(entry.text) if isinstance(entry, Prose) else _log(entry)]
            lines = []
        elif entry["kind"] == "heading":
            blocks += ["\n".join(lines), f"**{_escape(entry['call'])}** {_escape(entry['summary'])}".rstrip()]
            lines = []
        elif entry["kind"] not in ("log", "thought"):
            lines.append(step_markdown(entry))
    blocks.append("\n".join(lines))
    if not listed.entries and not total["n_spans"]:
        return ""
    blocks.append(f"<sub>{_escape(total_line(total))}</sub>")
    return "\n\n".join(block for block in blocks if block)


def step_markdown(step: Step) -> str:
    """One row as one item of a list."""
    call = _code(step["call"]) if step["is_code"] else f"**{_escape(step['call'])}**" if step["call"] else ""
    if url := step.get("url", ""):
        call = f'<a href="{html.escape(url)}">{call}</a>'
    line = " ".join(p for p in (step["icon"], call, _escape(step["summary"])) if p)
    return f"{'  ' * step['depth']}- " + " · ".join(p for p in (line, step["duration"]) if p)


def _log(step: Step) -> str:
    """Lines as they are; an HTML block of this kind ends at its own end, whatever is in it."""
    lines = html.escape(visible("\n".join(d.get("text", "") for d in step["details"])), quote=False)
    return f"<sub>{_escape(step['call'])}</sub>\n\n<pre>\n{lines}\n</pre>"


def _code(text: str) -> str:
    """A value as code: between backticks where nothing in it could end them, else as an element with entities."""
    if not text:
        return ""
    return f"<code>{_escape(text)}</code>" if _SPECIAL.search(text) else f"`{text}`"


def _escape(text: str) -> str:
    """Text that is nothing but text to any Markdown renderer: entities, which none of them takes for markup."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", " ".join(visible(text).split()))
