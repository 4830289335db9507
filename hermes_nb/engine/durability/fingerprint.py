"""What makes two model requests the same request: everything the model reads, without the facts of a host or a day.

Hermes writes the day, the kernel release, HOME, the working directory, HERMES_HOME, the model and its provider into the
system prompt (0.19, `agent/system_prompt.py`). A resumed turn on another host or another day must still meet its own
responses, so those lines are left out here. What is sent stays as Hermes wrote it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# With the line breaks before them: another host may have no such line at all.
_HOST_LINES = re.compile(
    r"\n*^(?:Conversation started:|Session ID:|Model:|Provider:|Host:|User home directory:|Current working directory:"
    r"|Active Hermes profile:|Python toolchain:).*$",
    re.MULTILINE,
)
_IGNORED = frozenset({"timeout", "stream", "stream_options", "extra_headers", "api_key", "metadata", "user"})
_DATE = re.compile(r"(?<=Conversation started: )\w+, \w+ \d{1,2}, \d{4}")


def fingerprint(request: Mapping[str, Any]) -> str:
    """32 hexadecimal digits: the same for the same request, whoever asks and on whichever day."""
    body = without_host({k: v for k, v in request.items() if k not in _IGNORED and not k.startswith("_")})
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, default=_plain, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def without_host(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request without the lines that a host or a day writes into its system prompt."""
    body = dict(request)
    for key in ("system", "instructions"):
        if key in body:
            body[key] = _without_host(body[key])
    for key in ("messages", "input"):
        messages = body.get(key)
        if isinstance(messages, list):
            body[key] = [
                {**m, "content": _without_host(m.get("content"))}
                if isinstance(m, Mapping) and m.get("role") in ("system", "developer")
                else m
                for m in messages
            ]
    return body


def with_date(request: Mapping[str, Any], day: str) -> dict[str, Any]:
    """The request with the session's first day where Hermes wrote today's.

    Args:
        request: What Hermes is about to send.
        day: As Hermes writes it, e.g. `Sunday, November 29, 2026`.
    """
    changed = dict(request)
    for key in ("system", "instructions"):
        if key in changed:
            changed[key] = _dated(changed[key], day)
    for key in ("messages", "input"):
        messages = changed.get(key)
        if isinstance(messages, list) and messages and isinstance(messages[0], Mapping):
            first = messages[0]
            if first.get("role") in ("system", "developer"):
                changed[key] = [{**first, "content": _dated(first.get("content"), day)}, *messages[1:]]
    return changed


def with_prompts(request: Mapping[str, Any], prompts: Sequence[str]) -> Mapping[str, Any]:
    """The request with what users typed as they typed it: Hermes takes white space off both ends of every message
    (0.19, `agent/conversation_loop.py`).

    Args:
        request: What Hermes is about to send.
        prompts: The conversation's prompts in order, whole.
    """
    typed: dict[str, list[str]] = {}
    for prompt in prompts:
        typed.setdefault(prompt.strip(), []).append(prompt)
    if all(originals == [stripped] * len(originals) for stripped, originals in typed.items()):
        return request
    changed = dict(request)
    for key in ("messages", "input"):
        messages = changed.get(key)
        if isinstance(messages, list):
            changed[key] = [_as_typed(m, typed) if isinstance(m, Mapping) else m for m in messages]
    return changed


def _as_typed(message: Mapping[str, Any], typed: dict[str, list[str]]) -> Mapping[str, Any]:
    content = message.get("content")
    if message.get("role") != "user" or not isinstance(content, str):
        return message
    originals = typed.get(content)
    if not originals:
        return message
    # The same words twice: the first message is the first prompt. One more than there were prompts keeps the last.
    return {**message, "content": originals.pop(0) if len(originals) > 1 else originals[0]}


def _dated(content: Any, day: str) -> Any:
    return _each_text(content, lambda text: _DATE.sub(day, text, count=1))


def _without_host(content: Any) -> Any:
    return _each_text(content, lambda text: _HOST_LINES.sub("", text).strip("\n"))


def _each_text(content: Any, change: Any) -> Any:
    if isinstance(content, str):
        return change(content)
    if isinstance(content, list):
        has_text = [isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in content]
        return [{**p, "text": change(p["text"])} if has else p for p, has in zip(content, has_text, strict=True)]
    return content


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return getattr(value, "__dict__", None) or repr(type(value))
