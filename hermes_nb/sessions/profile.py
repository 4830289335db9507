"""What a turn was run with, in a few hashes, so that a resume can tell what has changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_nb.model.event import Event
    from hermes_nb.sessions.agent import BoundAgent
    from hermes_nb.tools.offer import Offer


def profile(agent: BoundAgent, tools: Sequence[Offer]) -> dict[str, Any]:
    """Model, provider, endpoint and toolsets as they are; instructions and tool definitions as hashes.

    Returns: keys model, instructions, toolsets, tools (name to hash); JSON values.
    """
    model = agent.model
    return {
        "model": "@".join(filter(None, (f"{model.provider}:{model.id}", model.base_url))),
        "instructions": _hash(agent.config.instructions),
        "toolsets": sorted(agent.config.toolsets or ()),
        "tools": {t.name: _hash(t.definition()) for t in tools},
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What changed between two profiles, one line for each thing; empty when nothing did."""
    lines = []
    if _without_port(before.get("model")) != _without_port(now.get("model")):
        lines.append(f"the model was {before.get('model')} and is {now.get('model')}")
    if before.get("instructions") != now.get("instructions"):
        lines.append("the instructions changed")
    if before.get("toolsets") != now.get("toolsets"):
        lines.append(f"the toolsets were {before.get('toolsets')} and are {now.get('toolsets')}")
    old, new = before.get("tools") or {}, now.get("tools") or {}
    lines += [f"tool {name} is gone" for name in sorted(old.keys() - new.keys())]
    lines += [f"tool {name} is new" for name in sorted(new.keys() - old.keys())]
    lines += [f"the definition of tool {name} changed" for name in sorted(old.keys() & new.keys()) if old[name] != new[name]]
    return lines


def told_otherwise(events: Sequence[Event], now: Mapping[str, Any]) -> list[str]:
    """What to say of tools whose definition is not what the last turn of a session told the model, in an earlier kernel."""
    before = next((e.data.get("profile") for e in reversed(events) if e.kind == "turn.started"), None) or {}
    old, new = before.get("tools") or {}, now.get("tools") or {}
    return [
        f"What the model is told of tool {name} changed since this session's last turn; from here on it is the new form."
        for name in sorted(old.keys() & new.keys()) if old[name] != new[name]
    ]  # fmt: skip


def _without_port(model: object) -> str:
    """A server of this machine gets another port each time it starts; it is the same server."""
    import re

    return re.sub(r"(//(?:127\.0\.0\.1|localhost|\[::1\])):\d+", r"\1", str(model))


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:12]
