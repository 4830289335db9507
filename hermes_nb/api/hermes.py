"""`Hermes`: the object that owns the IO loop, the store and every worker of a process."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import re
import shutil
import sys
import threading
import time
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from hermes_nb import _settings
from hermes_nb._loop import IoLoop
from hermes_nb._near import suggesting, suggesting_methods
from hermes_nb.api import _instance_opening, _open_handle, _recovery
from hermes_nb.api._local_context import LocalHermes, refuse_remote
from hermes_nb.api._options import old_spelling, refuse_unknown
from hermes_nb.api.instance import Instance
from hermes_nb.api.library import Library, forgotten_meanwhile
from hermes_nb.errors import AgentNotFoundError, UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.model.credential import masker_of, revealed
from hermes_nb.model.event import EventNumberer
from hermes_nb.model.identifier import new_id
from hermes_nb.model.mask import Masker
from hermes_nb.model.owner import checked_owner
from hermes_nb.model.place import shortened, shown_path
from hermes_nb.runtimes._base import Runtime
from hermes_nb.sessions.conversations import ROW_TITLE, Conversations
from hermes_nb.turns.recording import Recording, Tape
from hermes_nb.workers.client import WorkerClient
from hermes_nb.workers.liveness import KernelLease
from hermes_nb.workers.state_dir import StateDir, open_state_dir

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.turn import Turn
    from hermes_nb.host.base import Host
    from hermes_nb.model.event import Event
    from hermes_nb.store.row import SessionRow
    from hermes_nb.turns.result import RunResult
    from hermes_nb.turns.runner import TurnRunner

DEFAULT_INSTANCE = "default"
INSTANCE_TIMEOUT_S = 300.0
_INSTANCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@suggesting
@suggesting_methods
class Hermes:
    """Everything of one process: instances, agents, sessions. Made by `Hermes.local()` or `Hermes.open_local()`.

    Attributes:
        owner: Whose its instances and sessions are, unless an instance says otherwise. Names to compare by, no lock: who
            can read the state folder can read all of it.
        library: What is stored, to search, rename, delete, count, export and import.
        state_dir: Folder of the store, the journals and the workers' homes.
        turns: Turns started by this process, oldest first.
        warnings: What was odd but survivable, as (unix seconds, code, text).

    There is no control plane in between: the workers are children of this process.
    """

    def __init__(
        self, *, state: StateDir, host: Host, runtime: Runtime | None = None, owner: Mapping[str, str] | None = None
    ) -> None:
        self.owner = checked_owner(owner)
        self._state, self.state_dir = state, state.path
        self.io = IoLoop()
        self.conversations = Conversations(
            state, self.io, warn=self.warn, recover=partial(_recovery.begin_anew, self, state), dropped=self._forget_session
        )
        self.instances: dict[str, Instance] = {}
        self._making = threading.Lock()
        self.host, self._runtime = host, runtime
        self.working_dir = Path.cwd()
        self.library = Library(self)
        self.numberer = EventNumberer(new_id("k"), time.time)
        self.life = KernelLease(state.path, self.numberer.producer)
        self.turns: list[Turn] = []
        self.warnings: list[tuple[float, str, str]] = []
        self.keyed: dict[str, tuple[str, Turn]] = {}  # idempotency key -> what was asked, and its turn
        self.keyed_lock = threading.Lock()
        self.resuming: set[str] = set()  # turns that are about to go on
        self.replaying: Recording | None = None
        self.tape: Tape | None = None
        self._recordings: dict[Path, Recording] = {}
        self._is_closed = False
        self._opened_at: str | None = None
        if state.warning:
            self.warn("state-dir", state.warning)
        _open_handle.note(self)

    # -- making and ending ---------------------------------------------------------------------------------------
    @classmethod
    def open_local(
        cls,
        *,
        runtime: Runtime | None = None,
        state: str | Path | None = None,
        host: Host | None = None,
        replay: str | Path | None = None,
        owner: Mapping[str, str] | None = None,
    ) -> Hermes:
        """A Hermes for this process that lives until `close()` (or the process's end). Starts nothing yet.

        Args:
            runtime: Where workers run; None means `Process()`.
            state: State folder; None means HERMES_NB_HOME, else `.hermes-nb` in the working directory.
            host: Where tools run and turns show; None finds it.
            replay: A recording that answers instead of models; None means HERMES_NB_REPLAY, else none.
            owner: Whose its instances and sessions are, a dict of names; None stands for the user of this machine. Those of
                another owner in the same state folder are refused.

        Raises:
            UsageError: `replay` is no recording, or `owner` no dict of names.
        """
        from hermes_nb.api._sink_factory import set_stage
        from hermes_nb.host.detect import current

        whose = checked_owner(owner)
        hermes = cls(state=open_state_dir(state), host=host or current(), runtime=runtime, owner=whose)
        if host is None:
            set_stage(hermes.host)
        hermes.replaying = hermes.recording(replay or _settings.replay())
        hermes._opened_at = _place(sys._getframe(2))  # past `suggesting_methods`
        atexit.register(hermes._close_forgotten)
        return hermes

    @classmethod
    def local(
        cls,
        *,
        runtime: Runtime | None = None,
        state: str | Path | None = None,
        cleanup: bool = True,
        host: Host | None = None,
        replay: str | Path | None = None,
        owner: Mapping[str, str] | None = None,
        tools_host: None = None,
        settings: None = None,
    ) -> LocalHermes:
        """A Hermes for the length of an `async with`; `open_local` makes one that lasts over many cells.

        Args:
            runtime: Where workers run; None means `Process()`.
            state: State folder; None means HERMES_NB_HOME, else `.hermes-nb` in the working directory.
            cleanup: Remove the folders (homes, journals) of instances made here at the end; sessions stay in the store. A
                folder in which an earlier kernel left its journal stays: its turns can go on. With False, `open_instance`
                finds them again.
            host: Where tools run and turns show; None finds it.
            replay: A recording that answers instead of models; None means HERMES_NB_REPLAY, else none.
            owner: As of `open_local`.
            tools_host: Refused: nothing listens here, so there is no address to choose.
            settings: Refused: there is no control plane to set up.

        Raises:
            UsageError: An option is refused; the message says why, and what to do instead.

        Example:
            async with Hermes.local() as hermes:
                instance = await hermes.create_instance("demo", agents=[Agent("helper", model="offline")])
                print((await instance.agent("helper").run("Hello")).text)
        """
        refuse_remote(tools_host=tools_host, settings=settings)
        whose = checked_owner(owner)
        make = partial(cls.open_local, runtime=runtime, state=state, host=host, replay=replay, owner=whose)
        return LocalHermes(make, cleanup=cleanup)

    def keep_open(self) -> Hermes:
        """The same, whose owner lets it live to the process's end: it is not forgotten when it is closed then."""
        self._opened_at = None
        return self

    def _close_forgotten(self) -> None:
        """`close` at the process's end, saying that nobody did."""
        if self._opened_at is not None and not self._is_closed:
            warnings.warn(
                f"A Hermes on {self.state_dir}, opened in {self._opened_at}, was never closed: its workers and threads lived"
                " to the end of the process. Call hermes.close(), or use `async with Hermes.local() as hermes:`.",
                ResourceWarning,
                source=self,
                stacklevel=1,
            )
        self.close()

    async def aclose(self) -> None:
        """`close` without blocking the caller's loop."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """Stop running turns, end the workers, close the store. Idempotent; nothing of it is left."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self._close_forgotten)
        with contextlib.suppress(RuntimeError):
            self.io.call(self._close())
        self.io.close()
        self.host.close()
        self.life.end()
        self._state.release()

    async def _close(self) -> None:
        await self._stop_turns(self.turns)
        await asyncio.gather(*(i.worker.close() for i in self.instances.values()))
        await self.conversations.close()

    async def _stop_turns(self, turns: Sequence[Turn]) -> None:
        running = [t for t in turns if not t.is_done]
        for turn in running:
            turn.stop("closed")
        await asyncio.gather(*(t._runner.ended() for t in running))

    # -- instances and agents ------------------------------------------------------------------------------------
    async def create_instance(
        self,
        name: str,
        *,
        agents: Sequence[Agent] = (),
        timeout_s: float = INSTANCE_TIMEOUT_S,
        runtime: Runtime | None = None,
        owner: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> Instance:
        """A new instance (one Hermes home, one worker) with these agents bound.

        Args:
            name: Its name; the folder that an earlier kernel left of one of that name is taken up.
            agents: The agents to bind.
            timeout_s: Seconds within which all of them must be bound, else what was made is taken back. `timeout` is its
                name elsewhere, and works with a warning.
            runtime: Where its worker runs; None means that of this Hermes.
            owner: Whose it is, a dict of names; None means the owner of this Hermes.
            options: `working_dir`: the folder in which its file and terminal tools start; None means that of this process.
            **unknown: None is known; a misspelt option is an error that names the nearest.

        Raises:
            UsageError: The name is taken, an option is unknown, the folder is another owner's, or an agent can't be bound.
            WorkerError: The worker did not come up in time.
        """
        timeout_s = old_spelling(Hermes.create_instance, unknown, "timeout", "timeout_s", timeout_s)
        refuse_unknown(Hermes.create_instance, unknown)
        if name in self.instances:
            raise UsageError(f"An instance named {name!r} is there already. Choose another name.")
        if not isinstance(name, str) or not _INSTANCE.fullmatch(name):
            raise UsageError(
                f"An instance can't be named {name!r}: a letter or digit, then letters, digits, '_', '.' or '-'"
                " (ASCII, 64 characters at most), since a folder bears the name."
            )
        if not timeout_s > 0:
            raise UsageError(f"create_instance: timeout_s must be more than 0 seconds, not {timeout_s!r}.")
        names = [agent.name for agent in agents]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise UsageError(f"Two agents here are named {', '.join(map(repr, twice))}. Give each a name of its own.")
        whose = self.owner if owner is None else checked_owner(owner)
        instance = self._instance(name, runtime, owner=whose, options=_instance_opening.checked_options(options))
        await _instance_opening.bound_within(instance, agents, timeout_s)
        return instance

    async def open_instance(self, instance_id: str, *, runtime: Runtime | None = None) -> Instance:
        """An instance that an earlier kernel, or an `async with` with `cleanup=False`, left: its home, its id, its agents.

        Its agents are bound as they were declared, under their old ids, and open their sessions. Functions and keys are kept
        nowhere: each agent's first turn says what it had, and `instance.unbound` which agents can't be bound without it.
        `Hermes.local(cleanup=True)` does not remove it at its end; `instance.delete()` does.

        Args:
            instance_id: Its id or its name; one that is open here already is returned as it is.
            runtime: Where its worker runs; None means where it ran.

        Raises:
            UnknownNameError: There is none in this state folder; the message lists those there are.
            UsageError: It is open in another kernel, is another owner's, or its runtime has to be named.
            WorkerError: The worker did not come up.
        """
        return await _instance_opening.opened(self, instance_id, runtime)

    @property
    def default_runtime(self) -> Runtime | None:
        """The runtime this Hermes was given for its instances; None stands for `Process()`."""
        return self._runtime

    def _instance(self, name: str, runtime: Runtime | None = None, **terms: Any) -> Instance:
        with self._making:  # threads that bind at once share one worker
            if name not in self.instances:
                chosen, terms = runtime or self._runtime or _default_runtime(), {"owner": self.owner, **terms}
                self.instances[name] = _instance_opening.made(self, self._state, name, chosen, **terms)
            return self.instances[name]

    async def remove_instance(self, instance: Instance, *, retain_data: bool) -> None:
        """End an instance (see `Instance.delete`); on the IO loop."""
        if self.instances.get(instance.name) is instance:  # one that was deleted before may have a successor of its name
            del self.instances[instance.name]
        await self._stop_turns([t for t in self.turns if t.agent.instance is instance])
        is_held = instance.worker.folder.is_there
        await instance.worker.close()
        if is_held and not retain_data:
            shutil.rmtree(instance.worker.folder.path, ignore_errors=True)

    def bind(self, agent: Agent) -> BoundAgent:
        """Bind an agent and return at once; its worker starts in the background.

        Agents share a worker unless their `config` differs: a worker has one Hermes home, and so one configuration.
        """
        instance = self._instance(_instance_name(agent))
        instance.is_shared = True
        others = [i for i in self.instances.values() if i is not instance and i.is_shared]
        moved = next((i.agents[agent.name] for i in others if agent.name in i.agents), None)  # its `config` changed
        return instance.bind(agent, moved=moved)

    def bind_on(self, bound: BoundAgent, runtime: Runtime) -> BoundAgent:
        """The same agent, with its tools and its conversation, on another runtime; `agents` goes on naming the first."""
        if bound.session_id is None:
            bound.session_id = self.io.call(self.conversations.new_session(bound.name, "")).id
        other = self.bind_aside(replace(bound.config, tools=list(bound.tools)), runtime)
        other.session_id = bound.session_id
        return other

    def bind_aside(self, agent: Agent, runtime: Runtime) -> BoundAgent:
        """An agent bound on a runtime for single turns, without a place among `agents`."""
        instance = next((i for i in self.instances.values() if i.is_aside and i.runtime == runtime), None)
        if instance is None:
            kind = str(runtime.to_dict().get("type", "")).replace(":", "-")
            instance = self._instance(f"{kind}-{new_id('on')}", runtime)
            instance.is_aside = True
        return instance.bind(agent)

    async def attach_run(self, name: str, *, on: str = "flyte", **options: Any) -> RunResult:
        """A finished or running remote run as a turn of its session here, with its timeline; waits for its end.

        Args:
            name: The run's name.
            on: The runtime it runs on, a plug-in that can find its runs again.
            **options: Configuration of the runtime, e.g. `project`.

        Raises:
            UnknownNameError: No such runtime.
            UsageError: No such run, or it is not one of an agent.
        """
        from hermes_nb import _registry

        turn: Turn = await _registry.load("runtimes", on).attach_run(self, name, **options)
        return await turn.wait()

    @property
    def runners(self) -> list[TurnRunner]:
        """What runs the turns of this process, oldest first."""
        return [turn._runner for turn in self.turns]

    @property
    def workers(self) -> list[WorkerClient]:
        """The workers of this process."""
        return [instance.worker for instance in self.instances.values()]

    @property
    def agents(self) -> dict[str, BoundAgent]:
        """Every bound agent by name."""
        instances = [i for i in self.instances.values() if not i.is_aside]
        return {name: bound for i in instances for name, bound in i.agents.items()}

    def agent(self, name: str) -> BoundAgent:
        """The bound agent of that name.

        Raises:
            AgentNotFoundError: There is none; the message lists those there are.
        """
        agents = self.agents
        if name not in agents:
            raise AgentNotFoundError(f"No agent named {name!r}. Known: {', '.join(sorted(agents)) or 'none'}.")
        return agents[name]

    # -- conversations -------------------------------------------------------------------------------------------
    def sessions(self, limit: int = 20, *, agent: str | None = None) -> list[SessionRow]:
        """Stored conversations, of one agent or all, last used first; those about rows of a map are left out."""

        async def rows() -> list[SessionRow]:
            store = await self.conversations.opened_store()
            return await store.sessions(limit=limit, agent=agent, without_title=ROW_TITLE)

        return self.io.call(rows())

    def forget_turns(self, session_id: str, key: str | None) -> None:
        """Keep the ended turns of a conversation no longer in memory, nor their idempotency key; the store has them."""
        self.turns[:] = [t for t in self.turns if t.session_id != session_id or not t.is_done]
        if key is not None:
            self.keyed.pop(key, None)
        self.io.soon(partial(self.conversations.drop_session, session_id, is_deleted=False))

    def _forget_session(self, session_id: str | None) -> None:
        """Let no agent continue a conversation that is gone; None stands for all."""
        for bound in self.agents.values():
            if session_id is None or bound.session_id == session_id:
                bound.session_id = None

    async def forgotten_meanwhile(self, session_id: str, events: Sequence[Event]) -> str:
        """Take out what a turn left of a session that another kernel deleted meanwhile; returns what to say, "" else."""
        return await forgotten_meanwhile(self, session_id, events)

    # -- recordings ----------------------------------------------------------------------------------------------
    def record(self, path: str | Path) -> int:
        """Record the turns of this process, those that ended and those to come, into a file; returns how many are in it.

        Raises:
            StoreError: The file can't be written.
            UsageError: A recording is being replayed.
        """
        if self.replaying is not None:
            shown = shown_path(self.replaying.path)
            raise UsageError(f"The recording {shown} is being replayed. Unset HERMES_NB_REPLAY to record.")
        tape = Tape(Path(path).expanduser().absolute(), self.masker())
        n_turns = self.io.call(tape.keep(self.runners))
        self.tape = tape
        return n_turns

    def stop_recording(self) -> Path | None:
        """Record no further turns; returns the file, None when there was none."""
        tape, self.tape = self.tape, None
        return None if tape is None else tape.path

    def recording(self, path: str | Path | None) -> Recording | None:
        """The recording in that file, which goes on where it was; None means the one that is being replayed, if any.

        Raises:
            UsageError: It is none.
        """
        if path is None:
            return self.replaying
        whole = Path(path).expanduser().absolute()
        if whole not in self._recordings:
            self._recordings[whole] = Recording(whole, self.masker)
        return self._recordings[whole]

    def goes_live(self, miss: str | None) -> bool:
        """Whether what a recording does not hold goes to the model (`live`); None means as HERMES_NB_REPLAY_MISS says."""
        return _settings.replay_goes_live() if miss is None else miss == "live"

    @contextlib.contextmanager
    def replayed(self, path: str | Path | None) -> Iterator[None]:
        """Bind agents meanwhile as for that recording: they need no key. None changes nothing."""
        before, self.replaying = self.replaying, self.recording(path)
        try:
            yield
        finally:
            self.replaying = before

    # -- odd things ----------------------------------------------------------------------------------------------
    def warn(self, code: str, text: str) -> None:
        """Keep a warning; `%hermes doctor` shows it, with paths as the notebook sees them, and the log has it as it is."""
        self.warnings.append((time.time(), code, shortened(text, base=self.working_dir)))
        self.log(f"{code}: {text}")

    def log(self, text: str) -> None:
        """Write to `kernel.log` of the state folder; a folder that can't be written loses it."""
        line = {"at_unix_s": round(time.time(), 3), "text": self.masker().text(text)}
        with contextlib.suppress(OSError), (self.state_dir / "kernel.log").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=True) + "\n")

    def masker(self) -> Masker:
        """What takes the keys of this process out of a text: those of its agents and of its environment."""
        models = [m for i in self.instances.values() for b in i.agents.values() for m in (b.model, *b.model.fallbacks)]
        keys = [*(revealed(m.api_key) for m in models), *_settings.secrets().values()]
        return masker_of(tuple(filter(None, keys)), tuple(filter(None, (revealed(m.base_url) for m in models)))).copy()


def _place(frame: types.FrameType) -> str:
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


def _default_runtime() -> Runtime:
    from hermes_nb.runtimes.process import Process

    return Process()


def _instance_name(agent: Agent) -> str:
    if not agent.config:
        return DEFAULT_INSTANCE
    import hashlib

    text = json.dumps(agent.config, sort_keys=True, default=str)
    return f"{DEFAULT_INSTANCE}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
