"""Gives a kernel's host the widgets of a higher floor, so that turns show as such however they were begun."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_nb import _frontend, _settings
from hermes_nb._require import lack_of_widgets
from hermes_nb.host.base import StagedHost

if TYPE_CHECKING:
    from hermes_nb.api.turn import Turn
    from hermes_nb.host.base import Host


def set_stage(host: Host, on_again: Callable[[Turn, Turn], None] | None = None) -> None:
    """Let turns of a kernel show as widgets, where those are installed and `HERMES_NB_WIDGETS` does not say no.

    Args:
        host: Where they show; a plain process has no widgets.
        on_again: Told of a turn that a button put in another's place.
    """
    if not isinstance(host, StagedHost) or not _settings.wants_widgets() or lack_of_widgets():
        return
    if host.stage is None:
        host.stage = _frontend.load().stage()
        host.stage.prepare(host.asking)
    if on_again is not None:
        host.stage.on_again = on_again
