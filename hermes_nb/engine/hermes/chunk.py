"""One event of a streamed reply in the form that clients rely on, whatever the endpoint makes of it.

Hermes 0.19 and the SDK read `choices[0].delta` as the OpenAI API has it, and end a turn with an AttributeError or a
TypeError of their own where an endpoint sends a list of parts for a text, an object for arguments, or nothing for a list.
Pure.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

# No reply comes near; what is above, below zero or no number is not a count of tokens.
MOST_TOKENS = 10**12
_COUNTS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens")
_DETAILS = ("prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH = re.compile("[\ud800-\udbff]\\Z")
_PLAIN = {"role", "content"}
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


class Chunks:
    """Puts the events of one reply into form.

    Attributes:
        is_finished: Whether the endpoint said why the reply ended.
        is_counted: Whether the tokens of the whole were said after that.
        has_text: Whether there are words of the answer.
        has_calls: Whether there are calls.
    """

    def __init__(self) -> None:
        self.is_finished = self.is_counted = self.has_text = self.has_calls = False
        self._index: Any = None
        self._halves: dict[Any, str] = {}
        self._arguments: dict[int, str] = {}
        self._slots: dict[int, int] = {}

    def tidy(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return an event in form; `message` in a choice stands for `delta`, as in a reply that is not streamed."""
        made = dict(data)
        given = data.get("choices")
        choices = [given] if isinstance(given, Mapping) else given if isinstance(given, list) else []
        made["choices"] = [self._choice(c) for c in choices if isinstance(c, Mapping) and self._is_ours(c)]
        made["model"] = data["model"] if isinstance(data.get("model"), str) else None
        if "usage" in data:
            made["usage"] = usage(data["usage"])
        if self.is_finished and not made["choices"] and made.get("usage"):
            self.is_counted = True
        return made

    def end(self) -> dict[str, Any] | None:
        """Return the event that is missing where an endpoint said that the stream is over and never why; None for none."""
        if self.is_finished or not (self.has_text or self.has_calls):
            return None
        self.is_finished = True
        reason = "tool_calls" if self.has_calls else "stop"
        return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}

    def _is_ours(self, choice: Mapping[str, Any]) -> bool:
        """Whether it is of the answer that is heard: the first; nobody asked for further ones."""
        index = choice.get("index")
        index = index if isinstance(index, int) else 0
        if self._index is None:
            self._index = index
        return bool(index == self._index)

    def _choice(self, choice: Mapping[str, Any]) -> dict[str, Any]:
        given = choice.get("delta") or choice.get("message")
        reason = choice.get("finish_reason")
        reason = None if reason in (None, "") else "tool_calls" if reason == "function_call" else str(reason)
        self.is_finished = self.is_finished or reason is not None
        delta = self._delta(given if isinstance(given, Mapping) else {}, is_last=reason is not None)
        return {**choice, "index": 0, "delta": delta, "finish_reason": reason}

    def _delta(self, given: Mapping[str, Any], *, is_last: bool) -> dict[str, Any]:
        delta = dict(given)
        plain = given.get("content")
        if given.keys() <= _PLAIN and isinstance(plain, str) and not self._halves and _SURROGATE.search(plain) is None:
            self.has_text = self.has_text or bool(plain)
            return delta  # nearly all there are
        text, thought = parts(given.get("content"))
        if not text and isinstance(given.get("refusal"), str):
            text = given["refusal"]
        text = self._whole("text", text, is_last=is_last)
        delta["content"] = text or None
        said = [parts(given.get(name)) for name in _THOUGHTS]
        thought = next((a + b for a, b in said if a + b), thought) or details(given.get("reasoning_details"))
        for name in _THOUGHTS:
            delta.pop(name, None)
        if thought := self._whole("thought", thought, is_last=is_last):
            delta["reasoning_content"] = thought
        calls = given.get("tool_calls")
        if not calls and isinstance(given.get("function_call"), Mapping):
            calls = [{"index": 0, "function": given["function_call"]}]
        calls = [calls] if isinstance(calls, Mapping) else calls if isinstance(calls, list) else []
        found = [_call(c, i) for i, c in enumerate(c for c in calls if isinstance(c, Mapping))]
        delta["tool_calls"] = [self._placed(call) for call in found] or None
        delta.pop("function_call", None)
        self.has_text = self.has_text or bool(text)
        self.has_calls = self.has_calls or bool(delta["tool_calls"])
        return delta

    def _placed(self, call: dict[str, Any]) -> dict[str, Any]:
        """A call at an index of its own: some send whole calls one after another, all without an id at one index."""
        given, function = call["index"], call["function"]
        slot = self._slots.get(given, given)
        begins = bool(function["name"] and function["arguments"]) and not call["id"]
        if begins and is_object(self._arguments.get(slot, "")):
            slot = self._slots[given] = max(self._arguments) + 1
        self._arguments[slot] = self._arguments.get(slot, "") + (function["arguments"] or "")
        return {**call, "index": slot}

    def _whole(self, key: str, text: str, *, is_last: bool) -> str:
        """The text without halves of characters: one that was cut between two events is joined, a lone one replaced."""
        held = self._halves.pop(key, "")
        if not held and not (text and _SURROGATE.search(text)):
            return text
        text = held + text
        if not is_last and _HIGH.search(text):
            self._halves[key], text = text[-1], text[:-1]
        return whole(text)


def whole(text: str) -> str:
    """Return a text that can be encoded: halves of a character are joined, lone ones replaced."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_object(text: str) -> bool:
    """Whether a text is the JSON of an object, from its beginning to its end."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def parts(content: Any) -> tuple[str, str]:
    """Return the words and the thoughts of a content: a text, a part, or a list of parts."""
    if content is None or isinstance(content, bool):
        return "", ""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, (int, float)):
        return json.dumps(content), ""
    if isinstance(content, Mapping):
        if content.get("type") in ("thinking", "reasoning") or ("thinking" in content and "text" not in content):
            held = (parts(content.get(name)) for name in ("thinking", "reasoning", "text"))
            return "", next((a + b for a, b in held if a + b), "")
        held = (parts(content.get(name)) for name in ("text", "content", "refusal", "value"))
        return next((found for found in held if any(found)), ("", ""))
    if isinstance(content, list):
        found = [parts(part) for part in content]
        return "".join(a for a, _ in found), "".join(b for _, b in found)
    return "", ""


def details(given: Any) -> str:
    """Return the text of `reasoning_details`; what is encrypted has none."""
    items = [item for item in given if isinstance(item, Mapping)] if isinstance(given, list) else []
    texts = (item.get("text") or item.get("summary") for item in items)
    return "".join(text for text in texts if isinstance(text, str))


def _call(call: Mapping[str, Any], position: int) -> dict[str, Any]:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    name, arguments, given = function.get("name"), function.get("arguments"), call.get("id")
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    is_number = isinstance(given, int) and not isinstance(given, bool)
    return {
        **call,
        "index": call["index"] if isinstance(call.get("index"), int) else position,
        "id": given if isinstance(given, str) else str(given) if is_number else None,
        "function": {
            **function,
            "name": whole(name) if isinstance(name, str) else None,
            "arguments": None if arguments is None else whole(arguments),
        },
    }


def usage(given: Any) -> dict[str, Any] | None:
    """Return what an endpoint counted; None where a figure of it can't be a count, so that none of them is known."""
    if not isinstance(given, Mapping):
        return None
    made = dict(given)
    for name in _COUNTS:
        if made.get(name) is not None and (count := whole_number(made[name])) is None:
            return None
        if made.get(name) is not None:
            made[name] = count
    for name in _DETAILS:
        if made.get(name) is None:
            continue
        inner = made[name] if isinstance(made[name], Mapping) else {}
        total = next((made[n] for n in (name.removesuffix("_details"),) if made.get(n) is not None), MOST_TOKENS)
        counted = {k: whole_number(v) for k, v in inner.items()}
        made[name] = {k: v for k, v in counted.items() if v is not None and v <= total}
    return made


def whole_number(given: Any) -> int | None:
    """Return a count of tokens; None for what is none."""
    if isinstance(given, str):
        try:
            given = float(given)
        except ValueError:
            return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not math.isfinite(given):
        return None
    return int(given) if 0 <= given <= MOST_TOKENS else None
