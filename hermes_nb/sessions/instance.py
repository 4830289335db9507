"""One Hermes home and its worker, with the agents bound in it."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import AgentNotFoundError, UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.runtimes._base import Runtime
from hermes_nb.sessions.agent import BoundAgent
from hermes_nb.sessions.model_choice import choose
from hermes_nb.sessions.session import new_id
from hermes_nb.sessions.worker import Worker

if TYPE_CHECKING:
    from hermes_nb.sessions.hermes import Hermes
    from hermes_nb.tools.decorator import Tool

SPAWN_WAIT_S = 0.05  # at most, for the worker's process to exist before the binding goes on


class Instance:
    """One Hermes home: one worker, and the agents that share it.

    Attributes:
        hermes: The Hermes it belongs to.
        id: Its id.
        name: Its name; also that of its folder under the state folder.
        agents: Its agents by name.
        is_aside: Whether it only serves single turns of agents that are bound elsewhere (`Hermes.bind_on`).

    Source: seed 001, `Instance`.
    """

    def __init__(self, hermes: Hermes, name: str, runtime: Runtime, worker: Worker) -> None:
        self.hermes, self.name, self.runtime, self.worker = hermes, name, runtime, worker
        self.id = new_id("i")
        self.agents: dict[str, BoundAgent] = {}
        self.is_aside = False
        self._bindings: dict[str, tuple[str, list[str]]] = {}
        adopt = getattr(runtime, "adopt", None)
        if adopt is not None:  # a runtime whose agents' functions travel must know them
            adopt(self)

    def __repr__(self) -> str:
        return f"<Instance {self.name!r}: {', '.join(self.agents) or 'no agents'}>"

    def agent(self, name: str) -> BoundAgent:
        """The agent of that name.

        Raises:
            AgentNotFoundError: There is none; the message lists those there are.
        """
        if name not in self.agents:
            raise AgentNotFoundError(
                f"No agent named {name!r} in instance {self.name!r}. Known: {', '.join(sorted(self.agents)) or 'none'}."
            )
        return self.agents[name]

    async def add_agent(self, config: Agent, *, profile_id: str | None = None) -> BoundAgent:
        """Bind an agent here and wait until its worker has it.

        Args:
            config: The declaration; one of a name already bound replaces that one and continues its session.
            profile_id: Its id in the worker; None makes one.

        Raises:
            UsageError: It can't be bound; the message says why.
            ModelError: Its model can't be used.
            WorkerError: The worker did not come up.
        """
        bound = self.bind(config, agent_id=profile_id)
        await self.hermes.io.awaited(self.worker.bound(bound.agent_id))
        return bound

    def bind(self, config: Agent, *, agent_id: str | None = None) -> BoundAgent:
        """Bind an agent and return at once; the worker starts in the background (see `add_agent`)."""
        from hermes_nb.tools.decorator import as_tool
        from hermes_nb.tools.name import unique

        choice = choose(config, self.hermes.replaying)
        self._start_soon()
        tools = unique(as_tool(t) for t in config.tools)
        old = self.agents.get(config.name)
        bound = BoundAgent(
            self, config, agent_id or (old.agent_id if old else new_id("a")), choice=choice, tools=tools
        )
        if old is not None:
            bound.continue_from(old)
            if old.choice == choice:
                bound.take_notices()
                bound._notices = old.take_notices()
        bound.renew_offers()
        self.agents[config.name] = bound
        self.hermes.io.soon(self.worker.bind, bound.agent_id, self._profile(bound))
        return bound

    def _start_soon(self) -> None:
        """Start the worker, which the first answer waits for, before this thread describes tools and draws cards."""
        started = self.hermes.io.submit(self._start())
        if self.worker.pid is None and not self.hermes.io.is_here:
            with contextlib.suppress(concurrent.futures.TimeoutError):  # whoever computes here holds the other thread up
                started.result(SPAWN_WAIT_S)

    async def _start(self) -> None:
        from hermes_nb.errors import WorkerError

        try:
            await self.worker.ensure()
        except WorkerError as exc:
            self.hermes.warn("worker-start", str(exc))  # the next turn meets it again and fails with it

    def _profile(self, bound: BoundAgent) -> dict[str, Any]:
        """What the worker is told of an agent; the only place a key goes."""
        config, model = bound.config, bound.model
        return {
            "name": config.name,
            "instructions": config.instructions,
            "model": {f.name: getattr(model, f.name) for f in fields(model)},
            "tools": [t.spec().to_dict() for t in bound.offered],
            "toolsets": list(config.toolsets or ()),
            "max_turns": config.max_turns,
            "config": dict(config.config),
        }

    # -- tools of a bound agent ----------------------------------------------------------------------------------
    def attach(self, bound: BoundAgent, functions: Sequence[Callable[..., Any]]) -> str:
        """Attach functions to an agent (see `BoundAgent.add_tools`)."""
        from hermes_nb.tools.decorator import as_tool
        from hermes_nb.tools.name import unique

        bound.renew_tools()
        added: list[Tool] = [as_tool(f) for f in functions]
        bound.tools = unique([*bound.tools, *added])
        binding_id = new_id("b")
        self._bindings[binding_id] = (bound.name, [t.name for t in added])
        self.hermes.io.soon(self.worker.bind, bound.agent_id, self._profile(bound))
        return binding_id

    def detach(self, bound: BoundAgent, binding_id: str) -> None:
        """Detach what `attach` attached (see `BoundAgent.remove_tools`)."""
        agent, names = self._bindings.get(binding_id, ("", []))
        if agent != bound.name:
            known = ", ".join(b for b, (a, _) in self._bindings.items() if a == bound.name) or "none"
            raise UsageError(f"Agent {bound.name!r} has no tool binding {binding_id!r}. Known: {known}.")
        del self._bindings[binding_id]
        kept = {name for a, others in self._bindings.values() if a == bound.name for name in others}
        bound.tools = [t for t in bound.tools if t.name not in names or t.name in kept]
        bound.offers.forget(set(names) - kept)
        self.hermes.io.soon(self.worker.bind, bound.agent_id, self._profile(bound))

    # -- life ----------------------------------------------------------------------------------------------------
    async def restart(self) -> None:
        """End the worker and start a new one; running turns end as failed, sessions go on."""

        async def again() -> None:
            self.worker.kill()
            await self.worker.ensure()

        await self.hermes.io.awaited(again())

    async def delete(self, *, retain_data: bool = False) -> None:
        """End the worker and remove the instance's folder, unless `retain_data`; sessions stay in the store."""
        await self.hermes.io.awaited(self.hermes.remove_instance(self, retain_data=retain_data))
