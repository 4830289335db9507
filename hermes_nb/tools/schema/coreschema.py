"""The border to pydantic-core: the schema tree of an arguments model, rewritten for tools.

Four nodes mean something else for a tool than for a model. An instance check is the look-up of a notebook variable (or
wraps a scalar), a generator is a list, bytes are base64 also where arguments come as Python data, and an enum without
JSON values goes by member names. Validator and JSON schema are made from the same rewritten tree, so they can't differ.
Classes that carry a validator of their own (models, pydantic dataclasses) stay as their author configured them.
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hermes_nb.tools import variable
from hermes_nb.tools.schema.fallback import has_json_values

MARK = "hermes_nb"  # key of a node's metadata: what a rewritten node stands for

# Keys of the tree under which there is no schema, or one that JSON never reaches.
_OPAQUE = frozenset(
    "cls config custom_init default default_factory expected function members metadata post_init python_schema ref"
    " serialization strict_schema".split()
)


class VariableType:
    """Metadata of an annotation: the type of a notebook variable, where pydantic knows no check for it."""

    def __init__(self, wanted: Any) -> None:
        self._wanted = wanted

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {"type": "any", "metadata": {MARK: ("variable", (self._wanted,))}}


class Validator(Protocol):
    """Takes the arguments object; gives (values by field, None, names of the fields that were given)."""

    def validate_json(self, text: str, /, *, context: Any = None) -> Any:
        """The values of JSON text."""

    def validate_python(self, data: Any, /, *, context: Any = None) -> Any:
        """The values of a mapping that holds Python objects."""


@dataclass(slots=True)
class Tree:
    """A rewritten schema tree; `variables` is field name to the type (or tuple of types) it names a variable of."""

    schema: Any
    config: Any
    variables: dict[str, Any] = field(default_factory=dict)

    def validator(self) -> Validator:
        """What takes the arguments object by this tree."""
        from pydantic_core import SchemaValidator

        return SchemaValidator(self.schema, self.config)

    def bare(self) -> Tree:
        """The tree without what only the JSON schema needs: little that can't be pickled remains."""
        return Tree(_bare(self.schema), self.config, self.variables)


def rewrite(schema: Any) -> Tree:
    """The tree of an arguments model, rewritten; the input stays as it is."""
    root, definitions = schema, []
    if schema["type"] == "definitions":
        root, definitions = schema["schema"], schema["definitions"]
    inner = root["schema"]
    fields = {name: _walk(node) for name, node in inner["fields"].items()}
    rewritten = {**inner, "fields": fields, "metadata": {}}
    if definitions:
        rewritten = {"type": "definitions", "schema": rewritten, "definitions": [_walk(d) for d in definitions]}
    variables = {name: _wanted_variable(node) for name, node in fields.items()}
    return Tree(rewritten, root.get("config", {}), {name: kind for name, kind in variables.items() if kind is not None})


def _walk(node: Any) -> Any:
    if isinstance(node, list):
        return [_walk(item) for item in node]
    if isinstance(node, tuple):
        return tuple(_walk(item) for item in node)
    if not isinstance(node, dict):
        return node
    kind = node.get("type")
    if kind in ("model", "dataclass") and "__pydantic_validator__" in vars(node.get("cls", object)):
        return node
    if kind in ("is-instance", "is-subclass", "callable"):
        return _instance(node)
    if kind == "any" and (wanted := marked(node, "variable")):
        return _variable(wanted)
    if kind == "enum" and not has_json_values(node["cls"]):
        return _by_name(node)
    walked = {k: v if k in _OPAQUE else _walk(v) for k, v in node.items()}
    if kind == "generator":
        return {**walked, "type": "list"}
    if kind == "bytes":
        return _function("function-before", _decode) | {"schema": {**walked, "metadata": {MARK: "base64"}}}
    return _union(walked) if kind == "union" else walked


def _bare(node: Any) -> Any:
    if isinstance(node, (list, tuple)):
        return type(node)(_bare(item) for item in node)
    if not isinstance(node, dict):
        return node
    left_out = ("metadata", "serialization") if isinstance(node.get("type"), str) else ()
    return {k: v if k in _OPAQUE else _bare(v) for k, v in node.items() if k not in left_out}


def _instance(node: Mapping[str, Any]) -> dict[str, Any]:
    kind = node["type"]
    wanted = Callable if kind == "callable" else type if kind == "is-subclass" else node["cls"]
    base = variable.scalar_base(wanted)
    if base is not None:
        return _function("function-after", functools.partial(_wrap, wanted)) | {"schema": {"type": base}}
    return _variable((wanted,))


def _variable(wanted: tuple[Any, ...]) -> dict[str, Any]:
    one = wanted[0] if len(wanted) == 1 else wanted
    look_up = _function("function-plain", functools.partial(_look_up, one), "with-info")
    return look_up | {"metadata": {MARK: ("variable", wanted)}}


def _union(walked: dict[str, Any]) -> dict[str, Any]:
    """Variables as one branch, and first: the name of one is a string, too, and would otherwise stay one beside `str`."""
    named: list[Any] = []
    others: list[Any] = []
    for choice in walked["choices"]:
        wanted = marked(choice, "variable")
        if wanted:
            named += wanted
        else:
            others.append(choice)
    if not named:
        return walked
    if not others:
        return _variable(tuple(named))
    rest = others[0] if len(others) == 1 else {"type": "union", "choices": others}
    return {**walked, "choices": [_variable(tuple(named)), rest], "mode": "left_to_right"}


def marked(node: Any, kind: str) -> Any:
    """What a rewritten node stands for, if it is of a kind: `variable` (a tuple of types) or `names` (of an enum)."""
    mark = node.get("metadata", {}).get(MARK) if isinstance(node, dict) else None
    return mark[1] if isinstance(mark, tuple) and mark[0] == kind else None


def _wanted_variable(node: Any) -> Any:
    """The type of the variable that a field names itself, not one of its parts; None when it names none."""
    while isinstance(node, dict):
        wanted = marked(node, "variable")
        if wanted:
            return wanted[0] if len(wanted) == 1 else wanted
        node = node["choices"][0] if node.get("type") == "union" else node.get("schema")
    return None


def _function(kind: str, function: Callable[..., Any], call: str = "no-info") -> dict[str, Any]:
    return {"type": kind, "function": {"type": call, "function": function}}


def _wrap(wanted: Any, value: Any) -> Any:
    if isinstance(value, wanted):
        return value
    is_plain = not hasattr(value, "isoformat") or wanted.__module__.partition(".")[0] == "pandas"
    return wanted(value) if is_plain else wanted.fromisoformat(value.isoformat())


def _look_up(wanted: Any, value: Any, info: Any) -> Any:
    from pydantic_core import PydanticCustomError

    if not isinstance(value, str) and value is not None and variable.is_fit(value, wanted):
        return value
    try:
        return variable.lookup(value, wanted, (info.context or {}).get("namespace"))
    except LookupError as exc:
        raise PydanticCustomError("variable", "{problem}", {"problem": str(exc)}) from exc


def _decode(value: Any) -> Any:
    """Bytes from base64 (either alphabet, padded or not); whatever is no string is left to the check of the type."""
    from pydantic_core import PydanticCustomError

    if not isinstance(value, str):
        return value
    text = "".join(value.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as exc:
        raise PydanticCustomError("base64", "Input should be bytes written in base64") from exc


def _member(cls: Any, value: Any) -> Any:
    from pydantic_core import PydanticCustomError

    if isinstance(value, cls):
        return value
    if isinstance(value, str) and value in cls.__members__:
        return cls[value]
    names = ", ".join(f"'{name}'" for name in cls.__members__)
    raise PydanticCustomError("enum", "Input should be one of {names}", {"names": names})


def _by_name(node: Mapping[str, Any]) -> dict[str, Any]:
    cls = node["cls"]
    ref = {"ref": node["ref"]} if "ref" in node else {}
    return (
        _function("function-plain", functools.partial(_member, cls))
        | ref
        | {"metadata": {MARK: ("names", list(cls.__members__))}}
    )
