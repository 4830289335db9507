"""Annotations as pydantic likes them: what it refuses, or reads otherwise than a tool needs, is translated first."""

from __future__ import annotations

import collections.abc
import enum
import inspect
import types
import typing
from typing import Any

_LISTS = (
    collections.abc.Iterable,
    collections.abc.Collection,
    collections.abc.Container,
    collections.abc.Reversible,
)
_OPAQUE = (type, collections.abc.Callable, collections.abc.Generator, collections.abc.Awaitable)


class Unfit(Exception):
    """An annotation no schema can describe; `reason` says why, `cure` what to write instead."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.cure = cure


def prepare(annotation: Any) -> Any:
    """The annotation with the same meaning that pydantic takes.

    Iterables become lists (pydantic would validate them while the body iterates), `typing.TypedDict` the one of
    typing_extensions (pydantic refuses the former before Python 3.12), bytearray is built from bytes.

    Raises:
        Unfit: It is not a type, or has values JSON has no form for.
    """
    if annotation is None or annotation is Any or annotation is Ellipsis:
        return annotation
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        first, *metadata = typing.get_args(annotation)
        return typing.Annotated[(prepare(first), *metadata)]
    if origin is typing.Literal:
        return _literal(annotation)
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(prepare(a) for a in typing.get_args(annotation))]  # noqa: UP007 - built from a tuple
    return _leaf(annotation) if origin is None else _generic(annotation, origin)


def described(annotation: Any) -> tuple[Any, str]:
    """The annotation without its plain strings, and the first of these (or of PEP 727's `Doc`); "" when there is none."""
    text = ""
    if typing.get_origin(annotation) is typing.Annotated:
        first, *metadata = typing.get_args(annotation)
        kept = []
        for item in metadata:
            documentation = item if isinstance(item, str) else getattr(item, "documentation", None)
            if isinstance(documentation, str):
                text = text or " ".join(documentation.split())
            else:
                kept.append(item)
        inner, inner_text = described(first)
        annotation = typing.Annotated[(inner, *kept)] if kept else inner
        return annotation, text or inner_text
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        pairs = [described(a) for a in typing.get_args(annotation)]
        texts = [t for _, t in pairs if t]
        if len(texts) == 1:
            return typing.Union[tuple(a for a, _ in pairs)], texts[0]  # noqa: UP007 - built from a tuple
    return annotation, text


def _leaf(annotation: Any) -> Any:
    from pydantic import AfterValidator

    if annotation in (typing.Never, typing.NoReturn):
        raise Unfit("there is no value of it", "Remove the parameter")
    if annotation is typing.LiteralString:
        return str
    if annotation is typing.Self:
        raise Unfit("it means something in a class only", "Name the class")
    if annotation in _LISTS:
        return list
    if annotation is bytearray or annotation is memoryview:
        return typing.Annotated[bytes, AfterValidator(annotation)]
    if inspect.isclass(annotation):
        return _typed_dict(annotation) if typing.is_typeddict(annotation) else annotation
    is_special = type(annotation).__module__ in ("typing", "typing_extensions")
    if not is_special:
        raise Unfit("it is not a type", "Annotate a type; a description goes into Annotated[str, 'text']")
    return annotation


def _generic(annotation: Any, origin: Any) -> Any:
    from pydantic import AfterValidator

    arguments = typing.get_args(annotation)
    if origin in _OPAQUE:
        return annotation
    if origin in _LISTS:
        return list[prepare(arguments[0])]  # type: ignore[misc]
    if origin is collections.abc.Iterator:
        return typing.Annotated[list[prepare(arguments[0])], AfterValidator(iter)]  # type: ignore[misc]
    prepared = tuple(prepare(a) if _is_annotation(a) else a for a in arguments)
    if all(new is old for new, old in zip(prepared, arguments, strict=True)):
        return annotation
    if isinstance(annotation, types.GenericAlias):
        return types.GenericAlias(origin, prepared)
    return annotation.copy_with(prepared) if hasattr(annotation, "copy_with") else origin[prepared]


def _is_annotation(argument: Any) -> bool:
    return argument is not Ellipsis and not isinstance(argument, (list, tuple, str, int, bytes))


def _literal(annotation: Any) -> Any:
    for value in typing.get_args(annotation):
        if not (value is None or isinstance(value, (str, int, enum.Enum))):
            raise Unfit(f"JSON has no form for the value {value!r}", "Use strings, numbers, booleans or None")
    return annotation


def _typed_dict(record: Any) -> Any:
    import typing_extensions

    if type(record).__module__ != "typing" or hasattr(typing, "TypeAliasType"):  # Python 3.12 has the latter
        return record
    marks: tuple[Any, ...] = (typing.Required, typing.NotRequired)
    fields: dict[str, Any] = {}
    for key, kind in typing_extensions.get_type_hints(record, include_extras=True).items():
        mark: Any = typing_extensions.Required if key in record.__required_keys__ else typing_extensions.NotRequired
        while typing.get_origin(kind) in marks:
            (kind,) = typing.get_args(kind)
        fields[key] = mark[prepare(kind)]
    create: Any = typing_extensions.TypedDict
    made = create(record.__name__, fields)
    made.__doc__ = record.__doc__
    made.__module__, made.__qualname__ = record.__module__, record.__qualname__
    return made
