"""What a turn was run with, in a few hashes, so that a resume can tell what has changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_nb.model.event import Event
    from hermes_nb.model.message_part import AgentDigest
    from hermes_nb.tools.pinned_definition import PinnedDefinition, PinnedDefinitions
    from hermes_nb.turns.context import TurnAgent

MAX_TOLD_CHARS = 20_000  # of an agent's instructions, in each turn's first event
KEPT = (
    "Tool {name} was redefined, and what the model is told of it changed. This session goes on with what it was told: calls"
    " run the new function, and one that does not fit it goes back to the model. A new session begins with the new form;"
    " %hermes tools refresh (bound.refresh_tools()) takes it here, from the next turn on."
)


def profile(agent: TurnAgent, tools: Sequence[PinnedDefinition]) -> AgentDigest:
    """Model, provider, endpoint and toolsets as they are; instructions, config and tool definitions as hashes.

    Returns: model, options, instructions, toolsets, config (key to hash), tools, parameters (name to hash); JSON values.
    """
    model = agent.model
    return {
        "model": "@".join(filter(None, (f"{model.provider}:{model.id}", model.base_url))),
        "options": {**model.options, **({"fallbacks": [m.told() for m in model.fallbacks]} if model.fallbacks else {})},
        "instructions": _hash(agent.config.instructions),
        "toolsets": sorted([*(agent.config.toolsets or ()), *(f"mcp-{server.name}" for server in agent.config.mcp)]),
        "config": {str(key): _hash(value) for key, value in agent.config.config.items()},
        "tools": {t.name: _hash(t.definition()) for t in tools},
        "parameters": {t.name: _hash(t.definition()["parameters"]) for t in tools},
    }


def pinned(
    pins: PinnedDefinitions,
    session_id: str,
    tools: Sequence[PinnedDefinition],
    events: Sequence[Event] | None,
    now: Mapping[str, Any],
    *,
    is_part: bool,
) -> list[str]:
    """Note what a turn tells the model of its tools, for the turns after it; returns what has to be said with the turn.

    Args:
        pins: What the sessions of the agent were told.
        session_id: The turn's session.
        tools: What the turn tells.
        events: The session's events; None for a turn that is resumed.
        now: The turn's profile.
        is_part: Whether the turn offers a part of the agent's tools.
    """
    said: list[str] = []
    if events is not None and not pins.knows(session_id):
        said = told_otherwise(events, now)
    return said + [KEPT.format(name=name) for name in pins.keep(session_id, tools, is_part=is_part)]


def _options(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Each option of the model that changed; a log has lists for tuples."""
    plain = [{k: list(v) if isinstance(v, tuple) else v for k, v in told.items()} for told in (before, now)]
    names = [name for name in sorted({*before, *now}) if plain[0].get(name) != plain[1].get(name)]
    return [f"the model's {name} was {before.get(name)} and is {now.get(name)}" for name in names]


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What changed between two profiles, one line for each thing; empty when nothing did."""
    lines = []
    if _without_port(before.get("model")) != _without_port(now.get("model")):
        lines.append(f"the model was {before.get('model')} and is {now.get('model')}")
    lines += _options(before.get("options") or {}, now.get("options") or {})
    if before.get("instructions") != now.get("instructions"):
        lines.append("the instructions changed")
    if before.get("toolsets") != now.get("toolsets"):
        lines.append(f"the toolsets were {before.get('toolsets')} and are {now.get('toolsets')}")
    if (said := _config(before, now)) is not None:
        lines.append(said)
    old, new = before.get("tools") or {}, now.get("tools") or {}
    lines += [f"tool {name} is gone" for name in sorted(old.keys() - new.keys())]
    lines += [f"tool {name} is new" for name in sorted(new.keys() - old.keys())]
    shared = sorted(old.keys() & new.keys())
    return lines + [f"the {_what(name, before, now)} of tool {name} changed" for name in shared if old[name] != new[name]]


def _config(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """What is told of a changed config; logs of older versions have none."""
    if "config" not in before or "config" not in now or before["config"] == now["config"]:
        return None
    old, new = before["config"], now["config"]
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return f"config changed: {', '.join(names)}"


def _what(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Which part of a tool's definition changed."""
    old, new = ((profile.get("parameters") or {}).get(name) for profile in (before, now))
    if old is None or new is None:
        return "definition"
    return "description" if old == new else "parameters"


def told_otherwise(events: Sequence[Event], now: Mapping[str, Any]) -> list[str]:
    """What to say of tools whose definition is not what the last turn of a session told the model, in an earlier kernel."""
    before = next((e.data.get("profile") for e in reversed(events) if e.kind == "turn.started"), None) or {}
    old, new = before.get("tools") or {}, now.get("tools") or {}
    return [
        f"What the model is told of tool {name} changed since this session's last turn; from here on it is the new form."
        for name in sorted(old.keys() & new.keys())
        if old[name] != new[name]
    ]


def _without_port(model: object) -> str:
    """A server of this machine gets another port each time it starts; it is the same server."""
    import re

    return re.sub(r"(//(?:127\.0\.0\.1|localhost|\[::1\])):\d+", r"\1", str(model))


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:12]
