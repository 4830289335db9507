"""The anywidget behind turn and chat: what it loads, and how messages of a browser reach Python while a cell runs.

The library (`static/library.js`, built from `extensions/widgets`) is large, so it does not travel with each widget: a page
asks for it once (`static/loader.js`).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_nb._require import require

STATIC = Path(__file__).parent / "static"
WHY = "to show a turn as a widget"
VIEW = "application/vnd.jupyter.widget-view+json"


@functools.cache
def library() -> str:
    """The ES module that draws turns and chats."""
    return (STATIC / "library.js").read_text(encoding="utf-8")


@functools.cache
def loader() -> str:
    """The ES module of each widget."""
    key = hashlib.sha256(library().encode()).hexdigest()[:16]
    return (STATIC / "loader.js").read_text(encoding="utf-8").replace("LIBRARY_KEY", key)


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


def let_through(comm: Any) -> None:
    """Let messages of the browser be answered while a cell blocks the kernel.

    ipykernel 7.4 sends them to the shell that sent last, which is the busy one (`_reply_subshell_for` of its Comm, a
    private name); 7.1 to 7.3 do without this.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, default=None: default


@functools.cache
def _view_class() -> Any:
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
