"""A JSON schema made shorter and purely JSON: no titles, definitions written where they are used, notes as sentences.

Hermes drops what stands beside a `$ref` (hermes-agent 0.19, tools/schema_sanitizer.py), descriptions and defaults too:
one more reason to write a definition out, unless it refers to itself.
"""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

NOTE = "x-hermes-note"  # a sentence on its way into the description

_INLINE_CHARS = 2_000  # a definition longer than this that is used more than once stays one
_MAPS = ("properties", "$defs", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES = (
    "items",
    "additionalProperties",
    "propertyNames",
    "not",
    "contains",
    "unevaluatedProperties",
    "if",
    "then",
    "else",
)
_FIRST = (
    "type",
    "description",
    "enum",
    "const",
    "format",
    "properties",
    "required",
    "items",
)  # read best in this order
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def arguments_schema(made: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an arguments object from pydantic's, tidied; the input stays as it is."""
    whole = _map(made, _plain)
    definitions: dict[str, Any] = whole.pop("$defs", {})
    counts = _counts([whole, *definitions.values()])
    written_out = {
        name
        for name, node in definitions.items()
        if name not in _reachable(node, definitions)
        and (counts[name] == 1 or len(json.dumps(node, default=str)) <= _INLINE_CHARS)
    }

    def write_out(node: dict[str, Any]) -> dict[str, Any]:
        name = _target(node)
        if name not in written_out:
            return node
        beside = {k: v for k, v in node.items() if k != "$ref"}
        written: dict[str, Any] = _map({**definitions[name], **beside}, write_out)
        return written

    def finish(node: Any) -> Any:
        return _map(_map(node, write_out), _noted)

    result: dict[str, Any] = {"type": "object"}
    result["properties"] = {k: finish(v) for k, v in whole.get("properties", {}).items()}
    if whole.get("required"):
        result["required"] = whole["required"]
    result["additionalProperties"] = False
    used: set[str] = set()
    for node in result["properties"].values():
        used |= _reachable(node, definitions)
    kept = {name: finish(node) for name, node in definitions.items() if name in used - written_out}
    return {**result, "$defs": kept} if kept else result


def _map(node: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """A copy of a schema with `change` made to it and to each schema in it, outside first."""
    if not isinstance(node, dict):
        return node
    changed = dict(change(dict(node)))
    if changed.get("$ref") != node.get("$ref"):
        return changed
    for key, value in changed.items():
        if key in _MAPS:
            changed[key] = {k: _map(v, change) for k, v in value.items()}
        elif key in _LISTS:
            changed[key] = [_map(v, change) for v in value]
        elif key in _ONES:
            changed[key] = _map(value, change)
    return changed


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for key, value in node.items():
            below = value.values() if key in _MAPS else value if key in _LISTS else [value] if key in _ONES else ()
            for item in below:
                yield from _nodes(item)


def _target(node: Mapping[str, Any]) -> str:
    return str(node.get("$ref", "")).removeprefix("#/$defs/")


def _counts(nodes: list[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in nodes:
        for inner in _nodes(node):
            counts[_target(inner)] = counts.get(_target(inner), 0) + 1
    return counts


def _reachable(node: Any, definitions: Mapping[str, Any]) -> set[str]:
    """Names of the definitions a schema refers to, directly or through others."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        for inner in _nodes(waiting.pop()):
            name = _target(inner)
            if name in definitions and name not in found:
                found.add(name)
                waiting.append(definitions[name])
    return found


def _plain(node: dict[str, Any]) -> dict[str, Any]:
    """One schema without titles and without what JSON can't hold."""
    node.pop("title", None)
    node.pop("discriminator", None)  # OpenAPI's; the constants in the branches say the same
    for key in _BOUNDS:
        if key in node:
            bound = _number(node.pop(key))
            if bound is not None:
                node[key] = bound
    if "examples" in node and not _is_json(node["examples"]):
        del node["examples"]
    return node


def _noted(node: dict[str, Any]) -> dict[str, Any]:
    """One schema with its note in the description, and its keys in the order that reads best."""
    note = node.pop(NOTE, None)
    if note:
        node["description"] = sentences(node.get("description"), note)
    above = node.get("description")
    for branch in node.get("anyOf", ()):
        if above and branch.get("description") == above:
            del branch["description"]
    return {**{key: node[key] for key in _FIRST if key in node}, **node}


def sentences(*texts: str | None) -> str:
    """The texts as sentences in a row."""
    ended = [text if text[-1] in ".!?:;" else f"{text}." for text in texts[:-1] if text]
    return " ".join([*ended, *(text for text in texts[-1:] if text)])


def _number(bound: Any) -> int | float | None:
    if isinstance(bound, decimal.Decimal):
        bound = int(bound) if bound == bound.to_integral_value() else float(bound)
    if isinstance(bound, bool) or not isinstance(bound, (int, float)):
        return None
    return bound if math.isfinite(bound) else None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
