"""The timeline without a widget: a strip of bars above answer, rows and totals, as HTML without script, and as text.

Where a front end strips the style element, the strip stays hidden and the rows below it tell all.
"""

from __future__ import annotations

import html
import time
from collections.abc import Collection

from hermes_nb.model.span import Folder
from hermes_nb.views._bundle import bundle
from hermes_nb.views._lane import Layout, lay_out
from hermes_nb.views._total import format_ms
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
STYLE = """
.hnb-strip{display:block!important;max-width:60em;margin:2px 0 10px;\
font:12px/1.4 var(--jp-ui-font-family,system-ui,sans-serif);\
color:var(--jp-content-font-color1,inherit)}
.hnb-strip .hnb-lane{display:flex;align-items:center;margin:1px 0}
.hnb-strip .hnb-who{flex:0 0 9.5em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding-right:6px}
.hnb-strip .hnb-track{position:relative;flex:1;height:14px;background:var(--jp-layout-color2,rgba(128,128,128,.14))}
.hnb-strip i{position:absolute;top:1px;bottom:1px;min-width:2px}
.hnb-strip i.hnb-turn{top:4px;bottom:4px}
.hnb-strip i.hnb-error{top:-1px;bottom:-1px;outline:1px solid var(--jp-content-font-color1,#000)}
.hnb-strip .hnb-ends{display:flex;justify-content:space-between;padding-left:9.5em;\
color:var(--jp-content-font-color2,inherit)}
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
    return {"text/html": strip(folder, now_unix_s=now_unix_s) + forms["text/html"], "text/plain": forms["text/plain"]}


def strip(folder: Folder, *, now_unix_s: float | None = None) -> str:
    """The bars by lane, without text but the lanes' names and the two ends of the time."""
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
        f'<div class="hnb-strip tex2jax_ignore mathjax_ignore" style="display:none">{lanes}\n'
        f'<div class="hnb-ends"><span>0</span><span>{format_ms(length * 1000)}</span></div></div>\n'
    )


def style(kinds: Collection[str] = tuple(LOOKS)) -> str:
    """The style of a strip with bars of these kinds."""
    looks = "".join(f".hnb-strip i.hnb-{name}{{background:{_background(name)}}}\n" for name in LOOKS if name in kinds)
    return f"{STYLE}\n{looks}"


def _lanes(layout: Layout, start: float, length: float) -> list[str]:
    bars: dict[int, list[str]] = {}
    for bar in layout.bars:
        left = (bar.start_unix_s - start) / length * 100
        width = (bar.end_unix_s - bar.start_unix_s) / length * 100
        place = f"left:{left:.2f}%;width:{width:.2f}%"
        bars.setdefault(bar.row, []).append(f'<i class="hnb-{bar.category}" style="{place}"></i>')
    lines = []
    for row, label in enumerate(layout.labels[:MAX_LANES]):
        who = html.escape(" ".join(visible(label[:LABEL_CHARS]).split()))
        track = "".join(bars.get(row, ()))
        lines.append(f'<div class="hnb-lane"><span class="hnb-who">{who}</span><span class="hnb-track">{track}</span></div>')
    return lines


def _background(name: str) -> str:
    colour, hatch, _ = LOOKS[name]
    return f"{_HATCHES[hatch]},{colour}" if hatch else colour
