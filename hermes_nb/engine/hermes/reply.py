"""A model's response as data: what it said, what it cost, and enough to hand it to Hermes again (replay)."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from hermes_nb.engine.accounting.budget import Bound
from hermes_nb.engine.hermes.chunk import MOST_TOKENS
from hermes_nb.engine.hermes.thought import split


@dataclass(frozen=True, slots=True)
class Reply:
    """One response of the model.

    Attributes:
        text: What it said.
        tool_calls: `[{id, name, arguments}]`, arguments as the raw JSON text the model wrote.
        reasoning: What it thought, where the provider says so.
        finish_reason: Why it ended.
        model: The model's own name for itself.
        usage: Tokens by kind; None when the provider did not say.
        is_cost_given: Whether the provider said what it cost.
        body: The whole response as JSON data; `rebuild` makes a response of it.
    """

    text: str
    tool_calls: list[dict[str, str]] = field(default_factory=list)
    reasoning: str = ""
    finish_reason: str = ""
    model: str = ""
    usage: dict[str, int] | None = None
    is_cost_given: bool = False
    body: dict[str, Any] = field(default_factory=dict)


def read(response: Any, agent: Any, hermes: Any) -> Reply:
    """The reply in a response of any of Hermes's API modes.

    Args:
        response: What Hermes's transport returned (a namespace, or an SDK's object).
        agent: The AIAgent that asked; its transport knows the shape.
        hermes: `Bootstrap.hermes()`.
    """
    if agent.api_mode == "chat_completions":
        choice = (getattr(response, "choices", None) or [None])[0]
        message = getattr(choice, "message", None)
        text = flat_text({"content": getattr(message, "content", None)})
        calls = getattr(message, "tool_calls", None) or []
        reasoning = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or ""
        finish = getattr(choice, "finish_reason", None) or ""
    else:
        options = {"strip_tool_prefix": agent._is_anthropic_oauth} if agent.api_mode == "anthropic_messages" else {}
        message = agent._get_transport().normalize_response(response, **options)
        text = flat_text({"content": message.content})
        calls, reasoning, finish = message.tool_calls or [], message.reasoning or "", message.finish_reason or ""
    tool_calls = [_tool_call(call) for call in calls]
    if finish == "length" and any(not is_object(c["arguments"]) for c in tool_calls):
        finish = ""  # Hermes (0.19) writes this over the true reason where arguments are no JSON
    return Reply(
        text=text,
        tool_calls=tool_calls,
        reasoning=reasoning if isinstance(reasoning, str) else "",
        finish_reason=str(finish),
        model=str(getattr(response, "model", None) or ""),
        usage=_usage(response, agent, hermes),
        is_cost_given=given_cost_usd(response) is not None,
        body=plain(response),
    )


def part_thought(response: Any) -> None:
    """Put a thought that leads a reply's text where a provider would have put it."""
    choices = getattr(response, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    text = getattr(message, "content", None)
    if message is None or not isinstance(text, str):
        return
    thought, answer = split(text)
    if answer == text:
        return
    message.content = answer
    given = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    known = given.strip() if isinstance(given, str) else ""
    if thought and thought not in known:
        message.reasoning_content = "\n\n".join(filter(None, (known, thought)))


def mend_arguments(tool_calls: Sequence[Any]) -> None:
    """Arguments whose meaning is plain become the JSON of an object: encoded once more, `null`, or nothing at all."""
    for call in tool_calls:
        function = getattr(call, "function", None)
        arguments = getattr(function, "arguments", None)
        if function is not None and isinstance(arguments, str):
            function.arguments = mended(arguments)


def mended(arguments: str) -> str:
    """The JSON of an object where `arguments` means one; else as it is."""
    text = arguments
    for _ in range(_MOST_ENCODED):
        if text.strip() in ("", "null"):
            return "{}"
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return arguments
        if isinstance(value, dict):
            return text
        if not isinstance(value, str):
            return arguments
        text = value
    return arguments


_MOST_ENCODED = 3


def _tool_call(call: Any) -> dict[str, str]:
    function = getattr(call, "function", call)
    arguments = getattr(function, "arguments", None)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": str(getattr(call, "id", None) or ""), "name": str(getattr(function, "name", "")), "arguments": text}


def _usage(response: Any, agent: Any, hermes: Any) -> dict[str, int] | None:
    raw = getattr(response, "usage", None)
    counted = hermes.normalize_usage(raw, provider=agent.provider, api_mode=agent.api_mode) if raw else None
    if counted is None or not _is_count(counted) or not (counted.prompt_tokens or counted.output_tokens):
        return None
    usage = {"input_tokens": counted.prompt_tokens, "output_tokens": counted.output_tokens}
    for name in ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens"):
        if getattr(counted, name) or _says_none(raw, name):
            usage[name] = getattr(counted, name)
    return usage


def _is_count(counted: Any) -> bool:
    """Whether each figure can be a number of tokens."""
    names = ("prompt_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    return all(0 <= getattr(counted, name) <= MOST_TOKENS for name in names)


_DETAILS = {
    "cache_read_tokens": (("cache_read_input_tokens",), ("prompt_tokens_details", "input_tokens_details"), "cached_tokens"),
    "cache_write_tokens": (("cache_creation_input_tokens",), (), ""),
    "reasoning_tokens": ((), ("completion_tokens_details", "output_tokens_details"), "reasoning_tokens"),
}


def _says_none(raw: Any, name: str) -> bool:
    """Whether a provider reports 0 of a kind of tokens, which is not the same as reporting nothing of it."""
    plain, nested, inner = _DETAILS[name]
    held = [_of(raw, key) for key in plain] + [_of(_of(raw, key), inner) for key in nested]
    return any(n is not None and not isinstance(n, bool) and n == 0 for n in held)


def _of(raw: Any, key: str) -> Any:
    return raw.get(key) if isinstance(raw, Mapping) else getattr(raw, key, None)


def given_cost_usd(response: Any) -> float | None:
    """What the provider itself says that a response cost (`usage.cost`); None where it does not."""
    cost = _of(getattr(response, "usage", None), "cost")
    is_amount = isinstance(cost, (int, float)) and not isinstance(cost, bool) and math.isfinite(cost) and cost >= 0
    return float(cost) if is_amount else None


def cost_usd(response: Any, agent: Any, hermes: Any) -> float | None:
    """What a response cost: the provider's own figure, else by Hermes's price tables; None when no price is known.

    May ask the provider for its prices.
    """
    raw = getattr(response, "usage", None)
    if not raw:
        return None
    if (given := given_cost_usd(response)) is not None:
        return given
    counted = hermes.normalize_usage(raw, provider=agent.provider, api_mode=agent.api_mode)
    if counted is None or not _is_count(counted):
        return None
    cost = hermes.estimate_usage_cost(
        agent.model, counted, provider=agent.provider, base_url=agent.base_url, api_key=getattr(agent, "api_key", "")
    )
    return None if cost.amount_usd is None else float(cost.amount_usd)


def knows_price(agent: Any, hermes: Any) -> bool:
    """Whether the cost of a call will be known; may ask the provider for its prices."""
    one = SimpleNamespace(
        usage=SimpleNamespace(prompt_tokens=1, completion_tokens=1, total_tokens=2, input_tokens=1, output_tokens=1)
    )
    return cost_usd(one, agent, hermes) is not None


def bound(request: Mapping[str, Any], agent: Any, hermes: Any, *, is_free: bool) -> Bound:
    """The most a request can come to: a token has a byte at least; what is received is within `max_tokens`, or else within
    the model's context, all of it at the price of what is received."""
    n_sent = len(json.dumps(request, default=str, ensure_ascii=False).encode("utf-8", "replace"))
    limit = next((request[k] for k in ("max_tokens", "max_completion_tokens", "max_output_tokens") if request.get(k)), None)
    received = limit or getattr(getattr(agent, "context_compressor", None), "context_length", None)
    if not isinstance(received, int):
        return Bound(is_free=is_free)
    n_tokens = n_sent + received
    if is_free:
        return Bound(n_tokens, 0.0, is_free=True)
    dearest = SimpleNamespace(
        usage=SimpleNamespace(
            prompt_tokens=0, completion_tokens=n_tokens, total_tokens=n_tokens, input_tokens=0, output_tokens=n_tokens
        )
    )
    return Bound(n_tokens, cost_usd(dearest, agent, hermes))


def flat_text(message: Any) -> str:
    """The text of a message, parts joined; "" when it has none."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (p if isinstance(p, str) else p.get("text") if isinstance(p, Mapping) else "" for p in content)
        return "\n".join(t for t in texts if isinstance(t, str) and t)
    return ""


def is_object(arguments: str) -> bool:
    """Whether `arguments` is the JSON of an object."""
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


_CLASS = "__class__"


def plain(value: Any) -> Any:
    """JSON data that `rebuild` turns back: objects keep their fields, an SDK's models also their class."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {"__mapping__": {str(k): plain(v) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "model_dump"):
        cls = type(value)
        return {_CLASS: f"{cls.__module__}:{cls.__qualname__}", "fields": value.model_dump(mode="json")}
    fields = getattr(value, "__dict__", None)
    if fields is None:
        return str(value)
    return {k: plain(v) for k, v in fields.items() if not callable(v) and k != _REPLAYED}


def rebuild(data: Any) -> Any:
    """A response that Hermes accepts, from what `plain` made of one."""
    if isinstance(data, list):
        return [rebuild(v) for v in data]
    if not isinstance(data, Mapping):
        return data
    if "__mapping__" in data:
        return {k: rebuild(v) for k, v in data["__mapping__"].items()}
    if _CLASS in data:
        module, _, name = str(data[_CLASS]).partition(":")
        cls: Any = importlib.import_module(module)
        for part in name.split("."):
            cls = getattr(cls, part)
        return cls.model_construct(**data["fields"])  # as the SDKs do: a provider's answer need not be valid
    return SimpleNamespace(**{k: rebuild(v) for k, v in data.items()})


_REPLAYED = "_hermes_nb_replayed"


def mark_replayed(response: Any) -> None:
    """Note on a rebuilt response that it came from somebody else's record (Flyte's), not from the model."""
    setattr(response, _REPLAYED, True)


def is_replayed(response: Any) -> bool:
    """Whether `mark_replayed` was called on it."""
    return vars(response).get(_REPLAYED) is True if isinstance(response, SimpleNamespace) else False
