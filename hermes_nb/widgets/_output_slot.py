"""Where in a notebook something is shown, so that any thread can replace it later."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hermes_nb.host.detect import current
from hermes_nb.host.execution.timer import Timer
from hermes_nb.host.kernel import KernelHost
from hermes_nb.host.output.display_sink import Outlet

if TYPE_CHECKING:
    from hermes_nb.host.output.headless_update import HeadlessUpdates


class CellOutlet(Outlet, Protocol):
    """Where display messages of a cell go."""

    @property
    def is_headless(self) -> bool:
        """Whether nobody can type where it is shown."""

    @property
    def between(self) -> HeadlessUpdates | None:
        """The ends of cells, where a client hears nothing after the last one."""


class OutputSlot:
    """One output of a cell.

    Args:
        outlet: The cell's.
    """

    def __init__(self, outlet: CellOutlet) -> None:
        self._outlet = outlet
        self._display_id = uuid.uuid4().hex

    @property
    def can_update(self) -> bool:
        """False where only the final form can be shown, as under `%%capture`."""
        return self._outlet.can_update

    @property
    def keeps_place(self) -> bool:
        """Whether the front end is known to replace an output by its display id."""
        return self._outlet.keeps_place

    @property
    def is_headless(self) -> bool:
        """No person watches: nbclient and papermill allow no input."""
        return self._outlet.is_headless

    @property
    def between(self) -> HeadlessUpdates | None:
        """The ends of cells, where a client hears nothing after the last one."""
        return self._outlet.between

    def show(self, bundle: Mapping[str, Any]) -> None:
        """Show a MIME bundle."""
        self._outlet.send(bundle, display_id=self._display_id, update=False)

    def replace(self, bundle: Mapping[str, Any]) -> None:
        """Put another in its place, from any thread."""
        self._outlet.send(bundle, display_id=self._display_id, update=True)


@functools.cache
def kernel_timer() -> Timer:
    """The timer of what is done to outputs later: it lives as long as the kernel, and starts with the first use."""
    return Timer()


def place() -> OutputSlot | None:
    """An output of the running cell; None outside a Jupyter kernel."""
    host = current()
    try:
        return OutputSlot(host.outlet(host.caller(blocks=False, background=True))) if isinstance(host, KernelHost) else None
    finally:
        host.close()
