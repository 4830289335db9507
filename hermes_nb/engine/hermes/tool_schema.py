"""Tool schemas as they were compiled, where Hermes garbles them on the way to the model.

hermes-agent 0.19 (`tools/schema_sanitizer.py`) takes the strings inside a list or object under `default` or `examples` for
schemas: `"default": ["a"]` reaches the model as `[{"type": "object", "properties": {}}]`. The rest of what it does is for
endpoints that are strict, and stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hermes_nb.model.toolspec import ToolSpec

_DATA = ("default", "examples", "const", "enum")
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties")
_ONE = ("items", "additionalProperties", "not")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")


def garbled(specs: Iterable[ToolSpec]) -> dict[str, dict[str, Any]]:
    """Schemas, by tool name, that hold a list or an object as data and so need `restored`."""
    return {s.name: s.parameters for s in specs if _holds_data(s.parameters)}


def restored(tools: Any, schemas: Mapping[str, Mapping[str, Any]]) -> Any:
    """A request's tools with the data of these schemas as they were; the same object when nothing is to be done."""
    if not schemas or not isinstance(tools, list):
        return tools
    return [_tool(tool, schemas) if isinstance(tool, Mapping) else tool for tool in tools]


def _tool(tool: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Chat completions nest the function; responses and Anthropic's messages have it flat, the latter as `input_schema`."""
    inner = tool.get("function")
    if isinstance(inner, Mapping):
        return {**tool, "function": _tool(inner, schemas)}
    original = schemas.get(str(tool.get("name")))
    key = next((k for k in ("parameters", "input_schema") if isinstance(tool.get(k), Mapping)), None)
    if original is None or key is None:
        return tool
    return {**tool, key: _node(tool[key], original)}


def _node(theirs: Any, ours: Any) -> Any:
    if not isinstance(theirs, Mapping) or not isinstance(ours, Mapping):
        return theirs
    node = dict(theirs)
    for key in _DATA:
        if key in node and key in ours:
            node[key] = ours[key]
    for key in _BY_NAME:
        if isinstance(node.get(key), Mapping) and isinstance(ours.get(key), Mapping):
            node[key] = {name: _node(child, ours[key].get(name)) for name, child in node[key].items()}
    for key in _ONE:
        if key in node and key in ours:
            node[key] = _node(node[key], ours[key])
    for key in _MANY:
        mine, original = node.get(key), ours.get(key)
        if isinstance(mine, list) and isinstance(original, list) and len(mine) == len(original):
            node[key] = [_node(a, b) for a, b in zip(mine, original, strict=True)]
    return node


def _holds_data(node: Any) -> bool:
    if isinstance(node, list):
        return any(map(_holds_data, node))
    if not isinstance(node, Mapping):
        return False
    if any(isinstance(node.get(key), list | dict) and node[key] for key in ("default", "examples", "const")):
        return True
    return any(_holds_data(value) for key, value in node.items() if key not in _DATA)
