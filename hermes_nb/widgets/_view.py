"""The anywidget: what it sends and what it is asked. What it shows is `static/timeline.js`, what it knows `_log.py`."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable
from typing import Any

from hermes_nb._require import require
from hermes_nb.widgets._asset import let_through, text
from hermes_nb.widgets._log import Log

WHY = "to show the timeline as a widget"


class ViewListener:
    """Who answers a view.

    Args:
        log: The log.
        show_figure: Called when the figure is asked for.
        on_ready: Called when a browser shows the view; its argument says whether it keeps a static version on save.
        on_gone: Called when no browser shows it any longer.
    """

    def __init__(
        self,
        log: Log,
        show_figure: Callable[[str], None],
        on_ready: Callable[[bool], None],
        on_gone: Callable[[], None],
    ) -> None:
        self.log, self.show_figure, self.on_ready, self.on_gone = log, show_figure, on_ready, on_gone

    def answer(self, message: Any, send: Callable[..., None]) -> None:
        """Answer a message of the browser; what is no message of ours is passed over."""
        kind = message.get("t") if isinstance(message, dict) else None
        if kind == "detail":
            number = message.get("n")
            send({"t": "detail", "n": number, "detail": self.log.detail(number)})
        elif kind == "rows":
            numbers = list(message.get("numbers") or [])[:500]
            send({"t": "rows", "id": message.get("id"), "rows": self.log.rows(numbers)})
        elif kind == "find":
            found = array("I", self.log.find(str(message.get("text", ""))[:1000]))
            send({"t": "found", "id": message.get("id")}, [found.tobytes()])
        elif kind == "figure":
            self.show_figure("dark" if message.get("theme") == "dark" else "light")
        elif kind == "ready":
            self.on_ready(bool(message.get("keeps")))
        elif kind == "gone":
            self.on_gone()


def make_view(listener: ViewListener) -> Any:
    """A new view.

    Raises:
        MissingPackageError: The extra `widgets` is not installed.
    """
    view = _view_class()(listener)
    let_through(view.comm)
    return view


@functools.cache
def _view_class() -> Any:
    require("ipywidgets", why=WHY)  # anywidget is content with older ones
    anywidget = require("anywidget", why=WHY)
    traitlets = require("traitlets", why=WHY)

    class TimelineView(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        _esm = text("timeline.js")
        _css = text("timeline.css")
        log = traitlets.Dict().tag(sync=True)
        shown_as = traitlets.Unicode("").tag(sync=True)
        static = traitlets.Dict().tag(sync=True)

        def __init__(self, listener: ViewListener) -> None:
            self._listener = listener
            super().__init__()
            self.on_msg(self._on_message)

        def get_state(self, key: Any = None, drop_defaults: bool = False) -> Any:
            """The state; whole, it holds the log as it is now, for a page that is loaded again too."""
            state = super().get_state(key=key, drop_defaults=drop_defaults)
            if key is None:
                state["log"] = self._listener.log.snapshot()
            return state

        def _on_message(self, _: Any, content: Any, __: Any) -> None:
            self._listener.answer(content, self.send)

    return TimelineView
