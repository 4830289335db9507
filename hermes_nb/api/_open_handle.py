"""Every open Hermes of this process: the magics' own, and those that cells made."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.api.turn import Turn

_OPENED: weakref.WeakSet[Hermes] = weakref.WeakSet()


def note(hermes: Hermes) -> None:
    """Note a Hermes that was opened."""
    _OPENED.add(hermes)


def running_turns() -> list[Turn]:
    """The turns that run in this process now, in the order in which they were asked."""
    turns = [turn for hermes in list(_OPENED) for turn in list(hermes.turns) if not turn.is_done]
    return sorted(turns, key=lambda turn: turn._runner.asked_s)
