"""Plots a tool makes with pyplot: its own, not drawn into a figure the user has open, and shown where it was asked.

matplotlib is never imported here: where it is not loaded, no tool has a figure. `Gcf` is pyplot's registry of figures
(matplotlib._pylab_helpers); figures that exist are taken out of it while the tool runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any


class Figures:
    """The pyplot figures of one call.

    Args:
        show: Displays one figure, which is closed afterwards; None leaves figures open (a script shows its own).
    """

    def __init__(self, show: Callable[[Any], None] | None) -> None:
        self._show = show
        self._own: list[tuple[Any, Any]] = []
        self._users: list[tuple[Any, Any]] = []
        self._inline: tuple[bool, list[Any]] | None = None

    def enter(self) -> None:
        """Hide what is open and bring back the call's own figures."""
        figs = _registry()
        self._users = [] if figs is None else list(figs.items())
        if figs is not None:
            figs.clear()
            figs.update(self._own)
        inline = inline_show()
        self._inline = None if inline is None else (inline._draw_called, list(inline._to_draw))

    def leave(self) -> None:
        """Put away the call's own figures and bring back what was open, in its old order."""
        figs = _registry()
        if figs is None:
            return
        users = [manager for _, manager in self._users]
        self._own = [(n, m) for n, m in figs.items() if not any(m is u for u in users)]
        figs.clear()
        figs.update(self._users)
        inline = inline_show()
        if inline is not None and self._shows_inline():
            inline._draw_called, inline._to_draw = self._inline or (False, [])

    def finish(self, returned: Sequence[Any] = ()) -> None:
        """Show and close the call's figures; one that stays open gets a free number. Then show what the call returned.

        Args:
            returned: Figures and pictures; one that is a figure of the call is shown once.
        """
        own, self._own = self._own, []
        self._finish(own)
        for picture in returned:
            if self._show is not None and not any(picture is manager.canvas.figure for _, manager in own):
                self._show(picture)

    def _finish(self, own: list[tuple[Any, Any]]) -> None:
        figs = _registry()
        if figs is None or not own:
            return
        if self._show is None or not self._shows_inline():
            for number, manager in own:
                if number in figs:
                    number = max((n for n in figs if isinstance(n, int)), default=0) + 1
                    manager.num = number
                figs[number] = manager
            return
        for _, manager in own:
            self._show(manager.canvas.figure)
        for _, manager in own:
            manager.canvas.mpl_disconnect(getattr(manager, "_cidgcf", 0))
            manager.destroy()

    @staticmethod
    def _shows_inline() -> bool:
        pyplot = sys.modules.get("matplotlib.pyplot")
        return pyplot is not None and "inline" in str(pyplot.get_backend())


def _registry() -> Any:
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return None if helpers is None else helpers.Gcf.figs


def inline_show() -> Any:
    """The inline backend's `show`, which notes figures for the end of a cell; None where it is not loaded."""
    backend = sys.modules.get("matplotlib_inline.backend_inline")
    show = None if backend is None else getattr(backend, "show", None)
    return show if hasattr(show, "_draw_called") and hasattr(show, "_to_draw") else None
