"""Where in a notebook something is shown, so that any thread can replace it later."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping
from typing import Any

from hermes_nb.host.detect import current
from hermes_nb.host.display_sink import CaptureOutlet, KernelOutlet, Outlet, is_headless, replaces_outputs
from hermes_nb.host.timer import Timer


class Place:
    """One output of the cell that ran when it was made.

    Attributes:
        is_headless: No person watches: nbclient and papermill allow no input.
    """

    def __init__(self, outlet: Outlet, *, is_headless: bool = False) -> None:
        self._outlet, self.is_headless = outlet, is_headless
        self._display_id = uuid.uuid4().hex

    @property
    def can_update(self) -> bool:
        """False where only the final form can be shown, as under `%%capture`."""
        return self._outlet.can_update

    @property
    def keeps_place(self) -> bool:
        """Whether the front end is known to replace an output by its display id."""
        return self._outlet.keeps_place

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


def place() -> Place | None:
    """An output of the running cell; None outside a Jupyter kernel."""
    host = current()
    try:
        if host.name != "kernel":
            return None
        caller = host.caller(blocks=False, background=True)
        publisher, parent = caller.extra["publisher"], caller.parent or {}
    finally:
        host.close()
    if not hasattr(publisher, "pub_socket"):
        return Place(CaptureOutlet(publisher))
    outlet = KernelOutlet(publisher, parent, background=True, keeps_place=replaces_outputs(parent))
    return Place(outlet, is_headless=is_headless(parent))
