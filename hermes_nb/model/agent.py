"""What an agent is: a declaration, without I/O. Binding it to a Hermes is `hermes_nb.sessions`' job."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")

# What people look for on a declaration and find on the bound agent.
_OF_BOUND = frozenset("run run_sync start submit chat chat_widget new_session open_session fork resume promote".split())
OFFLINE = "offline"  # provider of the embedded model


@dataclass(frozen=True)
class Model:
    """Which model answers, and where.

    Args:
        id: The model's name as its provider spells it.
        provider: A provider of Hermes (`anthropic`, `openrouter`, `openai-api`, ...), `custom` for any OpenAI-compatible
            endpoint, or `offline` for the embedded model.
        base_url: The endpoint; required for `custom`, None for the provider's own.
        api_key: The key; None takes it from the environment. Never shown, stored or pickled.

    Source: seed 001, `Model`.
    """

    id: str
    provider: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.id or not self.provider:
            raise ValueError("A Model needs an id and a provider, e.g. Model('gpt-5', 'openai-api').")
        if self.provider == "custom" and not self.base_url:
            raise ValueError(f"Model {self.id!r} has provider 'custom', which needs base_url='http://...'.")

    def __reduce__(self) -> tuple[Any, ...]:
        return (Model, (self.id, self.provider, self.base_url))

    @classmethod
    def offline(cls) -> Model:
        """The embedded model: no key, no network, deterministic; it says what it is."""
        return cls("hermes-nb-offline", OFFLINE)

    @property
    def host(self) -> str:
        """Host name that requests go to, for people to read; the provider's name where the endpoint is its own."""
        if self.provider == OFFLINE:
            return "this machine"
        if self.base_url:
            from urllib.parse import urlsplit

            return urlsplit(self.base_url).hostname or self.base_url
        return self.provider


@dataclass
class Agent:
    """A declarative agent; nothing happens until it is bound (`%hermes agent`, `Instance.add_agent`).

    Args:
        name: How people and `-a` call it: a letter, then letters, digits, `_`, `.`, `-`; 64 characters at most.
        instructions: What the model is told about its job; "" for nothing beyond Hermes's own prompt.
        model: A `Model`, a model id (with `provider`), or None for the default model of the environment.
        provider: Hermes's provider for a model given by id.
        tools: Functions or `Tool`s the model may call.
        profile_options: Options of the Hermes profile, kept as given.
        session_options: Options of each session, kept as given.
        config: Keys merged over the worker's config.yaml.
        max_turns: Most model calls of one turn; None means Hermes's own limit (90).
        toolsets: Hermes toolsets the agent gets besides `tools`; None and () mean none.

    Raises:
        ValueError: The name is malformed.

    Source: seed 001, `Agent`.
    """

    name: str
    instructions: str = ""
    model: str | Model | None = None
    provider: str | None = None
    tools: Sequence[Callable[..., Any]] = ()
    profile_options: dict[str, Any] = field(default_factory=dict)
    session_options: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict, kw_only=True)
    max_turns: int | None = field(default=None, kw_only=True)
    toolsets: Sequence[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(
                f"Agent name {self.name!r} can't be used. Use a letter, then letters, digits, '_', '.' or '-'"
                " (64 characters at most)."
            )
        if self.max_turns is not None and self.max_turns < 1:
            raise ValueError(f"Agent {self.name!r}: max_turns must be 1 or more, not {self.max_turns}.")
        if isinstance(self.toolsets, str):
            raise ValueError(f"Agent {self.name!r}: toolsets takes a list, e.g. toolsets=[{self.toolsets!r}].")
        if callable(self.tools):
            raise ValueError(f"Agent {self.name!r}: tools takes a list, e.g. tools=[my_function].")

    def __getattr__(self, name: str) -> Any:
        if name in _OF_BOUND:
            raise AttributeError(
                f"An Agent is a declaration and has no {name!r}; a bound one has. Bind it: %hermes agent NAME -o bound, then"
                f" bound.{name}(...). In a script: async with Hermes.local() as hermes: bound = hermes.bind(agent)."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def profile(self) -> dict[str, Any]:
        """The profile as plain data: name, instructions, model, provider, tools (names), toolsets, max_turns, config."""
        model: Mapping[str, Any] | str | None = self.model if isinstance(self.model, str) else None
        if isinstance(self.model, Model):
            model = {"id": self.model.id, "provider": self.model.provider, "base_url": self.model.base_url}
        return {
            "name": self.name,
            "instructions": self.instructions,
            "model": model,
            "provider": self.provider,
            "tools": [str(getattr(t, "name", None) or getattr(t, "__name__", t)) for t in self.tools],
            "toolsets": list(self.toolsets or ()),
            "max_turns": self.max_turns,
            "config": dict(self.config),
            **self.profile_options,
        }
