"""The border to pydantic-core: the schema tree of an arguments model, rewritten for tools.

Four nodes mean something else for a tool than for a model. An instance check is the look-up of a notebook variable (or
wraps a scalar), a generator is a list, bytes are base64 also where arguments come as Python data, and an enum without
JSON values goes by member names. Validator and JSON schema are made from the same rewritten tree, so they can't differ.
Classes that carry a validator of their own (models, pydantic dataclasses) stay as their author configured them.
"""

from __future__ import annotations

import base64
import binascii
import enum
import functools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hermes_nb.tools import variable
from hermes_nb.tools.docstring import parse
from hermes_nb.tools.tidy import NOTE

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema
    from pydantic_core import SchemaValidator

_MARK = "hermes_nb"  # key of a node's metadata: what a rewritten node stands for

# Keys of the tree under which there is no schema, or one that JSON never reaches.
_OPAQUE = frozenset(
    "cls config custom_init default default_factory expected function members metadata post_init python_schema ref"
    " serialization strict_schema".split()
)


class Named:
    """Metadata of an annotation: the type of a notebook variable, where pydantic knows no check for it."""

    def __init__(self, wanted: Any) -> None:
        self._wanted = wanted

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {"type": "any", "metadata": {_MARK: ("variable", (self._wanted,))}}


@dataclass(slots=True)
class Tree:
    """A rewritten schema tree; `variables` is field name to the type (or tuple of types) it names a variable of."""

    schema: Any
    config: Any
    variables: dict[str, Any] = field(default_factory=dict)

    def validator(self) -> SchemaValidator:
        """Gives (values by field, None, names of the fields that were given)."""
        from pydantic_core import SchemaValidator

        return SchemaValidator(self.schema, self.config)

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments object, as pydantic writes it."""
        return json_schema(self.schema)

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


def json_schema(schema: Any) -> dict[str, Any]:
    """The JSON schema of a tree, as pydantic writes it."""
    return _generator()(by_alias=True).generate(schema, mode="validation")


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
    if kind == "any" and (wanted := _marked(node, "variable")):
        return _variable(wanted)
    if kind == "enum" and not has_json_values(node["cls"]):
        return _by_name(node)
    walked = {k: v if k in _OPAQUE else _walk(v) for k, v in node.items()}
    if kind == "generator":
        return {**walked, "type": "list"}
    if kind == "bytes":
        return _function("function-before", _decode) | {"schema": {**walked, "metadata": {_MARK: "base64"}}}
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
    return look_up | {"metadata": {_MARK: ("variable", wanted)}}


def _union(walked: dict[str, Any]) -> dict[str, Any]:
    """Variables as one branch, and first: the name of one is a string, too, and would otherwise stay one beside `str`."""
    named: list[Any] = []
    others: list[Any] = []
    for choice in walked["choices"]:
        wanted = _marked(choice, "variable")
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


def _marked(node: Any, kind: str) -> Any:
    mark = node.get("metadata", {}).get(_MARK) if isinstance(node, dict) else None
    return mark[1] if isinstance(mark, tuple) and mark[0] == kind else None


def _wanted_variable(node: Any) -> Any:
    """The type of the variable that a field names itself, not one of its parts; None when it names none."""
    while isinstance(node, dict):
        wanted = _marked(node, "variable")
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


def has_json_values(cls: type[enum.Enum]) -> bool:
    """Whether every member's value is one JSON has a form for."""
    return all(
        v is None or isinstance(v, (str, int)) or (isinstance(v, float) and math.isfinite(v))
        for v in (m.value for m in cls)
    )


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
        | {"metadata": {_MARK: ("names", list(cls.__members__))}}
    )


@functools.cache
def _generator() -> type[GenerateJsonSchema]:
    from pydantic.errors import PydanticInvalidForJsonSchema
    from pydantic.json_schema import GenerateJsonSchema
    from pydantic_core import PydanticSerializationError

    class ToolSchema(GenerateJsonSchema):
        """pydantic's generator, knowing the rewritten nodes, and with nothing in it that is not JSON."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

        def function_plain_schema(self, schema: Any) -> dict[str, Any]:
            if wanted := _marked(schema, "variable"):
                return {"type": "string", NOTE: variable.note(wanted)}
            if names := _marked(schema, "names"):
                return {"type": "string", "enum": names}
            return super().function_plain_schema(schema)

        def is_instance_schema(self, schema: Any) -> dict[str, Any]:
            raise self._inside(schema["cls"])

        def is_subclass_schema(self, schema: Any) -> dict[str, Any]:
            raise self._inside(type)

        def callable_schema(self, schema: Any) -> dict[str, Any]:
            raise self._inside(Callable)

        def _inside(self, wanted: Any) -> PydanticInvalidForJsonSchema:
            """Rewritten everywhere else: what remains is inside a model that validates for itself."""
            return PydanticInvalidForJsonSchema(f"a model in it holds {variable.article(wanted)}")

        def bytes_schema(self, schema: Any) -> dict[str, Any]:
            if schema.get("metadata", {}).get(_MARK) != "base64":
                return super().bytes_schema(schema)
            made = super().bytes_schema(schema)
            lengths = {"minLength": "at least", "maxLength": "at most"}  # of the bytes, not of the text
            words = ", ".join(f"{text} {made.pop(key)} of them" for key, text in lengths.items() if key in made)
            made.pop("format", None)
            return made | {"contentEncoding": "base64", NOTE: f"Bytes, written in base64{words and ': '}{words}."}

        def date_schema(self, schema: Any) -> dict[str, Any]:
            return _bounded(super().date_schema(schema), schema)

        def datetime_schema(self, schema: Any) -> dict[str, Any]:
            return _bounded(super().datetime_schema(schema), schema)

        def time_schema(self, schema: Any) -> dict[str, Any]:
            return _bounded(super().time_schema(schema), schema)

        def timedelta_schema(self, schema: Any) -> dict[str, Any]:
            return _bounded(super().timedelta_schema(schema), schema)

        def enum_schema(self, schema: Any) -> dict[str, Any]:
            made = super().enum_schema(schema)
            if all(isinstance(m.value, int) for m in schema["cls"]):
                made[NOTE] = "Meaning: " + ", ".join(f"{m.value} = {m.name}" for m in schema["cls"]) + "."
            return made

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            return self._closed(super().dataclass_schema(schema), schema)

        def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
            return self._closed(super().typed_dict_schema(schema), schema)

        def _closed(self, made: dict[str, Any], schema: Any) -> dict[str, Any]:
            """Without a configuration of its own, a record takes the one of the arguments: no other keys."""
            if not hasattr(schema.get("cls"), "__pydantic_config__") and "$ref" not in made:
                made.setdefault("additionalProperties", False)
            return _documented(made)

        def model_schema(self, schema: Any) -> dict[str, Any]:
            return _documented(super().model_schema(schema))

        def encode_default(self, dft: Any) -> Any:
            try:
                return to_json(dft)
            except ValueError as exc:
                raise PydanticSerializationError(str(exc)) from exc

        def emit_warning(self, kind: Any, detail: str) -> None:
            """Nothing: a default without a JSON form is left out, or said in words by `schema`."""

    return ToolSchema


def _bounded(made: dict[str, Any], schema: Any) -> dict[str, Any]:
    """Bounds of dates and times in words: JSON schema has them for numbers only."""
    words = {"ge": "At least", "gt": "More than", "le": "At most", "lt": "Less than"}
    bounds = [f"{text} {schema[key]}." for key, text in words.items() if key in schema]
    return made | {NOTE: " ".join(bounds)} if bounds else made


def _documented(made: dict[str, Any]) -> dict[str, Any]:
    """A class's docstring read like a function's: its sections left out, its items given to the fields."""
    properties: dict[str, Any] = made.get("properties", {})
    parsed = parse(made.pop("description", None), properties)
    if parsed.description:
        made["description"] = parsed.description
    for name, text in parsed.parameters.items():
        if isinstance(properties.get(name), dict):
            properties[name].setdefault("description", text)
    return made


def to_json(value: Any) -> Any:
    """A Python default as JSON data: the form in which the model would have to send it.

    Raises:
        ValueError: JSON has no form for it (NaN, a function, a DataFrame).
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    if isinstance(value, enum.Enum):
        return value.value if has_json_values(type(value)) else value.name
    if isinstance(value, (set, frozenset)):  # in an order that does not depend on the hash seed
        return sorted((to_json(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {k if isinstance(k, str) else str(to_json(k)): to_json(v) for k, v in value.items()}
    base = {"int": int, "float": float, "bool": bool, "str": str}.get(variable.scalar_base(type(value)) or "")
    try:
        plain = to_jsonable_python(base(value) if base else value, bytes_mode="base64")
        json.dumps(plain, allow_nan=False).encode()
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as exc:
        raise ValueError(f"no JSON form for a {type(value).__name__}") from exc
    return plain


def in_words(default: Any) -> str:
    """A sentence about a default JSON has no form for; the same in every process."""
    if isinstance(default, float):
        return f"Default: {'NaN (no number)' if math.isnan(default) else 'infinity' if default > 0 else '-infinity'}."
    kind = (
        ""
        if type(default).__name__.startswith("_") or type(default) is object
        else f", {variable.article(type(default))}"
    )
    return f"Optional: left out, the function uses a default of its own{kind}."
