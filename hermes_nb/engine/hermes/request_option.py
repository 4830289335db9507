"""An agent's options of a model's requests (`hermes_nb.model.model_option`), made good on an AIAgent, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hermes_nb.engine.hermes import patch
from hermes_nb.model.model_option import unsaid

_PROBE = [{"role": "system", "content": "x"}, {"role": "user", "content": "x"}]


def reasoning_config(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """`reasoning_effort` as AIAgent takes it; None leaves it to the provider."""
    effort = options.get("reasoning_effort")
    if effort is None:
        return None
    return {"enabled": False} if effort == "none" else {"enabled": True, "effort": str(effort)}


def apply(agent: Any, options: Mapping[str, Any]) -> None:
    """Set what is no parameter of AIAgent: whether and for how long the prompt's beginning is kept."""
    cache = options.get("prompt_cache")
    if cache is False:
        agent._use_prompt_caching = False
    elif cache is not None:
        agent._cache_ttl = cache


def refusal(agent: Any, options: Mapping[str, Any], protocols: Mapping[str, str]) -> str | None:
    """Which option a built agent can't send, in a sentence; None when it sends all.

    Args:
        agent: The AIAgent, with `apply` done.
        options: As the agent's Model has them.
        protocols: Provider to protocol of the model and of each fallback.
    """
    for provider, protocol in protocols.items():
        if (said := unsaid(provider, protocol, options)) is not None:
            return said
    sampling = [name for name in ("temperature", "top_p") if name in options]
    if sampling and (why := _fixed(agent, options, sampling[0])) is not None:
        return why
    if options.get("prompt_cache") and not agent._use_prompt_caching:
        return (
            f"prompt_cache={options['prompt_cache']!r} can't be sent to provider {agent.provider!r}: {agent.model} has no"
            " marks for that there; a provider without them keeps prompts by itself, or not at all. Leave it out."
        )
    if "reasoning_effort" in options and not _sends_effort(agent):
        return (
            f"reasoning_effort={options['reasoning_effort']!r} can't be sent to provider {agent.provider!r}: {agent.model}"
            " has no word for it there. Leave it out, or use a model that reasons."
        )
    return None


def _fixed(agent: Any, options: Mapping[str, Any], name: str) -> str | None:
    if agent.api_mode == "anthropic_messages":
        if patch.upstream("agent.anthropic_adapter")._forbids_sampling_params(agent.model):
            return f"{name}={options[name]!r} is refused by {agent.model}, which samples as it is. Leave it out."
        if options.get("reasoning_effort") not in (None, "none"):
            return (
                f"{name}={options[name]!r} can't go with reasoning_effort: a Claude that thinks samples as it is. Keep one."
            )
    if name == "temperature":
        fixed = patch.upstream("agent.auxiliary_client")._fixed_temperature_for_model(agent.model, agent.base_url)
        if fixed is not None:
            return f"temperature={options[name]!r} is refused by {agent.model}, whose temperature is fixed. Leave it out."
    return None


def _sends_effort(agent: Any) -> bool:
    """Whether the effort makes any difference to a request, by the code that makes it."""
    before = agent.reasoning_config
    bodies = set()
    try:
        for config in (None, {"enabled": False}, {"enabled": True, "effort": "low"}, {"enabled": True, "effort": "high"}):
            agent.reasoning_config = config
            bodies.add(json.dumps(agent._build_api_kwargs([dict(m) for m in _PROBE]), sort_keys=True, default=str))
    finally:
        agent.reasoning_config = before
    return len(bodies) > 1
