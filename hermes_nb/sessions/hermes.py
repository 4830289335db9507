"""`Hermes`: the object that owns the IO loop, the store and every worker of a process."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb import _settings
from hermes_nb.errors import AgentNotFoundError, StoreError
from hermes_nb.model.agent import Agent
from hermes_nb.model.event import EventNumberer
from hermes_nb.model.mask import Masker
from hermes_nb.runtimes._base import Runtime
from hermes_nb.sessions import opened
from hermes_nb.sessions.conversations import Conversations
from hermes_nb.sessions.instance import Instance
from hermes_nb.sessions.library import Library
from hermes_nb.sessions.life import Life
from hermes_nb.sessions.local import Local
from hermes_nb.sessions.recording import Recording, Tape
from hermes_nb.sessions.session import new_id
from hermes_nb.sessions.state_dir import StateDir, claim_instance, open_state_dir
from hermes_nb.sessions.worker import Worker

if TYPE_CHECKING:
    from hermes_nb.host.base import Host
    from hermes_nb.sessions.agent import BoundAgent
    from hermes_nb.sessions.result import RunResult
    from hermes_nb.sessions.turn import Turn

DEFAULT_INSTANCE = "default"


class Hermes(Conversations):
    """Everything of one process: instances, agents, sessions. Made by `Hermes.local()` or `Hermes.open_local()`.

    Attributes:
        library: What is stored, to search, rename, delete, count, export and import.
        state_dir: Folder of the store, the journals and the workers' homes.
        turns: Turns started by this process, oldest first.
        warnings: What was odd but survivable, as (unix seconds, code, text).

    Source: seed 001, `Hermes`. There is no control plane in between: the workers are this process's children.
    """

    def __init__(self, *, state: StateDir, host: Host, runtime: Runtime | None = None) -> None:
        super().__init__(state)
        self.host, self._runtime = host, runtime
        self.working_dir = Path.cwd()
        self.library = Library(self)
        self.numberer = EventNumberer(new_id("k"), time.time)
        self.life = Life(state.path, self.numberer.producer)
        self.turns: list[Turn] = []
        self.warnings: list[tuple[float, str, str]] = []
        self.keyed: dict[str, tuple[str, Turn]] = {}  # idempotency key -> what was asked, and its turn
        self.keyed_lock = threading.Lock()
        self.resuming: set[str] = set()  # turns that are about to go on
        self.replaying: Recording | None = None
        self.tape: Tape | None = None
        self._recordings: dict[Path, Recording] = {}
        self._is_closed = False
        if state.warning:
            self.warn("state-dir", state.warning)
        opened.note(self)

    # -- making and ending ---------------------------------------------------------------------------------------
    @classmethod
    def open_local(
        cls, *, runtime: Runtime | None = None, state: str | Path | None = None, host: Host | None = None,
        replay: str | Path | None = None,
    ) -> Hermes:
        """A Hermes for this process that lives until `close()` (or the process's end). Starts nothing yet.

        Args:
            runtime: Where workers run; None means `Process()`.
            state: State folder; None means HERMES_NB_HOME, else `.hermes-nb` in the working directory.
            host: Where tools run and turns show; None finds it.
            replay: A recording that answers instead of models; None means HERMES_NB_REPLAY, else none.

        Raises:
            UsageError: `replay` is no recording.
        """  # fmt: skip
        from hermes_nb.host.detect import current
        from hermes_nb.sessions.stage import set_stage

        hermes = cls(state=open_state_dir(state), host=host or current(), runtime=runtime)
        if host is None:
            set_stage(hermes.host)
        hermes.replaying = hermes.recording(replay or _settings.replay())
        atexit.register(hermes.close)
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
    ) -> Local:
        """A Hermes for the length of an `async with`; `open_local` makes one that lasts over many cells.

        Args:
            runtime: Where workers run; None means `Process()`.
            state: State folder; None means HERMES_NB_HOME, else `.hermes-nb` in the working directory.
            cleanup: Remove the folders (homes, journals) of instances made here at the end; sessions stay in the store. A
                folder in which an earlier kernel left its journal stays: its turns can go on.
            host: Where tools run and turns show; None finds it.
            replay: A recording that answers instead of models; None means HERMES_NB_REPLAY, else none.

        Example:
            async with Hermes.local() as hermes:
                instance = await hermes.create_instance("demo", agents=[Agent("helper", model="offline")])
                print((await instance.agent("helper").run("Hello")).text)

        Source: seed 001, `Hermes.local`.
        """
        make = partial(cls.open_local, runtime=runtime, state=state, host=host, replay=replay)
        return Local(make, cleanup=cleanup)

    async def aclose(self) -> None:
        """`close` without blocking the caller's loop."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """Stop running turns, end the workers, close the store. Idempotent; nothing of it is left."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        with contextlib.suppress(RuntimeError):
            self.io.call(self._close())
        self.io.close()
        self.host.close()
        self.life.end()
        self._state.release()

    async def _close(self) -> None:
        await self._stop_turns(self.turns)
        await asyncio.gather(*(i.worker.close() for i in self.instances.values()))
        if self._store is not None:
            with contextlib.suppress(StoreError):  # never opened: nothing to close
                await (await self._store).close()

    async def _stop_turns(self, turns: Sequence[Turn]) -> None:
        running = [t for t in turns if not t.is_done]
        for turn in running:
            turn.stop("closed")
        await asyncio.gather(*(t.ended() for t in running))

    # -- instances and agents ------------------------------------------------------------------------------------
    async def create_instance(
        self, name: str, *, agents: Sequence[Agent] = (), runtime: Runtime | None = None
    ) -> Instance:
        """A new instance (one Hermes home, one worker) with these agents bound.

        Raises:
            UsageError: The name is taken, or an agent can't be bound.
            WorkerError: The worker did not come up.

        Source: seed 001, `Hermes.create_instance`.
        """
        from hermes_nb.errors import UsageError

        if name in self.instances:
            raise UsageError(f"An instance named {name!r} is there already. Choose another name.")
        instance = self._instance(name, runtime)
        for agent in agents:
            await instance.add_agent(agent)
        return instance

    def _instance(self, name: str, runtime: Runtime | None = None) -> Instance:
        if name not in self.instances:
            chosen = runtime or self._runtime or _default_runtime()
            worker = Worker(
                chosen,
                claim_instance(self._state, name),
                self.working_dir,
                lambda text: self.warn("worker", text),
            )
            self.instances[name] = Instance(self, name, chosen, worker)
        return self.instances[name]

    async def remove_instance(self, instance: Instance, *, retain_data: bool) -> None:
        """End an instance (see `Instance.delete`); on the IO loop."""
        self.instances.pop(instance.name, None)
        await self._stop_turns([t for t in self.turns if t.agent.instance is instance])
        await instance.worker.close()
        if not retain_data:
            shutil.rmtree(instance.worker.folder.path, ignore_errors=True)

    def bind(self, agent: Agent) -> BoundAgent:
        """Bind an agent and return at once; its worker starts in the background.

        Agents share a worker unless their `config` differs: a worker has one Hermes home, and so one configuration.
        """
        return self._instance(_instance_name(agent)).bind(agent)

    def bind_on(self, bound: BoundAgent, runtime: Runtime) -> BoundAgent:
        """The same agent, with its tools and its conversation, on another runtime; `agents` goes on naming the first."""
        if bound.session_id is None:
            bound.session_id = self.io.call(self.new_session(bound.name, "")).id
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

    # -- recordings ----------------------------------------------------------------------------------------------
    def record(self, path: str | Path) -> int:
        """Record the turns of this process, those that ended and those to come, into a file; returns how many are in it.

        Raises:
            StoreError: The file can't be written.
            UsageError: A recording is being replayed.
        """
        from hermes_nb.errors import UsageError

        if self.replaying is not None:
            raise UsageError(f"The recording {self.replaying.path} is being replayed. Unset HERMES_NB_REPLAY to record.")
        tape = Tape(Path(path).expanduser().absolute(), self.masker())
        n_turns = self.io.call(tape.keep(self.turns))
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

    @property
    def replay_file(self) -> Path:
        """The recording that is being replayed, for messages."""
        return self.replaying.path if self.replaying is not None else Path("the recording")

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
        """Keep a warning; `%hermes doctor` and the log show it."""
        self.warnings.append((time.time(), code, text))
        self.log(f"{code}: {text}")

    def log(self, text: str) -> None:
        """Write to `kernel.log` of the state folder; a folder that can't be written loses it."""
        line = {"at_unix_s": round(time.time(), 3), "text": self.masker().text(text)}
        with contextlib.suppress(OSError), (self.state_dir / "kernel.log").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=True) + "\n")

    def masker(self) -> Masker:
        """What takes the keys of this process out of a text: those of its agents and of its environment."""
        keys = [b.model.api_key for b in self.agents.values() if b.model.api_key]
        return Masker([*keys, *_settings.secrets().values()])


def _default_runtime() -> Runtime:
    from hermes_nb.runtimes.process import Process

    return Process()


def _instance_name(agent: Agent) -> str:
    if not agent.config:
        return DEFAULT_INSTANCE
    import hashlib

    text = json.dumps(agent.config, sort_keys=True, default=str)
    return f"{DEFAULT_INSTANCE}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
