"""A bound agent as its card shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_nb.api.toolset_offer import known
from hermes_nb.model.capability import in_words
from hermes_nb.model.place import shown_path
from hermes_nb.model.toolset_offer import ToolsetTools

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.runtimes._base import Runtime


def card_of(bound: BoundAgent, *, on: Runtime | None = None) -> dict[str, Any]:
    """Return what a card shows: agent, model, provider, host, tools (name to first line), toolsets, runtime, session.

    Args:
        bound: The agent.
        on: The runtime on which its turns run, where that is not its instance's.
    """
    runtime = bound.instance.runtime if on is None else on
    instance = next((i for i in reversed(list(bound.hermes.instances.values())) if i.runtime == runtime), None)
    told = None if instance is None else instance.worker.versions
    missing = frozenset[str]() if instance is None else instance.worker.lacks
    own = getattr(runtime, "own_model", None)  # of a program that has one of its own
    model = {"model": bound.model.id, "provider": bound.model.provider, "host": bound.model.host}
    offers: dict[str, ToolsetTools | None] = {**dict.fromkeys(bound.config.toolsets or ()), **known(bound)}
    return {
        "agent": bound.name,
        **({**model, "notice": bound.choice.notice} if own is None else own(told)),
        "instructions": bound.config.instructions,
        "tools": {t.name: t.description.strip().splitlines()[0] if t.description.strip() else "" for t in bound.tools},
        "toolsets": {name: _offer_text(name, offer) for name, offer in offers.items()},
        "runtime": bound.runtime_name,
        "engine": bound.instance.engine_text() if on is None else getattr(on, "engine_text", str)(),
        "lacks": in_words(missing),
        "session": bound.session_id,
        "state": shown_path(bound.hermes.state_dir, base=bound.hermes.working_dir),
    }


def _offer_text(name: str, offer: ToolsetTools | None) -> str:
    """A toolset in a line: its tools and what the others need, once the worker told of them."""
    if offer is None:
        return name
    missing = "".join(f"; {tool} needs {need}" for tool, need in offer.missing.items())
    return f"{name} ({', '.join(offer.tools)}{missing})"
