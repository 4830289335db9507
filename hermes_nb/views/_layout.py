"""Where each span goes in a timeline: lanes by agent and tool, rows for what overlaps, one bar for what is too close.

Plain arithmetic on spans; how a bar looks is `figure.py`'s job.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_nb.model.span import Span

MAX_BARS = 2_000
MAX_ROWS = 60
MAX_ROWS_PER_LANE = 6
# Drawn in this order, so that what must be seen lies on top.
CATEGORIES = ("turn", "wait", "replayed", "model", "tool", "stopped", "error", "running")


@dataclass(slots=True)
class Bar:
    """One bar: a span, or neighbours in a row that were merged.

    Attributes:
        row: Row, from the top.
        category: One of `CATEGORIES`.
        start_unix_s: Start of the first.
        end_unix_s: End of the last; for a running one, the present.
        first: The first span.
        n_spans: How many it stands for.
        busy_s: Time its spans cover.
    """

    row: int
    category: str
    start_unix_s: float
    end_unix_s: float
    first: Span
    n_spans: int = 1
    busy_s: float = 0.0


@dataclass(slots=True)
class Layout:
    """The bars and the labels of their rows ("" under the first row of a lane); `merged_below_s` is None when each
    span has a bar of its own, else the gap up to which neighbours were merged."""

    bars: list[Bar]
    labels: list[str]
    merged_below_s: float | None = None


def lay_out(spans: Sequence[Span], *, now_unix_s: float, max_bars: int = MAX_BARS) -> Layout:
    """Bars for spans that are ordered by start.

    Args:
        spans: Spans, ordered by start.
        now_unix_s: Where running spans are cut.
        max_bars: Beyond this number, neighbours of one row and category merge, the closest first.
    """
    lanes = _lanes(spans)
    cap = MAX_ROWS_PER_LANE if len(lanes) * 2 <= MAX_ROWS else 1
    bars: list[Bar] = []
    labels: list[str] = []
    for label, members in lanes:
        depth = 0
        for span, row in _pack(members, now_unix_s, cap):
            end = now_unix_s if span.end_unix_s is None else span.end_unix_s
            end = max(end, span.start_unix_s)
            depth = max(depth, row + 1)
            bars.append(Bar(len(labels) + row, category(span), span.start_unix_s, end, span, 1, end - span.start_unix_s))
        labels += [label] + [""] * (depth - 1)
    if len(bars) <= max_bars:
        return Layout(bars, labels)
    merged, gap_s = _merge(bars, max_bars)
    return Layout(merged, labels, gap_s)


def category(span: Span) -> str:
    """What a span's colour and hatch say: how it ended if that matters, else its kind."""
    if span.status == "running":
        return "running"
    if span.status in ("error", "timed_out", "killed"):
        return "error"
    if span.status in ("stopped", "denied", "skipped"):
        return "stopped"
    if span.replayed:
        return "replayed"
    return "turn" if span.kind == "agent" else span.kind


def _lanes(spans: Sequence[Span]) -> list[tuple[str, list[Span]]]:
    """Lanes with their spans: by agent in order of appearance, in it the agent, its model, its tools, its waits."""
    agents: dict[str, dict[tuple[int, str], list[Span]]] = {}
    for span in spans:
        of_agent = agents.setdefault(span.agent, {})
        if span.kind in ("turn", "agent"):
            lane = (0, "")
        elif span.kind == "model":
            lane = (1, "model")
        elif span.kind == "tool":
            lane = (2, span.name)
        else:
            lane = (3, "waiting")
        of_agent.setdefault(lane, []).append(span)
    found = [
        (agent, *lane, members)
        for agent, of_agent in agents.items()
        for lane, members in sorted(of_agent.items(), key=lambda item: item[0][0])
    ]
    if len(found) > MAX_ROWS:
        found = _with_rest(found)
    is_alone = len(agents) == 1
    named = []
    for agent, _, name, members in found:
        own = agent or "agent"
        named.append((own if not name else name if is_alone else f"{own} · {name}", members))
    return named


def _with_rest(found: list[tuple[str, int, str, list[Span]]]) -> list[tuple[str, int, str, list[Span]]]:
    """The busiest lanes, and one for all others."""
    by_time = sorted(found, key=lambda lane: -sum(s.duration_ms or 0.0 for s in lane[3]))
    kept = {id(lane[3]) for lane in by_time[: MAX_ROWS - 1]}
    rest = [lane for lane in found if id(lane[3]) not in kept]
    members = sorted((s for lane in rest for s in lane[3]), key=lambda s: s.start_unix_s)
    return [*(lane for lane in found if id(lane[3]) in kept), ("", 4, f"{len(rest):,} more lanes", members)]


def _pack(members: list[Span], now_unix_s: float, cap: int) -> list[tuple[Span, int]]:
    """Each span with its row in the lane: the topmost that is free; the last row takes what finds none."""
    free = list(range(cap))
    busy: list[tuple[float, int]] = []
    placed: list[tuple[Span, int]] = []
    for span in members:
        end = now_unix_s if span.end_unix_s is None else span.end_unix_s
        while busy and busy[0][0] <= span.start_unix_s:
            heapq.heappush(free, heapq.heappop(busy)[1])
        row = heapq.heappop(free) if free else cap - 1
        if row < cap - 1:
            heapq.heappush(busy, (end, row))
        else:
            heapq.heappush(free, row)
        placed.append((span, row))
    return placed


def _merge(bars: list[Bar], max_bars: int) -> tuple[list[Bar], float]:
    """As many bars as allowed: the widest gaps between neighbours of one row and category stay, the others close.

    Of gaps as wide as the last that may stay, every n-th does, so that a log of even steps keeps its length in bars.
    """
    groups: dict[tuple[int, str], list[Bar]] = {}
    for bar in bars:
        groups.setdefault((bar.row, bar.category), []).append(bar)
    gaps: list[float] = []
    for group in groups.values():
        group.sort(key=lambda bar: bar.start_unix_s)
        reach = group[0].end_unix_s
        for bar in group[1:]:
            gaps.append(bar.start_unix_s - reach)
            reach = max(reach, bar.end_unix_s)
    n_kept = max(max_bars - len(groups), 0)
    widest = sorted(gaps, reverse=True)
    limit = widest[n_kept] if n_kept < len(widest) else float("-inf")
    n_even = gaps.count(limit)
    n_even_kept = n_kept - sum(gap > limit for gap in gaps)
    merged: list[Bar] = []
    at = even = 0
    for group in groups.values():
        current = group[0]
        merged.append(current)
        for bar in group[1:]:
            gap, at = gaps[at], at + 1
            stays = gap > limit
            if gap == limit:
                stays = (even + 1) * n_even_kept // n_even > even * n_even_kept // n_even
                even += 1
            if stays:
                current = bar
                merged.append(current)
                continue
            current.n_spans += 1
            current.busy_s += max(0.0, bar.end_unix_s - max(bar.start_unix_s, current.end_unix_s))
            current.end_unix_s = max(current.end_unix_s, bar.end_unix_s)
    return merged, max(limit, 0.0)
