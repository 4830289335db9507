"""A log as one self-contained page: figures, searchable table, steps, and the events themselves. Works offline.

The page asks nobody for anything: plotly.js is in it, and its Content-Security-Policy forbids any request. The same
fragment goes into a Flyte report. `read_report` gives the events back, from either.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from hermes_nb._near import suggesting_call
from hermes_nb.errors import UsageError
from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder, Span
from hermes_nb.views import figure, usage
from hermes_nb.views import html as html_view
from hermes_nb.views._listing import listing
from hermes_nb.views._total import NO_FIGURES, own_figures, total_line, totals_of
from hermes_nb.views.rows import cut_text, valid

PLOTLY = "plotly-basic-4.1.1.min.js.gz"
PLAIN_EVENTS_CHARS = 200_000
TEXT_CHARS = 160
COLUMNS = (
    "start, s",
    "agent",
    "kind",
    "name",
    "status",
    "duration, s",
    "tokens in",
    "tokens out",
    "US dollars",
    "model",
    "text",
)
NUMBERS = ("start, s", "duration, s", "tokens in", "tokens out", "US dollars")
BAD = ("error", "timed out", "killed", "stopped", "denied")
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_EVENTS = re.compile(r'<script type="application/json" class="hnb-events">(.*?)</script>', re.DOTALL)


@suggesting_call
def render(events: Iterable[Event], *, title: str = "Hermes session") -> str:
    """The page.

    Args:
        events: Events of one or many sessions.
        title: Title of the page and of the browser's tab.

    Returns:
        An HTML document; below 1.5 MB for a thousand spans, 0.6 MB of it plotly.js.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(valid(title))}</title>\n"
        "<style>html{color-scheme:light dark}body{margin:0}.hnb-page{padding:16px 24px;min-height:100vh}</style>\n"
        f"</head>\n<body>\n{fragment(events, title=title)}\n</body>\n</html>\n"
    )


def fragment(events: Iterable[Event], *, title: str = "Hermes session", width_px: int | None = None) -> str:
    """What the page's body holds, for a place inside another page.

    Args:
        events: Events of one or many sessions.
        title: Heading.
        width_px: Width of the figures; None follows the window. A hidden tab (the Flyte report) has no width to follow.
    """
    known = list({event.key: event for event in events}.values())
    folder = Folder()
    folder.feed_all(known)
    spans = folder.spans()
    total = totals_of(spans)
    data = {
        "timeline": figure.render(folder),
        "usage": usage.render(folder),
        "table": {"columns": COLUMNS, "numbers": NUMBERS, "bad": BAD, "rows": _table(spans)},
        "themes": {name: {"template": figure.template(name), **look} for name, look in figure.THEMES.items()},
    }
    width = f' data-width="{int(width_px)}"' if width_px else ""
    steps = html_view.fragment(listing(folder), total) or "<p>No events yet.</p>"
    sums = total_line(total) if spans else ""
    return f"""<div class="hnb-page"{width}>
<style>{html_view.STYLE}
{_asset("page.css")}</style>
<h1>{html.escape(valid(title))}</h1>
<p class="hnb-sums">{html.escape(valid(sums))}</p>
<h2>Timeline</h2>
<div class="hnb-figure hnb-timeline"></div>
<h2>Tokens and cost</h2>
<div class="hnb-figure hnb-usage"></div>
<h2>Spans</h2>
<div class="hnb-search"><input type="search" placeholder="Search" aria-label="Search spans"><output></output></div>
<div class="hnb-table"><p class="hnb-note">The table and the figures need JavaScript.</p></div>
<h2>Steps</h2>
{steps}
<script type="application/json" class="hnb-events">{_events_json(known)}</script>
<script type="application/gzip" class="hnb-data">{_packed(json.dumps(data, allow_nan=False))}</script>
<script type="application/gzip" class="hnb-plotly">{_plotly()}</script>
<script>{_asset("page.js")}</script>
</div>"""


def bundle(made: str) -> dict[str, str]:
    """The page as an output of a cell: in a frame that can't reach the notebook, and one line about it, by MIME type.

    Args:
        made: What `render` gave.
    """
    said = f"A page of {len(made.encode()) / 1000:,.0f} kB. %hermes timeline --save FILE.html writes it to a file."
    frame = (
        f'<iframe class="hnb-frame" sandbox="allow-scripts" srcdoc="{html.escape(made)}" title="Hermes session" '
        'style="width:100%;height:640px;border:1px solid var(--jp-border-color2,#8888)"></iframe>'
    )
    return {"text/html": f"{frame}\n<div>{html.escape(said)}</div>", "text/plain": said}


@suggesting_call
def read_report(report: str | Path) -> list[Event]:
    """The events that a page or a Flyte report holds, each once, in the order in which they were recorded.

    Args:
        report: The HTML, or the path of a file with it.

    Raises:
        UsageError: There is no such file, it holds no events of hermes_nb, or they are damaged.
    """
    text = _text_of(report)
    found: dict[tuple[str, str, int, int], Event] = {}
    blocks = _EVENTS.findall(text)
    if not blocks:
        raise UsageError("This page holds no events of hermes_nb. Pages made by %hermes timeline --save FILE.html do.")
    for block in blocks:
        for event in _events_in(block):
            found.setdefault(event.key, event)
    return list(found.values())


def _text_of(report: str | Path) -> str:
    if not isinstance(report, Path) and "<" in report:
        return report
    try:
        return Path(report).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as exc:  # ValueError: a name with a zero byte
        raise UsageError(f"The page {str(report)!r} can't be read: {getattr(exc, 'strerror', None) or exc}.") from exc


def _events_in(block: str) -> list[Event]:
    try:
        held = json.loads(block)
        packed = held.get("events_gzip_base64")
        events = json.loads(gzip.decompress(base64.b64decode(packed, validate=True))) if packed else held["events"]
        return [Event.from_dict(data) for data in events]
    # Also RecursionError of lists in lists, and what gzip and base64 find: a cut end, a wrong sum, a foreign letter.
    except (ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, RecursionError, zlib.error) as exc:
        raise UsageError(
            f"The events of this page are damaged ({exc}). Save the page again: %hermes timeline --save FILE.html."
        ) from exc


def _events_json(events: Sequence[Event]) -> str:
    """The events as JSON that no HTML parser takes for markup; packed where it would be long."""
    lines = "[" + ",\n".join(event.to_json() for event in events) + "]"
    if len(lines) <= PLAIN_EVENTS_CHARS:
        return _inert(f'{{"version":1,"events":{lines}}}')
    return _inert(json.dumps({"version": 1, "n_events": len(events), "events_gzip_base64": _packed(lines)}))


def _inert(text: str) -> str:
    """JSON without the characters that could end a script element or begin a comment in it."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode("ascii")


def _table(spans: Sequence[Span]) -> list[list[Any]]:
    own = own_figures(spans)
    first = min((s.start_unix_s for s in spans), default=0.0)
    rows: list[list[Any]] = []
    for span in spans:
        tokens, cost = own.get(span.key, NO_FIGURES)
        status = "replayed" if span.replayed else span.status.replace("_", " ")
        text = span.error or span.result or span.text or span.prompt or span.arguments
        rows.append(
            [
                round(span.start_unix_s - first, 3),
                valid(span.agent),
                span.kind,
                valid(span.name),
                status,
                None if span.duration_ms is None else round(span.duration_ms / 1000, 3),
                tokens.get("input_tokens"),
                tokens.get("output_tokens"),
                None if cost is None else round(cost, 6),
                valid(span.model),
                cut_text(text, TEXT_CHARS),
            ]
        )
    return rows


def _asset(name: str) -> str:
    return resources.files("hermes_nb.views").joinpath("assets", name).read_text(encoding="utf-8").strip()


def _plotly() -> str:
    packed = resources.files("hermes_nb.views").joinpath("assets", PLOTLY).read_bytes()
    return base64.b64encode(packed).decode("ascii")
