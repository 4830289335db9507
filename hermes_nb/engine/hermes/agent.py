"""A bound agent: its model, its tools, and the AIAgent objects that serve its turns, kept between turns."""

from __future__ import annotations

import importlib.util
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hermes_nb._near import near
from hermes_nb._provider import PROVIDERS, key_variables
from hermes_nb.engine.hermes import mcp_client, patch, request_option
from hermes_nb.engine.hermes.agent_home import AgentHome
from hermes_nb.engine.hermes.outcome import ModelIdentity
from hermes_nb.engine.hermes.toolset_offer import Offer, offers, refusal
from hermes_nb.model.toolspec import ToolSpec

if TYPE_CHECKING:
    from hermes_nb.model.message_part import AgentTold, Json, ModelRouteTold

TOOLSET = "hermes_nb:{name}"  # one toolset per tool name, so that two agents' tools of one name never meet
FLYTE_TOOLSET = "flyte"  # where Flyte's adapter registers the tools it is given
MOST_IDLE = 4  # kept while no turn runs; while turns run, as many as they are: each may be followed by another


class BindError(Exception):
    """An agent can't be bound as declared; `hint` names the cure, `kind` the error to raise in the kernel."""

    def __init__(self, message: str, *, kind: str = "UsageError", hint: str = "") -> None:
        super().__init__(message)
        self.kind, self.hint = kind, hint


def kind_of(problem: Exception | None) -> str:
    """Which error the kernel should raise for it."""
    if isinstance(problem, BindError):
        return problem.kind
    return "MissingPackageError" if isinstance(problem, ImportError) else "ModelError"


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """Where an agent's requests go, as AIAgent takes it."""

    provider: str
    base_url: str
    api_key: str
    api_mode: str | None = None


def resolve(hermes: SimpleNamespace, model: ModelRouteTold) -> tuple[ModelIdentity, ModelRoute]:
    """The model and endpoint of a wire `model` that is not the offline one.

    Raises:
        BindError: No such provider, or no key for it.
    """
    name, provider = str(model.get("id") or ""), str(model.get("provider") or "").strip().lower()
    base_url, key = str(model.get("base_url") or ""), str(model.get("api_key") or "")
    if provider == "custom":
        if not base_url:
            raise BindError(f"Model {name!r} has provider 'custom' without a base_url.", hint="Pass base_url='http://...'.")
        return ModelIdentity(name, provider, base_url), ModelRoute(provider, base_url, key or "not-needed")
    variable = next(iter(key_variables(provider)), None)
    if provider not in hermes.providers and provider not in PROVIDERS:
        raise BindError(f"Hermes has no provider {provider!r}.{near(provider, PROVIDERS)}", kind="ModelError", hint=_CUSTOM)
    try:
        found = hermes.resolve_provider(
            requested=provider, explicit_api_key=key or None, explicit_base_url=base_url or None, target_model=name
        )
    except Exception as exc:  # whatever a provider's resolver raises, the user's cure is the same
        hint = f"Set {variable} or pass api_key=." if variable and not key else _CUSTOM
        said = _without_commands(str(exc))
        raise BindError(f"Provider {provider!r} can't be used: {said}", kind="ModelAuthError", hint=hint) from exc
    if not found.get("api_key"):
        hint = f"Set {variable} before the agent is bound, or pass Model(..., api_key=...)." if variable else ""
        raise BindError(f"No key for provider {provider!r} was given.", kind="ModelAuthError", hint=hint)
    if found.get("api_mode") == "anthropic_messages" and importlib.util.find_spec("anthropic") is None:
        raise BindError(
            f"Provider {provider!r} speaks Anthropic's protocol, for which the package anthropic is needed and not"
            " installed.",
            kind="MissingPackageError",
            hint=f"Run !uv pip install --python {sys.executable} 'anthropic==0.87.0' and bind the agent again.",
        )
    endpoint = ModelRoute(
        str(found.get("provider") or provider), str(found.get("base_url") or ""), found["api_key"], found.get("api_mode")
    )
    return ModelIdentity(name, provider, endpoint.base_url), endpoint


_CUSTOM = "Any OpenAI-compatible endpoint is Model(id, 'custom', base_url=..., api_key=...)."
# A sentence that sends its reader to the command line of Hermes, which has nothing to do with a worker's home.
_COMMAND = re.compile(r"[^.!?\n]*\bhermes (?:model|doctor|setup|auth|login|config|tools)\b[^.!?\n]*(?:[.!?](?=\s|$)|$)")


def _without_commands(text: str) -> str:
    """What Hermes says, without its advice to run commands of its own."""
    return " ".join(_COMMAND.sub("", text).split()) or "Hermes can't sign in to it from here."


class WorkerAgent:
    """One agent of the worker.

    Args:
        spec: The wire's `agent`.
        hermes: `Bootstrap.hermes()`.
        model: Its model, for people.
        endpoint: Where its model is.
        configured: Puts a config in force while an AIAgent is built.
    """

    def __init__(
        self,
        spec: AgentTold,
        hermes: SimpleNamespace,
        model: ModelIdentity,
        endpoint: ModelRoute,
        configured: Callable[[Mapping[str, Any]], AbstractContextManager[None]],
    ) -> None:
        self._config = dict(spec.get("config") or {})
        self._configured = configured
        self.name = str(spec.get("name") or "agent")
        self.model = model
        self.endpoint = endpoint
        self.toolsets = [str(t) for t in spec.get("toolsets") or ()]
        self.tools = tools_of(spec.get("tools") or ())
        told = spec.get("model") or {}
        worker_home = Path(patch.upstream("hermes_constants").get_hermes_home())
        self._servers: list[str] = []
        self.home = AgentHome(home, worker_home) if (home := spec.get("home")) else None
        self.options: Json = dict(told.get("options") or {})
        self._fallbacks = [resolve(hermes, other) for other in told.get("fallbacks") or ()]
        self._instructions = str(spec.get("instructions") or "")
        self._max_turns = int(spec.get("max_turns") or 90)
        self._hermes = hermes
        self._idle: list[tuple[str, tuple[str, ...], Any]] = []
        self._n_busy = 0
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._was_asked = False
        self._is_closed = False
        check(hermes, self.toolsets, self.tools)
        self.offered = self._offer()
        try:
            servers = mcp_client.connect(id(self), spec.get("mcp") or {})
            self.offered |= servers
            self._servers = [toolset for toolset, offer in servers.items() if offer["tools"]]
            self._check_options()
        except mcp_client.McpError as exc:
            raise BindError(str(exc), kind=exc.kind, hint=exc.hint) from exc
        except BindError:
            mcp_client.leave(id(self))
            raise

    def _check_options(self) -> None:
        """Refuse an option that no request would have; the agent that was built to see it serves the first turn."""
        if not self.options:
            return
        agent = self._build("", self.tools)
        protocols = {self.model.provider: str(agent.api_mode)}
        protocols |= {model.provider: route.api_mode or "chat_completions" for model, route in self._fallbacks}
        said = request_option.refusal(agent, self.options, protocols)
        if said is not None:
            agent.close()
            raise BindError(f"Model {self.model.id!r}: {said}")
        self._keep(agent, "", self.tools)

    def _fallback_chain(self) -> list[dict[str, Any]] | None:
        return [
            {"provider": route.provider, "model": model.id, "base_url": route.base_url, "api_key": route.api_key}
            for model, route in self._fallbacks
        ] or None

    def _offer(self) -> dict[str, Offer]:
        if not self.toolsets:
            return {}
        with self._configured(self._config):
            offered = offers(self._hermes, self.toolsets)
        if said := refusal(offered):
            raise BindError(
                said, hint="A key goes into Process(options={'environment': {...}}); else leave the toolset out."
            )
        return offered

    def enforce_config(self) -> None:
        """Put its config in force, for what Hermes reads while a turn runs; the turn that began last decides."""
        with self._configured(self._config):
            pass
        if self.home is not None:
            self.home.stay()

    def build_ahead(self) -> None:
        """Build an AIAgent for the first turn, unless that is here already."""
        with self._building:
            if self._was_asked or self._is_closed:
                return
            try:
                agent = self._build("", self.tools)
            except Exception as exc:  # noqa: BLE001 - the turn meets it again and fails with it
                print(f"hermes_nb: agent {self.name} could not be built ahead: {exc!r}", file=sys.stderr)
                return
            self._keep(agent, "", self.tools)

    def take(self, session_id: str, tools: Mapping[str, ToolSpec], *, is_resumed: bool = False) -> Any:
        """An AIAgent for one turn: the session's own if it is idle, else a spare one, else a new one. One for a resumed turn
        remembers nothing of the attempt before."""
        self._was_asked = True
        with self._lock:
            self._n_busy += 1
        try:
            agent = self._idle_for(session_id, tools, is_resumed=is_resumed)
            if agent is None:
                with self._building:  # one that is being built, or comes back meanwhile, is worth waiting for
                    agent = self._idle_for(session_id, tools, is_resumed=is_resumed)
                    agent = self._build(session_id, tools) if agent is None else agent
        except BaseException:
            self._leave()
            raise
        definitions = [{"type": "function", "function": spec.definition()} for spec in tools.values()]
        own = [d for d in agent.tools or () if d["function"]["name"] not in tools]
        agent.tools = own + definitions
        agent.valid_tool_names = {d["function"]["name"] for d in agent.tools}
        return agent

    def _idle_for(self, session_id: str, tools: Mapping[str, ToolSpec], *, is_resumed: bool) -> Any:
        """An idle AIAgent with these tools, the session's own first; None without one."""
        signature = tuple(sorted(tools))
        with self._lock:
            at = next((i for i, (s, g, _) in enumerate(self._idle) if s == session_id and g == signature), None)
            if at is None:
                at = next((i for i, (_, g, _) in enumerate(self._idle) if g == signature), None)
            if at is None:
                return None
            last_session, _, agent = self._idle.pop(at)
        if last_session != session_id or is_resumed:
            self._renew(agent, session_id)
        return agent

    def give_back(self, agent: Any, session_id: str, tools: Mapping[str, ToolSpec]) -> None:
        """The turn ended well; the agent may serve another."""
        for name in _CALLBACKS:
            setattr(agent, name, None)
        self._leave()
        self._keep(agent, session_id, tools)

    def discard(self, agent: Any) -> None:
        """The turn did not end well; no other may have the agent."""
        self._leave()
        agent.close()

    def _leave(self) -> None:
        with self._lock:
            self._n_busy -= 1

    def _keep(self, agent: Any, session_id: str, tools: Mapping[str, ToolSpec]) -> None:
        with self._lock:
            self._idle.insert(0, (session_id, tuple(sorted(tools)), agent))
            n_kept = 0 if self._is_closed else max(MOST_IDLE, self._n_busy)
            dropped = self._idle[n_kept:]
            del self._idle[n_kept:]
        for _, _, old in dropped:
            old.close()

    def close(self) -> None:
        """Let go of what is idle."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for _, _, agent in idle:
            agent.close()
        mcp_client.leave(id(self))

    def _build(self, session_id: str, tools: Mapping[str, ToolSpec]) -> Any:
        own_toolsets = self._register(tools)
        with self._configured(self._config), nullcontext() if self.home is None else self.home.entered():
            agent = self._hermes.AIAgent(
                base_url=self.endpoint.base_url,
                api_key=self.endpoint.api_key,
                provider=self.endpoint.provider,
                api_mode=self.endpoint.api_mode,
                model=self.model.id,
                max_iterations=self._max_turns,
                tool_delay=0,
                enabled_toolsets=[*self.toolsets, *self._servers, *own_toolsets],
                quiet_mode=True,
                skip_context_files=True,
                skip_memory="memory" not in self.toolsets,
                ephemeral_system_prompt=self._instructions or None,
                session_id=session_id,
                reasoning_config=request_option.reasoning_config(self.options),
                fallback_model=self._fallback_chain(),
            )
        request_option.apply(agent, self.options)
        agent._skip_mcp_refresh = True  # it would take the tools of other agents of the same names
        self._hermes.tame(agent)
        return agent

    def _register(self, tools: Mapping[str, ToolSpec]) -> list[str]:
        """Make Hermes know the tools; the toolsets they are in."""
        register(self._hermes, tools)
        return [TOOLSET.format(name=name) for name in tools]

    def _renew(self, agent: Any, session_id: str) -> None:
        """An idle agent starts on another session: nothing of the old one stays."""
        agent.session_id = session_id
        agent.reset_session_state()
        agent._todo_store = type(agent._todo_store)()
        agent._cached_system_prompt = None
        agent._session_messages = []
        if agent._memory_store is not None:  # what it learned since, by this session or another
            agent._memory_store.load_from_disk()


_CALLBACKS = ("stream_delta_callback", "reasoning_callback", "clarify_callback", "status_callback")


def tools_of(specs: Sequence[Mapping[str, Any]]) -> dict[str, ToolSpec]:
    """ToolSpecs by name."""
    return {spec.name: spec for spec in (ToolSpec.from_dict(dict(s)) for s in specs)}


def check(hermes: SimpleNamespace, toolsets: Sequence[str], tools: Mapping[str, ToolSpec]) -> None:
    """Raise BindError for a toolset Hermes has not, or a tool name Hermes owns."""
    for name in toolsets:
        if not hermes.is_toolset(name):
            known = ", ".join(n for n in sorted(hermes.toolset_names()) if not n.startswith(TOOLSET.format(name="")))
            raise BindError(f"Hermes has no toolset {name!r}. Known: {known}.", kind="UnknownNameError")
    for name in tools:
        owner = hermes.registry.get_toolset_for_tool(name)
        if name in patch.LOOP_TOOLS or owner not in (None, TOOLSET.format(name=name), FLYTE_TOOLSET):
            raise BindError(
                f"Hermes has a tool {name!r} of its own ({owner or 'built in'}), which would run instead of yours.",
                kind="ToolNameError",
                hint=f"Rename the function, or give it another name: @tool(name='my_{name}').",
            )


def register(hermes: SimpleNamespace, tools: Mapping[str, ToolSpec]) -> None:
    """Make Hermes know the names; the calls themselves are met by the middleware, by turn."""
    for spec in tools.values():
        hermes.registry.register(
            name=spec.name,
            toolset=TOOLSET.format(name=spec.name),
            schema=spec.definition(),
            handler=_refuse,
            max_result_size_chars=float("inf"),
        )


def _refuse(args: Mapping[str, Any], **context: Any) -> str:
    del args, context
    return '{"error": "This tool belongs to a notebook, and no turn of it is running."}'
