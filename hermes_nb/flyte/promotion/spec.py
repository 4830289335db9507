"""The spec: what an agent is, as plain data that travels. No object, no key, no connection; secrets by name alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hermes_nb import _settings
from hermes_nb._version import __version__
from hermes_nb.errors import UsageError
from hermes_nb.flyte import _sdk
from hermes_nb.model.agent import OFFLINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.model.message_part import ModelTold
    from hermes_nb.tools.decorator import Tool

CUSTOM_KEY_VARIABLE = "HERMES_NB_MODEL_KEY"  # holds the key of an endpoint of provider `custom`, inside the task
INLINE = "inline"
MORE = "more"  # reads on in a result that was cut


@dataclass(frozen=True)
class Spec:
    """An agent that travels.

    Attributes:
        agent: Its name.
        instructions: What the model is told.
        model: id, provider and base_url.
        key_variable: The environment variable that holds the model's key inside the task; "" for none.
        tools: Tools as compiled in the notebook (`ToolSpec.to_dict`), each with `how`: child, task, inline or more.
        toolsets: Toolsets of Hermes it gets besides.
        max_turns: Most model calls of one turn; None for Hermes's own limit.
        config: Keys merged over Hermes's config.yaml.
        secrets: Environment variable inside the task -> name of the secret in Flyte.
        versions: python, hermes-agent, flyte, flyteplugins-agents-hermes, hermes-nb of the notebook.
        packages: Distributions the tools import, pinned.
        local_modules: The user's own modules that travel as source.
        memory_key: Conversation kept in Flyte's memory store; "" for none.
    """

    agent: str
    instructions: str
    model: ModelTold
    key_variable: str = ""
    tools: Sequence[Mapping[str, Any]] = ()
    toolsets: Sequence[str] = ()
    max_turns: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()
    local_modules: Sequence[str] = ()
    memory_key: str = ""

    @property
    def environment_name(self) -> str:
        """Name of the task environment: the agent's, as Flyte allows names."""
        return slug(self.agent) or "agent"

    def to_json(self) -> str:
        """One line, the same for the same spec."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Spec:
        """The spec a `to_json` came from."""
        data = json.loads(text)
        return cls(**{k: v for k, v in data.items() if k in cls.__dataclass_fields__})


def spec_of(
    bound: BoundAgent,
    *,
    secrets: Mapping[str, str],
    packages: Sequence[str] = (),
    local_modules: Sequence[str] = (),
    memory_key: str = "",
) -> Spec:
    """The spec of a bound agent, with its tools as they are attached now."""
    config, model = bound.config, bound.model
    if config.mcp:
        raise UsageError(
            f"Agent {bound.name!r}: its MCP servers ({', '.join(s.name for s in config.mcp)}) can't go to Flyte: they run"
            " beside this notebook's worker. Promote it without them."
        )
    if model.fallbacks:
        raise UsageError(
            f"Agent {bound.name!r}: the fallbacks of model {model.id!r} can't go to Flyte, where a run has one key."
            " Promote it without them; a failed run is tried again by retries=."
        )
    return Spec(
        agent=bound.name,
        instructions=config.instructions,
        model={"id": model.id, "provider": model.provider, "base_url": model.base_url, "options": model.options},
        key_variable=key_variable(model, secrets),
        tools=[*({**t.spec().to_dict(), "how": how(t)} for t in bound.tools), *_built_in(bound)],
        toolsets=list(config.toolsets or ()),
        max_turns=config.max_turns,
        config=dict(config.config),
        secrets=dict(secrets),
        versions={**_sdk.versions(), "hermes-nb": __version__},
        packages=list(packages),
        local_modules=list(local_modules),
        memory_key=memory_key,
    )


def _built_in(bound: BoundAgent) -> list[dict[str, Any]]:
    """What the model is offered besides the agent's own tools, as far as it has a meaning without a notebook."""
    own = {t.name for t in bound.tools}
    return [{**t.spec().to_dict(), "how": MORE} for t in bound.definitions.offered if t.name not in own and t.name == MORE]


def key_variable(model: Any, secrets: Mapping[str, str]) -> str:
    """The variable that holds a model's key inside the task; "" when it needs none."""
    from hermes_nb.turns.model_choice import NO_KEY

    if model.provider == OFFLINE:
        return ""
    if model.provider != "custom":
        return _settings.key_variable(model.provider) or next(iter(secrets), "")
    return CUSTOM_KEY_VARIABLE if model.api_key not in (None, "", NO_KEY) or CUSTOM_KEY_VARIABLE in secrets else ""


def slug(name: str) -> str:
    """The name as Flyte allows those of environments: lower-case letters, digits, single dashes; "" when nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def how(tool: Tool) -> str:
    """How a tool runs on Flyte: `child` (an action of its own), `task` (the user's task) or `inline` (inside the turn)."""
    if tool.remote == INLINE:
        return INLINE
    return "task" if is_task(tool.remote) else "child"


def is_task(value: Any) -> bool:
    """Whether it is a Flyte task, told by its attributes."""
    return hasattr(value, "native_interface") and callable(getattr(value, "func", None))


def secret_names(secrets: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Secrets as {environment variable: secret}: a list of variables stands for secrets of the same names."""
    if isinstance(secrets, Mapping):
        return {str(k): str(v) for k, v in secrets.items()}
    return {str(name): str(name) for name in secrets}
