"""Variants: agents, and the same with other models and other instructions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent, Model

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.hermes import Hermes


@dataclass(frozen=True, slots=True)
class Variant:
    """What is evaluated.

    Attributes:
        name: For people; unique in an evaluation.
        bound: Who is asked.
    """

    name: str
    bound: BoundAgent


def variants_of(
    agents: Any, models: Sequence[str | Model], instructions: Sequence[str], hermes: Hermes | None
) -> list[Variant]:
    """Return each agent with each model and each instructions; the agents themselves where there are neither.

    Args:
        agents: Bound agents, or declarations.
        models: Models, or ids of models of the agent's provider; () for the agent's own.
        instructions: Instructions; () for the agent's own.
        hermes: Where declarations are bound; None takes that of a bound agent among them.

    Raises:
        UsageError: There is no agent, one is none, or a declaration has nowhere to be bound.
    """
    from hermes_nb.api.bound_agent import BoundAgent

    listed = list(agents) if isinstance(agents, Sequence) and not isinstance(agents, str) else [agents]
    if not listed:
        raise UsageError("agents is empty: an evaluation needs an agent to ask.")
    for one in listed:
        if not isinstance(one, BoundAgent | Agent):
            raise UsageError(f"agents takes bound agents or Agent(...), not {one!r}.")
    for what, given in (("models", models), ("instructions", instructions)):
        if isinstance(given, str | Model) or not isinstance(given, Sequence):
            raise UsageError(f"{what} takes a list, e.g. {what}=[...], not {given!r}.")
    home = hermes or next((a.hermes for a in listed if isinstance(a, BoundAgent)), None)
    if home is None:
        raise UsageError("agents holds declarations alone: pass hermes=, or bind one of them (hermes.bind(agent)).")
    made: list[Variant] = []
    for one in listed:
        bound = one if isinstance(one, BoundAgent) else home.bind(one)
        if not models and not instructions:
            made.append(Variant(bound.name, bound))
            continue
        wanted: list[str | Model | None] = [*models] or [None]
        texts: list[str | None] = [*instructions] or [None]
        made += [_derived(bound, model, text) for model in wanted for text in texts]
    names = [v.name for v in made]
    if twice := next((n for n in names if names.count(n) > 1), None):
        raise UsageError(f"Two variants are named {twice!r}. Give the agents, models or instructions names of their own.")
    return made


def _derived(bound: BoundAgent, model: str | Model | None, instructions: str | None) -> Variant:
    """The agent with another model or other instructions, beside the one that is bound."""
    if instructions is not None and not isinstance(instructions, str):
        raise UsageError(f"instructions takes texts, not {instructions!r}.")
    config = replace(bound.config, tools=list(bound.tools))
    parts = [bound.name]
    if model is not None:
        config = replace(config, model=model, provider=None if isinstance(model, Model) else config.provider)
        parts.append(model.id if isinstance(model, Model) else str(model))
    if instructions is not None:
        config = replace(config, instructions=instructions)
        parts.append(_short(instructions))
    digest = hashlib.sha256("\n".join([*parts, instructions or ""]).encode("utf-8", "replace")).hexdigest()[:8]
    config = replace(config, name=f"{bound.name[:50]}-{digest}")  # the same in each run, as a checkpoint needs
    return Variant(" · ".join(parts), bound.hermes.bind_aside(config, bound.instance.runtime))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 40 else line[:39] + "…")
