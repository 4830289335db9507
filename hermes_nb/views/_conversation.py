"""What each model call was sent and said, as messages of the GenAI conventions: parts `text`, `reasoning`, `tool_call` and
`tool_call_response`.

A turn's own messages, from its question on; those of earlier turns are in the traces of these.

Source: the JSON schemas of gen-ai-input-messages and gen-ai-output-messages, OpenTelemetry semantic conventions 1.44.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hermes_nb.model.span import Span

Message = dict[str, Any]
# Finish reasons of the conventions, where providers have others.
_FINISH = {"tool_calls": "tool_call", "function_call": "tool_call", "max_tokens": "length"}


def exchanges(spans: Sequence[Span]) -> dict[tuple[str, str, int, str], tuple[list[Message], list[Message]]]:
    """(input, output) messages of every model call, by its span's key.

    Args:
        spans: All spans, ordered by start.
    """
    known = {span.key: span for span in spans}
    found: dict[tuple[str, str, int, str], tuple[list[Message], list[Message]]] = {}
    below: dict[Any, list[Span]] = {}
    for span in spans:
        below.setdefault(span.parent_key, []).append(span)
    for parent, children in below.items():
        asker = None if parent is None else known.get(parent)
        said = [_message("user", [_text(asker.prompt)])] if asker is not None and asker.prompt else []
        tools = [c for c in children if c.kind == "tool"]
        for call in (c for c in children if c.kind == "model"):
            own = _taken(call, tools)
            reply = _message("assistant", [*_words(call), *_calls(call, own)])
            reply["finish_reason"] = _FINISH.get(call.finish_reason, call.finish_reason) or "error"
            has_said = bool(reply["parts"])
            found[call.key] = (list(said), [reply] if has_said else [])
            if has_said:
                said.append({k: v for k, v in reply.items() if k != "finish_reason"})
            said += [_message("tool", [_response(tool)]) for tool in own if tool is not None]
    return found


def instructions(text: str) -> list[Message]:
    """`gen_ai.system_instructions` of a text."""
    return [_text(text)]


def definitions(names: Iterable[str]) -> list[dict[str, str]]:
    """`gen_ai.tool.definitions`: type and name; the log keeps no more of a definition than its digest."""
    return [{"type": "function", "name": name} for name in names]


def _taken(call: Span, tools: list[Span]) -> list[Span | None]:
    """The spans of the calls a reply asked for, in its order; None for one that never came to anything."""
    own: list[Span | None] = []
    for name, call_id in zip(call.tool_calls, call.tool_call_ids, strict=True):
        named = [t for t in tools if t.name == name]
        tool = next((t for t in named if t.tool_call_id == call_id), named[0] if named else None)
        if tool is not None:
            tools.remove(tool)
        own.append(tool)
    return own


def _words(call: Span) -> list[dict[str, Any]]:
    thought = [{"type": "reasoning", "content": call.reasoning}] if call.reasoning else []
    return [*thought, *([_text(call.text)] if call.text else [])]


def _calls(call: Span, own: Sequence[Span | None]) -> list[dict[str, Any]]:
    parts = []
    for name, tool in zip(call.tool_calls, own, strict=True):
        part: dict[str, Any] = {"type": "tool_call", "id": None, "name": name}
        parts.append(part if tool is None else part | {"id": tool.tool_call_id, "arguments": _data(tool.arguments)})
    return parts


def _response(tool: Span) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": tool.tool_call_id, "response": _data(tool.result)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _message(role: str, parts: list[dict[str, Any]]) -> Message:
    return {"role": role, "parts": parts}


def _data(text: str) -> Any:
    """JSON as what it says, any other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text
