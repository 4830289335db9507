"""The Timeline tab of a run's report: the log as a picture, as rows and as data, redrawn while the run goes on.

The tab is a pure function of the events; the Agent tab is the adapter's own. What an earlier attempt had reported is
recalled from its checkpoint, so that the last attempt's report tells the whole run.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import html
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from hermes_nb.flyte import _sdk
from hermes_nb.model.event import Event
from hermes_nb.model.format import format_ms
from hermes_nb.model.span import Span, fold
from hermes_nb.views import html as rows_view
from hermes_nb.views import page
from hermes_nb.views._input import Story
from hermes_nb.views.rows import Row, story_rows

TAB, AGENT_TAB = "Timeline", "Agent"
EVERY_S = 1.0  # shortest time between two redraws; longer when drawing is slow
WIDTH_PX = 1000  # a tab that is hidden when it is drawn has no width to follow
_HIDDEN = frozenset({"model.delta", "reasoning.delta"})  # the answer follows whole
_COLOURS = {"turn": "#999999", "model": "#0072b2", "tool": "#e69f00", "agent": "#009e73", "wait": "#cc79a7"}


def render(events: Iterable[Event]) -> str:
    """The tab while the run goes on: bars over time, rows, and the events as JSON; a few kilobytes."""
    kept = [e for e in events if e.kind not in _HIDDEN]
    return f"{bars(fold(kept))}\n{rows_view.render(kept)}\n{data(kept)}"


def render_whole(events: Iterable[Event]) -> str:
    """The tab of a run that is over: the fragment of the page that `%hermes timeline --save` writes."""
    return page.fragment([e for e in events if e.kind not in _HIDDEN], title=TAB, width_px=WIDTH_PX)


def data(events: Iterable[Event]) -> str:
    """The events as JSON in a script element that `read_report` finds and no text of theirs can end."""
    text = json.dumps({"events": [e.to_dict() for e in events]}, ensure_ascii=True, separators=(",", ":"))
    return f'<script type="application/json" class="hnb-events">{text.replace("<", chr(92) + "u003c")}</script>'


def events_in(report: str) -> list[Event]:
    """The events in a report or page; [] when it has none.

    Raises:
        UsageError: The data is damaged.
    """
    return page.read_report(report) if 'class="hnb-events"' in report else []


def bars(spans: Sequence[Span]) -> str:
    """One bar per span on a common time axis, as HTML without script; a replayed one is hatched and has no length."""
    dated = [s for s in spans if s.kind != "turn"]
    if not dated:
        return ""
    first = min(s.start_unix_s for s in spans)
    last = max(s.end_unix_s or s.start_unix_s for s in spans)
    whole_s = max(last - first, 1e-3)
    lines = [f'<div style="font:13px system-ui,sans-serif;margin:8px 0" role="img" aria-label="{len(dated)} steps">']
    for span in dated:
        left = (span.start_unix_s - first) / whole_s * 100
        width = max(((span.end_unix_s or last) - span.start_unix_s) / whole_s * 100, 0.4)
        colour = _COLOURS.get(span.kind, "#999999")
        fill = f"repeating-linear-gradient(45deg,{colour} 0 3px,transparent 3px 6px)" if span.replayed else colour
        name = html.escape(span.model or "model" if span.kind == "model" else span.name or span.kind)
        note = "replayed" if span.replayed else format_ms(span.duration_ms) if span.duration_ms is not None else ""
        lines.append(
            '<div style="display:flex;align-items:center;height:20px">'
            f'<span style="width:11em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">{name}</span>'
            '<span style="flex:1;position:relative;height:12px">'
            f'<span title="{name} {note}" style="position:absolute;left:{left:.2f}%;width:{min(width, 100 - left):.2f}%;'
            f'min-width:3px;height:12px;background:{fill};border:1px solid {colour};box-sizing:border-box"></span></span>'
            f'<span style="width:6em;text-align:right;opacity:.8">{note}</span></div>'
        )
    return "\n".join([*lines, "</div>"])


class ReplayedRows:
    """Rows of the Agent tab for steps that our own journal answered: the adapter, which draws the others, never sees them.

    Only a local run has such steps; on a cluster Flyte's record answers, and the adapter draws the row.
    """

    def __init__(self) -> None:
        self._context = contextvars.copy_context()  # of the task; events come from other threads
        self._started: dict[str, Event] = {}

    def add(self, event: Event) -> None:
        """Draw the row of a step that ended replayed."""
        if event.kind in ("model.started", "tool.started"):
            self._started[event.span_id] = event
        elif event.data.get("replayed"):
            started = self._started.pop(event.span_id, None)
            for span in fold(e for e in (started, event) if e is not None):
                for row in story_rows(Story(steps=[span])):
                    self._context.copy().run(self._draw, row)

    def _draw(self, row: Row) -> None:
        module = _sdk.sdk("flyte.report")
        detail = "".join(f"{p.lead}<code>{module.abbreviate(p.text, p.limit)}</code>" for p in row.detail)
        module.Timeline(AGENT_TAB).row(icon=row.icon, label=row.label, meta=row.meta, detail=detail, error=row.error or None)


class Reporter:
    """Keeps a run's events and draws them into its report; `add` from any thread."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._keys: set[tuple[str, str, int, int]] = set()
        self._lock = threading.Lock()
        self._n_drawn = 0
        self._checkpoint: Any = None

    async def recall(self, context: Any) -> None:
        """Take over what earlier attempts had saved."""
        self._checkpoint = context.checkpoint
        if self._checkpoint is None or int(context.attempt_number) == 0:
            return
        path = await self._checkpoint.load()
        if path is not None and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                self.add(Event.from_json(line))

    def add(self, event: Event) -> None:
        """One more event; one that is there already is left out."""
        with self._lock:
            if event.key not in self._keys and event.kind not in _HIDDEN:
                self._keys.add(event.key)
                self._events.append(event)

    @property
    def events(self) -> list[Event]:
        """The events so far."""
        with self._lock:
            return list(self._events)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Redraw the report while the body runs, and once more at its end."""
        flyte_report = _sdk.sdk("flyte.report")
        flyte_report.get_tab(AGENT_TAB)  # the adapter's, which is to come first
        tab = flyte_report.get_tab(TAB)
        drawing = asyncio.create_task(self._draw_often(flyte_report, tab))
        try:
            yield
        finally:
            drawing.cancel()
            await asyncio.wait({drawing})
            self._n_drawn = -1
            await self._draw(flyte_report, tab, view=render_whole)

    async def _draw_often(self, flyte_report: Any, tab: Any) -> None:
        pause_s = EVERY_S
        while True:
            await asyncio.sleep(pause_s)
            began_s = time.monotonic()
            await self._draw(flyte_report, tab)
            pause_s = max(EVERY_S, 10 * (time.monotonic() - began_s))

    async def _draw(self, flyte_report: Any, tab: Any, view: Callable[[Iterable[Event]], str] = render) -> None:
        events = self.events
        if len(events) == self._n_drawn:
            return
        self._n_drawn = len(events)
        tab.replace(view(events))
        await flyte_report.flush.aio()
        if self._checkpoint is not None:
            await self._checkpoint.save("\n".join(e.to_json() for e in events).encode())
