"""Conversations as trajectories: the ShareGPT form in which models are trained, and how Hermes shortens such a form.

Both give what Hermes 0.19 gives for the same messages (`AIAgent._convert_to_trajectory_format`, `TrajectoryCompressor`);
`tests/model/test_trajectory.py` compares them. Tokens are counted by a function that is given: nothing is downloaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast

Role = Literal["system", "human", "gpt", "tool"]

_SHOWN_CHARS, _HEAD_CHARS, _TAIL_CHARS = 3_000, 1_500, 500  # of a turn that is summarised
_NOTICE = "\n\nSome of your previous tool responses may be summarized to preserve context."
_SUMMARY = "[CONTEXT SUMMARY]:"
_CALL_FORM = (
    "{'title': 'FunctionCall', 'type': 'object', 'properties': {'name': {'title': 'Name', 'type': 'string'}, "
    "'arguments': {'title': 'Arguments', 'type': 'object'}}, 'required': ['name', 'arguments']}"
)
# The prompt of the form, which a model that was trained on it knows word by word.
_SYSTEM = (
    "You are a function calling AI model. You are provided with function signatures within <tools> </tools> XML tags. "
    "You may call one or more functions to assist with the user query. If available tools are not relevant in assisting "
    "with user query, just respond in natural conversational language. Don't make assumptions about what values to plug "
    "into functions. After calling & executing the functions, you will be provided with function results within "
    "<tool_response> </tool_response> XML tags. Here are the available tools:\n<tools>\n{tools}\n</tools>\n"
    "For each function call return a JSON object, with the following pydantic model json schema for each:\n{form}\n"
    "Each function call should be enclosed within <tool_call> </tool_call> XML tags.\nExample:\n<tool_call>\n"
    "{{'name': <function-name>,'arguments': <args-dict>}}\n</tool_call>"
)

TrajectoryTurn = TypedDict("TrajectoryTurn", {"from": Role, "value": str})


def of_messages(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> list[TrajectoryTurn]:
    """A conversation as a trajectory.

    Args:
        messages: Of the chat completions protocol, from the first question on, with `reasoning` where a model gave some.
        tools: Definitions of the functions: name, description and parameters.

    Returns: turns by `system`, `human`, `gpt` and `tool`; [] for no messages.
    """
    if not messages:
        return []
    told = [
        {
            "name": tool["name"],
            "description": tool.get("description", ""),
            "parameters": tool.get("parameters", {}),
            "required": None,
        }
        for tool in tools
    ]
    system = _SYSTEM.format(tools=json.dumps(told, ensure_ascii=False), form=_CALL_FORM)
    return [{"from": "system", "value": system}, *_turns(messages)]


def _turns(messages: Sequence[Mapping[str, Any]]) -> Iterator[TrajectoryTurn]:
    names: list[str] = []  # of the calls that the results answer, in their order
    results: list[str] = []
    for message in messages:
        if message["role"] != "tool" and results:
            yield {"from": "tool", "value": "\n".join(results)}
            results = []
        if message["role"] == "user":
            yield {"from": "human", "value": _text(message["content"])}
        elif message["role"] == "assistant":
            calls = [call for call in message.get("tool_calls") or () if isinstance(call, Mapping)]
            names = [str(call["function"]["name"]) for call in calls]
            yield {"from": "gpt", "value": _said(message, calls)}
        elif message["role"] == "tool":
            name = names[len(results)] if len(results) < len(names) else "unknown"
            result = {"tool_call_id": message.get("tool_call_id", ""), "name": name, "content": _result(message["content"])}
            results.append(f"<tool_response>\n{json.dumps(result, ensure_ascii=False)}\n</tool_response>")
    if results:
        yield {"from": "tool", "value": "\n".join(results)}


def _said(message: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> str:
    """What a model said, its thinking first; an empty one where it gave none, so that each turn has the same form."""
    reasoning, content = str(message.get("reasoning") or ""), _text(message.get("content") or "")
    content = content.replace("<REASONING_SCRATCHPAD>", "<think>").replace("</REASONING_SCRATCHPAD>", "</think>")
    text = f"<think>\n{reasoning}\n</think>\n" if reasoning.strip() else ""
    if not calls:
        text += content
    elif content.strip():
        text += f"{content}\n"
    for call in calls:
        asked = {"name": call["function"]["name"], "arguments": _arguments(call["function"]["arguments"])}
        text += f"<tool_call>\n{json.dumps(asked, ensure_ascii=False)}\n</tool_call>\n"
    text = text if "<think>" in text else f"<think>\n</think>\n{text}"
    return text.rstrip() if calls else text.strip()


def _arguments(given: Any) -> Any:
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {}


def _result(content: Any) -> Any:
    text = _text(content)
    try:
        return json.loads(text) if text.strip().startswith(("{", "[")) else text
    except ValueError:
        return text


def _text(content: Any) -> str:
    """The words of a message; a picture is named."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = (part if isinstance(part, Mapping) else {"text": str(part)} for part in content)
    return "\n".join("[screenshot]" if "image" in str(part.get("type")) else str(part.get("text", "")) for part in parts)


@dataclass(frozen=True)
class TrajectoryLimit:
    """How long a trajectory may be, in tokens, and what stays as it is.

    Attributes:
        target_tokens: The most that it should come to.
        summary_tokens: How long a summary is expected to be.
        n_last: How many turns at the end stay; the first of each role stays, too.
    """

    target_tokens: int = 15_250
    summary_tokens: int = 750
    n_last: int = 4


def compressed(
    trajectory: Sequence[TrajectoryTurn],
    *,
    count_tokens: Callable[[str], int],
    summarize: Callable[[str], str],
    limit: TrajectoryLimit = TrajectoryLimit(),
) -> list[TrajectoryTurn]:
    """A trajectory that is not longer than it may be, as far as that can be had: turns of its middle become one summary.

    A call is never parted from its result.

    Args:
        trajectory: Of `SessionHandle.to_trajectory`.
        count_tokens: Says how many tokens a text has.
        summarize: Makes the summary of a text.
        limit: How long it may be.
    """
    turns = [cast(TrajectoryTurn, dict(turn)) for turn in trajectory]
    tokens = [count_tokens(turn["value"]) for turn in turns]
    too_many = sum(tokens) - limit.target_tokens
    start, end = _middle(turns, limit.n_last)
    start = _clean(turns, start, start, end)
    if too_many <= 0 or start >= end:
        return turns
    saved, until = 0, start
    while until < end and saved < too_many + limit.summary_tokens:
        saved, until = saved + tokens[until], until + 1
    until = _clean(turns, until, start, end)
    if until <= start:
        return turns
    summary = (summarize("\n\n".join(_shown(n, turns[n]) for n in range(start, until))) or "").strip()
    if not summary.startswith(_SUMMARY):
        summary = f"{_SUMMARY} {summary}".strip()
    head: list[TrajectoryTurn] = [
        {"from": turn["from"], "value": turn["value"] + _NOTICE} if turn["from"] == "system" else turn
        for turn in turns[:start]
    ]
    return [*head, {"from": "human", "value": summary}, *turns[until:]]


def _middle(turns: Sequence[TrajectoryTurn], n_last: int) -> tuple[int, int]:
    """Where what may be summarised begins and ends."""
    n, kept = len(turns), set(range(max(0, len(turns) - n_last), len(turns)))
    for role in ("system", "human", "gpt", "tool"):
        kept |= {next((i for i, turn in enumerate(turns) if turn["from"] == role), n)} - {n}
    head, tail = [i for i in kept if i < n // 2], [i for i in kept if i >= n // 2]
    return max(head, default=-1) + 1, min(tail, default=n)


def _clean(turns: Sequence[TrajectoryTurn], at: int, least: int, most: int) -> int:
    """The nearest place that parts no result from its call, forward if there is one."""

    def parts(place: int) -> bool:
        return place < len(turns) and turns[place]["from"] == "tool"

    forward = at
    while forward < most and parts(forward):
        forward += 1
    if not parts(forward):
        return forward
    while at > least and parts(at):
        at -= 1
    return at


def _shown(number: int, turn: TrajectoryTurn) -> str:
    value = turn["value"]
    if len(value) > _SHOWN_CHARS:
        value = f"{value[:_HEAD_CHARS]}\n...[truncated]...\n{value[-_TAIL_CHARS:]}"
    return f"[Turn {number} - {turn['from'].upper()}]:\n{value}"
