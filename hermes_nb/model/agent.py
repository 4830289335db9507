"""What an agent is: a declaration, without I/O. Binding it to a Hermes is `hermes_nb.sessions`' job."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hermes_nb import _api_key, _provider
from hermes_nb._near import near, suggesting, unknown_options
from hermes_nb.errors import UsageError
from hermes_nb.model import model_option
from hermes_nb.model.credential import Secret, address, host_of, revealed, shown
from hermes_nb.model.mask import MASK
from hermes_nb.model.mcp_server import McpServer

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")

# What people look for on a declaration and find on the bound agent.
_OF_BOUND = frozenset(
    "run run_sync start submit chat chat_widget new_session open_session fork resume promote add_tools remove_tools"
    " refresh_tools session_id".split()
)
OFFLINE = _provider.OFFLINE  # provider of the embedded model
SESSION_OPTIONS = ("max_cost_usd", "max_tokens")


@suggesting
@dataclass(frozen=True)
class Model:
    """Which model answers, and where.

    Args:
        id: The model's name as its provider spells it.
        provider: A provider of Hermes (`anthropic`, `openrouter`, `openai-api`, ...; `openai`, `google` and `claude` are
            understood), a well-known endpoint (`ollama`, `vllm`, `lmstudio`, `groq`, `mistral`, `together`, ...), `custom`
            for any other OpenAI-compatible one, or `offline` for the embedded model.
        base_url: The endpoint; required for `custom`, None for the provider's own. Credentials in it (`user:password@`, a
            `?api_key=...`) are sent, and read as `[masked]` wherever the address is shown, written or pickled.
        api_key: The key, as text or as pydantic's SecretStr; None takes it from the environment. White space, quotes and
            `Bearer ` around it are removed. Kept as a secret that prints as `[masked]`, and is never stored or pickled;
            `model.api_key.get_secret_value()` gives it.
        temperature: How freely it samples, 0 to 2. None leaves this and the others to the provider; one that the provider
            has no word for is refused when the agent is bound.
        top_p: The part of the probability it samples from, 0 to 1.
        stop: A text, or up to four, at which the answer ends.
        seed: Asks for the same answer to the same request, where the provider has that.
        reasoning_effort: How much it thinks: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
        prompt_cache: How long the provider keeps the prompt's beginning, `5m` or `1h`; False marks nothing for that.
        fallbacks: Models that answer, in this order, when this one fails; each with a key and an address of its own, and
            with this one's options.

    Raises:
        ValueError: The id or provider is empty, the provider is unknown, `custom` has no base_url, the key holds a
            character that can't be sent, or an option has a value it can't have.
    """

    id: str
    provider: str
    base_url: str | None = None
    api_key: Secret | str | None = field(default=None, repr=False)
    temperature: float | None = field(default=None, kw_only=True)
    top_p: float | None = field(default=None, kw_only=True)
    stop: str | Sequence[str] | None = field(default=None, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)
    reasoning_effort: str | None = field(default=None, kw_only=True)
    prompt_cache: str | bool | None = field(default=None, kw_only=True)
    fallbacks: Sequence[Model] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not self.id or not self.provider:
            raise ValueError("A Model needs an id and a provider, e.g. Model('gpt-5', 'openai-api').")
        provider, endpoint = known_provider(self.provider, f"Model {self.id!r}")
        if provider == _provider.CUSTOM and not (self.base_url or endpoint):
            raise UsageError(f"Model {self.id!r} has provider {self.provider!r}, which needs base_url='http://...'.")
        if self.base_url is not None and (said := _address_problem(revealed(self.base_url) or "", provider)):
            raise UsageError(f"Model {self.id!r}: base_url {shown(revealed(self.base_url) or '')!r} {said}")
        object.__setattr__(self, "base_url", address(self.base_url))
        given = revealed(self.api_key)
        key = None if given is None else _api_key.clean(given)
        if key and (said := _api_key.problem(key, f"Model {self.id!r}: the api_key")):
            raise UsageError(said)
        object.__setattr__(self, "api_key", None if key is None else Secret(key))
        self._check_options(provider)

    def _check_options(self, provider: str) -> None:
        whose = f"Model {self.id!r}"
        options = model_option.checked(whose, {name: getattr(self, name) for name in model_option.OPTIONS})
        object.__setattr__(self, "stop", options.get("stop"))
        if isinstance(self.fallbacks, (Model, str)) or not all(isinstance(m, Model) for m in self.fallbacks):
            raise ValueError(f"{whose}: fallbacks takes a list of Models, e.g. fallbacks=[Model('gpt-5', 'openai')].")
        object.__setattr__(self, "fallbacks", tuple(self.fallbacks))
        if provider == OFFLINE and (set_ := [*options, *(["fallbacks"] if self.fallbacks else [])]):
            raise ValueError(f"{whose}: the embedded model has no {', '.join(set_)}: it does not sample, and never fails.")
        for other in self.fallbacks:
            said = _fallback_problem(self, other)
            if said is not None:
                raise ValueError(f"{whose}: the fallback {other.id!r} {said}")

    @property
    def options(self) -> dict[str, Any]:
        """The options of its requests that are set, by name; `fallbacks` is none of them."""
        return {n: v for n in model_option.OPTIONS if (v := getattr(self, n)) is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        return (Model.from_told, ({**self.told(), "fallbacks": [other.told() for other in self.fallbacks]},))

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Model:
        """A model as `told` says it, with its `fallbacks` said alike; its key is the environment's."""
        return cls(**{**told, "fallbacks": [cls(**other) for other in told.get("fallbacks") or ()]})

    def told(self) -> dict[str, Any]:
        """It in plain data without its key and fallbacks: id, provider, base_url, and the options that are set."""
        return {
            "id": self.id,
            "provider": self.provider,
            "base_url": None if self.base_url is None else shown(self.base_url),
            **self.options,
        }

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: Any) -> Model:
        return self

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
            return host_of(self.base_url)
        return self.provider


@suggesting
@dataclass
class Agent:
    """A declarative agent; nothing happens until it is bound (`%hermes agent`, `Instance.add_agent`).

    Args:
        name: How people and `-a` call it: a letter, then letters, digits, `_`, `.`, `-`; 64 characters at most.
        instructions: What the model is told about its job; "" for nothing beyond Hermes's own prompt.
        model: A `Model`, a model id (with `provider`), or None for the default model of the environment.
        provider: Hermes's provider for a model given by id.
        tools: Functions or `Tool`s the model may call.
        profile_options: `home`, a name: memory and skills are those of this home, which agents that name it share. Without
            it an agent has a home of its own, by its name.
        session_options: Limits of each session: `max_cost_usd` and `max_tokens`.
        config: Keys merged over the worker's config.yaml.
        max_turns: Most model calls of one turn; None means Hermes's own limit (90).
        toolsets: Hermes toolsets the agent gets besides `tools`; None and () mean none.
        mcp: Servers of the Model Context Protocol whose tools it gets: `McpStdio(name, command)`, `McpHttp(name, url)`.

    Raises:
        ValueError: The name is malformed, or an option is unknown or has a value it can't have.
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
    mcp: Sequence[McpServer] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not is_agent_name(self.name):
            raise ValueError(
                f"Agent name {self.name!r} can't be used. Use a letter, then letters, digits, '_', '.' or '-'"
                " (ASCII, 64 characters at most)."
            )
        turns = self.max_turns
        if turns is not None and (not isinstance(turns, int) or isinstance(turns, bool) or turns < 1):
            raise ValueError(f"Agent {self.name!r}: max_turns must be a whole number of 1 or more, not {turns!r}.")
        if isinstance(self.toolsets, str):
            raise ValueError(f"Agent {self.name!r}: toolsets takes a list, e.g. toolsets=[{self.toolsets!r}].")
        if self.provider is not None:
            known_provider(self.provider, f"Agent {self.name!r}")
        if callable(self.tools):
            raise ValueError(f"Agent {self.name!r}: tools takes a list, e.g. tools=[my_function].")
        self._check_options()

    def _check_options(self) -> None:
        for name in ("profile_options", "session_options", "config"):
            if not isinstance(getattr(self, name), dict):
                raise ValueError(f"Agent {self.name!r}: {name} takes a dict, not {getattr(self, name)!r}.")
        said = self._profile_problem() or self._mcp_problem()
        if said is not None:
            raise ValueError(f"Agent {self.name!r}: {said}")
        said = session_options_problem(self.session_options)
        if said is not None:
            raise ValueError(f"Agent {self.name!r}: {said}")

    def _mcp_problem(self) -> str | None:
        if isinstance(self.mcp, (str, McpServer)) or not all(isinstance(server, McpServer) for server in self.mcp):
            return "mcp takes a list of servers, e.g. mcp=[McpStdio('files', 'npx', ['-y', 'some-server'])]."
        names = [server.name for server in self.mcp]
        twice = sorted({name for name in names if names.count(name) > 1})
        return f"two MCP servers are named {', '.join(map(repr, twice))}. Give each a name of its own." if twice else None

    def _profile_problem(self) -> str | None:
        if unknown := [name for name in self.profile_options if name != "home"]:
            return (
                f"profile_options has no option {', '.join(map(repr, unknown))}. Hermes's settings go into config={{...}};"
                " instructions, model, toolsets and max_turns are fields of the Agent. Known: home."
            )
        home = self.profile_options.get("home")
        if home is not None and not is_agent_name(home):
            return f"profile_options: home must be a name (a letter, then letters, digits, '_', '.', '-'), not {home!r}."
        return None

    def __getattr__(self, name: str) -> Any:
        if name in _OF_BOUND:
            raise AttributeError(
                f"An Agent is a declaration and has no {name!r}; a bound one has. Bind it: %hermes agent NAME -o bound, then"
                f" bound.{name}(...). In a script: async with Hermes.local() as hermes: bound = hermes.bind(agent)."
            )
        if name == "bind":
            raise AttributeError("An Agent does not bind itself: hermes.bind(agent), or %hermes agent NAME in a notebook.")
        meant = "" if name.startswith("_") else near(name, (*self.__dataclass_fields__, *_OF_BOUND))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}" + (f".{meant}" if meant else ""))

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


def _fallback_problem(model: Model, other: Model) -> str | None:
    """Why another model can't be its fallback, as the end of a sentence; None when it can."""
    if other.provider == OFFLINE:
        return "is the embedded model, which does not stand in for a real one."
    if other.fallbacks:
        return "has fallbacks of its own. Put them into the one list, in order."
    if other.options:
        return f"has options of its own ({', '.join(other.options)}). It is asked with those of {model.id!r}."
    if (known_provider(other.provider, "")[0], other.id) == (known_provider(model.provider, "")[0], model.id):
        return "is the same model of the same provider, to which Hermes does not turn. Give it another name at its endpoint."
    return None


def known_provider(provider: str, whose: str) -> tuple[str, str | None]:
    """Return what `_provider.resolve` says of a provider.

    Raises:
        UsageError: There is none of that name.
    """
    try:
        return _provider.resolve(provider)
    except LookupError as exc:
        raise UsageError(f"{whose}: {exc}") from None


def _address_problem(url: str, provider: str) -> str | None:
    """What is wrong with an endpoint's address, as the end of a sentence; None when nothing is."""
    if MASK in url:  # out of a pickle, which keeps no credentials
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as exc:
        return f"is no address: {str(exc).rstrip('.')}. Write http://host:port/v1."
    if parts.scheme not in ("http", "https") and provider == _provider.CUSTOM:
        return f"has no http:// or https:// before it. Write http://{url.rpartition('://')[2]}."
    if (parts.scheme in ("http", "https") and not host) or port == 0:
        return "names no host and port. Write http://host:port/v1."
    return None


def is_agent_name(name: object) -> bool:
    """Whether an agent can bear that name."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def session_options_problem(options: Mapping[str, Any]) -> str | None:
    """What is wrong with options of a session, in a sentence; None when nothing is."""
    said = unknown_options("session_options", options, SESSION_OPTIONS)
    if said is not None:
        return said
    for name, value in options.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if value is not None and not (is_number and value >= 0):
            return f"session_options: {name} must be a number of 0 or more, not {value!r}."
    return None
