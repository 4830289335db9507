"""A model's Markdown as HTML that runs nothing and asks nobody for anything."""

from __future__ import annotations

import html

from hermes_nb.views.rows import valid


def prose(text: str) -> str:
    """The text, escaped, with its line breaks."""
    return f"<pre>{html.escape(valid(text))}</pre>"
