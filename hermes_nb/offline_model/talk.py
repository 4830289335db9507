"""A conversation as the offline model sees it: what was asked, which calls were made since, what they gave."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_nb.offline_model.mention import QUOTED

MAX_PROMPT_CHARS = 1_000
_STEER = re.compile(r"\[OUT-OF-BAND USER MESSAGE[^\]]*\]\s*(.*?)\s*\[/OUT-OF-BAND USER MESSAGE\]", re.S)
_DESCRIBED = re.compile(r"[A-Za-z_]\w*: [\w.]+(?:, |\n|$)")
_DAY = re.compile(r"(?:started|date|today)\D{0,20}?(?:\w+day,? )?(?:(\d{4}-\d\d-\d\d)|([A-Z][a-z]+ \d{1,2}, \d{4}))", re.I)


@dataclass(frozen=True)
class PastCall:
    """One call and what came back.

    Attributes:
        name: The tool.
        arguments: What it was called with.
        result: The result as read: JSON where it is JSON, else the text; a Hermes wrapper is taken off.
        error: What went wrong; "" when nothing did.
    """

    name: str
    arguments: Mapping[str, Any]
    result: Any
    error: str = ""


@dataclass(frozen=True)
class Talk:
    """The conversation up to now.

    Attributes:
        prompt: The last thing the user said, steering included.
        done: The calls made since.
        earlier: (prompt, calls, answer) of the turns before, oldest first.
        variables: Names of notebook variables described above the prompt.
        day: ISO date of the conversation; "" when nobody says it.
        n_calls: Calls in the whole conversation, so that new ones get ids of their own.
    """

    prompt: str
    done: list[PastCall]
    earlier: list[tuple[str, list[PastCall], str]] = field(default_factory=list)
    variables: tuple[str, ...] = ()
    day: str = ""
    n_calls: int = 0

    @property
    def last_calls(self) -> list[PastCall]:
        """Successful calls of the last earlier turn that made any."""
        return next(([d for d in done if not d.error] for _, done, _ in reversed(self.earlier) if done), [])


def talk(messages: Sequence[Mapping[str, Any]]) -> Talk:
    """The conversation in a request's messages."""
    turns: list[tuple[str, list[PastCall], str]] = []
    steered: list[str] = []
    pending: dict[str, tuple[str, Mapping[str, Any]]] = {}
    open_calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    day = ""
    for message in messages:
        role, text = message.get("role"), _text(message.get("content"))
        if role == "system":
            day = _day(text) or day
        elif role == "user":
            turns.append((text, [], ""))
            steered = []
            open_calls = {}
        elif role == "assistant" and turns:
            calls = message.get("tool_calls")
            for call in calls if isinstance(calls, list) else []:
                name, arguments = _call(call)
                pending[str(call.get("id"))] = open_calls[str(call.get("id"))] = (name, arguments)
            if text:
                turns[-1] = (*turns[-1][:2], text)
        elif role == "tool" and turns:
            name, arguments = pending.get(str(message.get("tool_call_id")), (str(message.get("name") or "tool"), {}))
            open_calls.pop(str(message.get("tool_call_id")), None)
            steered.extend(_STEER.findall(text))
            turns[-1][1].append(_done(name, arguments, _STEER.sub("", text).strip()))
    if not turns:
        return Talk("", [], day=day)
    prompt, done, _ = turns[-1]
    done.extend(PastCall(name, arguments, None, "no result came back") for name, arguments in open_calls.values())
    prompt, variables = _without_context(prompt)
    earlier = [(_bounded(p), d, a) for p, d, a in turns[-3:-1]]
    n_calls = sum(len(m["tool_calls"]) for m in messages if isinstance(m.get("tool_calls"), list))
    return Talk("\n".join([_bounded(prompt), *steered]), done, earlier, variables, day, n_calls)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(p.get("text") or "") for p in content if isinstance(p, dict))
    return content if isinstance(content, str) else ""


def _day(text: str) -> str:
    match = _DAY.search(text)
    if not match:
        return ""
    if match[1]:
        return match[1]
    import datetime as dt

    try:
        return dt.datetime.strptime(match[2], "%B %d, %Y").date().isoformat()
    except ValueError:
        return ""


def _call(call: Any) -> tuple[str, Mapping[str, Any]]:
    function = call.get("function") if isinstance(call, dict) else None
    function = function if isinstance(function, dict) else {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (TypeError, ValueError):
        arguments = {}
    return str(function.get("name") or ""), arguments if isinstance(arguments, dict) else {}


def _done(name: str, arguments: Mapping[str, Any], text: str) -> PastCall:
    result: Any = text
    with contextlib.suppress(ValueError):
        result = json.loads(text)
    if isinstance(result, dict):
        error = result.get("error")
        if error and not set(result) - {
            "error",
            "hint",
            "lines",
            "caused_by",
            "type",
            "success",
            "status",
            "traceback",
        }:
            return PastCall(name, arguments, result, str(error))
        if set(result) == {"result"}:
            result = result["result"]
    elif isinstance(result, str) and re.match(r"(?:\[TOOL_ERROR\]|Error\b|Traceback\b)", result):
        return PastCall(name, arguments, result, result)
    return PastCall(name, arguments, result)


def _bounded(prompt: str) -> str:
    """The prompt, where a long text below or behind a short request is put in a fence, as one value, and what is too
    long to be a request is cut in the middle."""
    if len(prompt) <= MAX_PROMPT_CHARS or len(QUOTED.sub("", prompt)) <= MAX_PROMPT_CHARS:
        return prompt
    match = re.match(r"(?P<request>[^\n]{3,300}?)(?:\n+|:\s+)(?P<text>.{600,})\Z", prompt, re.S)
    if match:
        return f"{match['request']}:\n```\n{match['text']}\n```"
    half = MAX_PROMPT_CHARS // 2
    return f"{prompt[:half]}\n{prompt[-half:]}"


def _without_context(prompt: str) -> tuple[str, tuple[str, ...]]:
    """The question without the descriptions of variables above it, and their names."""
    parts = prompt.split("\n\n")
    names: list[str] = []
    while len(parts) > 1 and _DESCRIBED.match(parts[0]):
        names.append(parts.pop(0).partition(":")[0])
    return "\n\n".join(parts), tuple(names)
