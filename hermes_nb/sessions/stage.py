"""Gives a kernel's host the widgets of a higher floor, by name, so that turns show as such however they were begun."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hermes_nb import _registry, _settings
from hermes_nb._require import lack_of_widgets

if TYPE_CHECKING:
    from hermes_nb.host.base import Host
    from hermes_nb.sessions.turn import Turn


def set_stage(host: Host, on_again: Callable[[Turn, Turn], None] | None = None) -> None:
    """Let turns of a kernel show as widgets, where those are installed and `HERMES_NB_WIDGETS` does not say no.

    Args:
        host: Where they show; a plain process has no widgets.
        on_again: Told of a turn that a button put in another's place.
    """
    where: Any = host
    if not hasattr(where, "stage") or not _settings.wants_widgets() or lack_of_widgets():
        return
    if where.stage is None:
        where.stage = _registry.load("widgets", "turn").Stage()
        where.stage.prepare(where.asking)
    if on_again is not None:
        where.stage.on_again = on_again
