"""What a callable takes: its parameters with their annotations as objects. No schema is made here.

String annotations (PEP 563 too) are resolved as Python would have: names of the enclosing function at definition,
closure, module; the classes of a function are found as long as that function is still running.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_nb.errors import ToolDefinitionError
from hermes_nb.tools.schema.translation import Unfit, keys_of
from hermes_nb.tools.source import display_name, innermost

EMPTY = inspect.Parameter.empty
_KINDS = inspect.Parameter


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter the model may fill.

    Attributes:
        name: As in the signature.
        kind: A kind of `inspect.Parameter`; VAR_KEYWORD takes an object whose entries become keywords.
        annotation: The resolved annotation; `Any` when there is none.
        default: `EMPTY`, or the default of the signature.
        is_annotated: Whether the signature says a type.
    """

    name: str
    kind: inspect._ParameterKind
    annotation: Any = Any
    default: Any = EMPTY
    is_annotated: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters a model may fill, in order, and the names their annotations may use."""

    parameters: list[Parameter]
    scope: Mapping[str, Any]


def read_signature(
    function: Callable[..., Any],
    *,
    name: str = "",
    frame: types.FrameType | None = None,
    skip_first: bool = False,
) -> Signature:
    """What of a callable's parameters a model may fill.

    What `functools.partial` bound is hidden, and so is `**kwargs` without a type (or with `Any`); `**kwargs: T` stays
    one parameter, `**kwargs: Unpack[SomeTypedDict]` becomes the keys.

    Args:
        function: Any callable.
        name: The tool's name, for errors; "" for the callable's own.
        frame: Where it is being defined, for string annotations that name a class of the enclosing function.
        skip_first: Leave out the first parameter: `self` or `cls` of a method that is still to be bound.

    Raises:
        ToolDefinitionError: There is no signature, it has `*args`, or an annotation can't be resolved.
    """
    name = name or display_name(function)
    try:
        whole = inspect.signature(function)
    except (ValueError, TypeError) as exc:
        raise ToolDefinitionError(
            f"Tool {name!r}: Python can't tell its parameters ({exc}). Wrap it in a function with annotated parameters."
        ) from exc
    bound = _bound_by_partial(function)
    space = _Namespace(function, frame)
    found: list[Parameter] = []
    given = [p for p in whole.parameters.values() if p.name not in bound]
    if given and hasattr(function, "registry") and hasattr(function, "dispatch"):
        given[0] = given[0].replace(kind=_KINDS.POSITIONAL_ONLY)  # functools.singledispatch looks at what comes by position
    for parameter in given[1:] if skip_first else given:
        if parameter.kind is _KINDS.VAR_POSITIONAL:
            raise ToolDefinitionError(
                f"Tool {name!r}: parameter '*{parameter.name}' has no name for its values, so a model can't fill it."
                f" Take a list, e.g. {parameter.name}: list[{text_of(parameter.annotation) or 'str'}];"
                " if a decorator hides the real signature, let it use functools.wraps."
            )
        is_annotated = parameter.annotation is not EMPTY
        annotation = space.resolve(name, parameter) if is_annotated else Any
        if parameter.kind is _KINDS.VAR_KEYWORD:
            found.extend(_keywords(name, parameter, annotation, space.names))
        else:
            found.append(Parameter(parameter.name, parameter.kind, annotation, parameter.default, is_annotated))
    return Signature(found, space.names)


def _bound_by_partial(function: Any) -> set[str]:
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names.update(function.keywords)
        function = function.func
    return names


def _keywords(tool: str, parameter: inspect.Parameter, annotation: Any, scope: Mapping[str, Any]) -> Iterator[Parameter]:
    import typing_extensions

    if annotation is Any or annotation is object:
        return
    if typing.get_origin(annotation) in (typing.Unpack, typing_extensions.Unpack):
        (record,) = typing.get_args(annotation)
        try:
            keys = keys_of(record, scope)
        except Unfit as exc:
            raise ToolDefinitionError(f"Tool {tool!r}: parameter '**{parameter.name}': {exc.reason}. {exc.cure}.") from exc
        for key, (kind, is_required) in keys.items():
            yield Parameter(key, _KINDS.KEYWORD_ONLY, kind, EMPTY if is_required else ABSENT, True)
        return
    yield Parameter(parameter.name, parameter.kind, dict[str, annotation], ABSENT, True)


class _Absent:
    """Default of a parameter that has no default of its own and may be left out all the same."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


class _Namespace:
    """Where the strings among a function's annotations are looked up."""

    def __init__(self, function: Callable[..., Any], frame: types.FrameType | None) -> None:
        self._function = innermost(function)
        owner = self._function
        if inspect.isclass(owner):
            owner = next((m for m in (owner.__dict__.get("__init__"), owner.__dict__.get("__new__")) if m), owner)
            owner = getattr(owner, "__func__", owner)
        module = sys.modules.get(getattr(self._function, "__module__", None) or "")
        self._globals: dict[str, Any] = getattr(owner, "__globals__", None) or vars(module or typing)
        self._frame = frame

    @property
    def names(self) -> Mapping[str, Any]:
        """All names an annotation may use, locals before globals."""
        return {**self._globals, **self._locals}

    @functools.cached_property
    def _locals(self) -> Mapping[str, Any]:
        known: dict[str, Any] = {}
        for scope in reversed(list(self._scopes())):
            known.update(scope)
        return known

    def _scopes(self) -> Iterator[Mapping[str, Any]]:
        function = self._function
        closure = getattr(function, "__closure__", None) or ()
        names = function.__code__.co_freevars if closure else ()
        yield {n: c.cell_contents for n, c in zip(names, closure, strict=True) if _is_filled(c)}
        yield {p.__name__: p for p in getattr(function, "__type_params__", ())}
        code, frame = getattr(function, "__code__", None), self._frame
        while code is not None and frame is not None:
            if code in frame.f_code.co_consts:  # the scope that holds the definition, then the one that holds that one
                if frame.f_code.co_name == "<module>":
                    return
                yield dict(frame.f_locals)
                code = frame.f_code
            frame = frame.f_back

    def _elsewhere(self) -> Iterator[Mapping[str, Any]]:
        frame = self._frame
        while frame is not None:
            yield frame.f_locals
            frame = frame.f_back

    def resolve(self, tool: str, parameter: inspect.Parameter) -> Any:
        annotation = parameter.annotation
        try:
            return self._evaluate(annotation, self._locals)
        except NameError as exc:
            missing = exc.name
            for scope in self._elsewhere():  # made in a function that got it from elsewhere: the name decides
                if missing and missing in scope:
                    try:
                        return self._evaluate(annotation, {**scope, **self._locals})
                    except NameError:
                        continue
            raise ToolDefinitionError(
                f"Tool {tool!r}: parameter {parameter.name!r} is annotated {text_of(annotation)!r}, and no {missing!r} is"
                " known there. Define or import it in a cell before the tool, outside `if TYPE_CHECKING:`; a function of a"
                " library can be wrapped in one of your own."
            ) from exc
        except (SyntaxError, AttributeError, TypeError) as exc:
            raise ToolDefinitionError(
                f"Tool {tool!r}: parameter {parameter.name!r} is annotated {text_of(annotation)!r}, which is not a type"
                f" ({exc}). Annotate it with a type; a description goes into Annotated[str, 'text']."
            ) from exc

    def _evaluate(self, annotation: Any, local: Mapping[str, Any]) -> Any:
        holder = types.SimpleNamespace(__annotations__={"value": annotation})
        hints = typing.get_type_hints(holder, globalns=self._globals, localns=dict(local), include_extras=True)
        return hints["value"]


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


def text_of(annotation: Any) -> str:
    """The annotation as the signature shows it; "" when there is none."""
    if annotation is EMPTY:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
