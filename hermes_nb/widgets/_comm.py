"""The anywidget behind turn and chat: what it loads, and how messages of a browser reach Python while a cell runs.

The library (`static/library.js`, built from `extensions/widgets`) is large, so it does not travel with each widget: a page
asks for it once (`loader.js`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from hermes_nb._require import require
from hermes_nb.errors import MissingPackageError
from hermes_nb.widgets._asset import let_through, text

WHY = "to show a turn as a widget"
VIEW = "application/vnd.jupyter.widget-view+json"


@functools.cache
def library() -> str:
    """The ES module that draws turns and chats."""
    return text("library.js")


@functools.cache
def loader() -> str:
    """The ES module of each widget."""
    key = hashlib.sha256(library().encode()).hexdigest()[:16]
    return text("loader.js").replace("LIBRARY_KEY", key)


def load() -> None:
    """Import what widgets need, so that the first one comes at once. Does nothing where they are not installed."""
    with contextlib.suppress(MissingPackageError):
        _view_class()


def make_view(kind: str, on_message: Callable[[dict[str, Any]], None]) -> Any:
    """A new widget.

    Args:
        kind: `turn` or `chat`.
        on_message: Hears messages of the browser, on whichever thread they come; those of `loader.js` are answered here.

    Raises:
        MissingPackageError: The extra `widgets` is not installed.
    """
    view = _view_class()(kind, on_message)
    let_through(view.comm)
    return view


def view_bundle(widget: Any) -> dict[str, Any]:
    """What displays a widget, by MIME type; without text."""
    made = widget._repr_mimebundle_()
    data: Mapping[str, Any] = made[0] if isinstance(made, tuple) else made
    return {VIEW: data[VIEW]}


@functools.cache
def _view_class() -> Any:
    require("ipywidgets", why=WHY)  # anywidget is content with older ones
    anywidget = require("anywidget", why=WHY)
    traitlets = require("traitlets", why=WHY)

    class PaneView(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        _esm = loader()
        kind = traitlets.Unicode("turn").tag(sync=True)
        shown_as = traitlets.Unicode("").tag(sync=True)
        static = traitlets.Dict().tag(sync=True)

        def __init__(self, kind: str, on_message: Callable[[dict[str, Any]], None]) -> None:
            self._hear = on_message
            super().__init__(kind=kind)
            self.on_msg(self._on_message)

        def _on_message(self, _: Any, content: Any, __: Any) -> None:
            if not isinstance(content, dict):
                return
            if content.get("t") == "code":
                self.send({"t": "code", "code": library()})
            else:
                self._hear(content)

    return PaneView
