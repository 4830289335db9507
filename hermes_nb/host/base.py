"""What a host is: the protocol that `plain` and `kernel` fill.

Threads: one background thread (the sessions' IO loop) feeds sinks and submits tool calls; the main thread runs
synchronous tools and waits. A host is the only place where the two meet.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from hermes_nb.model.event import Event
    from hermes_nb.tools.call import ToolOutcome
    from hermes_nb.tools.decorator import Tool


@dataclass(slots=True)
class Caller:
    """Who asked for a turn: taken on the caller's thread when the turn starts.

    Attributes:
        context: The caller's context variables (in a kernel they carry the parent header of the cell).
        loop: The event loop async tools belong to; None when there is none.
        blocks_loop: True when the caller will block that loop until the turn ends (`run_sync` in a cell, a function,
            `%%capture`): async tools are then refused.
        is_main_thread: Whether the caller is on the main thread.
        background: True for `--background`: nobody waits, output goes to the asking cell all the same.
        parent: The kernel's parent header for that cell; None in a plain process.
    """

    context: contextvars.Context
    loop: asyncio.AbstractEventLoop | None
    blocks_loop: bool
    is_main_thread: bool
    background: bool = False
    parent: Mapping[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def _nothing() -> None:
    """What is done where nobody is told."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call to run for a turn. `on_output(stream, text, mime_types)` hears what the tool printed or displayed.

    `on_begin()` is called where the body is to run, right before; the body does not run when it raises.
    `options` are keyword arguments for `tools.call.run_sync` and `run_async`: namespace, results, masker.
    """

    turn_id: str
    call_id: str
    tool: Tool
    arguments: str
    on_output: Callable[[str, str, Sequence[str]], None]
    options: Mapping[str, Any] = field(default_factory=dict)
    on_begin: Callable[[], None] = _nothing


class Sink(Protocol):
    """Where one turn shows while it runs. Any thread may call; drawing is coalesced by the sink."""

    def feed(self, event: Event) -> None:
        """One more event of the turn."""

    def finish(self, bundle: Mapping[str, str]) -> None:
        """Replace what streamed by the final form: all MIME types at once; returns when it was handed to the front end."""


@runtime_checkable
class LiveSink(Sink, Protocol):
    """A sink that a browser shows, with its turn's buttons."""

    @property
    def has_buttons(self) -> bool:
        """Whether a browser shows it, or may still."""

    def attach(self, turn: Any) -> None:
        """Show that turn from now on, and hear its buttons."""

    def on_display(self, call_id: str, data: Mapping[str, Any]) -> bool:
        """Take what a tool displayed; true where it shows in its row, live and saved."""

    def is_in_place(self) -> bool:
        """Whether what tools print shows in their rows, live and saved."""


@runtime_checkable
class RedrawnSink(Protocol):
    """A sink that can be put below what came meanwhile."""

    def show_again(self) -> None:
        """Show once more: a tool cleared the cell."""


@runtime_checkable
class StagedHost(Protocol):
    """A host that can show turns as widgets.

    Attributes:
        stage: Makes richer places for turns; None shows text.
    """

    stage: Any

    @property
    def asking(self) -> Mapping[str, Any]:
        """The message that the calling thread or task answers."""


class Host(Protocol):
    """A place to run tools and to show turns."""

    name: str

    @property
    def is_interactive(self) -> bool:
        """Whether a person watches: a notebook or an IPython prompt, not a script."""

    def cell_id(self) -> str | None:
        """Id of the request the calling thread is in (the parent header's msg_id in a kernel); None in a script."""

    def caller(self, *, blocks: bool, background: bool = False) -> Caller:
        """Who calls, seen from the calling thread."""

    def submit(self, call: ToolCall, caller: Caller) -> concurrent.futures.Future[ToolOutcome]:
        """Run a tool where it belongs: sync on the main thread in call order, async on the caller's loop, `parallel`
        sync ones in threads. Never blocks. The future never raises: failures are outcomes; a stop is status `stopped`."""

    def stop_tools(self, turn_id: str) -> list[str]:
        """Stop the turn's calls, running and pending, from any thread; names of calls that were running when asked."""

    def running_tools(self, turn_id: str) -> list[str]:
        """Names of the turn's tools whose body is still running (also after a stop they ignore)."""

    def wait_blocking(self, is_done: Callable[[], bool], wake: WakeUp, on_interrupt: Callable[[], None]) -> None:
        """Block the calling thread until `is_done()`, running main-thread tools meanwhile. KeyboardInterrupt calls
        `on_interrupt` once and goes on waiting (a second one is raised)."""

    async def wait_async(self, is_done: Callable[[], bool], wake: WakeUp, on_interrupt: Callable[[], None]) -> None:
        """The same on a running loop, without blocking it. Cancelled: raises CancelledError at once."""

    def open_sink(self, caller: Caller, *, quiet: bool = False, shown_in: Sink | None = None) -> Sink:
        """A place for one turn to show: `shown_in` where one is given; `quiet` gives one that shows nothing."""

    def live_text(self, caller: Caller) -> Callable[[str, bool], None]:
        """Return what draws a text, in the caller's output, in place of the one it drew before; True is for the last."""

    def close(self) -> None:
        """End threads and restore what was replaced."""


class WakeUp:
    """A signal from any thread to one waiter, which may block or await. Set once, stays set until cleared."""

    def __init__(self) -> None:
        import threading

        self._event = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def set(self) -> None:
        """Wake whoever waits."""
        with self._lock:
            self._event.set()
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def clear(self) -> None:
        """Forget the signal."""
        self._event.clear()

    def wait(self, timeout_s: float) -> bool:
        """Block up to `timeout_s`; True when it was set."""
        return self._event.wait(timeout_s)

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` (thread-safe, quick) at each `set`, and at once if it is set; returns what ends it."""
        with self._lock:
            self._listeners.append(listener)
            is_set = self._event.is_set()
        if is_set:
            listener()

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end
