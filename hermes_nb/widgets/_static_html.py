"""The timeline without a widget: a table of lanes with bars above answer, rows and totals, without script, and as text.

Where a front end strips styles, the bars are text: blocks on a line of dots.
"""

from __future__ import annotations

import html
import time
from collections.abc import Collection

from hermes_nb.model.format import format_ms
from hermes_nb.model.span import Folder
from hermes_nb.views._bundle import bundle
from hermes_nb.views._layout import Bar, Layout, lay_out
from hermes_nb.views.figure import LOOKS
from hermes_nb.views.rows import visible

MAX_BARS = 400
MAX_LANES = 24
LABEL_CHARS = 40
_HATCHES = {
    "/": "repeating-linear-gradient(135deg,transparent 0 3px,#fff9 3px 4.5px)",
    "\\": "repeating-linear-gradient(45deg,transparent 0 3px,#0006 3px 4.5px)",
    "-": "repeating-linear-gradient(0deg,transparent 0 2px,#fff9 2px 3px)",
    "|": "repeating-linear-gradient(90deg,transparent 0 3px,#fff9 3px 4px)",
    ".": "radial-gradient(#fffc 1px,transparent 1.3px) 0 0/5px 5px",
    "x": "repeating-linear-gradient(45deg,transparent 0 3px,#fff9 3px 4px),"
    "repeating-linear-gradient(135deg,transparent 0 3px,#fff9 3px 4px)",
}
BAR_CHARS = 36
STYLE = """
.hnb-strip.hnb-strip table{display:table;table-layout:fixed;width:100%;max-width:60em;border-collapse:collapse;border:none;\
margin:2px 0 8px;font:12px/1.4 var(--jp-ui-font-family,system-ui,sans-serif);color:var(--jp-content-font-color1,inherit)}
.hnb-strip.hnb-strip table tr{background:none;border:none}
.hnb-strip.hnb-strip table td{padding:1px 0;border:none;text-align:left;max-width:none;white-space:nowrap;overflow:hidden;\
text-overflow:ellipsis;line-height:16px}
.hnb-strip.hnb-strip table td.hnb-who{width:11em;padding-right:8px}
.hnb-strip.hnb-strip table td.hnb-took{width:6em;text-align:right;font-variant-numeric:tabular-nums;\
color:var(--jp-content-font-color2,inherit)}
.hnb-strip.hnb-strip code{display:none}
.hnb-strip .hnb-track{position:relative;height:14px;background:var(--jp-layout-color2,rgba(128,128,128,.14))}
.hnb-strip i{position:absolute;top:1px;bottom:1px;min-width:2px}
.hnb-strip i.hnb-turn{top:4px;bottom:4px}
.hnb-strip i.hnb-error{top:-1px;bottom:-1px;outline:1px solid var(--jp-content-font-color1,#000)}
.hnb-strip>details{margin-bottom:4px}
.hnb-strip>details>summary{cursor:pointer;font-size:12px;color:var(--jp-content-font-color2,inherit)}
""".strip()


def still(folder: Folder, *, now_unix_s: float | None = None) -> dict[str, str]:
    """The static version by MIME type: text/html and text/plain.

    Args:
        folder: The log.
        now_unix_s: The present, where something runs.
    """
    forms = bundle(folder)
    if not folder.spans():
        empty = "No step is in this timeline yet."
        return {"text/html": f"<div>{empty}</div>", "text/plain": empty}
    below = f"<details><summary>Steps and answer</summary>\n{forms['text/html']}</details>"
    return {"text/html": strip(folder, now_unix_s=now_unix_s, below=below), "text/plain": forms["text/plain"]}


def strip(folder: Folder, *, now_unix_s: float | None = None, below: str = "") -> str:
    """The bars by lane, with the lanes' names and the time that each was busy.

    Args:
        folder: The log; not an empty one.
        now_unix_s: The present, where something runs.
        below: HTML that follows the bars.
    """
    spans = folder.spans()
    start = min(s.start_unix_s for s in spans)
    ends = [s.end_unix_s for s in spans if s.end_unix_s is not None]
    now = now_unix_s or (max(ends, default=start) if ends else time.time())
    layout = lay_out(spans, now_unix_s=now, max_bars=MAX_BARS)
    end = max([now, *(bar.end_unix_s for bar in layout.bars)])
    length = max(end - start, 1e-9)
    used = {bar.category for bar in layout.bars}
    lanes = "\n".join(_lanes(layout, start, length))
    return (
        f"<style>{style(used)}</style>\n"
        f'<div class="hnb-strip tex2jax_ignore mathjax_ignore"><table><tbody>\n{lanes}\n</tbody></table>\n{below}</div>\n'
    )


def style(kinds: Collection[str] = tuple(LOOKS)) -> str:
    """The style of a strip with bars of these kinds."""
    looks = "".join(f".hnb-strip i.hnb-{name}{{background:{_background(name)}}}\n" for name in LOOKS if name in kinds)
    return f"{STYLE}\n{looks}"


def _lanes(layout: Layout, start: float, length: float) -> list[str]:
    bars: dict[int, list[Bar]] = {}
    for bar in layout.bars:
        bars.setdefault(bar.row, []).append(bar)
    lines = []
    for row, label in enumerate(layout.labels[:MAX_LANES]):
        who = html.escape(" ".join(visible(label[:LABEL_CHARS]).split()))
        held = bars.get(row, [])
        drawn = "".join(
            f'<i class="hnb-{bar.category}" style="left:{(bar.start_unix_s - start) / length * 100:.2f}%;'
            f'width:{(bar.end_unix_s - bar.start_unix_s) / length * 100:.2f}%"></i>'
            for bar in held
        )
        took = format_ms(sum(bar.busy_s for bar in held) * 1000) if held else ""
        lines.append(
            f'<tr class="hnb-lane"><td class="hnb-who">{who}</td><td><div class="hnb-track">'
            f'<code>{_text_bar(held, start, length)}</code>{drawn}</div></td><td class="hnb-took">{took}</td></tr>'
        )
    return lines


def _text_bar(bars: list[Bar], start: float, length: float) -> str:
    """Bars as text: a block where something ran."""
    signs = ["·"] * BAR_CHARS
    for bar in bars:
        first = min(BAR_CHARS - 1, int((bar.start_unix_s - start) / length * BAR_CHARS))
        last = max(first, min(BAR_CHARS - 1, round((bar.end_unix_s - start) / length * BAR_CHARS) - 1))
        signs[first : last + 1] = "█" * (last + 1 - first)
    return "".join(signs)


def _background(name: str) -> str:
    colour, hatch, _ = LOOKS[name]
    return f"{_HATCHES[hatch]},{colour}" if hatch else colour
