"""`Flyte`: a runtime whose turns are runs of Flyte 2, on a cluster or in a child process of this machine.

Sessions speak to it as to any worker (`hermes_nb.engine.wire`): it is bound to, it is given turns, it gives events. There
is no process behind it; each turn is a run of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

from hermes_nb._near import suggesting
from hermes_nb.errors import UsageError, WorkerDiedError
from hermes_nb.flyte.config import FlyteConfig
from hermes_nb.flyte.run.local import LocalRun
from hermes_nb.flyte.run.remote import RemoteRun
from hermes_nb.runtimes._base import WorkerConnection, WorkerFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.api.turn import Turn
    from hermes_nb.model.message import KernelMessage, OnMessage, TurnStart, WorkerMessage
    from hermes_nb.model.message_sender import SendToKernel

NO_STEERING = "Flyte has no way to put in a word while a run goes on. Stop it, or ask in the next turn."


@suggesting
@dataclass
class Flyte(FlyteConfig):
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
    """

    async def open(self, place: WorkerFiles, *, on_message: OnMessage, on_end: Callable[[str], None]) -> WorkerConnection:
        """Ready at once, for agents that nobody knows (see `open_for`)."""
        return await self.open_for(_unknown, place, on_message=on_message, on_end=on_end)

    async def open_for(
        self,
        agent_of: Callable[[str], Any],
        place: WorkerFiles,
        *,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> WorkerConnection:
        """Ready at once: nothing is started before a turn is."""
        return _Connection(self, agent_of, place, on_message, on_end)


def _unknown(agent_id: str) -> Any:
    raise UsageError("The agent is no longer bound. Bind it again to run it.")


class _Connection:
    """What sessions take for a worker; lives on the IO loop."""

    def __init__(
        self,
        runtime: Flyte,
        agent_of: Callable[[str], Any],
        place: WorkerFiles,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> None:
        self.pid: int | None = None
        self._runtime, self._agent_of, self._place = runtime, agent_of, place
        self._on_message, self._on_end = on_message, on_end
        self._loop = asyncio.get_running_loop()
        self._runs: dict[str, RemoteRun | LocalRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_gone = False
        self._loop.call_soon(lambda: self._tell("ready", producer=place.producer))

    def send(self, kind: str, /, **keys: Any) -> None:
        if self._is_gone:
            raise WorkerDiedError("The connection to Flyte is closed; the next run opens a new one.")
        self._loop.call_soon_threadsafe(self._take, cast("KernelMessage", {"kind": kind, **keys}))

    @property
    def _tell(self) -> SendToKernel:
        return self._say

    def _say(self, kind: str, /, **keys: Any) -> None:
        if not self._is_gone:
            self._on_message(cast("WorkerMessage", {"kind": kind, **keys}))

    def _take(self, message: KernelMessage) -> None:
        if message["kind"] == "bind":
            agent = message["agent"]
            model = agent["model"]
            self._tell(
                "bound",
                agent_id=message["agent_id"],
                host="",
                toolsets=agent["toolsets"],
                model={
                    "id": model["id"],
                    "provider": model["provider"],
                    "base_url": model.get("base_url") or "",
                },
            )
        elif message["kind"] == "warm":
            self._tell("warmed", agent_id=message["agent_id"], duration_ms=0.0, is_ok=True)
        elif message["kind"] == "turn.start":
            self._start(message)
        elif message["kind"] == "turn.stop":
            if message["turn_id"] in self._runs:
                self._spawn(self._runs[message["turn_id"]].stop(message["reason"]))
        elif message["kind"] == "turn.steer":
            run = self._runs.get(message["turn_id"])
            if run is not None:
                run.warn("no-steering", NO_STEERING)
            self._tell("steer.result", turn_id=message["turn_id"], is_applied=False, text=message["text"])

    def _start(self, message: TurnStart) -> None:
        kind, turn_id = RemoteRun if self._runtime.mode == "remote" else LocalRun, message["turn_id"]
        self._runs[turn_id] = run = kind(self._runtime, self._agent_of, self._place, message, self._tell)

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


def lack() -> str:
    """What is missing to run on Flyte, with the line that installs it; "" when nothing is."""
    from hermes_nb import _require

    missing = _require.lack("flyte", "cloudpickle")
    return f"{missing}: pip install 'hermes-nb[flyte]'" if missing else ""


async def promote(bound: BoundAgent, prompt: str | None = None, *, config: Flyte | None = None, **options: Any) -> Turn:
    """Look, refuse or submit (see `hermes_nb.flyte.promotion.promoted.promote`).

    Args:
        bound: The agent, with its tools and conversation as they are now.
        prompt: What to ask; None asks the session's last question again.
        config: Where and how; None makes a `Flyte` of `options`.
        **options: `quiet`, and fields of `Flyte`.

    Raises:
        UsageError: Something stands in the way, or there is nothing to ask. Nothing was sent.
    """
    from hermes_nb.flyte.promotion.promoted import promote as submit_turn

    quiet = options.pop("quiet", True)
    if config is not None and options:
        raise UsageError(f"promote takes config= or single options, not both. Put {', '.join(options)} into config.")
    return await submit_turn(bound, prompt, config=config or Flyte(**options), quiet=quiet)


async def attach_run(hermes: Hermes, name: str, *, quiet: bool = True, config: Any = None, **options: Any) -> Turn:
    """The turn of a run, which follows it to its end; its events go into the store under their own session.

    Args:
        hermes: Where it is brought to.
        name: The run's name.
        quiet: Show nothing while it is followed.
        config: A `Flyte`, to find the control plane; None makes one of `options`.
        **options: Fields of `Flyte`, to find the control plane.

    Raises:
        UsageError: No such run here, or it is not one of an agent.
    """
    from hermes_nb.flyte.run.attach import followed, order_of

    config = config or Flyte(**options)
    return followed(hermes, config, name, await order_of(config, name), quiet=quiet)


async def order_of(config: FlyteConfig, name: str) -> dict[str, Any]:
    """What a run was asked (see `hermes_nb.flyte.run.attach.order_of`)."""
    from hermes_nb.flyte.run import attach

    return await attach.order_of(config, name)


def followed(hermes: Hermes, config: FlyteConfig, name: str, order: dict[str, Any], *, quiet: bool) -> Turn:
    """The turn of a run, once it is known what it was asked (see `hermes_nb.flyte.run.attach.followed`)."""
    from hermes_nb.flyte.run import attach

    return attach.followed(hermes, config, name, order, quiet=quiet)
