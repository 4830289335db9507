"""One instance's worker as sessions see it: started when needed, replaced when it dies, its messages handed to turns.

Lives on the IO loop. What a worker is and how it runs is `hermes_nb.runtimes`' job; what happens inside, the engine's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from hermes_nb.errors import ModelError, UsageError, WorkerDiedError, WorkerError, WorkerStartError
from hermes_nb.model.event import Event
from hermes_nb.runtimes._base import Connection, Place, Runtime
from hermes_nb.sessions.session import new_id
from hermes_nb.sessions.state_dir import InstanceDir

WARM_UP_AFTER_S = 0.5  # idle time after binding before the worker warms itself up; a run at once is never behind it
BIND_TIMEOUT_S = 60.0
STEER_TIMEOUT_S = 5.0


class TurnPort(Protocol):
    """What a running turn hears from its worker."""

    id: str

    def on_event(self, event: Event) -> None:
        """One event, committed by the worker."""

    def on_tool_call(self, message: dict[str, Any]) -> None:
        """The model asks for a tool of the notebook."""

    def on_budget(self, message: dict[str, Any]) -> None:
        """A model call under a shared limit is to begin, or is over."""

    def on_done(self, message: dict[str, Any]) -> None:
        """The turn's end."""

    def on_worker_end(self, error: WorkerError) -> None:
        """The worker ended before the turn did."""


class Worker:
    """A worker process and what is bound in it.

    Args:
        runtime: Where it runs.
        folder: Its instance's files.
        working_dir: Where its file and terminal tools start.
        on_warning: Hears what is odd but survivable (unknown messages, malformed lines).
    """

    def __init__(
        self, runtime: Runtime, folder: InstanceDir, working_dir: Any, on_warning: Callable[[str], None]
    ) -> None:
        self._runtime, self.folder, self._working_dir = runtime, folder, working_dir
        self._on_warning = on_warning
        self._connection: Connection | None = None
        self._starting = asyncio.Lock()
        self._agents: dict[str, dict[str, Any]] = {}
        self._bound: dict[str, asyncio.Future[dict[str, Any]]] = {}
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
        self.versions: dict[str, Any] = {}

    # -- life ----------------------------------------------------------------------------------------------------
    @property
    def pid(self) -> int | None:
        """Process id of the running worker; None when there is none."""
        return None if self._connection is None else self._connection.pid

    @property
    def is_ready(self) -> bool:
        """Whether Hermes is imported and the worker answers."""
        return self._is_ready

    async def ensure(self) -> Connection:
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
                place = Place(
                    producer=new_id("w"),
                    home=self.folder.home,
                    journal=self.folder.journal,
                    log=self.folder.log,
                    working_dir=self._working_dir,
                )
                self._connection = await self._runtime.open(place, on_message=self._on_message, on_end=self._on_end)
                for agent_id in self._agents:
                    self._send_bind(agent_id)
            return self._connection

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
    def bind(self, agent_id: str, profile: dict[str, Any]) -> None:
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

    async def bound(self, agent_id: str) -> dict[str, Any]:
        """What the worker says of a bound agent, when it is.

        Raises:
            WorkerError: The worker did not come up.
            UsageError: The agent can't be bound; the message says why.
        """
        await self.ensure()
        # Not wait_for: before Python 3.12 it swallows a cancellation that meets the result (python/cpython#86296).
        try:
            async with asyncio.timeout(BIND_TIMEOUT_S):
                return await asyncio.shield(self._bound[agent_id])
        except TimeoutError:
            raise WorkerStartError(
                f"The worker did not bind the agent within {BIND_TIMEOUT_S:.0f} s. Its log is {self.folder.log}."
            ) from None

    # -- turns ---------------------------------------------------------------------------------------------------
    def start(self, turn: TurnPort, **keys: Any) -> None:
        """Send a turn to the worker; from here on `turn` hears of it.

        Raises:
            WorkerDiedError: The worker is gone.
        """
        if self._connection is None:
            raise WorkerDiedError("The worker that runs Hermes is gone. The next run starts a new one.")
        self._turns[turn.id] = turn
        self._connection.send("turn.start", turn_id=turn.id, **keys)

    def send(self, kind: str, /, **keys: Any) -> None:
        """Send a message about a running turn; dropped when the worker is gone (its turns hear of that)."""
        if self._connection is not None:
            self._connection.send(kind, **keys)

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
        if self._is_condemned and not self._turns:
            self.kill()

    # -- messages ------------------------------------------------------------------------------------------------
    def _on_message(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        handler = getattr(self, "_on_" + kind.replace(".", "_"), None) if kind in _KINDS else None
        if handler is None:
            self._on_warning(f"The worker sent a message of an unknown kind, {kind!r}: {str(message)[:300]}")
            return
        handler(message)

    def _on_ready(self, message: dict[str, Any]) -> None:
        self._is_ready = True
        self.versions = {k: v for k, v in message.items() if k not in ("kind", "v")}

    def _on_bound(self, message: dict[str, Any]) -> None:
        future = self._bound.get(message["agent_id"])
        if future is not None and not future.done():
            future.set_result(message)
        asyncio.get_running_loop().call_later(WARM_UP_AFTER_S, self._warm, message["agent_id"])

    def _warm(self, agent_id: str) -> None:
        """One is enough: what it loads is the process's."""
        if not self._is_warm and not self._turns and self._connection is not None and agent_id in self._agents:
            self._is_warm = True
            self._connection.send("warm", agent_id=agent_id)

    def _on_bind_failed(self, message: dict[str, Any]) -> None:
        future = self._bound.get(message["agent_id"])
        if future is None or future.done():
            return
        text = " ".join(filter(None, (message.get("error"), message.get("hint"))))
        is_model = "model" in str(message.get("error_type", "")).lower()
        future.set_exception(ModelError(text) if is_model else UsageError(text))
        future.exception()

    def _on_warmed(self, message: dict[str, Any]) -> None:
        if not message.get("is_ok", True):
            self._on_warning(f"The worker's warm-up turn failed: {message.get('error', 'no reason given')}.")

    def _on_event(self, message: dict[str, Any]) -> None:
        event = Event.from_dict(message["event"])
        turn = self._turns.get(event.turn_id)
        if turn is not None:
            turn.on_event(event)

    def _on_tool_call(self, message: dict[str, Any]) -> None:
        turn = self._turns.get(message["turn_id"])
        if turn is not None:
            turn.on_tool_call(message)

    def _on_budget_ask(self, message: dict[str, Any]) -> None:
        turn = self._turns.get(message["turn_id"])
        if turn is not None:
            turn.on_budget(message)

    _on_budget_done = _on_budget_ask

    def _on_tool_abandon(self, message: dict[str, Any]) -> None:
        """Nothing to do: a late result is ignored by the worker, and a stop has stopped the tool already."""

    def _on_steer_result(self, message: dict[str, Any]) -> None:
        future = self._steers.pop(message["turn_id"], None)
        if future is not None and not future.done():
            future.set_result(bool(message["is_applied"]))

    def _on_turn_done(self, message: dict[str, Any]) -> None:
        turn = self._turns.get(message["turn_id"])
        if turn is not None:
            turn.on_done(message)

    def _on_fatal(self, message: dict[str, Any]) -> None:
        self._fatal = f"{message.get('error_type', 'error')}: {message.get('error', '')}"


_KINDS = frozenset(
    "ready bound bind.failed warmed event tool.call tool.abandon budget.ask budget.done steer.result turn.done fatal".split()
)
