"""The side panel's line to a kernel: a comm on which the kernel tells what changed, and the browser asks for a stop.

The kernel tells by itself because each message of a browser, answered on a subshell while a cell runs, ends with the status
`idle`, which JupyterLab (4.6) then shows for the running cell too. Besides, IPython runs its `post_execute` hooks after a
message of an open comm, which flush the half-drawn figure of a running cell. So a browser that asked every second would be
seen; one that says nothing but `stop` is not. What other buttons do is a line that the browser puts into a cell.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from hermes_nb import __version__
from hermes_nb._daemon import daemon
from hermes_nb.errors import HermesNbError, UsageError
from hermes_nb.magics import _panel
from hermes_nb.magics._context import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

TARGET = "hermes_nb.panel"
LOOK_S = 0.4
MAX_PANELS = 8  # pages that were reloaded do not say good-bye


class PanelComms:
    """The panels that look at one shell. A thread looks for changes while there is any panel.

    Args:
        shell: The shell; one without comms (a terminal) has no panels.
        context: The magics' state.
    """

    def __init__(self, shell: InteractiveShell, context: Context) -> None:
        self._shell, self._context = shell, context
        self._manager: Any = getattr(getattr(shell, "kernel", None), "comm_manager", None)
        self._comms: list[Any] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._look = threading.Event()  # set: look now
        self._thread: threading.Thread | None = None

    def install(self) -> None:
        """Answer panels; starts nothing before one comes."""
        if self._manager is not None:
            self._manager.register_target(TARGET, self._opened)

    def remove(self) -> None:
        """Say good-bye to the panels. Idempotent."""
        if self._manager is not None:
            self._manager.targets.pop(TARGET, None)
        self._ended.set()
        self._look.set()
        with self._lock:
            comms, self._comms = self._comms, []
        for comm in comms:
            comm.close()

    # -- what browsers say: on the main thread, or on a subshell's ---------------------------------------------------
    def _opened(self, comm: Any, _: Mapping[str, Any]) -> None:
        _let_through(comm)
        comm.on_msg(lambda message: self._heard(comm, message["content"].get("data") or {}))
        comm.on_close(lambda _: self._closed(comm))
        comm.send(self._state())
        with self._lock:
            self._comms.append(comm)
            forgotten = self._comms[:-MAX_PANELS]
            del self._comms[:-MAX_PANELS]
            if self._thread is None:
                self._thread = daemon(self._follow, name="panel")
                self._thread.start()
        self._look.set()
        for old in forgotten:
            old.close()

    def _heard(self, comm: Any, request: Mapping[str, Any]) -> None:
        try:
            match request.get("do"):
                case "show":
                    comm.send(self._state())
                case "answer":
                    comm.send({"answer": _panel.answer(self._context, str(request.get("turn")))})
                case "stop":
                    self._stop(str(request.get("turn")))
                case other:
                    raise UsageError(
                        f"This kernel's hermes_nb ({__version__}) does not know the request {other!r}. Reload the page; if"
                        " that does not help, upgrade hermes-nb where the kernel runs."
                    )
        except HermesNbError as exc:
            comm.send({"error": str(exc)})
        self._look.set()

    def _closed(self, comm: Any) -> None:
        with self._lock:
            if comm in self._comms:
                self._comms.remove(comm)

    def _stop(self, turn_id: str) -> None:
        for turn in self._context.running:  # one that has ended is no mistake: the next message shows so
            if turn.id == turn_id:
                turn.stop("user")

    # -- what the kernel says: on a thread of its own ----------------------------------------------------------------
    def _follow(self) -> None:
        before = ""
        while not self._ended.is_set():
            self._look.clear()
            seen = self._seen()
            if seen != before:
                before = seen
                state = self._state()
                with self._lock:
                    comms = list(self._comms)
                for comm in comms:
                    comm.send(state)
            self._look.wait(LOOK_S if self._comms else None)

    def _seen(self) -> str:
        """What differs when something else is to be shown: cheap, unlike the whole state."""
        try:
            hermes = self._context.opened_hermes
            n_turns = 0 if hermes is None else len(hermes.turns)
            return json.dumps([_panel.now(self._context), n_turns, hermes is None, self._shell.execution_count])
        except Exception as exc:  # noqa: BLE001 - a cell may be changing what is looked at; the state says it if it lasts
            return repr(exc)

    def _state(self) -> dict[str, Any]:
        try:
            return _panel.state(self._context)
        except Exception as exc:  # noqa: BLE001 - a fault must be seen in the panel, and must not end the following
            return {"error": str(exc) if isinstance(exc, HermesNbError) else f"Internal error: {exc!r}"}


def _let_through(comm: Any) -> None:
    """Let messages of the browser be heard while a cell blocks the kernel.

    ipykernel 7.4 sends them to the shell that sent last, which may be the busy one (`_reply_subshell_for` of its Comm, a
    private name); 7.1 to 7.3 do without this.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, default=None: default
