"""Tokens and cost over time as a second Plotly figure: what has been spent up to each moment."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hermes_nb.views._input import Source, folder_of
from hermes_nb.views._total import own_figures, total_line, totals_of
from hermes_nb.views.figure import label_text, template

MAX_POINTS = 1_000
_LINES = (
    ("input_tokens", "tokens in", "#0072B2", "solid"),
    ("cache_read_tokens", "of them cached", "#56B4E9", "dot"),
    ("output_tokens", "tokens out", "#E69F00", "dash"),
)


def render(source: Source, *, theme: str = "light") -> dict[str, Any]:
    """The figure as Plotly's JSON.

    Args:
        source: Events of one or many sessions, or a folder.
        theme: `light` or `dark`.

    Returns:
        `{"data": [...], "layout": {...}}`: a step line per kind of tokens that is known, one for the cost on an axis of
        its own where any is known; the last point of each is the log's sum. At most 1,000 points a line.
    """
    spans = folder_of(source).spans()
    own = own_figures(spans)
    start = min((s.start_unix_s for s in spans), default=0.0)
    spent = sorted(
        (s.start_unix_s if s.end_unix_s is None else s.end_unix_s, i, own[s.key])
        for i, s in enumerate(spans)
        if s.key in own
    )
    data = []
    for key, label, colour, dash in _LINES:
        steps = [(at, tokens[key]) for at, _, (tokens, _) in spent if key in tokens]
        if steps:
            data.append(_line(label, colour, dash, steps, start))
    costs = [(at, usd) for at, _, (_, usd) in spent if usd is not None]
    if costs:
        data.append(_line("cost, US dollars", "#D55E00", "dashdot", costs, start) | {"yaxis": "y2"})
    began = datetime.fromtimestamp(start, UTC).strftime("%d %b %Y %H:%M:%S UTC") if spans else ""
    axis: dict[str, Any] = {"rangemode": "tozero", "zeroline": False}
    return {
        "data": data,
        "layout": {
            "title": {
                "text": label_text(total_line(totals_of(spans)), 120) if spans else "No events yet",
                "x": 0,
                "xref": "paper",
                "font": {"size": 14},
            },
            "height": 340,
            "margin": {"l": 60, "r": 84, "t": 80, "b": 48},
            "hovermode": "x unified",
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            "showlegend": True,
            "xaxis": {"title": {"text": f"s since {began}"}, **axis},
            "yaxis": {"title": {"text": "tokens"}, **axis},
            "yaxis2": {"title": {"text": "US dollars"}, "overlaying": "y", "side": "right", "showgrid": False, **axis},
            "template": template(theme),
        },
    }


def bundle(made: dict[str, Any]) -> dict[str, Any]:
    """The figure as an output of a cell, by MIME type.

    Args:
        made: What `render` gave.
    """
    return {"application/vnd.plotly.v1+json": made, "text/plain": f"<Tokens and cost: {len(made['data'])} lines>"}


def _line(label: str, colour: str, dash: str, steps: list[tuple[float, Any]], start: float) -> dict[str, Any]:
    xs, ys, total = [0.0], [0], 0
    for at, amount in steps:
        total += amount
        xs.append(round(at - start, 3))
        ys.append(total)
    stride = -(-len(xs) // MAX_POINTS)
    keep = sorted({*range(0, len(xs), stride), len(xs) - 1})[-MAX_POINTS:]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "x": [xs[i] for i in keep],
        "y": [ys[i] for i in keep],
        "line": {"shape": "hv", "color": colour, "dash": dash, "width": 2},
    }
