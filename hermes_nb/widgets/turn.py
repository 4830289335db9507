"""One turn in a cell, as a widget: what `%%hermes run` shows where a browser draws it.

No front end says whether it has widgets. So the first output holds both, and whether a browser answers decides: if one
does, events go to the widget; if none does in time, the same output goes on as Markdown. What stays in the notebook's
file is the static form, which JupyterLab and Notebook write in the widget's place; elsewhere it replaces the widget.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import UsageError
from hermes_nb.host.client import is_headless, replaces_outputs
from hermes_nb.host.execution.timer import Timer
from hermes_nb.host.output.bandwidth import Bandwidth
from hermes_nb.host.output.display_sink import WAITING, DisplaySink, KernelOutlet
from hermes_nb.host.output.traceback_view import TRACEBACK
from hermes_nb.model.event import Event
from hermes_nb.widgets import _action
from hermes_nb.widgets._channel import WidgetChannel
from hermes_nb.widgets._comm import load, view_bundle
from hermes_nb.widgets._output_slot import CellOutlet, OutputSlot, kernel_timer
from hermes_nb.widgets._picture import is_picture_alone, picture
from hermes_nb.widgets._turn_model import TurnModel

if TYPE_CHECKING:
    from hermes_nb.api.turn import Turn
    from hermes_nb.widgets.promote import Promotion

BEAT_S = 1.0
GRACE_S = 4.0  # how long a browser has to say that it draws widgets
N_ASKED = 2  # times a client that does not answer is asked; the first answer may be slow
KEEP_S = 2.0  # and, at the end, that it writes the static form itself
PREPARE_AFTER_S = 0.4  # after the first agent is asked for, until what widgets need is loaded


class TurnSink:
    """Draws turns into a cell: one, and those that are asked again in its place.

    Args:
        outlet: Where display messages go.
        timer: Runs what is sent later.
        budget: Shared by the turns of one kernel.
        clock: Returns seconds; monotonic.
        on_decided: Told whether a browser answered.
        on_again: Told of a turn that takes another's place: the old one, the new one.
        grace_s: How long a browser has to answer.
        late: Runs what comes after a turn's end, when `timer` may have ended with its Hermes; None means `timer`.
    """

    def __init__(
        self,
        outlet: CellOutlet,
        timer: Timer,
        budget: Bandwidth,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_decided: Callable[[bool], None] | None = None,
        on_again: Callable[[Turn, Turn], None] | None = None,
        grace_s: float = GRACE_S,
        late: Timer | None = None,
    ) -> None:
        self._late = late or timer
        self._outlet, self._timer, self._budget, self._clock = outlet, timer, budget, clock
        self._on_decided, self._on_again, self._grace_s = on_decided, on_again, grace_s
        self._turn: Turn | None = None
        self._pane = TurnModel()
        self._early: list[Event] = []  # until it is decided, for the Markdown
        self._plain: DisplaySink | None = None
        self._bundle: Mapping[str, str] | None = None
        self._is_kept = self._is_finished = False
        self._n_views = 0
        self._promotion: Promotion | None = None
        self._display_id = uuid.uuid4().hex
        self._line = WidgetChannel("turn", self._hear, timer, clock=clock, n_open=lambda: budget.n_open)
        self._lock = self._line.lock
        budget.open()
        self._show(WAITING, update=False)
        self._late.call_later(grace_s, self._give_up)
        self._beat()

    @property
    def has_buttons(self) -> bool:
        """Whether a browser shows it, or may still."""
        return self._plain is None and (not self._line.is_open or self._n_views > 0)

    def _show(self, text: str, *, update: bool) -> None:
        bundle = {"text/markdown": text, **view_bundle(self._line.view)}
        self._outlet.send(bundle, display_id=self._display_id, update=update)

    # -- the turn ------------------------------------------------------------------------------------------------
    def attach(self, turn: Turn) -> None:
        """Show that turn from now on."""
        with self._lock:
            before, self._turn = self._turn, turn
            self._pane = TurnModel(turn.id, prompt=turn.prompt, agent=turn.agent_name)
            if before is not None:
                self._is_finished, self._bundle = False, None
                self._budget.open()
                self._beat()
                if self._on_again is not None:
                    self._on_again(before, turn)
            self._tell_all()

    def feed(self, event: Event) -> None:
        """Take an event; the browser is told soon."""
        self._pane.feed(event)
        if self._line.is_open:
            self._line.changed(self._pane)
            return
        with self._lock:
            if self._plain is not None:
                self._plain.feed(event)
            elif not self._line.is_open:
                self._early.append(event)

    def on_display(self, call_id: str, data: Mapping[str, Any]) -> bool:
        """Show what a tool displays in its row; in its row alone where it is nothing but a picture."""
        if TRACEBACK in data:
            if self._plain is None:
                self._pane.add_traceback(call_id, str(data[TRACEBACK]))
                self._line.changed(self._pane)
            return False
        uri = picture(data)
        if uri is None or self._plain is not None or not self._pane.add_picture(call_id, uri):
            return False
        self._line.changed(self._pane)
        return self.is_in_place() and is_picture_alone(data)

    def is_in_place(self) -> bool:
        """Whether rows show what tools print: a browser shows them."""
        return self._plain is None and self._line.is_open

    def show_again(self) -> None:
        """Show what was shown: a tool has cleared the cell."""
        with self._lock:
            if self._plain is not None:
                self._plain.show_again()
            elif not self._is_finished:
                self._display_id = uuid.uuid4().hex
                self._show(WAITING, update=False)

    def finish(self, bundle: Mapping[str, str]) -> None:
        """Put the final form in place, or give it to the browser that keeps it."""
        with self._lock:
            if self._is_finished:
                return
            self._is_finished = True
            self._budget.close()
            bundle = self._pane.bundle() or bundle
            if self._plain is not None:
                self._plain.finish(bundle)
                return
            self._bundle, self._early = bundle, []
            if self._line.view is None:
                return
            if self._line.is_open:
                self._line.changed(self._pane)
                self._line.flush()
                self._line.view.static = dict(bundle)
                self._late.call_later(0 if not self._n_views else KEEP_S, self._leave_static)
            else:  # shown at once where there are no widgets; where there are, the widget comes
                both = {**bundle, **view_bundle(self._line.view)}
                self._outlet.send(both, display_id=self._display_id, update=True)

    def _give_up(self) -> None:
        """No browser has answered in time: the same output goes on without a widget."""
        with self._lock:
            if self._line.is_open or self._plain is not None or self._line.view is None:
                return
            if self._on_decided is not None:
                self._on_decided(False)
            self._line.close()
            self._plain = DisplaySink(self._outlet, self._timer, self._budget, self._clock, display_id=self._display_id)
            if self._bundle is not None:
                self._plain.finish(self._bundle)
                return
            self._budget.close()  # the other sink counts itself
            early, self._early = self._early, []
            for event in early:
                self._plain.feed(event)

    def _leave_static(self) -> None:
        """Replace the widget where the front end does not write the static form itself."""
        with self._lock:
            if self._is_kept or not self._is_finished or self._bundle is None or self._line.view is None:
                return
            self._outlet.send(self._bundle, display_id=self._display_id, update=True)
            self._line.close()

    # -- the browser ---------------------------------------------------------------------------------------------
    def _hear(self, message: dict[str, Any]) -> None:
        kind = message.get("t")
        if kind == "ready":
            self._on_ready(keeps=bool(message.get("keeps")))
        elif kind == "gone":
            self._n_views = max(0, self._n_views - 1)
        elif kind == "detail":
            name = str(message.get("k"))
            self._line.tell({"t": "detail", "turn": self._pane.turn_id, "k": name, "detail": self._pane.detail(name)})
        elif kind == "do":
            self._act(message)

    def _on_ready(self, *, keeps: bool) -> None:
        with self._lock:
            if self._line.view is None:
                return
            is_first, self._line.is_open = not self._line.is_open, True
            self._n_views += 1
            self._is_kept = self._is_kept or keeps
            self._early = []
            self._tell_all()
            if self._bundle is not None:
                self._line.view.static = dict(self._bundle)
                self._late.call_later(KEEP_S, self._leave_static)
        if is_first and self._on_decided is not None:
            self._on_decided(True)

    def _act(self, message: dict[str, Any]) -> None:
        turn = self._turn
        if turn is None:
            return
        is_mine = message.get("turn") in (None, turn.id)
        is_done, text = (
            _action.act(turn, message, sink=self, promote=self._promote)
            if is_mine
            else (False, "That turn is no longer shown here.")
        )
        if message.get("do") == "stop" and not turn.is_done:
            self._pane.is_stopping = True
            self._line.changed(self._pane)
        self._line.tell({"t": "said", "n": message.get("n"), "ok": is_done, "text": text})

    def _promote(self, turn: Turn) -> None:
        """Open the form below the turn; a second click, or one in another view, brings the same one into sight."""
        from hermes_nb.widgets.promote import promotion  # not before it is asked for: a turn waits for these imports

        with self._lock:
            if not _action.can_promote(turn):
                raise UsageError("Flyte is not installed here, or the turn ran there.")
            if self._promotion is None or not self._promotion.sheet.is_shown:
                self._promotion = promotion(turn.agent, prompt=turn.prompt, is_open=True, is_aside=True)
                self._promotion.show_in(OutputSlot(self._outlet))
            self._promotion.seek()

    def _tell_all(self) -> None:
        may_promote = self._turn is not None and _action.can_promote(self._turn)
        self._line.tell({"t": "all", "turns": [self._pane.whole()], "may_promote": may_promote})

    def _beat(self) -> None:
        """A sign of life while a turn runs: what runs in the browser counts on, and a dead kernel shows."""
        if self._is_finished or self._plain is not None:
            return
        self._line.tell({"t": "beat"})
        self._timer.call_later(BEAT_S, self._beat)


class Stage:
    """Makes the places of one kernel's turns.

    Args:
        late: Runs what comes after a turn's end; None means a timer that lives as long as the kernel.

    Attributes:
        on_again: Told of a turn that takes another's place.
    """

    def __init__(self, late: Timer | None = None) -> None:
        self._late = late
        self.on_again: Callable[[Turn, Turn], None] | None = None
        self._n_silent: dict[str, int] = {}  # how often a client, by its session, has not answered

    def prepare(self, parent: Mapping[str, Any]) -> None:
        """Load what widgets need while an agent comes up, where the asking client may draw them: 0.4 s less at first.

        A moment later than the agent's worker starts: that is what an answer waits for.
        """
        if replaces_outputs(parent) and not is_headless(parent):
            timer = threading.Timer(PREPARE_AFTER_S, load)
            timer.name, timer.daemon = "hermes-nb-widgets", True
            timer.start()

    def __call__(self, outlet: KernelOutlet, parent: Mapping[str, Any], timer: Timer, budget: Bandwidth) -> TurnSink | None:
        """A place in the cell that asked; None where its client draws no widgets: it was asked twice."""
        client = str((parent.get("header") or {}).get("session", ""))
        if self._n_silent.get(client, 0) >= N_ASKED:
            return None

        def decided(draws: bool) -> None:
            self._n_silent[client] = 0 if draws else self._n_silent.get(client, 0) + 1

        return TurnSink(outlet, timer, budget, on_decided=decided, on_again=self.on_again, late=self._late or kernel_timer())
