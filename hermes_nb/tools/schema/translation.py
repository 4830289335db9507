"""Annotations as pydantic likes them: what it refuses, or reads otherwise than a tool needs, is translated first."""

from __future__ import annotations

import collections.abc
import enum
import inspect
import sys
import types
import typing
import uuid
from collections.abc import Mapping
from typing import Any

from hermes_nb.tools.schema.coreschema import VariableType
from hermes_nb.tools.variable import Array

_LISTS = (
    collections.abc.Iterable,
    collections.abc.Collection,
    collections.abc.Container,
    collections.abc.Reversible,
)
_ITERATORS = (collections.abc.Iterator, collections.abc.Generator)
_OPAQUE = (type, collections.abc.Callable, collections.abc.Awaitable, collections.abc.Coroutine)


class Unfit(Exception):
    """An annotation no schema can describe; `reason` says why, `cure` what to write instead."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.cure = cure


def prepare(annotation: Any, scope: Mapping[str, Any] | None = None) -> Any:
    """The annotation with the same meaning that pydantic takes.

    Iterables become lists (pydantic would validate them while the body iterates), iterators those of a list,
    a TypedDict one of typing_extensions (pydantic refuses that of typing
    before Python 3.12, and does not find the local names in any), bytearray is built
    from bytes, a Literal of enum members takes their values, a UUID each form that `uuid.UUID` reads.

    Args:
        annotation: With strings resolved.
        scope: Names that strings inside a TypedDict may use besides those of its module.

    Raises:
        Unfit: It is not a type, or has values JSON has no form for.
    """
    return _Preparer(scope or {}).of(annotation)


def described(annotation: Any) -> tuple[Any, str]:
    """The annotation without its plain strings, and the text it gives: the first of these, of PEP 727's `Doc` or of
    pydantic's `Field`; "" when there is none. One alternative of a union may carry it."""
    from pydantic.fields import FieldInfo

    if typing.get_origin(annotation) is typing.Annotated:
        first, *metadata = typing.get_args(annotation)
        texts = [_text(item) for item in metadata]
        kept = [item for item, text in zip(metadata, texts, strict=True) if isinstance(item, FieldInfo) or not text]
        inner, inner_text = described(first)
        own = next((text for text in texts if text), "")
        return typing.Annotated[(inner, *kept)] if kept else inner, own or inner_text
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        pairs = [described(a) for a in typing.get_args(annotation)]
        given = [text for _, text in pairs if text]
        if len(given) == 1:
            union: Any = typing.Union[tuple(a for a, _ in pairs)]  # noqa: UP007 - built from a tuple
            return union, given[0]
    return annotation, ""


def _text(metadata: Any) -> str:
    for text in (metadata, getattr(metadata, "description", None), getattr(metadata, "documentation", None)):
        if isinstance(text, str):
            return " ".join(text.split())
    return ""


def takes_none(annotation: Any) -> bool:
    """Whether None is among the values already."""
    if annotation in (None, type(None), Any, object):
        return True
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return takes_none(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return any(takes_none(a) for a in typing.get_args(annotation))
    return origin is typing.Literal and None in typing.get_args(annotation)


def _as_uuid(value: Any) -> Any:
    """A text in each form that `uuid.UUID` reads (in braces, without dashes, as an URN); pydantic takes some of them."""
    try:
        return uuid.UUID(value.strip()) if isinstance(value, str) else value
    except ValueError:
        return value


class _Preparer:
    def __init__(self, scope: Mapping[str, Any]) -> None:
        self._scope = scope
        self._open: list[Any] = []  # aliases that are being looked into
        self._recursive: list[Any] = []
        self._records: dict[Any, Any] = {}  # TypedDict -> its translation, also while that is being made

    def of(self, annotation: Any) -> Any:
        import typing_extensions

        if annotation is None or annotation is Any or annotation is Ellipsis:
            return annotation
        if isinstance(annotation, (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", ()))):
            return self._alias(annotation)
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            first, *metadata = typing.get_args(annotation)
            return typing.Annotated[(self.of(first), *metadata)]
        if origin is typing.Literal:
            return _literal(annotation)
        if origin in (typing.Union, types.UnionType):
            return typing.Union[tuple(self.of(a) for a in _array_like(typing.get_args(annotation)))]  # noqa: UP007
        if origin in (typing.Unpack, typing_extensions.Unpack) or getattr(annotation, "__unpacked__", False):
            raise Unfit("pydantic knows no part of a tuple that repeats", "Use tuple[T, ...], or a list")
        return self._leaf(annotation) if origin is None else self._generic(annotation, origin)

    def _alias(self, alias: Any) -> Any:
        """What an alias (`type X = ...`) stands for; one that contains itself stays, for pydantic to resolve."""
        if alias is _numpy_array_like():
            return typing.Union[_ARRAY_LIKE]  # noqa: UP007 - built from a tuple
        if isinstance(alias.__value__, str):
            return alias
        if alias in self._open:
            self._recursive.append(alias)
            return alias
        self._open.append(alias)
        try:
            made = self.of(alias.__value__)
        finally:
            self._open.pop()
        return alias if alias in self._recursive else made

    def _leaf(self, annotation: Any) -> Any:
        from pydantic import AfterValidator, BeforeValidator

        if annotation is uuid.UUID:
            return typing.Annotated[annotation, BeforeValidator(_as_uuid)]
        if annotation in (typing.Never, typing.NoReturn):
            raise Unfit("there is no value of it", "Remove the parameter")
        if annotation is typing.LiteralString:
            return str
        if annotation is typing.Self:
            raise Unfit("it means something in a class only", "Name the class")
        if annotation in _LISTS:
            return list
        if annotation in _ITERATORS:
            return typing.Annotated[list, AfterValidator(iter)]
        if annotation is bytearray or annotation is memoryview:
            return typing.Annotated[bytes, AfterValidator(annotation)]
        if typing.is_typeddict(annotation):
            return self._record(annotation)
        if getattr(annotation, "_is_protocol", False) and not getattr(annotation, "_is_runtime_protocol", False):
            return typing.Annotated[Any, VariableType(annotation)]
        if inspect.isclass(annotation) or type(annotation).__module__ in ("typing", "typing_extensions"):
            return annotation
        raise Unfit("it is not a type", "Annotate a type; a description goes into Annotated[str, 'text']")

    def _generic(self, annotation: Any, origin: Any) -> Any:
        from pydantic import AfterValidator

        arguments = typing.get_args(annotation)
        if origin in _OPAQUE:
            return annotation
        prepared = tuple(self.of(a) if _is_annotation(a) else a for a in arguments)
        if origin in _LISTS:
            return types.GenericAlias(list, prepared[:1])
        if origin in _ITERATORS:
            return typing.Annotated[types.GenericAlias(list, prepared[:1]), AfterValidator(iter)]
        if all(new is old for new, old in zip(prepared, arguments, strict=True)):
            return annotation
        if isinstance(annotation, types.GenericAlias):
            return types.GenericAlias(origin, prepared)
        return annotation.copy_with(prepared) if hasattr(annotation, "copy_with") else origin[prepared]

    def _record(self, record: Any) -> Any:
        import typing_extensions

        if record in self._records:
            return self._records[record]
        create: Any = typing_extensions.TypedDict
        made = self._records[record] = create(record.__name__, {})
        made.__doc__, made.__module__, made.__qualname__ = record.__doc__, record.__module__, record.__qualname__
        keys = keys_of(record, self._scope)
        made.__required_keys__ = frozenset(key for key, (_, is_required) in keys.items() if is_required)
        made.__optional_keys__ = frozenset(keys) - made.__required_keys__
        for key, (kind, _) in keys.items():
            made.__annotations__[key] = self.of(kind)
        return made


def keys_of(record: Any, scope: Mapping[str, Any]) -> dict[str, tuple[Any, bool]]:
    """The keys of a TypedDict, each with its type and whether it is required.

    `__required_keys__` alone does not tell: where annotations are strings, Python has not read `NotRequired` in them.

    Raises:
        Unfit: A string among the types uses a name known neither to the module nor to the scope.
    """
    import typing_extensions

    try:
        hints = typing_extensions.get_type_hints(record, include_extras=True)
    except NameError:
        try:
            hints = typing_extensions.get_type_hints(record, localns=dict(scope), include_extras=True)
        except NameError as exc:
            raise Unfit(f"its {record.__name__} uses {exc.name!r}, which is not known", f"Define {exc.name} first") from exc
    marks = {typing.Required: True, typing.NotRequired: False, getattr(typing_extensions, "ReadOnly", None): None}
    keys = {}
    for key, kind in hints.items():
        is_required = key in record.__required_keys__
        while (origin := typing.get_origin(kind)) in marks:
            is_required = is_required if marks[origin] is None else bool(marks[origin])
            (kind,) = typing.get_args(kind)
        keys[key] = (kind, is_required)
    return keys


# What a model can give for numpy's `ArrayLike`, a union of private protocols (from numpy 2.5 on an alias of one).
_ARRAY_LIKE = (typing.Annotated[Any, VariableType((Array, list))], list[Any], float)


def _numpy_array_like() -> Any:
    return getattr(sys.modules.get("numpy.typing"), "ArrayLike", None)


def _array_like(alternatives: tuple[Any, ...]) -> tuple[Any, ...]:
    """The alternatives of a union, with `_ARRAY_LIKE` for those of numpy's."""
    like = typing.get_args(_numpy_array_like())
    if not like or not all(one in alternatives for one in like):
        return alternatives
    return (*_ARRAY_LIKE, *(one for one in alternatives if one not in like))


def _is_annotation(argument: Any) -> bool:
    return argument is not Ellipsis and not isinstance(argument, (list, tuple, str, int, bytes))


def _literal(annotation: Any) -> Any:
    from pydantic import BeforeValidator

    members: dict[Any, Any] = {}
    for value in typing.get_args(annotation):
        if isinstance(value, enum.Enum):
            members[value.value] = value
        elif not (value is None or isinstance(value, (str, int))):
            raise Unfit(f"JSON has no form for the value {value!r}", "Use strings, numbers, booleans or None")
    if not members:
        return annotation

    def member(value: Any) -> Any:  # pydantic compares with the members themselves
        return members.get(value, value) if isinstance(value, (str, int, float)) else value

    return typing.Annotated[annotation, BeforeValidator(member)]
