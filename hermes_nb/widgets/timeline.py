"""The timeline of one or many sessions: a widget that follows what runs, and everything else that a log can be seen as.

    from hermes_nb import timeline
    timeline(answer)                     # a result, a turn that runs, an agent's session, events, several of them
    timeline(answer).frame()             # without the extra `widgets` too: frame, figure, html, text, save

The widget is `static/timeline.js`; following a session is the store's work; tables, figures and rows are made by the views.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb import _settings
from hermes_nb._daemon import daemon
from hermes_nb._near import suggesting_methods
from hermes_nb._require import lack_of_widgets, require
from hermes_nb.host.execution.timer import Timer
from hermes_nb.model.event import Event
from hermes_nb.widgets import _view
from hermes_nb.widgets._comm import view_bundle
from hermes_nb.widgets._log import Log
from hermes_nb.widgets._output_slot import OutputSlot, place

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects

INTERVAL_S = 1 / 30  # between two messages to the browser
SETTLE_S = 2.0  # at most, that the end of a headless client's cell waits for the static version
GRACE_S = 2.0  # how long a browser has to say that it keeps a static version itself
MAX_SPANS_AT_ONCE = 5_000  # a larger log's static version takes a while: it is made in a thread


@suggesting_methods
class Timeline:
    """The timeline of a log. As the last line of a cell it shows itself: as a widget in a notebook, as text elsewhere.

    What is saved with the notebook is a static version (answer, rows and totals as HTML and text): JupyterLab and Notebook
    write it in place of the widget while that stays on the page; elsewhere the widget is replaced when the turn ends.

    Args:
        events: What is known so far; `feed` adds to it, from any thread.
        timer: Runs what is sent later; None makes one.
        clock: Returns seconds; monotonic.
    """

    def __init__(
        self,
        events: Iterable[Event] = (),
        *,
        timer: Timer | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = Log(events)
        self._timer, self._clock = timer or Timer(), clock
        self._view: Any = None
        self._box: Any = None
        self._output: Any = None
        self._place: OutputSlot | None = None
        self._next_s = 0.0
        self._is_due = False
        self._is_live = False
        self._is_kept = False
        self._is_seen = True  # until a browser says that it closed the last view
        self._is_leaving = False
        self._ends: list[Callable[[], object]] = []
        self._behind: list[Callable[[], bool]] = []

    def __repr__(self) -> str:
        self._log.fold()
        return f"<Timeline: {self._log.n_spans:,} spans{', running' if self._log.is_live else ''}>"

    # -- the log -------------------------------------------------------------------------------------------------
    @property
    def events(self) -> list[Event]:
        """The events so far, in order of arrival."""
        self._log.fold()
        return list(self._log.events)

    @property
    def ended_turns(self) -> set[str]:
        """Ids of the turns that came to their end."""
        return self._log.ended_turns

    def feed(self, event: Event) -> None:
        """Take an event; what is shown follows, at most 30 times a second."""
        self._log.feed(event)
        if self._view is not None and self._is_seen:
            self._flush_soon()

    def frame(self) -> pandas.DataFrame:
        """One row per span; columns and dtypes as `hermes_nb.views.frame.render` documents them."""
        from hermes_nb.views.frame import render

        return render(self._log.folder())

    def figure(self, *, theme: str = "light") -> plotly.graph_objects.Figure:
        """The Plotly figure, in a `light` or `dark` theme."""
        from hermes_nb.views.figure import render, to_figure

        return to_figure(render(self._log.folder(), theme=theme, now_unix_s=self._now()))

    def figure_bundle(self, *, theme: str = "light") -> dict[str, Any]:
        """The figure as a MIME bundle, made without importing plotly."""
        from hermes_nb.views.figure import render

        figure = render(self._log.folder(), theme=theme, now_unix_s=self._now())
        return {"application/vnd.plotly.v1+json": figure, "text/plain": repr(self)}

    def bundle(self) -> dict[str, str]:
        """The static version by MIME type: text/html and text/plain, without script."""
        from hermes_nb.widgets._static_html import still

        return still(self._log.folder(), now_unix_s=self._now())

    @property
    def html(self) -> str:
        """The static version as an HTML fragment."""
        return self.bundle()["text/html"]

    @property
    def text(self) -> str:
        """Answer, rows and totals as text."""
        return self.bundle()["text/plain"]

    def save(self, path: str | Path) -> Path:
        """Write the log as one HTML page that needs no network and no kernel; returns its path.

        Raises:
            StoreError: It can't be written; folders that are not there are made.
        """
        from hermes_nb.store.json_lines import write_whole
        from hermes_nb.views.page import render

        target = Path(path)
        write_whole(target, render(self.events))
        return target

    def _now(self) -> float | None:
        return time.time() if self._log.is_live else None

    # -- the widget ----------------------------------------------------------------------------------------------
    @property
    def widget(self) -> Any:
        """The widget, to be put beside others; made at the first use.

        Raises:
            MissingPackageError: The extra `widgets` is not installed.
        """
        if self._box is None:
            widgets = require("ipywidgets", why=_view.WHY)
            self._log.changes()  # the first state of the view holds them
            self._is_live = self._log.is_live
            view = _view.make_view(_view.ViewListener(self._log, self._show_figure, self._on_ready, self._on_gone))
            self._output = widgets.Output()
            self._box = widgets.VBox([view, self._output])
            view.shown_as = self._box.model_id
            self._view = view
        return self._box

    def show(self) -> None:
        """Show it in the running cell: as a widget in a notebook, as it is now where widgets are missing or turned off,
        as text elsewhere."""
        here = place()
        wants_widget = _settings.wants_widgets()
        if here is None:
            print(self.text)
        elif here.can_update and wants_widget and not (lacking := lack_of_widgets()):
            self._place = here
            if here.between is not None:
                here.between.before_end(self._settle)
            beside = self.bundle() if self._log.n_spans <= MAX_SPANS_AT_ONCE else {"text/plain": repr(self)}
            here.show({**beside, **view_bundle(self.widget)})
        else:
            here.show(self.bundle())
            if here.can_update and wants_widget:
                print(f"Shown as it is now: {lacking}. For the widget: %pip install 'hermes-nb[widgets]'", file=sys.stderr)

    def _ipython_display_(self) -> None:
        self.show()

    def freeze(self) -> None:
        """Replace the widget by its static version, for good."""
        view, here = self._view, self._place
        self.close()
        if here is not None:
            self._place = None
            here.replace(self.bundle())
        if view is not None:
            self._box.close()
            view.close()
            self._output.close()
            self._view = None

    def close(self) -> None:
        """Follow no longer; what is shown stays."""
        if self._place is not None and self._place.between is not None:
            self._place.between.forget(self._settle)
        for end in self._ends:
            end()
        self._ends.clear()
        self._timer.close()

    def followed(self, end: Callable[[], object], *, is_behind: Callable[[], bool] | None = None) -> None:
        """Note that who feeds it goes on until `end` is called: at `close`.

        Args:
            end: Ends it.
            is_behind: Whether a turn that has ended has not been fed to its end; None when that can't be told.
        """
        self._log.is_followed = True
        self._ends.append(end)
        if is_behind is not None:
            self._behind.append(is_behind)

    def _settle(self) -> None:
        """Hold up the end of a cell until the static version of what ended in it is in place; once too long, no more."""
        until_s = time.monotonic() + SETTLE_S
        while self._place is not None and (
            self._is_due or self._is_leaving or any(is_behind() for is_behind in self._behind)
        ):
            if time.monotonic() > until_s:  # what can't be stored never comes
                if self._place.between is not None:
                    self._place.between.forget(self._settle)
                return
            time.sleep(0.01)

    def _flush_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._timer.call_later(self._next_s - self._clock(), self._flush)

    def _flush(self) -> None:
        self._is_due = False
        self._next_s = self._clock() + INTERVAL_S
        view = self._view
        if view is None:
            return
        head, data = self._log.changes()
        was_live, self._is_live = self._is_live, self._log.is_live
        if data or was_live != self._is_live:
            view.send(head, [data])
        if (was_live or data) and not self._is_live:  # a turn may begin and end between two looks
            self._is_leaving = True
            self._timer.call_later(0, self._tell_static)
            is_headless = self._place is not None and self._place.is_headless
            self._timer.call_later(0 if is_headless else GRACE_S, self._leave_static)

    def _tell_static(self) -> None:
        """Give the browser what it writes into the notebook in the widget's place."""
        if self._view is None:
            return
        if self._log.n_spans <= MAX_SPANS_AT_ONCE:
            self._set_static()
        elif not self._log.is_live or not self._view.static:
            daemon(self._set_static, name="static").start()

    def _set_static(self) -> None:
        bundle, view = self.bundle(), self._view
        if view is not None:
            view.static = bundle

    def _leave_static(self) -> None:
        self._is_leaving = False
        if not self._is_kept and not self._log.is_live and self._place is not None:
            self.freeze()

    def _on_ready(self, keeps: bool) -> None:
        self._is_kept = self._is_kept or keeps
        if not self._is_seen:
            self._is_seen = True
            self._flush_soon()
        if keeps:
            self._timer.call_later(0, self._tell_static)

    def _on_gone(self) -> None:
        self._is_seen = False

    def _show_figure(self, theme: str) -> None:
        bundle: Mapping[str, Any] = self.figure_bundle(theme=theme)
        # By assignment, not by display(): this may run on any thread, and in no cell.
        self._output.outputs = ({"output_type": "display_data", "data": bundle, "metadata": {}},)
