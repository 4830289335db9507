"""`Flyte`: a runtime whose turns are runs of Flyte 2, on a cluster or in a child process of this machine.

Sessions speak to it as to any worker (`hermes_nb.engine.wire`): it is bound to, it is given turns, it gives events. There
is no process behind it; each turn is a run of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes_nb.errors import UsageError, WorkerDiedError
from hermes_nb.flyte.local import LocalRun
from hermes_nb.flyte.remote import RemoteRun
from hermes_nb.runtimes._base import Connection, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.sessions.agent import BoundAgent
    from hermes_nb.sessions.instance import Instance

Mode = Literal["remote", "local"]
NO_STEERING = "Flyte has no way to put in a word while a run goes on. Stop it, or ask in the next turn."


@dataclass
class Flyte:
    """Runs an agent's turns on Flyte.

    Args:
        mode: `remote` for a cluster, `local` for a child process of this machine (not durable beyond this machine).
        project: Flyte's project; None takes that of `flyte.init` or the configuration.
        domain: Its domain; None likewise.
        endpoint: The control plane; None takes that of the user's `flyte.init`, else `~/.flyte/config.yaml`.
        org: The organisation; None likewise. Only used with `endpoint`.
        image: A `flyte.Image` or the name of one; None builds one with the notebook's versions.
        resources: `flyte.Resources` of the turn's task.
        secrets: Secrets of Flyte by the variable they are put in, or a list where both have one name.
        retries: How often a turn that was lost or failed is tried again; replayed as far as it got.
        cache: Cache policy of the tools' tasks, as `env.task(cache=...)` takes it.
        env_vars: More environment variables for the tasks.
        memory_key: Keeps the conversation in Flyte's memory store under that name.
        allow: Codes of findings of the preflight that shall not stop a run.
        yes: Run tools that would ask for approval.
        key: Idempotency key: the same key is the same run.

    Source: seed 001, runtimes.
    """

    mode: Mode = "remote"
    project: str | None = None
    domain: str | None = None
    endpoint: str | None = None
    org: str | None = None
    image: Any = None
    resources: Any = None
    secrets: Mapping[str, str] | Sequence[str] = ()
    retries: int = 3
    cache: Any = "disable"
    env_vars: Mapping[str, str] = field(default_factory=dict)
    memory_key: str | None = None
    allow: Sequence[str] = ()
    yes: bool = False
    key: str | None = None
    _instances: list[Instance] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.mode not in ("remote", "local"):
            raise UsageError(f"Flyte has no mode {self.mode!r}. Use 'remote' or 'local'.")
        if not isinstance(self.retries, int) or self.retries < 0:
            raise UsageError(f"retries is a whole number, 0 or more, not {self.retries!r}.")
        if self.key is not None and not (isinstance(self.key, str) and self.key.strip()):
            raise UsageError(f"key is a text that names one question, not {self.key!r}.")
        for name in ("secrets", "allow"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"{name} is a list or a mapping, not the text {getattr(self, name)!r}.")

    def to_dict(self) -> dict[str, Any]:
        """`{"type": "flyte", "mode": ..., "project": ..., "domain": ..., "endpoint": ...}`."""
        return {
            "type": "flyte" if self.mode == "remote" else "flyte:local", "mode": self.mode, "project": self.project,
            "domain": self.domain, "endpoint": self.endpoint,
        }  # fmt: skip

    def adopt(self, instance: Instance) -> None:
        """Know the agents of an instance: their functions travel, and the wire carries data only."""
        self._instances.append(instance)

    def bound(self, agent_id: str) -> BoundAgent:
        """The agent of that id.

        Raises:
            UsageError: No instance of this runtime has it.
        """
        for instance in self._instances:
            for bound in instance.agents.values():
                if bound.agent_id == agent_id:
                    return bound
        raise UsageError("The agent is no longer bound. Bind it again to run it.")

    async def open(
        self, place: Place, *, on_message: Callable[[dict[str, Any]], None], on_end: Callable[[str], None]
    ) -> Connection:
        """Ready at once: nothing is started before a turn is."""
        return _Connection(self, place, on_message, on_end)


class _Connection:
    """What sessions take for a worker; lives on the IO loop."""

    def __init__(
        self, runtime: Flyte, place: Place, on_message: Callable[[dict[str, Any]], None], on_end: Callable[[str], None]
    ) -> None:
        self.pid: int | None = None
        self._runtime, self._place = runtime, place
        self._on_message, self._on_end = on_message, on_end
        self._loop = asyncio.get_running_loop()
        self._runs: dict[str, RemoteRun | LocalRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_gone = False
        self._loop.call_soon(self._tell, "ready", {"producer": place.producer})

    def send(self, kind: str, /, **keys: Any) -> None:
        if self._is_gone:
            raise WorkerDiedError("The connection to Flyte is closed; the next run opens a new one.")
        self._loop.call_soon_threadsafe(self._take, kind, keys)

    def _tell(self, kind: str, keys: Mapping[str, Any]) -> None:
        if not self._is_gone:
            self._on_message({"v": 1, "kind": kind, **keys})

    def _take(self, kind: str, keys: Mapping[str, Any]) -> None:
        turn_id = str(keys.get("turn_id"))
        if kind == "bind":
            model = keys["agent"]["model"]
            self._tell("bound", {"agent_id": keys["agent_id"], "host": "", "toolsets": keys["agent"]["toolsets"],
                                 "model": {k: model.get(k) for k in ("id", "provider", "base_url")}})  # fmt: skip
        elif kind == "warm":
            self._tell("warmed", {"agent_id": keys["agent_id"], "duration_ms": 0.0, "is_ok": True})
        elif kind == "turn.start":
            self._start(turn_id, keys)
        elif kind == "turn.stop" and turn_id in self._runs:
            self._spawn(self._runs[turn_id].stop(str(keys.get("reason") or "user")))
        elif kind == "turn.steer":
            run = self._runs.get(turn_id)
            if run is not None:
                run.warn("no-steering", NO_STEERING)
            self._tell("steer.result", {"turn_id": turn_id, "is_applied": False, "text": keys.get("text", "")})

    def _start(self, turn_id: str, keys: Mapping[str, Any]) -> None:
        kind = RemoteRun if self._runtime.mode == "remote" else LocalRun
        self._runs[turn_id] = run = kind(self._runtime, self._place, keys, self._tell)

        async def to_end() -> None:
            try:
                await run.run()
            finally:
                self._runs.pop(turn_id, None)

        self._spawn(to_end())

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def kill(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            for task in self._tasks:
                task.cancel()
            self._loop.call_soon(self._on_end, "it was closed")

    async def close(self, grace_s: float = 1.0) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
        self.kill()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)


async def promote(bound: BoundAgent, prompt: str | None = None, **options: Any) -> Any:
    """What `BoundAgent.promote` calls (see `hermes_nb.flyte.promote`)."""
    from hermes_nb.flyte.promote import promote as submit_turn

    return await submit_turn(bound, prompt, **options)


async def attach_run(hermes: Any, name: str, **options: Any) -> Any:
    """What `Hermes.attach_run` calls (see `hermes_nb.flyte.attach`)."""
    from hermes_nb.flyte.attach import attach_run as attach

    return await attach(hermes, name, **options)
