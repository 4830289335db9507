"""What changed of an agent from one binding to the next, in a few words for each thing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.model.agent import Agent

# Long, or not for the screen (a key, and an endpoint, which may hold one): that they changed is enough.
_UNTOLD = ("instructions", "config", "session_options", "base_url", "key", "options")


def snapshot(bound: BoundAgent) -> dict[str, Any]:
    """What a change of an agent is seen by, by name; copied, since a declaration can be changed in place."""
    from hermes_nb.tools.form import form

    config, model = bound.config, bound.model
    return {
        "instructions": config.instructions,
        "model": f"{model.id} ({model.provider}, {model.host})",
        "base_url": model.base_url,
        "options": {**model.options, "fallbacks": [other.id for other in model.fallbacks]},
        "key": model.api_key,
        "tools": {tool.name: (tool.spec(), form(tool.function)) for tool in bound.tools},
        "toolsets": tuple(config.toolsets or ()),
        "mcp": tuple(server.name for server in config.mcp),
        "max_turns": config.max_turns,
        "config": copy.deepcopy(config.config),
        "home": config.profile_options.get("home"),
        "session_options": copy.deepcopy(config.session_options),
    }


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """One entry for each thing that differs between two snapshots, e.g. `tool top added`; [] when nothing does."""
    found = []
    for key in before:
        old, new = before[key], after[key]
        if key == "tools":
            found += [f"tool {name} added" for name in new if name not in old]
            found += [f"tool {name} removed" for name in old if name not in new]
            found += [f"tool {name} redefined" for name in new if name in old and new[name] != old[name]]
        elif old != new and not (key in ("base_url", "key") and before["model"] != after["model"]):
            found.append(key if key in _UNTOLD else f"{key} {_short(old)} -> {_short(new)}")
    return found


def moved(declared: Mapping[str, Agent], old: Agent | None, new: Agent) -> str:
    """`b in place of a` by variables, "" unless one declaration takes the place of another that is still there."""
    before = next((name for name, agent in declared.items() if agent is old), None)
    after = next((name for name, agent in declared.items() if agent is new), None)
    return f"{after} in place of {before}" if before and after and before != after else ""


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
