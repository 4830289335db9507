"""One instance's worker as sessions see it: started when needed, replaced when it dies, its messages handed to turns.

Lives on the IO loop. What a worker is and how it runs is `hermes_nb.runtimes`' job; what happens inside, the engine's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from hermes_nb.errors import ModelError, UsageError, WorkerDiedError, WorkerError, WorkerStartError
from hermes_nb.model.capability import lacking
from hermes_nb.model.event import Event
from hermes_nb.model.identifier import new_id
from hermes_nb.model.notice import Notices
from hermes_nb.model.sentence import join
from hermes_nb.runtimes._base import Runtime, ToolRuntime, WorkerConnection, WorkerFiles, label_of, shares_disk
from hermes_nb.workers import wire_journal
from hermes_nb.workers.journal import of_turn
from hermes_nb.workers.state_dir import InstanceDir

if TYPE_CHECKING:
    from hermes_nb.model import message as wire
    from hermes_nb.model.message_part import AgentTold, Json, KeptTold
    from hermes_nb.model.message_sender import SendToWorker

WARM_UP_AFTER_S = 0.5  # idle time after binding before the worker warms itself up; a run at once is never behind it
BIND_TIMEOUT_S = 60.0
STEER_TIMEOUT_S = 5.0
MOST_NAMED = 4  # of the variables that changed


class TurnPort(Protocol):
    """What a running turn hears from its worker."""

    id: str

    def on_event(self, event: Event) -> None:
        """One event, committed by the worker."""

    def on_tool_call(self, message: wire.ToolCalled) -> None:
        """The model asks for a tool of the notebook."""

    def on_budget(self, message: wire.BudgetAsked | wire.BudgetDone) -> None:
        """A model call under a shared limit is to begin, or is over."""

    def on_done(self, message: wire.TurnDone) -> None:
        """The turn's end."""

    def on_worker_end(self, error: WorkerError) -> None:
        """The worker ended before the turn did."""


class BoundTo(Protocol):
    """The agent of a turn, as its worker needs it.

    Attributes:
        agent_id: Its id in the worker.
        notices: What has to be said with its next turn.
    """

    agent_id: str
    notices: Notices


class WorkerClient:
    """A worker process and what is bound in it.

    Args:
        runtime: Where it runs.
        folder: Its instance's files.
        working_dir: Where its file and terminal tools start.
        on_warning: Hears what is odd but survivable (unknown messages, malformed lines).
        agent_of: Gives the bound agent of an id, for a runtime to which its functions travel.
    """

    def __init__(
        self,
        runtime: Runtime,
        folder: InstanceDir,
        working_dir: Any,
        on_warning: Callable[[str], None],
        *,
        agent_of: Callable[[str], Any],
    ) -> None:
        self._runtime, self.folder, self._working_dir = runtime, folder, working_dir
        self._agent_of = agent_of
        self._on_warning = on_warning
        self._connection: WorkerConnection | None = None
        self._starting = asyncio.Lock()
        self._opening: asyncio.Task[WorkerConnection] | None = None
        self._agents: dict[str, AgentTold] = {}
        self._bound: dict[str, asyncio.Future[wire.BoundKeys]] = {}
        self._turns: dict[str, TurnPort] = {}
        self._steers: dict[str, asyncio.Future[bool]] = {}
        self._is_ready = False
        self._is_warm = False
        self._is_condemned = False
        self._is_dying = False
        self._gone = asyncio.Event()
        self._is_closing = False
        self._fatal = ""
        self._n_starts = 0
        self._coming: set[str] = set()  # turns that are about to start
        self._variables: dict[str, str] | None = None
        self._news: list[str] = []
        self.versions: wire.ReadyKeys | None = None
        self.lacks: frozenset[str] = frozenset()  # capabilities that its engine has not, once it has told
        self.engine: wire.EngineFoundKeys | None = None
        self.progress: list[str] = []
        self._on_progress: list[Callable[[str], None]] = []

    # -- life ----------------------------------------------------------------------------------------------------
    @property
    def has_own_tools(self) -> bool:
        """Whether tools run over there, each turn with a journal of its own, instead of in this process."""
        return isinstance(self._runtime, ToolRuntime)

    @property
    def runtime_label(self) -> Json:
        """What a turn's first event says of the runtime, so that a resume finds it again; {} where its name is enough."""
        return label_of(self._runtime)

    async def kept_steps(self, turn_id: str) -> KeptTold | None:
        """What `turn.start` says of a turn's earlier attempts; None where the worker has the journal itself."""
        is_here = self.has_own_tools or shares_disk(self._runtime)
        return None if is_here else await asyncio.to_thread(wire_journal.told, turn_id, self.folder.journal)

    def journal_of(self, turn_id: str) -> Path:
        """The journal from which a turn continues."""
        return of_turn(self.folder.journal, turn_id) if self.has_own_tools else self.folder.journal

    @property
    def pid(self) -> int | None:
        """Process id of the running worker; None when there is none."""
        return None if self._connection is None else self._connection.pid

    @property
    def is_ready(self) -> bool:
        """Whether Hermes is imported and the worker answers."""
        return self._is_ready

    async def ensure(self) -> WorkerConnection:
        """The connection, of a new worker when there was none or the last one died.

        Raises:
            WorkerStartError: It could not be started.
            WorkerDiedError: Its instance is closed.
        """
        async with self._starting:
            if self._is_closing:
                raise WorkerDiedError("The instance is closed. Bind the agent again to run it.")
            if self._is_dying:
                await self._gone.wait()
            if self._connection is None:
                self._gone.clear()
                self._is_ready, self._is_warm, self._fatal = False, False, ""
                self._n_starts += 1
                self._variables = self._variables_now()
                place = WorkerFiles(
                    producer=new_id("w"),
                    home=self.folder.home,
                    journal=self.folder.journal,
                    log=self.folder.log,
                    working_dir=self._working_dir,
                    shares_disk=shares_disk(self._runtime),
                )
                self._connection = await self._opened(place)
                for agent_id in self._agents:
                    self._send_bind(agent_id)
            return self._connection

    async def _opened(self, place: WorkerFiles) -> WorkerConnection:
        on_message, on_end, attach = wire_journal.between(place, self._on_message, self._on_end)
        if isinstance(self._runtime, ToolRuntime):
            opening = self._runtime.open_for(self._agent_of, place, on_message=on_message, on_end=on_end)
        else:
            opening = self._runtime.open(place, on_message=on_message, on_end=on_end)
        self._opening = asyncio.get_running_loop().create_task(opening)
        try:
            return attach(await self._opening)
        except asyncio.CancelledError:
            attach(None)
            if not self._is_closing:
                raise
            raise WorkerDiedError("The instance is closed. Bind the agent again to run it.") from None
        finally:
            self._opening = None

    def give_up(self) -> None:
        """Wait no longer for a worker that is being started; any thread, with the loop running. `close` comes next."""
        self._is_closing = True
        opening = self._opening
        if opening is not None:
            opening.get_loop().call_soon_threadsafe(opening.cancel)

    # -- environment -----------------------------------------------------------------------------------------------
    def _variables_now(self) -> dict[str, str] | None:
        """The environment of a worker that is started now; None where the runtime can't tell."""
        read = getattr(self._runtime, "worker_variables", None)
        return None if read is None else dict(read())

    async def renew(self, turn_id: str | None = None) -> None:
        """Replace a worker that has variables of another value than the notebook, e.g. SSL_CERT_FILE or a proxy.

        One in which another turn than `turn_id` runs, or is about to, is replaced after that. The next turn says so.
        """
        async with self._starting:
            try:
                await self._renew()
            finally:
                if turn_id is not None:
                    self._coming.add(turn_id)  # from here on the worker stays until that turn has ended

    async def _renew(self) -> None:
        old, new = self._variables, self._variables_now()
        if self._connection is None or old is None or new is None or old == new:
            return
        self._variables = new
        changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        names = ", ".join(changed[:MOST_NAMED]) + (" and others" if len(changed) > MOST_NAMED else "")
        if self._turns or self._coming:
            self._is_condemned = True
            self._news.append(f"{names} changed while a turn runs; a new worker takes over when it has ended.")
            return
        self._news.append(f"{names} changed: a new worker was started with it. Sessions go on.")
        await self._connection.close()

    def _end_condemned(self) -> None:
        if self._is_condemned and not self._turns and not self._coming:
            self.kill()

    def _on_end(self, reason: str) -> None:
        was_ready, self._connection, self._is_ready = self._is_ready, None, False
        self._is_condemned = self._is_dying = False
        self._gone.set()
        turns, self._turns = list(self._turns.values()), {}
        error = self._end_error(reason, was_ready)
        waiting: list[asyncio.Future[Any]] = [*self._bound.values(), *self._steers.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # somebody may wait for it or not
        self._steers.clear()
        for turn in turns:
            turn.on_worker_end(error)

    def _end_error(self, reason: str, was_ready: bool) -> WorkerError:
        tail = self.folder.log_tail()
        more = f"\nThe end of its log ({self.folder.log}):\n{tail}" if tail and not self._is_closing else ""
        said = f": {self._fatal}" if self._fatal else ""
        if was_ready:
            return WorkerDiedError(f"The worker that runs Hermes ended ({reason}{said}). The next run starts a new one.")
        return WorkerStartError(f"The worker that runs Hermes did not come up ({reason}{said}).{more}")

    def kill(self) -> None:
        """End the worker at once."""
        if self._connection is not None:
            self._is_dying = True
            self._connection.kill()

    async def close(self) -> None:
        """End the worker and everything it started."""
        self._is_closing = True
        async with self._starting:
            if self._connection is not None:
                await self._connection.close()
        self.folder.release()

    def replace(self) -> None:
        """End a worker that no longer answers: at once when no other turn runs in it, else after the last one."""
        if self._connection is None:
            return
        if self._turns:
            self._is_condemned = True
        else:
            self.kill()

    def move(self, folder: InstanceDir) -> None:
        """Go on in another folder; a worker that has files in the old one is replaced."""
        self.folder.release()
        self.folder = folder
        self.replace()

    # -- binding -------------------------------------------------------------------------------------------------
    def bind(self, agent_id: str, profile: AgentTold) -> None:
        """Bind an agent (again); its outcome is what `bound` gives."""
        self._agents[agent_id] = profile
        if self._connection is not None:
            self._send_bind(agent_id)

    def _send_bind(self, agent_id: str) -> None:
        assert self._connection is not None
        old = self._bound.get(agent_id)
        if old is None or old.done():
            self._bound[agent_id] = asyncio.get_running_loop().create_future()
        self._connection.send("bind", agent_id=agent_id, agent=self._agents[agent_id])

    def unbind(self, agent_id: str) -> None:
        """Forget an agent."""
        self._bound.pop(agent_id, None)
        if self._agents.pop(agent_id, None) is not None and self._connection is not None:
            self._connection.send("unbind", agent_id=agent_id)

    async def bound_for(
        self, turn_id: str, agent: BoundTo, on_progress: Callable[[str], None] | None = None
    ) -> wire.BoundKeys:
        """`bound`, of a worker that has the variables as they are now, and that stays until the turn has ended."""
        await self.renew(turn_id)
        while self._news:
            agent.notices.add("environment", self._news.pop(0))
        return await self.bound(agent.agent_id, on_progress)

    async def bound(
        self, agent_id: str, on_progress: Callable[[str], None] | None = None, *, timeout_s: float | None = None
    ) -> wire.BoundKeys:
        """What the worker says of a bound agent, when it is.

        Args:
            agent_id: The agent.
            on_progress: Called with each line about an engine environment that is made meanwhile, and with the last one
                that was told before.
            timeout_s: How long it may take to bind, once it is up; None means 60.

        Raises:
            WorkerError: The worker did not come up.
            UsageError: The agent can't be bound; the message says why.
        """
        if on_progress is None:
            await self.ensure()
        else:
            if self._connection is None and self.progress:
                on_progress(self.progress[-1])
            self._on_progress.append(on_progress)
            try:
                await self.ensure()
            finally:
                self._on_progress.remove(on_progress)
        most_s = BIND_TIMEOUT_S if timeout_s is None else timeout_s
        # Not wait_for: before Python 3.12 it swallows a cancellation that meets the result (python/cpython#86296).
        try:
            async with asyncio.timeout(most_s):
                return await asyncio.shield(self._bound[agent_id])
        except TimeoutError:
            raise WorkerStartError(
                f"The worker did not bind the agent within {most_s:g} s. Its log is {self.folder.log}."
            ) from None

    def problem_of(self, agent_id: str) -> str | None:
        """Return why an agent could not be bound; None when it was, or is about to be."""
        future = self._bound.get(agent_id)
        if future is None or not future.done() or future.cancelled():
            return None
        error = future.exception()
        return None if error is None else str(error)

    def answer_of(self, agent_id: str) -> wire.BoundKeys | None:
        """What the worker said of a bound agent; None before that, and when it could not be bound."""
        future = self._bound.get(agent_id)
        is_there = future is not None and future.done() and not future.cancelled() and future.exception() is None
        return future.result() if future is not None and is_there else None

    # -- turns ---------------------------------------------------------------------------------------------------
    def start(self, turn: TurnPort, **keys: Unpack[wire.TurnStartKeys]) -> None:
        """Send a turn to the worker; from here on `turn` hears of it.

        Raises:
            WorkerDiedError: The worker is gone.
        """
        if self._connection is None:
            raise WorkerDiedError("The worker that runs Hermes is gone. The next run starts a new one.")
        self._turns[turn.id] = turn
        self._coming.discard(turn.id)
        self._connection.send("turn.start", **keys)

    @property
    def send(self) -> SendToWorker:
        """Sends a message about a running turn; dropped when the worker is gone (its turns hear of that)."""
        return _dropped if self._connection is None else self._connection.send

    async def steer(self, turn_id: str, text: str) -> bool:
        """Whether a word put in mid-turn was taken."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._steers[turn_id] = future
        self.send("turn.steer", turn_id=turn_id, text=text)
        try:
            async with asyncio.timeout(STEER_TIMEOUT_S):
                return await future
        except (TimeoutError, WorkerError):
            return False

    def forget(self, turn_id: str) -> None:
        """A turn needs nothing more."""
        self._turns.pop(turn_id, None)
        self._coming.discard(turn_id)
        self._end_condemned()

    # -- messages ------------------------------------------------------------------------------------------------
    def _on_message(self, message: wire.WorkerMessage) -> None:
        if message["kind"] == "event":
            event = Event.from_dict(message["event"])
            if event.turn_id in self._turns:
                self._turns[event.turn_id].on_event(event)
        elif message["kind"] == "tool.call":
            if (turn := self._turns.get(message["turn_id"])) is not None:
                turn.on_tool_call(message)
        elif message["kind"] == "turn.done":
            if (turn := self._turns.get(message["turn_id"])) is not None:
                turn.on_done(message)
        elif message["kind"] == "budget.ask" or message["kind"] == "budget.done":
            if (turn := self._turns.get(message["turn_id"])) is not None:
                turn.on_budget(message)
        elif message["kind"] == "steer.result":
            future = self._steers.pop(message["turn_id"], None)
            if future is not None and not future.done():
                future.set_result(bool(message["is_applied"]))
        elif message["kind"] == "tool.abandon":
            pass  # a late result is ignored by the worker, and a stop has stopped the tool already
        else:
            self._on_word_of_itself(message)

    def _on_word_of_itself(self, message: wire.WorkerMessage) -> None:
        """Take what a worker says of itself and its agents, and what nobody knows."""
        if message["kind"] == "ready":
            self._is_ready = True
            self.versions = message
            self.lacks = lacking(message.get("capabilities"))
        elif message["kind"] == "engine.found":
            self.engine = message
        elif message["kind"] == "engine.progress":
            self.progress.append(str(message["text"]))
            for listener in self._on_progress:
                listener(self.progress[-1])
        elif message["kind"] == "bound":
            future = self._bound.get(message["agent_id"])
            if future is not None and not future.done():
                future.set_result(message)
            asyncio.get_running_loop().call_later(WARM_UP_AFTER_S, self._warm, message["agent_id"])
        elif message["kind"] == "bind.failed":
            self._on_bind_failed(message)
        elif message["kind"] == "warmed":
            if not message.get("is_ok", True):
                why = str(message.get("error") or "no reason given").rstrip(".")
                self._on_warning(f"The worker's warm-up turn failed: {why}.")
        elif message["kind"] == "fatal":
            self._fatal = f"{message.get('error_type', 'error')}: {message.get('error', '')}"
        else:
            self._on_warning(f"The worker sent a message of an unknown kind, {message['kind']!r}: {str(message)[:300]}")

    def _warm(self, agent_id: str) -> None:
        """One is enough: what it loads is the process's."""
        if not self._is_warm and not self._turns and self._connection is not None and agent_id in self._agents:
            self._is_warm = True
            self._connection.send("warm", agent_id=agent_id)

    def _on_bind_failed(self, message: wire.BindFailed) -> None:
        future = self._bound.get(message["agent_id"])
        if future is None or future.done():
            return
        text = join(message.get("error"), message.get("hint"))
        is_model = "model" in str(message.get("error_type", "")).lower()
        future.set_exception(ModelError(text) if is_model else UsageError(text))
        future.exception()


def _dropped(kind: str, /, **keys: Any) -> None:
    """Send to a worker that is gone."""
