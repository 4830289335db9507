"""Tools as an importable module has them, for the tests of pickling."""

from __future__ import annotations

import dataclasses

from hermes_nb.tools.decorator import tool


@dataclasses.dataclass
class Place:
    x: int


@tool(timeout_s=2.0)
def at(place: Place, n: int = 3) -> tuple[int, int]:
    """Where it is."""
    return place.x, n


def plain(n: int) -> int:
    return n


direct = tool(plain)
