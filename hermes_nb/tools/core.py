"""The border to pydantic-core: its schema tree rewritten for tools, and JSON schemas made of it.

Three nodes of the tree mean something else for a tool than for a model: an instance check is the look-up of a notebook
variable (or the wrapping of a scalar), a generator is a list, and an enum without JSON values goes by member names.
"""

from __future__ import annotations

import base64
import enum
import functools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hermes_nb.tools import variable
from hermes_nb.tools.tidy import NOTE

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema
    from pydantic_core import SchemaValidator

# Keys of the tree under which there is no schema, or one that JSON never reaches.
_OPAQUE = frozenset(
    "cls config custom_init default default_factory expected function members metadata post_init python_schema ref"
    " serialization strict_schema".split()
)


@dataclass(slots=True)
class Rewritten:
    """A schema tree for tools; `variables` is field name to the type (or tuple of types) it names a variable of."""

    schema: Any
    variables: dict[str, Any] = field(default_factory=dict)


def rewrite(schema: Any) -> Rewritten:
    """The tree of an arguments model, rewritten; the input stays as it is."""
    walk = _Walk()
    found = Rewritten(None)
    root, definitions = schema, []
    if schema["type"] == "definitions":
        root, definitions = schema["schema"], schema["definitions"]
    inner = root["schema"]
    while inner["type"] != "model-fields":
        inner = inner["schema"]
    fields = {}
    for name, node in inner["fields"].items():
        walk.wanted = []
        fields[name] = walk.of(node)
        if walk.wanted:
            found.variables[name] = walk.wanted[0] if len(walk.wanted) == 1 else tuple(walk.wanted)
    rewritten: Any = {**inner, "fields": fields, "metadata": {}}
    config = root.get("config", {})
    if definitions:
        rewritten = {"type": "definitions", "schema": rewritten, "definitions": [walk.of(d) for d in definitions]}
    found.schema = (rewritten, config)
    return found


def validator(schema: Any) -> SchemaValidator:
    """The validator of a rewritten tree: gives (values by field, None, names of the fields that were given)."""
    from pydantic_core import SchemaValidator

    tree, config = schema
    return SchemaValidator(tree, config)


def json_schema(schema: Any) -> dict[str, Any]:
    """The JSON schema of a tree as pydantic built it."""
    return _generator()(by_alias=True).generate(schema, mode="validation")


class _Walk:
    def __init__(self) -> None:
        self.wanted: list[Any] = []

    def of(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.of(item) for item in node]
        if isinstance(node, tuple):
            return tuple(self.of(item) for item in node)
        if not isinstance(node, dict):
            return node
        kind = node.get("type")
        if kind in ("is-instance", "is-subclass", "callable"):
            return self._instance(node)
        if kind == "generator":
            kind, node = "list", {**{k: v for k, v in node.items() if k != "type"}, "type": "list"}
        if kind == "enum" and not has_json_values(node["cls"]):
            return _by_name(node)
        walked = {k: v if k in _OPAQUE else self.of(v) for k, v in node.items()}
        return self._union(node, walked) if kind == "union" else walked

    def _instance(self, node: Mapping[str, Any]) -> Any:
        wanted = _wanted(node)
        base = variable.scalar_base(wanted)
        if base is not None:
            return _function("function-after", _wrap(wanted)) | {"schema": {"type": base}}
        if wanted not in self.wanted:
            self.wanted.append(wanted)
        look_up = functools.partial(_look_up, wanted)
        return _function("function-plain", look_up, "with-info") | {"metadata": {"variable": True}}

    def _union(self, node: Mapping[str, Any], walked: dict[str, Any]) -> Any:
        """Variables first: the name of one is a string, too, and would otherwise stay one beside `str`."""
        choices = walked["choices"]
        named = [c for c in choices if isinstance(c, dict) and c.get("metadata") == {"variable": True}]
        if not named:
            return walked
        others = [c for c in choices if c not in named]
        if len(others) > 1:
            others = [{"type": "union", "choices": others}]
        return {**walked, "choices": [*named, *others], "mode": "left_to_right"}


def _function(kind: str, function: Callable[..., Any], call: str = "no-info") -> dict[str, Any]:
    return {"type": kind, "function": {"type": call, "function": function}}


def _wanted(node: Mapping[str, Any]) -> Any:
    if node["type"] == "callable":
        return Callable
    return type if node["type"] == "is-subclass" else node["cls"]


def _wrap(wanted: Any) -> Callable[[Any], Any]:
    def wrap(value: Any) -> Any:
        if isinstance(value, wanted):
            return value
        if wanted.__module__.startswith("pandas") or not hasattr(value, "isoformat"):
            return wanted(value)
        return wanted.fromisoformat(value.isoformat())

    return wrap


def _look_up(wanted: Any, value: Any, info: Any) -> Any:
    from pydantic_core import PydanticCustomError

    if not isinstance(value, str) and value is not None and variable.is_fit(value, wanted):
        return value
    try:
        return variable.lookup(value, wanted, (info.context or {}).get("namespace"))
    except LookupError as exc:
        raise PydanticCustomError("variable", "{problem}", {"problem": str(exc)}) from exc


def has_json_values(cls: type[enum.Enum]) -> bool:
    """Whether every member's value is one JSON has a form for."""
    return all(
        v is None or isinstance(v, (str, int)) or (isinstance(v, float) and math.isfinite(v))
        for v in (m.value for m in cls)
    )


def _by_name(node: Mapping[str, Any]) -> Any:
    cls = node["cls"]

    def member(value: Any) -> Any:
        from pydantic_core import PydanticCustomError

        if isinstance(value, cls):
            return value
        if isinstance(value, str) and value in cls.__members__:
            return cls[value]
        names = ", ".join(f"'{name}'" for name in cls.__members__)
        raise PydanticCustomError("enum", "Input should be one of {names}", {"names": names})

    ref = {"ref": node["ref"]} if "ref" in node else {}
    return _function("function-plain", member) | ref


@functools.cache
def _generator() -> type[GenerateJsonSchema]:
    from pydantic.json_schema import GenerateJsonSchema
    from pydantic_core import PydanticSerializationError

    class ToolSchema(GenerateJsonSchema):
        """pydantic's generator with the meaning tools give to three nodes, and nothing in it that is not JSON."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

        def is_instance_schema(self, schema: Any) -> dict[str, Any]:
            wanted = _wanted(schema)
            base = variable.scalar_base(wanted)
            if base is not None:
                return self.generate_inner({"type": base})
            return {"type": "string", NOTE: variable.note(wanted)}

        def is_subclass_schema(self, schema: Any) -> dict[str, Any]:
            return self.is_instance_schema(schema)

        def callable_schema(self, schema: Any) -> dict[str, Any]:
            return self.is_instance_schema(schema)

        def bytes_schema(self, schema: Any) -> dict[str, Any]:
            made = super().bytes_schema(schema)
            if made.get("format") == "base64url":
                del made["format"]
                made |= {"contentEncoding": "base64", NOTE: "Bytes, written in base64."}
            return made

        def enum_schema(self, schema: Any) -> dict[str, Any]:
            cls = schema["cls"]
            if not has_json_values(cls):
                return {"type": "string", "enum": list(cls.__members__)}
            made = super().enum_schema(schema)
            if all(isinstance(m.value, int) for m in cls):
                made[NOTE] = "Meaning: " + ", ".join(f"{m.value} = {m.name}" for m in cls) + "."
            return made

        def encode_default(self, dft: Any) -> Any:
            try:
                return to_json(dft)
            except ValueError as exc:
                raise PydanticSerializationError(str(exc)) from exc

        def emit_warning(self, kind: Any, detail: str) -> None:
            """Nothing: a default without a JSON form is left out, or said in words by `schema`."""

    return ToolSchema


def to_json(value: Any) -> Any:
    """A Python default as JSON data: the form in which the model would have to send it.

    Raises:
        ValueError: JSON has no form for it (NaN, a function, a DataFrame).
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    if isinstance(value, enum.Enum) and not has_json_values(type(value)):
        return value.name
    if isinstance(value, (set, frozenset)):  # in an order that does not depend on the hash seed
        return sorted((to_json(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(to_json(k)) if not isinstance(k, str) else k: to_json(v) for k, v in value.items()}
    try:
        plain = to_jsonable_python(value, bytes_mode="base64")
        json.dumps(plain, allow_nan=False).encode()
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as exc:
        raise ValueError(f"no JSON form for a {type(value).__name__}") from exc
    return plain


def in_words(default: Any) -> str:
    """A sentence about a default JSON has no form for; the same in every process."""
    if isinstance(default, float):
        return f"Default: {'NaN (no number)' if math.isnan(default) else 'infinity' if default > 0 else '-infinity'}."
    return f"Optional; without it the function takes its own default, {variable.type_name(type(default))}."
