"""The form of a function: what it does and says, by value. Two runs of one cell make two functions of one form.

Identity does not tell what a function is: a cell that runs again makes new objects of the same code, and a reloaded module
(`%autoreload`) puts new code into the old object.
"""

from __future__ import annotations

import functools
import types
from typing import Any

_PLAIN = (str, int, float, complex, bool, bytes, type(None))


def form(function: Any) -> tuple[Any, ...]:
    """The form of a callable: code (without its place in the file), defaults, annotations, docstring, closed-over values.

    An object with `__call__` has no form of its own: its identity counts.
    """
    inner = getattr(function, "__dict__", {}).get("__wrapped__")
    if isinstance(function, functools.partial):
        return ("partial", form(function.func), _value(function.args), _value(function.keywords))
    if isinstance(function, types.MethodType):
        return ("method", form(function.__func__), id(function.__self__))
    if not isinstance(function, types.FunctionType):
        return ("object", id(function))
    cells = tuple(_cell(cell) for cell in function.__closure__ or () if inner is None)
    return (
        _code(function.__code__),
        _value(function.__defaults__),
        _value(function.__kwdefaults__),
        _value(getattr(function, "__annotations__", None)),
        function.__doc__,
        cells,
        form(inner) if callable(inner) else None,
    )


def _code(code: types.CodeType) -> tuple[Any, ...]:
    consts = tuple(_code(c) if isinstance(c, types.CodeType) else (type(c).__name__, repr(c)) for c in code.co_consts)
    return (code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)


def _cell(cell: types.CellType) -> Any:
    try:
        return _value(cell.cell_contents)
    except ValueError:  # still empty
        return None


def _value(value: Any) -> Any:
    """A value to compare by; of what has no plain value, its type and name."""
    if isinstance(value, _PLAIN):
        return (type(value).__name__, repr(value))
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, tuple(_value(v) for v in value))
    if isinstance(value, dict):
        return tuple((str(k), _value(v)) for k, v in value.items())
    if isinstance(value, types.FunctionType):
        return (value.__qualname__, _code(value.__code__))
    return (type(value).__name__, str(getattr(value, "__qualname__", "")))


def shape(function: Any) -> tuple[Any, ...] | None:
    """What a tool's name, description and schema are read from, by value; None of what can't be changed in place.

    It differs after `%autoreload` put another signature, docstring or dataclass into the old objects.
    """
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return None
    code, annotations = function.__code__, function.__annotations__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return (
        names,
        code.co_argcount,
        code.co_flags & 0x0C,
        _value(function.__defaults__),
        _value(function.__kwdefaults__),
        tuple((name, _members(annotation, function, 3)) for name, annotation in annotations.items()),
        function.__doc__,
    )


def _members(annotation: Any, function: types.FunctionType, depth: int) -> Any:
    """An annotation, with the fields of the classes in it."""
    if isinstance(annotation, str):
        found = function.__globals__.get(annotation)
        return (annotation, _members(found, function, depth)) if isinstance(found, type) else annotation
    inner = tuple(_members(a, function, depth) for a in getattr(annotation, "__args__", ()) or ())
    is_class = isinstance(annotation, type) and annotation.__module__ != "builtins"
    own = vars(annotation).get("__annotations__") if is_class else None
    if not own or not depth:
        return (repr(annotation), inner)
    held = [_members(a, function, depth - 1) for a in own.values()]
    values = [repr(vars(annotation).get(name)) for name in own if not callable(vars(annotation).get(name))]
    return (repr(annotation), inner, tuple(own), tuple(map(repr, held)), tuple(values))
