"""JSON schemas of a rewritten tree: pydantic's generator, with nothing in the result that is not JSON."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hermes_nb.tools import variable
from hermes_nb.tools.schema.coreschema import MARK, marked
from hermes_nb.tools.schema.docstring import parse, written_doc
from hermes_nb.tools.schema.fallback import to_json
from hermes_nb.tools.schema.layout import NOTE

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema


def json_schema(schema: Any) -> dict[str, Any]:
    """The JSON schema of a tree, as pydantic writes it.

    Raises:
        PydanticInvalidForJsonSchema: JSON can't describe a part of it.
    """
    return _generator()(by_alias=True).generate(schema, mode="validation")


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
            if wanted := marked(schema, "variable"):
                return {"type": "string", NOTE: variable.note(wanted)}
            if names := marked(schema, "names"):
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
            if schema.get("metadata", {}).get(MARK) != "base64":
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
            if issubclass(schema["cls"], enum.Flag):
                words = ", ".join(f"{m.value} = {m.name}" for m in schema["cls"])
                return {"type": "integer", "minimum": 0, NOTE: f"A sum of: {words}; 0 for none."}
            made = super().enum_schema(schema)
            if all(isinstance(m.value, int) for m in schema["cls"]):
                made[NOTE] = "Meaning: " + ", ".join(f"{m.value} = {m.name}" for m in schema["cls"]) + "."
            return made

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            return self._closed(super().dataclass_schema(schema), schema)

        def dataclass_args_schema(self, schema: Any) -> dict[str, Any]:
            taken = [f for f in schema["fields"] if f.get("init", True)]  # the class fills the others itself
            schema = {**schema, "fields": taken}
            return super().dataclass_args_schema(schema)

        def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
            return self._closed(super().typed_dict_schema(schema), schema)

        def _closed(self, made: dict[str, Any], schema: Any) -> dict[str, Any]:
            """Without a configuration of its own, a record takes the one of the arguments: no other keys."""
            if not hasattr(schema.get("cls"), "__pydantic_config__") and "$ref" not in made:
                made.setdefault("additionalProperties", False)
            return _documented(made, schema.get("cls"))

        def model_schema(self, schema: Any) -> dict[str, Any]:
            return _documented(super().model_schema(schema), schema["cls"])

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


def _documented(made: dict[str, Any], cls: Any) -> dict[str, Any]:
    """A class's docstring read like a function's: its sections left out, its items given to the fields."""
    properties: dict[str, Any] = made.get("properties", {})
    text = made.pop("description", None)
    if text is None and hasattr(cls, "__dataclass_fields__"):  # pydantic before 2.13 leaves these out
        text = written_doc(cls)
    parsed = parse(text, properties)
    if parsed.description:
        made["description"] = parsed.description
    for name, text in parsed.parameters.items():
        if isinstance(properties.get(name), dict):
            properties[name].setdefault("description", text)
    return made
