"""What the messages between a kernel and its worker are made of: agents, models, limits and recorded steps, as types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

# Objects whose keys somebody else decides.
Json = dict[str, Any]
ChatMessage = dict[str, Any]  # of the chat completions protocol: role, content, tool_calls ...


class ModelRouteTold(TypedDict):
    """Where a model is; the only message with a key."""

    id: str
    provider: str
    base_url: NotRequired[str | None]
    api_key: NotRequired[str | None]


class ModelTold(ModelRouteTold):
    """The model of an agent, with what each request says besides and who is asked when it fails."""

    options: NotRequired[Mapping[str, Any]]
    fallbacks: NotRequired[list[ModelRouteTold]]


class HomeTold(TypedDict):
    """Where an agent keeps its memory and skills."""

    name: str
    path: str


class McpServerTold(TypedDict, total=False):
    """An MCP server: `command`, `args` and `env` of a program, or `url` and `headers`; timeouts in seconds."""

    command: str
    args: list[str]
    env: dict[str, str]
    url: str
    headers: dict[str, str]
    timeout: float
    connect_timeout: float


class KeptTold(TypedDict):
    """What earlier attempts kept of a turn, for a worker whose journal is the kernel's; `events` where they are needed."""

    responses: list[Json]
    tool_results: list[Json]
    events: NotRequired[list[Json]]


class AgentTold(TypedDict):
    """An agent as its worker is told of it."""

    name: str
    instructions: str
    model: ModelTold
    tools: list[Json]
    toolsets: list[str]
    max_turns: int | None
    config: Json
    home: NotRequired[HomeTold | None]
    mcp: NotRequired[Mapping[str, McpServerTold]]


class AgentDigest(TypedDict):
    """What a turn was asked with, in `turn.started`: model, endpoint and toolsets as they are, what is long as hashes."""

    model: str
    options: Json
    instructions: str
    toolsets: list[str]
    config: dict[str, str]
    tools: dict[str, str]
    parameters: dict[str, str]


class LimitTold(TypedDict):
    """A limit on what a turn may spend: one of `max_cost_usd` and `max_tokens`, and what was spent before.

    `of` says whose limit it is; `cure` what a person can do; `is_shared` that other turns spend from it, too.
    """

    of: Literal["turn", "session", "day"]
    max_cost_usd: NotRequired[float]
    max_tokens: NotRequired[int]
    spent: float
    cure: str
    is_shared: NotRequired[bool]
    since_unix_s: NotRequired[float]


class ReplayTold(TypedDict):
    """A recorded turn that answers: its steps, what the agent has changed since, and whether others may go to the model."""

    file: str
    is_live: bool
    changes: list[str]
    responses: list[Json]
    tool_results: list[Json]


class ImageTold(TypedDict):
    """An image, base64."""

    mime_type: str
    data: str


class ModelSaid(TypedDict):
    """The model of a bound agent, without its key."""

    id: str
    provider: str
    base_url: str


class ToolsetSaid(TypedDict):
    """The tools of a toolset that the model is offered, and what those that are missing need."""

    tools: list[str]
    missing: dict[str, str]
