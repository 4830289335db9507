"""One Hermes home and its worker, with the agents bound in it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hermes_nb import _settings
from hermes_nb._near import suggesting_methods
from hermes_nb.api import agent_home
from hermes_nb.api._kept_instance import record_of
from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.tool_binding import ToolBinding
from hermes_nb.errors import AgentNotFoundError, StoreError, UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.model.credential import revealed
from hermes_nb.model.hermes_setting import problem
from hermes_nb.model.identifier import new_id
from hermes_nb.model.owner import DEFAULT_OWNER, owner_text
from hermes_nb.runtimes._base import Runtime
from hermes_nb.sessions.session import Session
from hermes_nb.turns.model_choice import choose
from hermes_nb.workers.client import WorkerClient

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.tools.decorator import Tool

SPAWN_WAIT_S = 0.05  # at most, for the worker's process to exist before the binding goes on


@dataclass(frozen=True, slots=True)
class Unbound:
    """An agent that an earlier kernel had and that is not bound: what its folder says of it, and why."""

    told: dict[str, Any] = field(repr=False)
    reason: str = ""


@suggesting_methods
class Instance:
    """One Hermes home: one worker, and the agents that share it.

    Attributes:
        hermes: The Hermes it belongs to.
        id: Its id; it stays when a later kernel opens it (`Hermes.open_instance`).
        name: Its name; also that of its folder under the state folder.
        owner: Whose it is, as `create_instance` or its Hermes was told.
        options: What `create_instance` was given besides.
        agents: Its agents by name.
        unbound: Agents that an earlier kernel had here and that can't be bound again, by name, with the reason.
        is_opened: Whether it was there before and was opened: the end of an `async with Hermes.local()` does not remove it.
        is_shared: Whether `Hermes.bind` made it: agents go from one to another when their `config` changes.
        is_aside: Whether it only serves single turns of agents that are bound elsewhere (`Hermes.bind_on`).
    """

    def __init__(
        self,
        hermes: Hermes,
        name: str,
        runtime: Runtime,
        worker: WorkerClient,
        *,
        owner: Mapping[str, str] = DEFAULT_OWNER,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.hermes, self.name, self.runtime, self.worker = hermes, name, runtime, worker
        self.id = new_id("i")
        self.owner, self.options = dict(owner), dict(options or {})
        self.agents: dict[str, BoundAgent] = {}
        self.unbound: dict[str, Unbound] = {}
        self.is_aside = self.is_shared = self.is_opened = False
        self._bindings: dict[str, tuple[str, list[str]]] = {}
        self._keeping = threading.Lock()

    def __repr__(self) -> str:
        return f"<Instance {self.name!r}: {', '.join(self.agents) or 'no agents'}>"

    @property
    def scope(self) -> str:
        """Whose conversations its agents' are: its own, or those of all agents that `Hermes.bind` binds (`default`)."""
        return "default" if self.is_shared else self.name

    @property
    def ownership(self) -> dict[str, Any]:
        """What the first event of its turns says of whose they are; {} for one that serves single turns of another."""
        if self.is_aside:
            return {}
        return {"instance": self.scope, **({} if self.owner == DEFAULT_OWNER else {"owner": self.owner})}

    def check_owner(self, session: Session) -> None:
        """Refuse a session of another owner.

        Raises:
            UsageError: It is.
        """
        others = [] if self.is_aside else [owner for owner in session.owners if owner != self.owner]
        if not others:
            return
        raise UsageError(
            f"Session {session.id} belongs to {owner_text(others[-1])}; instance {self.name!r} belongs to"
            f" {owner_text(self.owner)}. Open it with a Hermes of that owner (owner=...), or start a new session."
        )

    def check_session(self, session: Session, agent: str) -> None:
        """Refuse a session that is not of the agent of that name here.

        Raises:
            UsageError: It is another agent's, that of another instance, or another owner's.
        """
        self.check_owner(session)
        if session.agent != agent:
            raise UsageError(
                f"Session {session.id} belongs to agent {session.agent!r}, not to {agent!r}."
                f" Run it with {session.agent!r}, or start a new session."
            )
        if session.instances and self.scope not in session.instances and not self.is_aside:
            whose = ", ".join(sorted(session.instances))
            raise UsageError(
                f"Session {session.id} belongs to the agent {agent!r} of instance {whose!r}, not to that of {self.scope!r}."
                " Open it there, fork it (bound.fork), or start a new session."
            )

    def engine_text(self) -> str:
        """Return which Hermes hosts its agents and why that one, in words; "" for a runtime that brings its own."""
        if self.worker.engine:
            return str(self.worker.engine["hermes"])
        read = getattr(self.runtime, "engine_text", None)
        return "" if read is None else str(read())

    def agent(self, name: str) -> BoundAgent:
        """The agent of that name.

        Raises:
            AgentNotFoundError: There is none; the message lists those there are.
        """
        if name not in self.agents and name in self.unbound:
            raise AgentNotFoundError(
                f"Agent {name!r} of instance {self.name!r} was bound by an earlier kernel and can't be bound again:"
                f" {self.unbound[name].reason} Declare it anew: instance.add_agent(Agent({name!r}, ...))."
            )
        if name not in self.agents:
            raise AgentNotFoundError(
                f"No agent named {name!r} in instance {self.name!r}. Known: {', '.join(sorted(self.agents)) or 'none'}."
            )
        return self.agents[name]

    def agent_of(self, agent_id: str) -> BoundAgent:
        """The agent of that id.

        Raises:
            UsageError: It was bound again under another id, or it left.
        """
        for bound in self.agents.values():
            if bound.agent_id == agent_id:
                return bound
        raise UsageError("The agent is no longer bound. Bind it again to run it.")

    async def add_agent(self, config: Agent, *, profile_id: str | None = None, timeout_s: float | None = None) -> BoundAgent:
        """Bind an agent here and wait until its worker has it.

        Args:
            config: The declaration; one of a name already bound replaces that one and continues its session.
            profile_id: Its id in the worker, one for each agent of the instance; None keeps the one it has, or makes one.
            timeout_s: How long the worker may take to bind it, once it is up; None means 60.

        Raises:
            UsageError: It can't be bound; the message says why.
            ModelError: Its model can't be used.
            WorkerError: The worker did not come up.
        """
        self._check_profile_id(profile_id, config.name)
        bound = self.bind(config, agent_id=profile_id)
        await self.hermes.io.awaited(self.worker.bound(bound.agent_id, timeout_s=timeout_s))
        return bound

    def _check_profile_id(self, profile_id: Any, agent: str) -> None:
        if profile_id is None:
            return
        if not isinstance(profile_id, str) or not profile_id.strip():
            raise UsageError(f"Agent {agent!r}: profile_id takes a text that is no other agent's here, not {profile_id!r}.")
        if other := next((b for b in self.agents.values() if b.agent_id == profile_id and b.name != agent), None):
            raise UsageError(
                f"Agent {agent!r}: the profile_id {profile_id!r} is that of agent {other.name!r} in instance {self.name!r}."
            )

    def bind(self, config: Agent, *, agent_id: str | None = None, moved: BoundAgent | None = None) -> BoundAgent:
        """Bind an agent and return at once; the worker starts in the background (see `add_agent`).

        Args:
            config: The declaration; the agent of its name that is bound already becomes it, and stays the same object.
            agent_id: Its id in the worker; None makes one.
            moved: The agent of that name in another instance, which it leaves for this one.

        Raises:
            UsageError: The agent's model can't be chosen, or Hermes has no toolset of a name.
        """
        from hermes_nb.tools.decorator import as_tool
        from hermes_nb.tools.name import unique

        choice = choose(config, self.hermes.replaying)
        self._refuse(config)
        self._start_soon()
        tools = unique(as_tool(t) for t in config.tools)
        bound = moved or (None if self.is_aside else self.agents.get(config.name))
        if bound is None:
            bound = BoundAgent(self, config, agent_id or self._aside_id(config) or new_id("a"), choice=choice, tools=tools)
        else:
            bound.declare(config, choice=choice, tools=tools)
            bound.agent_id = agent_id or bound.agent_id
        if moved is not None:
            left = moved.instance
            left.agents.pop(moved.name)
            self._bindings |= left._bindings_of(moved.name)
            moved.instance = self
            left.keep()
        bound.definitions.tell_anew()
        self.agents[config.name] = bound
        self.unbound.pop(config.name, None)
        self.hermes.io.soon(self.worker.bind, bound.agent_id, self._profile(bound))
        self.keep()
        return bound

    def _refuse(self, config: Agent) -> None:
        """Raise for what is known to fail in the worker, before that is started."""
        from hermes_nb.tools.toolset import unknown

        if said := problem(config.config) or unknown(config.toolsets or ()):
            raise UsageError(f"Agent {config.name!r}: {said}")
        try:
            for server in config.mcp:
                server.resolved(_settings.variable)
        except LookupError as exc:
            raise UsageError(f"Agent {config.name!r}: {exc.args[0]}") from None

    def _aside_id(self, config: Agent) -> str | None:
        """The id of the agent whose turns are served here; each has a handle of its own."""
        return self.agents[config.name].agent_id if config.name in self.agents else None

    def _bindings_of(self, agent: str) -> dict[str, tuple[str, list[str]]]:
        return {binding: (a, names) for binding, (a, names) in self._bindings.items() if a == agent}

    def _start_soon(self) -> None:
        """Start the worker, which the first answer waits for, before this thread describes tools and draws cards."""
        started = self.hermes.io.submit(self._start())
        if self.worker.pid is None and not self.hermes.io.is_here:
            with contextlib.suppress(concurrent.futures.TimeoutError):  # whoever computes here holds the other thread up
                started.result(SPAWN_WAIT_S)

    async def _start(self) -> None:
        from hermes_nb.errors import WorkerError

        try:
            await self.worker.renew()
            await self.worker.ensure()
        except WorkerError as exc:
            self.hermes.warn("worker-start", str(exc))  # the next turn meets it again and fails with it

    def _profile(self, bound: BoundAgent) -> dict[str, Any]:
        """What the worker is told of an agent; the only place a key goes."""
        config, model = bound.config, bound.model
        return {
            "name": config.name,
            "instructions": config.instructions,
            "model": {**_route(model), "options": model.options, "fallbacks": [_route(m) for m in model.fallbacks]},
            "tools": [t.spec().to_dict() for t in bound.definitions.offered],
            "toolsets": list(config.toolsets or ()),
            "max_turns": config.max_turns,
            "config": dict(config.config),
            "home": agent_home.told(bound),
            "mcp": {server.name: server.resolved(_settings.variable) for server in config.mcp},
        }

    # -- tools of a bound agent ----------------------------------------------------------------------------------
    def attach(self, bound: BoundAgent, functions: Sequence[Callable[..., Any]]) -> ToolBinding:
        """Attach functions to an agent (see `BoundAgent.add_tools`)."""
        from hermes_nb.tools.decorator import as_tool
        from hermes_nb.tools.name import unique

        if callable(functions) or isinstance(functions, str) or not functions:
            raise UsageError(
                f"add_tools takes a list of functions, e.g. [my_function], not {functions!r}. Nothing was attached."
            )
        bound.definitions.renew()
        added: list[Tool] = [as_tool(f) for f in functions]
        bound.definitions.tools = unique([*bound.tools, *added])
        binding = ToolBinding(new_id("b"), agent=bound.name, tools=[t.name for t in added])
        self._bindings[binding.id] = (bound.name, list(binding.tools))
        self.hermes.io.soon(self.worker.bind, bound.agent_id, self._profile(bound))
        self.keep()
        return binding

    def detach(self, bound: BoundAgent, binding_id: str) -> None:
        """Detach what `attach` attached (see `BoundAgent.remove_tools`)."""
        names = self.bound_names(bound, [binding_id])
        del self._bindings[binding_id]
        kept = {name for a, others in self._bindings.values() if a == bound.name for name in others}
        kept |= {tool.name for tool in bound.declared_tools}
        bound.definitions.revoke(set(names) - kept)
        self.hermes.io.soon(self.worker.bind, bound.agent_id, self._profile(bound))
        self.keep()

    def bound_names(self, bound: BoundAgent, binding_ids: Sequence[str]) -> list[str]:
        """Names of the tools of an agent that these bindings attached.

        Raises:
            UsageError: The agent has no such binding.
        """
        found: list[str] = []
        for binding_id in binding_ids:
            agent, names = self._bindings.get(binding_id, ("", []))
            if agent != bound.name:
                known = ", ".join(self._bindings_of(bound.name)) or "none"
                raise UsageError(f"Agent {bound.name!r} has no tool binding {binding_id!r}. Known: {known}.")
            found += [name for name in names if name not in found]
        return found

    def keep(self) -> None:
        """Write down, in its folder, what a later kernel needs to open it; what can't be written is a warning."""
        folder = self.worker.folder
        if self.is_aside or not folder.is_there:  # a folder that was deleted is made again before the next turn
            return
        try:
            with self._keeping:
                record_of(self).write(folder.path)
        except StoreError as exc:
            self.hermes.warn("instance", f"A later kernel can't open instance {self.name!r} as it is now: {exc}")

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


def _route(model: Model) -> dict[str, str | None]:
    """Where requests go, with the key."""
    return {name: revealed(getattr(model, name)) for name in ("id", "provider", "base_url", "api_key")}
