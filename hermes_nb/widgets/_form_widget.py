"""A widget that shows one JSON object and hears what is clicked: the ground of the agent builder and of promotions.

What is saved with the notebook is its static form: JupyterLab and Notebook write it in place of the widget while that stays
on the page (`shared/keep.js` of `extensions/widgets/src`); elsewhere the widget is replaced by it once it is settled.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

from hermes_nb._daemon import daemon
from hermes_nb._require import require
from hermes_nb.host.execution.timer import Timer
from hermes_nb.tools.secret import environment_masker
from hermes_nb.widgets._asset import let_through, text
from hermes_nb.widgets._output_slot import OutputSlot, kernel_timer, place

WHY = "to show forms and buttons in a notebook"
GRACE_S = 2.0  # how long a browser that shows it has to say that it keeps the static form itself
START_S = 30.0  # how long a browser has that must load it first, while cells keep the kernel busy

Hear = Callable[[Mapping[str, Any], Callable[[Mapping[str, Any]], None]], None]


class FormWidget:
    """One widget and its place in a cell. Any thread may `tell`.

    Args:
        name: Of the script that draws it: `static/NAME.js`.
        data: What it shows.
        still: Its static form by MIME type: text/html and text/plain.
        hear: Called with each message of a browser and with what answers it.
        timer: Runs what is done later; None takes the one of all sheets.
    """

    def __init__(
        self,
        name: str,
        data: Mapping[str, Any],
        *,
        still: Callable[[], Mapping[str, str]],
        hear: Hear,
        timer: Timer | None = None,
    ) -> None:
        self._name, self._data, self._still, self._hear = name, dict(data), still, hear
        self._timer = timer or kernel_timer()
        self._lock = threading.RLock()
        self._view: Any = None
        self._place: OutputSlot | None = None
        self._is_kept = self._is_settled = False

    @property
    def data(self) -> dict[str, Any]:
        """What it shows now."""
        return dict(self._data)

    def tell(self, **changes: Any) -> None:
        """Change what it shows; the same in every browser that looks."""
        with self._lock:
            self._data = {**self._data, **changes}
            if self._view is not None:
                self._view.data = self._data
                self._view.static = dict(self._still())

    @property
    def is_shown(self) -> bool:
        """Whether it was shown and is a widget still."""
        return self._view is not None

    @property
    def widget(self) -> Any:
        """The widget, to be put beside others; made at the first use.

        Raises:
            MissingPackageError: The extra `widgets` is not installed.
        """
        with self._lock:
            if self._view is None:
                view = _view_class(self._name)(self._heard, data=self._data, static=dict(self._still()))
                let_through(view.comm)
                view.shown_as = view.model_id
                self._view = view
            return self._view

    def show(self, *, soon: bool = False) -> None:
        """Show it in the running cell: as a widget in a notebook, in its static form elsewhere.

        Args:
            soon: Show the static form at once and the widget in its place once its packages are imported, which takes a
                moment the first time.

        Raises:
            MissingPackageError: The extra `widgets` is not installed.
        """
        here = place()
        if here is None:
            print(self._still()["text/plain"])
        else:
            self.show_in(here, soon=soon)

    def show_in(self, here: OutputSlot, *, soon: bool = False) -> None:
        """Show it in an output of any cell; see `show`."""
        if not here.can_update or here.is_headless or (soon and not here.keeps_place):
            here.show(self._still())
        else:
            self._place = here
            if soon:
                here.show(self._still())
                daemon(self._come, here, name="sheet").start()
            else:
                here.show({**self._still(), **self._bundle()})

    def _come(self, here: OutputSlot) -> None:
        here.replace({**self._still(), **self._bundle()})
        self.settle(START_S)

    def _bundle(self) -> dict[str, Any]:
        made = self.widget._repr_mimebundle_()
        data = made[0] if isinstance(made, tuple) else made
        return {k: v for k, v in data.items() if k != "text/plain"}

    def settle(self, grace_s: float = GRACE_S) -> None:
        """Leave the static form where no browser keeps it itself: nothing more is expected of this widget."""
        self._is_settled = True
        self._timer.call_later(grace_s, self._leave_static)

    def unsettle(self) -> None:
        """Stay a widget for now: something is under way."""
        self._is_settled = False

    def _leave_static(self) -> None:
        if self._is_settled and not self._is_kept:
            self.freeze()

    def freeze(self) -> None:
        """Replace the widget by its static form, for good."""
        with self._lock:
            view, self._view = self._view, None
            here, self._place = self._place, None
        if here is not None:
            here.replace(self._still())
        if view is not None:
            view.close()

    def _heard(self, message: Any, send: Callable[[Mapping[str, Any]], None]) -> None:
        if not isinstance(message, dict):
            return
        if message.get("t") == "ready":
            self._is_kept = self._is_kept or bool(message.get("keeps"))
        else:
            try:
                self._hear(message, send)
            except Exception as exc:  # noqa: BLE001 - who clicked must hear of it, and there is no cell to say it in
                said = environment_masker().text(f"{type(exc).__name__}: {exc}")
                send({"t": "problem", "text": f"That did not work. {said}"})


@functools.cache
def _view_class(name: str) -> Any:
    require("ipywidgets", why=WHY)  # anywidget is content with older ones
    anywidget = require("anywidget", why=WHY)
    traitlets = require("traitlets", why=WHY)

    class FormView(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        _esm = text(f"{name}.js")
        _css = text("form.css")
        data = traitlets.Dict().tag(sync=True)
        static = traitlets.Dict().tag(sync=True)
        shown_as = traitlets.Unicode("").tag(sync=True)

        def __init__(self, hear: Callable[[Any, Any], None], **state: Any) -> None:
            super().__init__(**state)
            self.on_msg(lambda _, content, __: hear(content, self.send))

    return FormView
