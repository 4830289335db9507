"""A bound agent: its model, its tools, and the AIAgent objects that serve its turns, kept between turns."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from hermes_nb.engine import quirk
from hermes_nb.engine.outcome import KEY_VARIABLES, Model
from hermes_nb.model.toolspec import ToolSpec

TOOLSET = "hermes_nb:{name}"  # one toolset per tool name, so that two agents' tools of one name never meet
FLYTE_TOOLSET = "flyte"  # where Flyte's adapter registers the tools it is given
MOST_IDLE = 4


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
class Endpoint:
    """Where an agent's requests go, as AIAgent takes it."""

    provider: str
    base_url: str
    api_key: str
    api_mode: str | None = None


def resolve(hermes: SimpleNamespace, model: Mapping[str, Any]) -> tuple[Model, Endpoint]:
    """The model and endpoint of a wire `model` that is not the offline one.

    Raises:
        BindError: No such provider, or no key for it.
    """
    name, provider = str(model.get("id") or ""), str(model.get("provider") or "").strip().lower()
    base_url, key = str(model.get("base_url") or ""), str(model.get("api_key") or "")
    if provider == "custom":
        if not base_url:
            raise BindError(f"Model {name!r} has provider 'custom' without a base_url.", hint="Pass base_url='http://...'.")
        return Model(name, provider, base_url), Endpoint(provider, base_url, key or "not-needed")
    variable = KEY_VARIABLES.get(provider) or next(
        iter(getattr(hermes.providers.get(provider), "api_key_env_vars", None) or ()), None
    )
    if provider not in hermes.providers and provider not in KEY_VARIABLES:
        import difflib

        known = sorted({*hermes.providers, *KEY_VARIABLES, "custom", "offline"})
        meant = "".join(f" Did you mean {n!r}?" for n in difflib.get_close_matches(provider, known, n=1))
        raise BindError(f"Hermes has no provider {provider!r}.{meant} Known: {', '.join(known)}.", kind="ModelError")
    try:
        found = hermes.resolve_provider(
            requested=provider, explicit_api_key=key or None, explicit_base_url=base_url or None, target_model=name
        )
    except Exception as exc:  # whatever a provider's resolver raises, the user's cure is the same
        hint = f"Set {variable} or pass api_key=." if variable else "Pass api_key= and base_url=."
        raise BindError(f"Provider {provider!r} can't be used: {exc}", kind="ModelAuthError", hint=hint) from exc
    if not found.get("api_key"):
        hint = f"Set {variable} before the agent is bound, or pass Model(..., api_key=...)." if variable else ""
        raise BindError(f"No key for provider {provider!r} was given.", kind="ModelAuthError", hint=hint)
    endpoint = Endpoint(
        str(found.get("provider") or provider), str(found.get("base_url") or ""), found["api_key"], found.get("api_mode")
    )
    return Model(name, provider, endpoint.base_url), endpoint


class BoundAgent:
    """One agent of the worker.

    Args:
        spec: The wire's `agent`.
        hermes: `Bootstrap.hermes()`.
        model: Its model, for people.
        endpoint: Where its model is.
        configured: Puts a config in force while an AIAgent is built.
    """

    def __init__(
        self, spec: Mapping[str, Any], hermes: SimpleNamespace, model: Model, endpoint: Endpoint,
        configured: Callable[[Mapping[str, Any]], AbstractContextManager[None]],
    ) -> None:  # fmt: skip
        self._config = dict(spec.get("config") or {})
        self._configured = configured
        self.name = str(spec.get("name") or "agent")
        self.model = model
        self.endpoint = endpoint
        self.toolsets = [str(t) for t in spec.get("toolsets") or ()]
        self.tools = tools_of(spec.get("tools") or ())
        self._instructions = str(spec.get("instructions") or "")
        self._max_turns = int(spec.get("max_turns") or 90)
        self._hermes = hermes
        self._idle: list[tuple[str, tuple[str, ...], Any]] = []
        self._lock = threading.Lock()
        self._ahead = threading.Lock()
        self._was_asked = False
        self._is_closed = False
        check(hermes, self.toolsets, self.tools)

    def enforce_config(self) -> None:
        """Put its config in force, for what Hermes reads while a turn runs; the turn that began last decides."""
        with self._configured(self._config):
            pass

    def build_ahead(self) -> None:
        """Build an AIAgent for the first turn, unless that is here already."""
        with self._ahead:
            if self._was_asked or self._is_closed:
                return
            try:
                agent = self._build("", self.tools)
            except Exception as exc:  # noqa: BLE001 - the turn meets it again and fails with it
                print(f"hermes_nb: agent {self.name} could not be built ahead: {exc!r}", file=sys.stderr)
                return
            self.give_back(agent, "", self.tools)

    def take(self, session_id: str, tools: Mapping[str, ToolSpec], *, is_resumed: bool = False) -> Any:
        """An AIAgent for one turn: the session's own if it is idle, else a spare one, else a new one. One for a resumed turn
        remembers nothing of the attempt before."""
        signature = tuple(sorted(tools))
        self._was_asked = True
        with self._ahead:
            pass  # one that is being built is worth waiting for
        with self._lock:
            at = next((i for i, (s, g, _) in enumerate(self._idle) if s == session_id and g == signature), None)
            if at is None:
                at = next((i for i, (_, g, _) in enumerate(self._idle) if g == signature), None)
            found = self._idle.pop(at) if at is not None else None
        if found is None:
            agent = self._build(session_id, tools)
        else:
            agent = found[2]
            if found[0] != session_id or is_resumed:
                self._renew(agent, session_id)
        definitions = [{"type": "function", "function": spec.definition()} for spec in tools.values()]
        own = [d for d in agent.tools or () if d["function"]["name"] not in tools]
        agent.tools = own + definitions
        agent.valid_tool_names = {d["function"]["name"] for d in agent.tools}
        return agent

    def give_back(self, agent: Any, session_id: str, tools: Mapping[str, ToolSpec]) -> None:
        """The turn ended well; the agent may serve another."""
        for name in _CALLBACKS:
            setattr(agent, name, None)
        with self._lock:
            self._idle.insert(0, (session_id, tuple(sorted(tools)), agent))
            n_kept = 0 if self._is_closed else MOST_IDLE
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

    def _build(self, session_id: str, tools: Mapping[str, ToolSpec]) -> Any:
        own_toolsets = self._register(tools)
        with self._configured(self._config):
            agent = self._hermes.AIAgent(
                base_url=self.endpoint.base_url,
                api_key=self.endpoint.api_key,
                provider=self.endpoint.provider,
                api_mode=self.endpoint.api_mode,
                model=self.model.id,
                max_iterations=self._max_turns,
                tool_delay=0,
                enabled_toolsets=[*self.toolsets, *own_toolsets],
                quiet_mode=True,
                skip_context_files=True,
                skip_memory="memory" not in self.toolsets,
                ephemeral_system_prompt=self._instructions or None,
                session_id=session_id,
            )
        quirk.tame(agent)
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
        if name in quirk.LOOP_TOOLS or owner not in (None, TOOLSET.format(name=name), FLYTE_TOOLSET):
            raise BindError(
                f"Hermes has a tool {name!r} of its own ({owner or 'built in'}), which would run instead of yours.",
                kind="ToolNameError", hint=f"Rename the function, or give it another name: @tool(name='my_{name}').",
            )  # fmt: skip


def register(hermes: SimpleNamespace, tools: Mapping[str, ToolSpec]) -> None:
    """Make Hermes know the names; the calls themselves are met by the middleware, by turn."""
    for spec in tools.values():
        hermes.registry.register(
            name=spec.name, toolset=TOOLSET.format(name=spec.name), schema=spec.definition(), handler=_refuse,
            max_result_size_chars=float("inf"),
        )  # fmt: skip


def _refuse(args: Mapping[str, Any], **context: Any) -> str:
    del args, context
    return '{"error": "This tool belongs to a notebook, and no turn of it is running."}'
