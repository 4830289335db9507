"""All forms of a finished turn at once: what a cell keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_nb.views import html, markdown, text
from hermes_nb.views._input import Source, folder_of
from hermes_nb.views._listing import listing
from hermes_nb.views._total import totals


def bundle(
    source: Source,
    *,
    pictures: Mapping[str, Sequence[str]] | None = None,
    tracebacks: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The forms of a log by MIME type: text/markdown, text/html and text/plain.

    Args:
        source: Events, or a folder.
        pictures: What calls displayed, by span: data URIs. HTML has them in their rows.
        tracebacks: What calls raised, by span, with colours of a terminal; HTML has them in their rows.

    text/plain is the text that scripts and terminals print.
    """
    folder = folder_of(source)
    listed, total = listing(folder, pictures=pictures, tracebacks=tracebacks), totals(folder)
    return {
        "text/markdown": markdown.compose(listed, total),
        "text/html": html.compose(listed, total),
        "text/plain": text.compose(listed, total),
    }
