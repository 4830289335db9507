"""Options of a model's requests: which there are, what they may be, and how each protocol says them.

An option that the protocol of a provider has no word for is refused when the agent is bound; none is left out in silence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

SAMPLING = ("temperature", "top_p", "stop", "seed")
OPTIONS = (*SAMPLING, "reasoning_effort", "prompt_cache")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
CACHES = ("5m", "1h", False)
MOST_STOPS = 4

# Hermes's name of a protocol -> option -> its name in the request.
_WORDS: dict[str, dict[str, str]] = {
    "chat_completions": {"temperature": "temperature", "top_p": "top_p", "stop": "stop", "seed": "seed"},
    "anthropic_messages": {"temperature": "temperature", "top_p": "top_p", "stop": "stop_sequences"},
    "codex_responses": {"temperature": "temperature"},
}
_PROTOCOLS = {
    "chat_completions": "chat completions",
    "anthropic_messages": "Anthropic's messages",
    "codex_responses": "OpenAI's responses",
    "bedrock_converse": "Bedrock's converse",
}
# Providers whose client takes fewer than its protocol.
_LACKING = {"gemini": frozenset({"seed"}), "vertex": frozenset({"seed"})}


def checked(whose: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are set, each in its one form (`stop` is a tuple).

    Raises:
        ValueError: One has a value it can't have.
    """
    found = {name: value for name, value in given.items() if value is not None}
    for name, most in (("temperature", 2.0), ("top_p", 1.0)):
        if name in found and not (_is_number(found[name]) and 0 <= found[name] <= most):
            raise ValueError(f"{whose}: {name} must be a number from 0 to {most:g}, not {found[name]!r}.")
    if "seed" in found and (isinstance(found["seed"], bool) or not isinstance(found["seed"], int)):
        raise ValueError(f"{whose}: seed must be a whole number, not {found['seed']!r}.")
    for name, known in (("reasoning_effort", EFFORTS), ("prompt_cache", CACHES)):
        if name in found and not any(found[name] is k or (isinstance(k, str) and found[name] == k) for k in known):
            raise ValueError(f"{whose}: {name} must be one of {', '.join(map(repr, known))}, not {found[name]!r}.")
    if "stop" in found:
        found["stop"] = _stops(whose, found["stop"])
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _stops(whose: str, value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not 1 <= len(texts) <= MOST_STOPS or not all(isinstance(text, str) and text for text in texts):
        raise ValueError(f"{whose}: stop must be a text or a list of 1 to {MOST_STOPS} texts, not {value!r}.")
    return texts


def unsaid(provider: str, protocol: str, options: Mapping[str, Any]) -> str | None:
    """Which sampling option the protocol of a provider can't say, in a sentence; None when it can say all."""
    words = _WORDS.get(protocol, {})
    for name in SAMPLING:
        if name in options and (name not in words or name in _LACKING.get(provider, ())):
            able = [n for n in words if n not in _LACKING.get(provider, ())]
            return (
                f"{name}={options[name]!r} can't be sent to provider {provider!r}: {_PROTOCOLS.get(protocol, protocol)} has"
                f" {', '.join(able) or 'none of ' + ', '.join(SAMPLING)}. Leave it out, or use a provider that has it."
            )
    return None


def applied(request: Mapping[str, Any], protocol: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The request with the sampling options as its protocol says them."""
    words = _WORDS.get(protocol, {})
    said = {words[name]: options[name] for name in SAMPLING if name in options and name in words}
    return {**request, **{word: list(value) if isinstance(value, tuple) else value for word, value in said.items()}}
