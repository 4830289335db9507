"""Arguments written as code in the prompt: `name(a, b=1)`, `limit=5`, `limit: 5`."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from hermes_nb import _syntax
from hermes_nb.offline_model.fit import Option
from hermes_nb.offline_model.profile import Param, Profile
from hermes_nb.offline_model.scene import Scene

VARIABLE_NOTE = "Give the name of a notebook variable"  # what `tools/variable.note` says of such a parameter
_CODE_NAME = re.compile(r"[\d_]|^[^\Waeiouy]{2,}$", re.I)


def literal_call(text: str, profile: Profile) -> dict[str, Any] | None:
    """The arguments of `name(...)` written out in the prompt; None when it isn't or they can't be read."""
    match = re.search(rf"(?<![\w.]){re.escape(profile.name)}\s*\(", text)
    if not match:
        return None
    end = _closing(text, match.end() - 1)
    if end is None:
        return None
    source = text[match.end() - 1 : end]
    try:
        call = _syntax.undisturbed(lambda: ast.parse(f"f{source}", mode="eval")).body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(call, ast.Call):
        return None
    values: dict[str, Any] = {}
    names = [p.name for p in profile.params]
    for name, node in [*zip(names, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError):
            if isinstance(node, ast.Name):
                value = {"true": True, "false": False, "null": None}.get(node.id, node.id)
            else:
                value = ast.unparse(node)
        if name in names:
            values[name] = list(value) if isinstance(value, tuple | set) else value
    return values


def _closing(text: str, start: int) -> int | None:
    depth, quote = 0, ""
    for i in range(start, len(text)):
        sign = text[i]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth == 0:
                return i + 1
    return None


def assigned(scene: Scene, profile: Profile, param: Param) -> Option | None:
    """The value of `name=value` or `name: value`."""
    spelled = r"[\s_-]*".join(re.escape(p) for p in param.parts)
    match = re.search(rf"(?<![\w.]){spelled}\s*(?:=|:(?!//))\s*", scene.text, re.IGNORECASE)
    if not match or (len(param.name) == 1 and ":" in match.group()):
        return None
    at = match.end()
    listed = next((m for m in scene.lists if m.start == at), None)
    if param.kind == "array" and listed:
        return Option(items(param, listed.value), 2.0, match.start(), listed.end)
    mention = next((m for m in scene.atoms if m.start <= at < m.end), None)
    if mention is not None and mention.start == at:
        value = coerce(param, mention.value)
        return None if value is None else Option(value, 2.0, match.start(), mention.end)
    bare = re.match(r"[^\s,;)?!]+(?<!\.)", scene.text[at:])
    if bare and bare.group():
        value = coerce(param, bare.group())
        return None if value is None else Option(value, 2.0, match.start(), at + bare.end())
    return None


def named(scene: Scene, param: Param) -> Option | None:
    """A parameter's own name, where it takes a notebook variable of that name: `missing values in df` for `df`.

    Only a name that is no word of the language (`df`, `sales_2024`) can be meant so; `the table tips` means `tips`.
    """
    if VARIABLE_NOTE not in param.description or not _CODE_NAME.search(param.name):
        return None
    match = re.search(rf"(?<![\w.]){re.escape(param.name)}(?!\w|\s+['\"`])", scene.text)
    return None if match is None else Option(param.name, 2.0, match.start(), match.end())


def coerce(param: Param, value: Any) -> Any:
    """The value in the parameter's type; None when it has no place there."""
    if param.choices and param.is_closed:
        return next((c for c in param.choices if str(c).lower() == str(value).lower()), None)
    if param.kind == "boolean":
        return {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }.get(str(value).lower())
    if param.is_number:
        if isinstance(value, str):
            try:
                value = json.loads(value.replace(",", ""))
            except ValueError:
                return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value
    if param.kind == "string":
        return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
    if param.kind == "array":
        return items(param, value if isinstance(value, list) else [value])
    return value


def items(param: Param, values: list[Any]) -> list[Any]:
    """The values in the type of an array's items; those that have no place there are left out."""
    item = param.item
    if item is None or item.kind == "any":
        return values
    return [v for v in (coerce(item, v) if not isinstance(v, list) else v for v in values) if v is not None]
