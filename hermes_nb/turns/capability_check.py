"""Whether the engine of a turn can do what the turn needs; asked when its worker has told, before anything is sent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.model.capability import CAPABILITIES
from hermes_nb.turns import limit
from hermes_nb.turns.context import TurnAgent
from hermes_nb.turns.request import PreparedTurn

# What a turn needs -> the cure where its engine has it not.
_CURES: Mapping[str, str] = {
    "tools": "Bind the agent without tools, or run it with --on process; a program that takes MCP servers at addresses calls"
    " them with pip install 'hermes-nb[tool-host]'",
    "model": "Bind the agent without model=: the one of its own configuration answers",
    "toolsets": "Bind the agent without toolsets, or run it with --on process",
    "journal": "Ask again with a new turn",
    "cost": "Run it without a limit of cost or tokens, or with --on process",
    "images": "Describe the image in words, or run it with --on process",
}


def check(agent: TurnAgent, prepared: PreparedTurn, tools: Collection[Any], parts: Any) -> None:
    """Refuse a turn that needs what the engine of its agent can't do; its worker has told by now.

    Args:
        agent: The agent that is asked.
        prepared: The turn.
        tools: The functions of the notebook that it may call.
        parts: What is asked, as it is sent.

    Raises:
        UsageError: Names each thing that it lacks, and what to do.
    """
    needs = {
        "tools": bool(tools),
        "model": agent.config.model is not None,
        "toolsets": bool(agent.config.toolsets),
        "journal": prepared.resumes is not None or prepared.recorded is not None,
        "cost": prepared.limits.is_any or limit.of_session(agent.config.session_options).is_any,
        "images": not isinstance(parts, str) and any(part.get("type") == "image" for part in parts),
    }
    refuse(agent.worker.lacks, needs, runtime=agent.runtime_name)


def refuse(missing: frozenset[str], needs: Mapping[str, bool], *, runtime: str) -> None:
    """Raise when something that is needed is missing.

    Args:
        missing: What the engine lacks.
        needs: Capability -> whether the turn needs it.
        runtime: Where it runs, for the message.

    Raises:
        UsageError: Names each of them, and what to do.
    """
    said = list(_refusals(missing, needs))
    if said:
        raise UsageError(f"The engine of runtime {runtime!r} can't do this: " + " ".join(said))


def _refusals(missing: frozenset[str], needs: Mapping[str, bool]) -> Iterator[str]:
    for name, is_needed in needs.items():
        if is_needed and name in missing:
            yield f"{CAPABILITIES[name]}. {_CURES[name]}."
