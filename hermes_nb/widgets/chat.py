"""A conversation in one output: `bound.chat_widget()`, `%hermes chat`.

Turns are the agent's own: what is written here is submitted as by `%%hermes run --background`, in the cell that shows the
chat, so that tools print and plot below it. What runs elsewhere in the same session shows, too.
"""

from __future__ import annotations

import concurrent.futures
import contextvars
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb._near import suggesting_methods
from hermes_nb._require import require
from hermes_nb.api._session_choice import session_of
from hermes_nb.errors import HermesNbError
from hermes_nb.host.execution.timer import Timer
from hermes_nb.host.output.traceback_view import TRACEBACK
from hermes_nb.model.event import Event
from hermes_nb.turns.request import TurnRequest
from hermes_nb.widgets import _action
from hermes_nb.widgets._channel import WidgetChannel
from hermes_nb.widgets._comm import WHY, view_bundle
from hermes_nb.widgets._history import History
from hermes_nb.widgets._output_slot import OutputSlot, place
from hermes_nb.widgets._picture import is_picture_alone, picture
from hermes_nb.widgets._transcript import transcript
from hermes_nb.widgets._turn_model import TurnModel

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.turn import Turn
    from hermes_nb.widgets.timeline import Timeline

N_TURNS = 20  # shown at first; earlier ones on demand
N_SESSIONS = 50
FOLLOW_S = 0.5  # how often what other kernels do in the session is looked for
BEAT_S = 1.0


@suggesting_methods
class Chat:
    """A conversation with an agent. As the last line of a cell it shows itself.

    What is saved with the notebook is its transcript as HTML and text.

    Args:
        bound: The agent.
        session_id: The conversation; None continues the agent's own, or starts one.

    Raises:
        MissingPackageError: The extra `widgets` is not installed.
        SessionNotFoundError: No such session.
        UsageError: The session belongs to another agent.
    """

    def __init__(self, bound: BoundAgent, *, session_id: str | None = None) -> None:
        self.bound = bound
        self._timer = Timer()
        self._context = contextvars.copy_context()
        self._turns: dict[str, Turn] = {}
        self._n_shown = N_TURNS
        self._n_views = 0
        self._is_beating = False
        self._timeline: Timeline | None = None
        self._following: concurrent.futures.Future[None] | None = None
        self._place: OutputSlot | None = None
        self._line = WidgetChannel("chat", self._hear, self._timer, n_open=self._n_running)
        self._history = History(bound.name)
        self._box: Any = None
        self.session_id = ""
        self._open(bound.hermes.io.call(session_of(bound, session_id)).id)

    def __repr__(self) -> str:
        return f"<Chat with {self.bound.name!r}: session {self.session_id}, {len(self._history.panes)} turns>"

    # -- showing -------------------------------------------------------------------------------------------------
    @property
    def widget(self) -> Any:
        """The widget, to be put beside others."""
        if self._box is None:
            widgets = require("ipywidgets", why=WHY)
            layout = widgets.Layout(display="flex", flex_flow="row wrap", align_items="flex-start", width="100%")
            self._line.view.layout = widgets.Layout(flex="1 1 420px", min_width="0")
            self._box = widgets.Box([self._line.view], layout=layout)
            self._line.view.shown_as = self._box.model_id
        return self._box

    def bundle(self) -> dict[str, str]:
        """The transcript by MIME type: text/html, text/markdown and text/plain, without script."""
        return transcript(self._history.last(self._n_shown), agent=self.bound.name)

    def show(self) -> None:
        """Show it in the running cell: as a widget in a notebook, as its transcript elsewhere."""
        here = place()
        self._context = contextvars.copy_context()
        if here is None:
            print(self.bundle()["text/plain"])
        elif not here.can_update or here.is_headless:
            here.show(self.bundle())
        else:
            self._place = here
            here.show({**self.bundle(), **view_bundle(self.widget)})

    def _ipython_display_(self) -> None:
        self.show()

    def close(self) -> None:
        """Put the transcript in the widget's place and follow no longer; turns that run go on."""
        if self._following is not None:
            self._following.cancel()
        if self._timeline is not None:
            self._timeline.close()
        self._timer.close()
        if self._place is not None:
            self._place.replace(self.bundle())
            self._place = None
        self._line.close()
        if self._box is not None:
            self._box.close()

    # -- the conversation ----------------------------------------------------------------------------------------
    def send(self, text: str, *, steer: bool = False) -> Turn:
        """Ask; behind what runs, or with `steer` into it. Any thread.

        Raises:
            UsageError: The text is empty.
        """
        return self._context.copy().run(self._submit, text, steer)

    def open(self, session_id: str | None) -> None:
        """Go on with another conversation of this agent; None starts a new one.

        Raises:
            SessionNotFoundError: No such session.
            UsageError: It belongs to another agent.
        """
        hermes = self.bound.hermes
        if session_id is None:
            self.bound.session_id = hermes.io.call(hermes.conversations.new_session(self.bound.name, "")).id
            session_id = self.bound.session_id
        self._open(hermes.io.call(session_of(self.bound, session_id)).id)

    def _submit(self, text: str, steer: bool) -> Turn:
        running = self._running()
        if steer and running is not None:
            running.put_in(text)
            return running
        return self.bound.submit(TurnRequest(prompt=text, session_id=self.session_id, background=True, sink=_ChatSink(self)))

    def _open(self, session_id: str) -> None:
        if session_id == self.session_id:
            return
        if self._following is not None:
            self._following.cancel()
        hermes = self.bound.hermes
        self.session_id = self.bound.session_id = session_id
        self._history, self._n_shown = History(self.bound.name, hermes.io.call(self._stored(session_id))), N_TURNS
        for turn in list(hermes.turns):
            if turn.session_id == session_id and not turn.is_done:
                self._turns[turn.id] = turn
                for event in turn.events:  # what is not stored yet
                    self._history.feed(event)
        self._following = hermes.io.submit(self._follow(session_id))
        if self._timeline is not None:
            self._show_timeline(True)
        self._tell_all()
        self._keep_soon()

    async def _stored(self, session_id: str) -> list[Event]:
        return await (await self.bound.hermes.conversations.opened_store()).events(session_id)

    async def _follow(self, session_id: str) -> None:
        store = await self.bound.hermes.conversations.opened_store()
        async for event in store.follow(session_id, poll_s=FOLLOW_S):
            if event.turn_id not in self._turns:
                self._take(event)

    def _take(self, event: Event) -> None:
        """An event of a turn of this session."""
        if event.session_id != self.session_id:
            return
        with self._line.lock:
            made = self._history.feed(event)
            if event.kind == "turn.started" and event.data.get("replaces"):
                self._tell_all()
            elif made is not None:
                self._line.tell({"t": "turn", "turn": made.whole()})
        self._line.changed(self._history.panes[event.turn_id])
        if event.is_turn_end:
            self._keep_soon()

    def _begin(self, turn: Turn) -> TurnModel:
        """A turn of this chat was submitted."""
        pane = TurnModel(turn.id, prompt=turn.prompt, agent=turn.agent_name)
        pane.is_queued = self._running() is not None
        with self._line.lock:
            self._turns[turn.id] = turn
            self._history.add(pane)
            self._line.tell({"t": "turn", "turn": pane.whole()})
        self._tell_chat()
        if not self._is_beating:
            self._is_beating = True
            self._beat()
        return pane

    def _running(self) -> Turn | None:
        turns = (t for t in self._turns.values() if t.session_id == self.session_id and not t.is_done)
        return next(turns, None)

    def _n_running(self) -> int:
        return sum(not turn.is_done for turn in self._turns.values())

    # -- the browser ---------------------------------------------------------------------------------------------
    def _hear(self, message: dict[str, Any]) -> None:
        kind = message.get("t")
        if kind == "ready":
            self._n_views += 1
            self._line.is_open = True
            self._tell_all()
            self._keep_soon()
        elif kind == "gone":
            self._n_views = max(0, self._n_views - 1)
        elif kind == "detail":
            turn_id, name = str(message.get("turn")), str(message.get("k"))
            pane = self._history.panes.get(turn_id)
            detail = None if pane is None else pane.detail(name)
            self._line.tell({"t": "detail", "turn": turn_id, "k": name, "detail": detail})
        elif kind == "do":
            is_done, text = self._act(message)
            self._line.tell({"t": "said", "n": message.get("n"), "ok": is_done, "text": text})

    def _act(self, message: dict[str, Any]) -> tuple[bool, str]:
        what = message.get("do")
        try:
            if what == "send":
                self.send(str(message.get("text") or ""), steer=bool(message.get("steer")))
                return True, ""
            if what == "open":
                self.open(str(message["session"]) if message.get("session") else None)
                return True, ""
            if what == "more":
                self._n_shown += N_TURNS
                self._tell_all()
                return True, ""
            if what == "timeline":
                self._show_timeline(bool(message.get("shown")))
                return True, ""
        except (HermesNbError, RuntimeError) as exc:
            return False, str(exc)
        return self._act_on_turn(message)

    def _act_on_turn(self, message: dict[str, Any]) -> tuple[bool, str]:
        turn_id, what = str(message.get("turn")), message.get("do")
        turn = self._turns.get(turn_id)
        if what == "fork":
            hermes = self.bound.hermes
            try:
                made = hermes.io.call(hermes.conversations.fork(self.session_id, agent=self.bound.name, at=turn_id))
                self.open(made.id)
            except (HermesNbError, RuntimeError) as exc:
                return False, str(exc)
            return True, f"Session {made.id} goes on from here."
        if turn is None:
            return False, "That turn runs in another kernel, or no longer."
        done = _action.act(turn, message, sink=_ChatSink(self))
        if what == "stop" and not turn.is_done:
            pane = self._history.panes[turn_id]
            pane.is_stopping = True
            self._line.changed(pane)
        return done

    def _tell_all(self) -> None:
        panes = self._history.last(self._n_shown)
        self._line.tell({"t": "all", "turns": [pane.whole() for pane in panes], "chat": self._chat()})

    def _tell_chat(self) -> None:
        self._line.tell({"t": "chat", "chat": self._chat()})

    def _chat(self) -> dict[str, Any]:
        hermes = self.bound.hermes
        told: dict[str, Any] = {
            "agent": self.bound.name,
            "model": self.bound.model.id,
            "session": self.session_id,
            "n_earlier": max(0, len(self._history.panes) - self._n_shown),
            "running": self._n_running() > 0,
            "timeline": self._timeline is not None,
        }
        if not hermes.io.is_here and not hermes.io.is_closed:  # there the list of sessions can't be waited for
            rows = hermes.sessions(limit=N_SESSIONS, agent=self.bound.name)
            known = {row.session_id: f"{row.title or row.session_id} ({row.n_turns})" for row in rows}
            known.setdefault(self.session_id, "New conversation")
            told["sessions"] = [[key, title] for key, title in known.items()]
        return told

    def _show_timeline(self, is_shown: bool) -> None:
        if self._timeline is not None:
            self._timeline.close()
            self._timeline = None
        view = self._line.view
        if view is None:
            return
        children = [view]
        if is_shown:
            from hermes_nb.widgets.follow import add_session
            from hermes_nb.widgets.timeline import Timeline

            self._timeline = Timeline()
            add_session(self._timeline, self.bound.hermes, self.session_id, live=True)
            beside = self._timeline.widget
            beside.layout.flex, beside.layout.min_width = "1 1 420px", "0"
            children.append(beside)
        self.widget.children = children
        self._tell_chat()

    def _keep_soon(self) -> None:
        """Give the browser what it writes into the notebook in the widget's place."""
        self._timer.call_later(0, self._keep)

    def _keep(self) -> None:
        with self._line.lock:
            if self._line.view is not None and self._line.is_open:
                self._line.view.static = self.bundle()
        self._tell_chat()

    def _beat(self) -> None:
        self._is_beating = self._n_running() > 0
        if self._is_beating:
            self._line.tell({"t": "beat"})
            self._timer.call_later(BEAT_S, self._beat)


class _ChatSink:
    """Where one turn of a chat shows."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._pane: TurnModel | None = None

    @property
    def has_buttons(self) -> bool:
        """Whether a browser shows the chat."""
        return self._chat._n_views > 0

    def attach(self, turn: Turn) -> None:
        """Show that turn."""
        self._pane = self._chat._begin(turn)

    def feed(self, event: Event) -> None:
        """Take an event."""
        self._chat._take(event)

    def on_display(self, call_id: str, data: Mapping[str, Any]) -> bool:
        """Show what a tool displays in its row; in its row alone where it is nothing but a picture."""
        if TRACEBACK in data:
            if self._pane is not None:
                self._pane.add_traceback(call_id, str(data[TRACEBACK]))
                self._chat._line.changed(self._pane)
            return False
        uri = picture(data)
        if uri is None or self._pane is None or not self._pane.add_picture(call_id, uri):
            return False
        self._chat._line.changed(self._pane)
        return self.has_buttons and is_picture_alone(data)

    def is_in_place(self) -> bool:
        """Whether rows show what tools print."""
        return self.has_buttons

    def finish(self, bundle: Mapping[str, str]) -> None:
        """The turn is over and stored; its events have said all."""
        self._chat._keep_soon()
