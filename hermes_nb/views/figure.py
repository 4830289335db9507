"""The timeline of a log as a Plotly figure: one bar per span, built as a plain dict with the standard library.

A bar's colour and its hatch both say what it is. Beyond 2,000 bars neighbours merge and the title says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hermes_nb._require import require
from hermes_nb.model.format import format_ms, format_usd
from hermes_nb.model.span import Span, busy_ms
from hermes_nb.views._input import Source, folder_of
from hermes_nb.views._layout import CATEGORIES, MAX_BARS, Bar, lay_out
from hermes_nb.views.rows import visible

if TYPE_CHECKING:
    import plotly.graph_objects

HEAD_CHARS = 120
LABEL_CHARS = 32
ROW_PX = 28
# Okabe-Ito colours, told apart with any colour vision; the hatch is the second cue.
LOOKS: dict[str, tuple[str, str, str]] = {
    "turn": ("#009E73", "", "turn, agent"),
    "wait": ("#CC79A7", "-", "waiting for a person"),
    "replayed": ("#999999", ".", "replayed"),
    "model": ("#0072B2", "", "model"),
    "tool": ("#E69F00", "/", "tool"),
    "stopped": ("#F0E442", "\\", "stopped, denied"),
    "error": ("#D55E00", "x", "error, killed"),
    "running": ("#56B4E9", "|", "running"),
}
THEMES = {
    "light": {"paper": "#ffffff", "ink": "#1f2328", "grid": "#e3e6ea", "stripe": "#c8ccd1", "hatch": "#ffffff"},
    "dark": {"paper": "#111418", "ink": "#e6e8eb", "grid": "#2b3038", "stripe": "#4a515c", "hatch": "#111418"},
}
_EDGES = {"stopped": "#a39a00"}  # yellow alone is too faint on white
_UNITS = ((0.9, "ms", 1000.0), (300.0, "s", 1.0), (10_800.0, "min", 1 / 60), (float("inf"), "h", 1 / 3600))


def render(
    source: Source, *, theme: str = "light", now_unix_s: float | None = None, max_bars: int = MAX_BARS
) -> dict[str, Any]:
    """The figure as Plotly's JSON.

    Args:
        source: Events of one or many sessions, or a folder.
        theme: `light` or `dark`.
        now_unix_s: Where running spans are cut; None cuts them at the log's last sign of life.
        max_bars: Beyond this number, neighbours merge.

    Returns:
        `{"data": [...], "layout": {...}}`: one `bar` trace per category that occurs, `base` and `x` on a numeric axis;
        `layout.meta` holds n_spans, n_bars, unit, per_s (units a second) and start_unix_s.
    """
    spans = folder_of(source).spans()
    start = min((s.start_unix_s for s in spans), default=0.0)
    seen = max((t for s in spans for t in (s.start_unix_s, s.end_unix_s) if t is not None), default=start)
    now = max(seen, now_unix_s or seen)
    layout = lay_out(spans, now_unix_s=now, max_bars=max_bars)
    unit, per_s = next((unit, per_s) for limit, unit, per_s in _UNITS if now - start < limit)
    by_category: dict[str, list[Bar]] = {name: [] for name in CATEGORIES}
    for bar in layout.bars:
        by_category[bar.category].append(bar)
    traces = [_trace(name, bars, start, per_s, theme) for name, bars in by_category.items() if bars]
    title = _title(spans, busy_ms([s for s in spans if s.kind == "turn"] or spans, until_unix_s=now))
    if layout.merged_below_s is not None:
        gap = format_ms(layout.merged_below_s * 1000)
        title += f"<br><sup>{len(spans):,} spans as {len(layout.bars):,} bars: gaps up to {gap} are closed</sup>"
    meta = {"n_spans": len(spans), "n_bars": len(layout.bars), "unit": unit, "per_s": per_s, "start_unix_s": start}
    began = datetime.fromtimestamp(start, UTC).strftime("%d %b %Y %H:%M:%S UTC") if spans else ""
    return {"data": traces, "layout": _layout(layout.labels, title, f"{unit} since {began}", theme, meta)}


def to_figure(figure: Mapping[str, Any]) -> plotly.graph_objects.Figure:
    """A `render` result as a Plotly figure.

    Raises:
        MissingPackageError: plotly is not installed.
    """
    go = require("plotly.graph_objects", why="to show a figure")
    made: plotly.graph_objects.Figure = go.Figure(dict(figure))
    return made


def _trace(name: str, bars: list[Bar], start: float, per_s: float, theme: str) -> dict[str, Any]:
    colour, hatch, label = LOOKS[name]
    marker: dict[str, Any] = {"color": colour, "line": {"width": 1, "color": _EDGES.get(name, colour)}}
    if any(bar.n_spans > 1 for bar in bars):
        marker["opacity"] = [_density(bar) for bar in bars]
    if hatch:
        marker["pattern"] = {
            "shape": hatch,
            "size": 6,
            "solidity": 0.25,
            "fillmode": "overlay",
            "fgcolor": THEMES[theme]["hatch"],
        }
    return {
        "type": "bar",
        "orientation": "h",
        "name": label,
        "legendgroup": name,
        "y": [bar.row for bar in bars],
        "base": [round((bar.start_unix_s - start) * per_s, 6) for bar in bars],
        "x": [round((bar.end_unix_s - bar.start_unix_s) * per_s, 6) for bar in bars],
        "width": [0.4 if bar.first.kind in ("turn", "agent") else 0.74 for bar in bars],
        "marker": marker,
        "opacity": 0.6 if name == "turn" else 1,
        "hovertext": [_hover(bar, start) for bar in bars],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _density(bar: Bar) -> float:
    """Full for a span of its own; a merged bar is the paler, the less of it was busy."""
    length = bar.end_unix_s - bar.start_unix_s
    return 1.0 if bar.n_spans == 1 or length <= 0 else round(0.35 + 0.65 * min(bar.busy_s / length, 1.0), 2)


def _layout(labels: list[str], title: str, axis: str, theme: str, meta: dict[str, Any]) -> dict[str, Any]:
    look = THEMES[theme]
    rows = max(len(labels), 1)
    ticks = [i for i, label in enumerate(labels) if label]
    return {
        "title": {"text": title, "x": 0, "xref": "paper", "font": {"size": 15}},
        "barmode": "overlay",
        "bargap": 0,
        "height": 150 + ROW_PX * rows,
        "margin": {"l": 20, "r": 20, "t": 84, "b": 48},
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "font": {"family": "ui-monospace, monospace", "size": 12}},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        "showlegend": True,
        "dragmode": "pan",
        "meta": meta,
        "xaxis": {"title": {"text": axis}, "rangemode": "tozero", "zeroline": False},
        "yaxis": {
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": [label_text(labels[i]) for i in ticks],
            "range": [rows - 0.5, -0.5],
            "automargin": True,
            "fixedrange": rows <= 40,
            "zeroline": False,
            "showgrid": False,
        },
        "shapes": [
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "yref": "y",
                "y0": i - 0.5,
                "y1": i - 0.5,
                "line": {"width": 1, "color": look["grid"]},
                "layer": "below",
            }
            for i in ticks
            if i
        ],
        "template": template(theme),
    }


def template(theme: str) -> dict[str, Any]:
    """A small Plotly template: light or dark. `figure.update_layout(template=...)` replaces it."""
    look = THEMES[theme]
    axis = {"gridcolor": look["grid"], "linecolor": look["stripe"], "tickcolor": look["stripe"], "ticks": "outside"}
    return {
        "layout": {
            "paper_bgcolor": look["paper"],
            "plot_bgcolor": look["paper"],
            "font": {"color": look["ink"], "family": "system-ui, sans-serif", "size": 13},
            "hoverlabel": {"bgcolor": look["paper"], "bordercolor": look["stripe"], "font": {"color": look["ink"]}},
            "xaxis": axis,
            "yaxis": axis,
        }
    }


def label_text(text: str, limit: int = LABEL_CHARS) -> str:
    """Foreign text inside a figure: one line, cut, with nothing that Plotly takes for markup or mathematics."""
    line = " ".join(visible(text).split())
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        line = line.replace(char, entity)
    return line


def _title(spans: list[Span], ms: float) -> str:
    if not spans:
        return "No events yet"
    turns = [s for s in spans if s.kind == "turn"]
    agents = list(dict.fromkeys(s.agent for s in turns if s.agent))
    who = ", ".join(agents[:3]) + (f" and {len(agents) - 3} more" if len(agents) > 3 else "")
    n_turns = len({s.key[:2] for s in turns})
    what = f"{len(spans):,} spans in {format_ms(ms)}"
    return f"<b>{label_text(who or 'agent', 60)}</b> · " + (f"{n_turns:,} turns, {what}" if n_turns > 1 else what)


def _hover(bar: Bar, start: float) -> str:
    span = bar.first
    began = f"at +{format_ms((bar.start_unix_s - start) * 1000)}"
    if bar.n_spans > 1:
        name = label_text(span.name or span.kind, 60)
        return f"<b>{bar.n_spans:,} spans</b>, first {name}<br>{began}, busy {format_ms(bar.busy_s * 1000)}"
    length = "running" if span.is_running else format_ms((bar.end_unix_s - bar.start_unix_s) * 1000)
    lines = [
        f"<b>{label_text(span.name or span.kind, 60)}</b> {span.kind} · {span.status.replace('_', ' ')}"
        + (" · replayed" if span.replayed else ""),
        f"{began} · {length}",
    ]
    for name, text in (
        ("prompt", span.prompt),
        ("arguments", span.arguments),
        ("result", span.result),
        ("answer", span.text),
        ("error", f"{span.error_type} {span.error}".strip()),
    ):
        if text.strip():
            lines.append(f"{name}: {label_text(text, HEAD_CHARS)}")
    if span.usage:
        lines.append(", ".join(f"{n:,} {key.replace('_', ' ')}" for key, n in span.usage.items()))
    if span.cost_usd is not None:
        lines.append(label_text(format_usd(span.cost_usd)))
    return "<br>".join(lines)
