"""A conversation without a widget: each question and what came of it, as HTML without script, Markdown and text."""

from __future__ import annotations

import html
from collections.abc import Iterable

from hermes_nb.views import html as html_view
from hermes_nb.views import markdown, text
from hermes_nb.views._markdown_safety import to_html, to_markdown
from hermes_nb.views.rows import valid, visible
from hermes_nb.widgets._turn_model import TurnModel

STYLE = """
.hnb-you{margin:14px 0 2px;padding:4px 12px;border-left:3px solid #0072b2;max-width:60em;overflow-wrap:anywhere;\
font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:var(--jp-content-font-size1,14px);line-height:1.5;\
color:var(--jp-content-font-color1,inherit)}
.hnb-you p{margin:0 0 .4em}
.hnb-you b{color:var(--jp-content-font-color2,inherit);font-size:.86em}
""".strip()


def transcript(panes: Iterable[TurnModel], *, agent: str) -> dict[str, str]:
    """The forms by MIME type: text/html, text/markdown and text/plain.

    Args:
        panes: The turns, in order.
        agent: Whose conversation it is.
    """
    told = [pane.shown() for pane in panes]
    if not told:
        empty = f"Nothing was said to {visible(agent)} yet."
        return {"text/html": f"<div>{html.escape(valid(empty))}</div>", "text/markdown": empty, "text/plain": empty}
    pages = [f"<style>{html_view.STYLE}\n{STYLE}</style>"]
    marked, plain = [], []
    for prompt, listed, total in told:
        pages.append(f'<div class="hnb-you tex2jax_ignore mathjax_ignore"><b>You</b>{to_html(prompt)}</div>')
        pages.append(html_view.fragment(listed, total))
        marked += [f"**You**\n\n{to_markdown(prompt)}", markdown.compose(listed, total)]
        plain += [f"You: {visible(prompt)}", text.compose(listed, total)]
    return {"text/html": "\n".join(pages), "text/markdown": "\n\n".join(marked), "text/plain": "\n\n".join(plain)}
