"""Which tools an agent's toolsets give it in this worker, and what those that they do not give need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypedDict

from hermes_nb.engine.hermes import patch
from hermes_nb.engine.hermes.coroutine_loop import settled
from hermes_nb.model.toolset_offer import requirement


class Offer(TypedDict):
    """One toolset: the tools the model is offered, and those it is not, with what they need."""

    tools: list[str]
    missing: dict[str, str]


def offers(hermes: SimpleNamespace, toolsets: Sequence[str]) -> dict[str, Offer]:
    """What each toolset gives, by its name; the agent's config must be in force."""
    hermes.find_tools()
    return {name: _offer(hermes, name) for name in toolsets}


def _offer(hermes: SimpleNamespace, toolset: str) -> Offer:
    found: Offer = {"tools": [], "missing": {}}
    for tool in sorted(patch.upstream("toolsets").resolve_toolset(toolset)):
        entry = hermes.registry.get_entry(tool)
        if entry is None:
            found["missing"][tool] = requirement(tool) or "a part of Hermes that is not installed"
        elif (lack := _lack(entry)) is None:
            found["tools"].append(tool)
        else:
            found["missing"][tool] = requirement(tool, entry.requires_env or ()) or lack
    return found


def _lack(entry: Any) -> str | None:
    """Why Hermes's own check of a tool says that it is not there; None when it is."""
    try:
        return None if entry.check_fn is None or settled(entry.check_fn()) else "something that Hermes does not name"
    except Exception as exc:  # noqa: BLE001 - as in Hermes: a check that fails says that the tool is not there
        return f"a check of Hermes that went wrong: {exc!r}"


def refusal(offered: Mapping[str, Offer]) -> str | None:
    """Which toolset gives no tool at all, and what it would need, in a sentence; None when each gives one."""
    for toolset, offer in offered.items():
        if not offer["tools"]:
            needs = "; ".join(f"{tool} needs {need}" for tool, need in offer["missing"].items())
            return f"The toolset {toolset!r} gives no tool here: {needs}." if needs else f"The toolset {toolset!r} is empty."
    return None
