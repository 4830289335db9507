"""What an agent's toolsets of Hermes give it: asked of its worker, told by its card and by `%hermes tools`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_nb.model.toolset_offer import ToolsetTools

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.model.message import BoundKeys


def _offered(bound: BoundAgent) -> dict[str, ToolsetTools]:
    """Names of the tools that each of its toolsets gives, and of those it does not give, with what they need.

    Waits until the worker has bound the agent.

    Raises:
        UsageError: The agent can't be bound; the message says why.
        WorkerError: The worker did not come up.
    """
    if not bound.config.toolsets and not bound.config.mcp:
        return {}
    return _read(bound.hermes.io.call(bound.worker.bound(bound.agent_id)))


def known(bound: BoundAgent) -> dict[str, ToolsetTools]:
    """The same as far as it is known, without waiting; {} before the worker has bound the agent."""
    return _read(bound.worker.answer_of(bound.agent_id))


def _read(answer: BoundKeys | None) -> dict[str, ToolsetTools]:
    told = {} if answer is None else answer.get("tools_by_toolset") or {}
    return {name: ToolsetTools.from_wire(offer) for name, offer in told.items()}


tools_by_toolset = property(_offered)
