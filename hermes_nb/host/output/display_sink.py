"""A turn in a notebook cell: one output that grows while the turn runs, and keeps its final form.

While it runs one MIME type is sent (Markdown); the end sends all. Messages carry the header of the asking cell: a front
end attributes them by it, and drops them without.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hermes_nb.host.client import is_headless, replaces_outputs
from hermes_nb.host.execution.timer import Timer
from hermes_nb.host.output.bandwidth import Bandwidth
from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder

if TYPE_CHECKING:
    from hermes_nb.host.base import Caller
    from hermes_nb.host.output.headless_update import HeadlessUpdates

BEAT_S = 1.0
WAITING = "<sub>waiting for the agent ...</sub>"


class Outlet(Protocol):
    """Where display messages go."""

    can_update: bool
    """False where nothing can be changed after it was shown: there is the final form alone."""
    keeps_place: bool
    """True for a front end that is known to replace an output by its display id."""

    def send(self, data: Mapping[str, str], *, display_id: str, update: bool) -> None:
        """Show `data`, or let it replace what was shown under `display_id`."""


class DisplaySink:
    """Draws one turn into a cell.

    Args:
        outlet: Where messages go.
        timer: Runs the redraws.
        budget: Shared by the turns of one kernel.
        clock: Returns seconds; monotonic.
        display_id: Of an output that is there already; None shows a new one.
    """

    def __init__(
        self,
        outlet: Outlet,
        timer: Timer,
        budget: Bandwidth,
        clock: Callable[[], float] = time.monotonic,
        *,
        display_id: str | None = None,
    ) -> None:
        self._outlet, self._timer, self._budget, self._clock = outlet, timer, budget, clock
        budget.open()
        self._folder = Folder()
        # Events are put here and folded when they are drawn, so that whoever feeds never waits for a redraw.
        self._inbox: deque[Event] = deque()
        self._lock = threading.Lock()
        self._display_id = display_id or uuid.uuid4().hex
        self._shown = WAITING
        self._next_s = 0.0
        self._is_due = False
        self._is_finished = False
        if outlet.can_update:
            outlet.send({"text/markdown": WAITING}, display_id=self._display_id, update=display_id is not None)
            self._beat()

    def _beat(self) -> None:
        """Show that time passes while nothing else happens."""
        if not self._is_finished:
            self._timer.call_later(BEAT_S, self._beat)
            self._ask()

    def feed(self, event: Event) -> None:
        """Take an event; the redraw comes soon."""
        if self._is_finished or not self._outlet.can_update:
            return
        self._inbox.append(event)
        self._ask()

    def _ask(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._timer.call_later(self._next_s - self._clock(), self._draw)

    def _draw(self) -> None:
        from hermes_nb.views.markdown import render

        with self._lock:
            self._is_due = False
            if self._is_finished:
                return
            while self._inbox:
                self._folder.feed(self._inbox.popleft())
            text = render(self._folder, now_unix_s=time.time()) or WAITING
            if text != self._shown:
                self._shown = text
                self._next_s = self._clock() + self._budget.interval_s(len(text.encode("utf-8", "replace")))
                self._outlet.send({"text/markdown": text}, display_id=self._display_id, update=True)

    def show_again(self) -> None:
        """Show what was shown: a tool has cleared the cell."""
        with self._lock:
            if self._outlet.can_update and not self._is_finished:
                self._display_id = uuid.uuid4().hex
                self._outlet.send({"text/markdown": self._shown}, display_id=self._display_id, update=False)

    def finish(self, bundle: Mapping[str, str]) -> None:
        """Put the final form in place.

        A front end that is not known to replace outputs gets it as an output of its own, and the streamed one is emptied:
        so nobody misses the answer, and nobody sees it twice.
        """
        with self._lock:
            if self._is_finished:
                return
            self._is_finished = True
            self._budget.close()
            if self._outlet.can_update and self._outlet.keeps_place:
                self._outlet.send(bundle, display_id=self._display_id, update=True)
                return
            if self._outlet.can_update:
                self._outlet.send({"text/plain": ""}, display_id=self._display_id, update=True)
            self._outlet.send(bundle, display_id=uuid.uuid4().hex, update=False)


class KernelOutlet:
    """Sends display messages of one cell from any thread.

    Args:
        publisher: The kernel's display publisher.
        parent: The message that asked (the cell's execute request).
        background: The cell may be over: for a headless client an update then travels with the cell that runs now,
            because nbclient (0.11) reads only messages of that one, and finds the output by its display id all the same.
        keeps_place: See `Outlet`.
        between: Says an update again when it came between two cells; None for clients that read on.
    """

    can_update = True

    def __init__(
        self,
        publisher: Any,
        parent: Mapping[str, Any],
        *,
        background: bool,
        keeps_place: bool,
        between: HeadlessUpdates | None = None,
    ) -> None:
        self._publisher, self._parent, self._background = publisher, parent, background
        self.keeps_place, self.between = keeps_place, between

    @property
    def is_headless(self) -> bool:
        """Whether nobody can type where it is shown (see `is_headless`)."""
        return is_headless(self._parent)

    def send(self, data: Mapping[str, Any], *, display_id: str, update: bool) -> None:
        """See `Outlet.send`."""
        if update and self.between is not None:
            self.between.update(display_id, lambda: self._send(data, display_id, update))
        else:
            self._send(data, display_id, update)

    def _send(self, data: Mapping[str, Any], display_id: str, update: bool) -> None:
        import contextvars

        parent: Any = self._parent
        if update and self._background and self.is_headless:
            # In an empty context the publisher names the latest cell.
            parent = contextvars.Context().run(getattr, self._publisher, "parent_header", None) or parent
        self._publisher.session.send(
            self._publisher.pub_socket,
            "update_display_data" if update else "display_data",
            {"data": dict(data), "metadata": {}, "transient": {"display_id": display_id}},
            parent=parent,
            ident=self._publisher.topic,
        )


class CaptureOutlet:
    """Hands the final form to a publisher that only collects, such as that of `%%capture`."""

    can_update = False
    keeps_place = False
    is_headless = False
    between: HeadlessUpdates | None = None

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher

    def send(self, data: Mapping[str, Any], *, display_id: str, update: bool) -> None:
        """See `Outlet.send`."""
        self._publisher.publish(data=dict(data), metadata={})


def outlet_of(shell: Any, caller: Caller) -> KernelOutlet | CaptureOutlet:
    """Where a caller's displays go."""
    publisher, parent = caller.extra["publisher"], caller.parent or {}
    if not hasattr(publisher, "pub_socket"):
        return CaptureOutlet(publisher)
    between = None
    if caller.background and is_headless(parent):
        from hermes_nb.host.output.headless_update import between as between_cells_of

        between = between_cells_of(shell)
    return KernelOutlet(
        publisher, parent, background=caller.background, keeps_place=replaces_outputs(parent), between=between
    )
