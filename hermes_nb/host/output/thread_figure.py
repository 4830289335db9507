"""Plots that a tool in a thread makes with pyplot: its own, whatever other threads and the user's cells plot meanwhile.

pyplot keeps all figures in one registry (`matplotlib._pylab_helpers.Gcf.figs`). While such a tool runs, a stand-in takes
its place, which gives the context of the call a registry of its own and everybody else the one they had. What the tool
plots in threads that it starts itself is not told from the user's plots.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextvars import ContextVar
from importlib.machinery import ModuleSpec
from typing import Any

from hermes_nb.host.output.figure import Figures, inline_show

_HELPERS = "matplotlib._pylab_helpers"
_OWN: ContextVar[OrderedDict[Any, Any] | None] = ContextVar("hermes_nb_figures", default=None)
_LOCK = threading.Lock()
_DRAWING = threading.Lock()
_n_open = 0


class ThreadFigures(Figures):
    """The pyplot figures of one call in a thread."""

    def enter(self) -> None:
        """Give this context a registry of its own."""
        global _n_open
        with _LOCK:
            _n_open += 1
            if _n_open == 1:
                _install()
        _OWN.set(OrderedDict())

    def leave(self) -> None:
        """Take the figures out of it."""
        global _n_open
        self._own = list((_OWN.get() or {}).items())
        _OWN.set(None)
        with _LOCK:
            _n_open -= 1
            if _n_open == 0:
                _remove()

    def finish(self, returned: Sequence[Any] = ()) -> None:
        """Show and close them, one call at a time."""
        with _DRAWING:
            super().finish(returned)


class _Registry(MutableMapping[Any, Any]):
    """Stands in for `Gcf.figs`."""

    def __init__(self, shared: OrderedDict[Any, Any]) -> None:
        self.shared = shared

    @property
    def _figs(self) -> OrderedDict[Any, Any]:
        own = _OWN.get()
        return self.shared if own is None else own

    def __getitem__(self, number: Any) -> Any:
        return self._figs[number]

    def __setitem__(self, number: Any, manager: Any) -> None:
        self._figs[number] = manager
        if _OWN.get() is not None:
            _take_back(manager)

    def __delitem__(self, number: Any) -> None:
        del self._figs[number]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._figs)

    def __reversed__(self) -> Iterator[Any]:
        return iter(reversed(self._figs))

    def __len__(self) -> int:
        return len(self._figs)

    def clear(self) -> None:
        """Forget all."""
        self._figs.clear()

    def keys(self) -> Any:
        """Numbers; reversible, as are the other two."""
        return self._figs.keys()

    def values(self) -> Any:
        """Managers."""
        return self._figs.values()

    def items(self) -> Any:
        """Both."""
        return self._figs.items()

    def move_to_end(self, number: Any, last: bool = True) -> None:
        """Make it the active one."""
        self._figs.move_to_end(number, last)


class _Watch:
    """Finds the module that has the registry when a tool is the first to import it, and puts the stand-in in."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module's own spec, with our step behind its execution; None for any other module."""
        if name != _HELPERS:
            return None
        _unwatch()
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute: Callable[[Any], None] = spec.loader.exec_module

            def executed(module: Any) -> None:
                execute(module)
                with _LOCK:
                    if _n_open:
                        module.Gcf.figs = _Registry(module.Gcf.figs)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


_WATCH = _Watch()


def _install() -> None:
    helpers = sys.modules.get(_HELPERS)
    if helpers is None:
        sys.meta_path.insert(0, _WATCH)
    else:
        helpers.Gcf.figs = _Registry(helpers.Gcf.figs)


def _remove() -> None:
    _unwatch()
    helpers = sys.modules.get(_HELPERS)
    if helpers is not None and isinstance(helpers.Gcf.figs, _Registry):
        helpers.Gcf.figs = helpers.Gcf.figs.shared


def _unwatch() -> None:
    with contextlib.suppress(ValueError):
        sys.meta_path.remove(_WATCH)


def _take_back(manager: Any) -> None:
    """The inline backend noted the figure for the end of the user's cell: it is shown with its call."""
    inline = inline_show()
    figure = manager.canvas.figure
    if inline is None or not any(f is figure for f in inline._to_draw):
        return
    inline._to_draw = [f for f in inline._to_draw if f is not figure]
    inline._draw_called = bool(inline._to_draw)
