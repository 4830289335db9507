"""A Jupyter kernel: tools meet the objects of earlier cells; what they print, display or plot lands in the asking cell.

Which cell that is, ipykernel 7 keeps in context variables, which a turn takes with it; for displays the message itself is
corrected, which holds for ipykernel 6 too.
"""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import contextlib
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hermes_nb._require import require
from hermes_nb.host.base import Caller, LiveSink, RedrawnSink, Sink, ToolCall
from hermes_nb.host.execution.debugger import breaking, remember
from hermes_nb.host.execution.tool_job import ToolJob
from hermes_nb.host.output.bandwidth import Bandwidth, NullSink
from hermes_nb.host.output.capture import CURRENT, Capture, hearing
from hermes_nb.host.output.ipykernel_compat import clears_are_hooked
from hermes_nb.host.plain import PlainHost
from hermes_nb.host.prompt import asking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_nb.host.execution.timer import Timer
    from hermes_nb.host.output.display_sink import CaptureOutlet, KernelOutlet
    from hermes_nb.tools.call import ToolOutcome

    Stage = Callable[[KernelOutlet, Mapping[str, Any], Timer, Bandwidth], Sink | None]


class KernelHost(PlainHost):
    """Runs tools in the kernel of `shell` and shows turns in its cells.

    Attributes:
        stage: Makes richer places for turns (a higher floor's widgets); None shows text.
    """

    name = "kernel"

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._budget = Bandwidth()
        self.stage: Stage | None = None
        super().__init__()

    @property
    def is_interactive(self) -> bool:
        """True: a notebook shows what a turn does."""
        return True

    @property
    def asking(self) -> Mapping[str, Any]:
        """The message that the calling thread or task answers: a cell's execute request."""
        return self._shell.get_parent() or {}

    def cell_id(self) -> str | None:
        """Id of the execute request that the calling thread or task belongs to."""
        header = self.asking.get("header") or {}
        cell_id = header.get("msg_id")
        return None if cell_id is None else str(cell_id)

    def caller(self, *, blocks: bool, background: bool = False) -> Caller:
        """Who calls, seen from the calling thread, and the cell it belongs to."""
        caller = super().caller(blocks=blocks, background=background)
        caller.parent = self._shell.get_parent() or None
        caller.extra["publisher"] = self._shell.display_pub
        if caller.parent is not None and hasattr(self._shell, "set_thread_parent"):
            caller.context.run(self._shell.set_thread_parent, caller.parent)
        return caller

    def submit(self, call: ToolCall, caller: Caller) -> concurrent.futures.Future[ToolOutcome]:
        """See `Host.submit`. An error of the tool is one that `%debug` enters."""
        future = super().submit(call, caller)
        future.add_done_callback(lambda done: remember(done.result().exception))
        return future

    def _main_loop(self) -> asyncio.AbstractEventLoop | None:
        loop = getattr(getattr(self._shell.kernel, "io_loop", None), "asyncio_loop", None)
        return loop if loop is not None else super()._main_loop()

    def open_sink(self, caller: Caller, *, quiet: bool = False, shown_in: Sink | None = None) -> Sink:
        """An output of the asking cell."""
        from hermes_nb.host.output.display_sink import DisplaySink, KernelOutlet

        if shown_in is not None:
            return self.connected(shown_in, caller)
        if quiet:
            return NullSink()
        outlet = self.outlet(caller)
        if isinstance(outlet, KernelOutlet):
            # What was printed before comes before.
            for stream in caller.extra["streams"].values():
                if stream is not None:
                    stream.flush()
            if self.stage is not None and outlet.keeps_place and not outlet.is_headless and _hears_while_busy():
                rich = self.stage(outlet, caller.parent or {}, self._timer, self._budget)
                if rich is not None:
                    return self.connected(rich, caller)
        return self.connected(DisplaySink(outlet, self._timer, self._budget), caller)

    def outlet(self, caller: Caller) -> KernelOutlet | CaptureOutlet:
        """Where a caller's displays go."""
        from hermes_nb.host.output.display_sink import outlet_of

        return outlet_of(self._shell, caller)

    def live_text(self, caller: Caller) -> Callable[[str, bool], None]:
        """See `Host.live_text`. An output that can't be replaced shows the last text alone."""
        outlet, display_id = self.outlet(caller), uuid.uuid4().hex
        is_shown = False

        def draw(text: str, is_last: bool) -> None:
            nonlocal is_shown
            if outlet.can_update or is_last:
                outlet.send({"text/plain": text}, display_id=display_id, update=is_shown)
                is_shown = True

        return draw

    def connected(self, sink: Sink, caller: Caller) -> Sink:
        """The sink, told when a tool of the caller's turn clears the cell, and what it displays."""
        caller.extra["show_again"] = sink.show_again if isinstance(sink, RedrawnSink) else _nothing
        caller.extra["on_display"] = sink.on_display if isinstance(sink, LiveSink) else _nothing
        caller.extra["is_in_place"] = sink.is_in_place if isinstance(sink, LiveSink) else _nothing
        return sink

    @contextmanager
    def _hearing(self, job: ToolJob) -> Iterator[None]:
        is_in_place = job.caller.extra.get("is_in_place", _nothing)
        capture = Capture(job.call.on_output, job.caller.extra.get("streams", {}), lambda: bool(is_in_place()))
        publisher = job.caller.extra.get("publisher")
        with contextlib.ExitStack() as opened:
            opened.enter_context(hearing(capture, job))
            opened.enter_context(asking(job, needs_cell=True))
            opened.enter_context(breaking(self._shell.kernel, is_answered=_is_answered(job.caller)))
            opened.enter_context(self._displaying(capture, job, publisher))
            yield

    @contextmanager
    def _displaying(self, capture: Capture, job: ToolJob, publisher: Any) -> Iterator[None]:
        """Let what the call displays go to the publisher of its cell, under the header of its cell."""
        caller = job.caller
        current = self._shell.display_pub
        if publisher is None or not hasattr(current, "register_hook"):
            n_before = len(getattr(current, "outputs", ()))
            try:
                yield
            finally:
                for output in list(getattr(current, "outputs", ()))[n_before:]:
                    _hear(capture, output.get("data") or {})
            return
        header = (caller.parent or {}).get("header")

        def hook(message: dict[str, Any]) -> dict[str, Any] | None:
            if CURRENT.get() is not capture:
                return message
            content = message.get("content") or {}
            if header:
                message["parent_header"] = header
            if message.get("header", {}).get("msg_type") == "clear_output":
                # It takes away what the turn shows, too. In this order: the message, then the turn again.
                current.session.send(current.pub_socket, message, ident=current.topic)
                caller.extra.get("show_again", _nothing)()
                return None
            data = content.get("data") or {}
            _hear(capture, data)
            is_updated = message.get("header", {}).get("msg_type") != "display_data" or (content.get("transient") or {})
            is_shown = caller.extra.get("on_display", _nothing)(job.call.call_id, data)
            if is_shown and not is_updated:
                return None
            if publisher is current:
                return message
            publisher.publish(data=content.get("data") or {}, metadata=content.get("metadata") or {})
            return None

        current.register_hook(hook)
        try:
            with clears_are_hooked(current):
                yield
        finally:
            current.unregister_hook(hook)

    def _figure_display(self) -> Callable[[Any], None]:
        def show(figure: Any) -> None:
            require("IPython.display", why="to show a plot").display(_drawn(figure))

        return show


def _drawn(picture: Any) -> Any:
    """The picture as it can be displayed: a matplotlib figure as an image where no backend has taught IPython."""
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    if figure is None or not isinstance(picture, figure):
        return picture
    ipython = require("IPython", why="to show a plot")
    try:
        ipython.get_ipython().display_formatter.formatters["image/png"].lookup(picture)
    except KeyError:
        from hermes_nb.tools.rendering.image import image_part

        return ipython.display.Image(base64.b64decode(image_part("The figure", picture).data))
    return picture


def _is_answered(caller: Caller) -> bool:
    """Whether a person can type into the cell that waits."""
    return not caller.background and bool(((caller.parent or {}).get("content") or {}).get("allow_stdin"))


def _nothing(*_: Any) -> None:
    """What is done where nothing was shown."""


def _hears_while_busy() -> bool:
    """Whether a click can reach Python while a cell runs: not before ipykernel 7."""
    version: tuple[int, ...] = require("ipykernel", why="to see what it can do").version_info
    return version[0] >= 7


def _hear(capture: Capture, data: dict[str, Any]) -> None:
    capture.hear_display(str(data.get("text/plain", "")), tuple(data))
