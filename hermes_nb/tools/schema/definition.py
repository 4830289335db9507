"""From a callable to the schema a model sees and the validator its arguments pass.

pydantic does the types. What it does not do is done here: JSON schemas that hold nothing but JSON, kernel variables,
names a model class can't have, definitions written where they are used.
"""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import ToolDefinitionError
from hermes_nb.tools.schema import coreschema, fallback, layout
from hermes_nb.tools.schema.annotation import ABSENT, EMPTY, Parameter, Signature, text_of
from hermes_nb.tools.schema.generator import json_schema
from hermes_nb.tools.schema.translation import Unfit, described, prepare, takes_none

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from hermes_nb.tools.schema.coreschema import Tree, Validator


@dataclass(frozen=True, slots=True)
class Compiled:
    """A signature, compiled.

    Attributes:
        signature: The parameters it was compiled from.
        parameters: JSON schema (draft 2020-12) of the arguments object.
        fields: Parameter name to field name, in the order of the signature.
        variables: Parameter name to the type of the notebook variable it names.
        validator: Takes the arguments object; gives field values, and which fields were given.
        model: The arguments as a pydantic model; a field has its parameter's name wherever a model class allows it.
            None after unpickling.
        tree: What the validator was made of; None when the user wrote the model.
    """

    signature: list[Parameter]
    parameters: dict[str, Any]
    fields: dict[str, str]
    variables: dict[str, Any]
    validator: Validator
    model: type[BaseModel] | None = None
    tree: Tree | None = None

    def frozen(self, *, whole: bool) -> dict[str, Any]:
        """What a pickle holds; `whole` adds the validator's tree, whose functions only cloudpickle can take.

        The tree makes the unpickled tool independent of its annotations: a dataclass that cloudpickle took by value
        has lost `dataclasses.MISSING` (cloudpickle 3.1), and its string annotations name a module that is not there.
        """
        state = {name: getattr(self, name) for name in ("signature", "parameters", "fields", "variables")}
        return state | {"tree": self.tree.bare() if whole and self.tree is not None else None}


def thawed(name: str, state: Mapping[str, Any]) -> Compiled:
    """The signature a pickle holds: with the schema it was made with, whatever this process would make of it."""
    from pydantic_core import SchemaError

    known = dict(state)
    tree = known.pop("tree")
    if tree is not None:
        try:
            return Compiled(**known, tree=tree, validator=tree.validator())
        except SchemaError:  # the tree of another pydantic: compiled anew below
            pass
    fresh = compile_signature(name, Signature(known["signature"], {}), {})
    return replace(fresh, **known)


def compile_signature(name: str, signature: Signature, texts: Mapping[str, str]) -> Compiled:
    """The schema, model and validator of a signature.

    Args:
        name: The tool's name, for errors.
        signature: What the model may fill.
        texts: Sentences of the docstring by parameter. A description of the annotation (`Annotated[int, "text"]`,
            `Field(description=...)`) stands nearer and wins.

    Raises:
        ToolDefinitionError: No schema can describe a parameter; names it, its annotation and the cure.
    """
    fields = _field_names([p.name for p in signature.parameters])
    definitions = {
        p.name: _definition(name, p, fields[p.name], texts.get(p.name, ""), signature.scope) for p in signature.parameters
    }
    model, tree, made = _build(name, signature, fields, definitions)
    schema = layout.arguments_schema(made)
    # Fields come in order; what the model sees of one is named by its alias, which may be one of several.
    for parameter, described_property in zip(signature.parameters, schema["properties"].values(), strict=True):
        _add_default(described_property, parameter, model.model_fields[fields[parameter.name]])
    variables = {n: tree.variables[f] for n, f in fields.items() if f in tree.variables}
    return Compiled(signature.parameters, schema, fields, variables, tree.validator(), model, tree)


def _field_names(names: Sequence[str]) -> dict[str, str]:
    """A field for each parameter: its own name, unless a model class has or forbids an attribute of that name."""
    from pydantic import BaseModel

    taken = set(names)
    fields = {}
    for index, name in enumerate(names):
        field = name
        if name.startswith("_") or hasattr(BaseModel, name) or name in BaseModel.__annotations__:
            field = f"arg{index}_{name.strip('_')}".rstrip("_")
            while field in taken:
                field += "_"
            taken.add(field)
        fields[name] = field
    return fields


def _definition(tool: str, parameter: Parameter, field: str, text: str, scope: Mapping[str, Any]) -> tuple[Any, Any]:
    """What `pydantic.create_model` takes for one field."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    default: Any = parameter.default
    try:
        annotation, own_text = described(prepare(parameter.annotation, scope))
        if default is None and not takes_none(annotation):  # `region: str = None`: models send null for it
            annotation = typing.Optional[annotation]  # noqa: UP045 - an object, not an annotation
        if isinstance(default, FieldInfo):
            own_text = default.description or own_text
        options: dict[str, Any] = {"description": own_text or text or None}
        if field != parameter.name:
            options["alias"] = parameter.name
        annotation = typing.Annotated[annotation, Field(**options)]
    except Unfit as exc:
        raise _unfit(tool, parameter, exc.reason, exc.cure) from exc
    except TypeError as exc:
        raise _unfit(tool, parameter, str(exc).rstrip("."), _CURE) from exc
    if default is EMPTY:
        return annotation, ...
    if isinstance(default, FieldInfo) or default is None or isinstance(default, (bool, int, str)):
        return annotation, default
    return annotation, Field(default_factory=functools.partial(_itself, None if default is ABSENT else default))


def _itself(value: Any) -> Any:
    return value


_CURE = (
    "Use types JSON can carry, a dataclass or a pydantic model of such; anything else can be a parameter of its own, which"
    " then takes the name of a notebook variable"
)


def _build(
    tool: str, signature: Signature, fields: Mapping[str, str], definitions: Mapping[str, tuple[Any, Any]]
) -> tuple[type[BaseModel], Tree, dict[str, Any]]:
    """Model, tree and JSON schema of all parameters; a failure is tried for one by one, to name the one at fault."""
    try:
        return _create(signature, {fields[n]: d for n, d in definitions.items()})
    except Exception as exc:
        for parameter in signature.parameters:
            try:
                _create(signature, {fields[parameter.name]: definitions[parameter.name]})
            except Exception as own:
                raise _unfit(tool, parameter, _reason(own), _CURE) from own
        raise ToolDefinitionError(f"Tool {tool!r}: no schema describes its parameters together: {_reason(exc)}.") from exc


def _create(
    signature: Signature, definitions: Mapping[str, tuple[Any, Any]]
) -> tuple[type[BaseModel], Tree, dict[str, Any]]:
    from pydantic import ConfigDict, create_model

    config = ConfigDict(
        extra="forbid",
        arbitrary_types_allowed=True,  # kernel variables; `core` replaces the check of the class by a look-up
        protected_namespaces=(),
        regex_engine="python-re",  # patterns written for Python's re, with look-around too
    )
    model: type[BaseModel] = create_model("Arguments", __config__=config, **definitions)  # type: ignore[call-overload]
    if not model.__pydantic_complete__:
        model.model_rebuild(raise_errors=True, _types_namespace=dict(signature.scope))
    tree = coreschema.rewrite(model.__pydantic_core_schema__)
    tree.validator()
    made = json_schema(tree.schema)
    json.dumps(layout.arguments_schema(made), allow_nan=False)
    return model, tree, made


def _add_default(schema: dict[str, Any], parameter: Parameter, info: FieldInfo) -> None:
    """Write the default into a parameter's schema; in words where JSON has no form for it."""
    schema.pop("default", None)
    from pydantic.fields import FieldInfo
    from pydantic_core import PydanticUndefined

    default = parameter.default
    if isinstance(default, FieldInfo):
        default = info.get_default(call_default_factory=False)
    if default is EMPTY or default is ABSENT or default is PydanticUndefined or default is ...:
        return
    try:
        schema["default"] = fallback.to_json(default)
    except ValueError:
        words = fallback.in_words(default)
        schema["description"] = layout.sentences(schema.get("description"), words)


def _unfit(tool: str, parameter: Parameter, reason: str, cure: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"Tool {tool!r}: parameter {parameter.name!r} is annotated {text_of(parameter.annotation)}, which no JSON"
        f" schema can describe: {reason}. {cure}."
    )


def _reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if "errors.pydantic.dev" not in line]
    at = -1 if lines and lines[0].startswith("Error building") else 0  # pydantic-core tells the cause last
    return (lines[at] if lines else type(error).__name__).rstrip(".")


class _ModelValidator:
    """A model somebody wrote, seen as a validator of arguments: its own validators run, too."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def validate_json(self, text: str, *, context: Any = None) -> tuple[dict[str, Any], None, set[str]]:
        return self._parts(self._model.model_validate_json(text, context=context))

    def validate_python(self, data: Any, *, context: Any = None) -> tuple[dict[str, Any], None, set[str]]:
        return self._parts(self._model.model_validate(data, context=context))

    def _parts(self, made: BaseModel) -> tuple[dict[str, Any], None, set[str]]:
        values = {name: getattr(made, name) for name in type(made).model_fields}
        return values, None, set(values)


def adopt(name: str, model: type[BaseModel]) -> Compiled:
    """A pydantic model of the user's as the arguments of a tool: each field is a keyword argument.

    Raises:
        ToolDefinitionError: JSON can't describe a field.
    """
    import inspect

    try:
        schema = layout.arguments_schema(json_schema(model.__pydantic_core_schema__))
    except Exception as exc:
        raise ToolDefinitionError(f"Tool {name!r}: no schema describes {model.__name__}: {_reason(exc)}.") from exc
    parameters = [Parameter(field, inspect.Parameter.KEYWORD_ONLY) for field in model.model_fields]
    fields = {field: field for field in model.model_fields}
    return Compiled(parameters, schema, fields, {}, _ModelValidator(model), model)
