"""Kernel variables: arguments JSON can't carry are given by the name of a notebook variable.

A class counts as such when pydantic knows no schema for it: a DataFrame, an array, a connection, a fitted model, a
class of the notebook. Nothing is imported to find out; the annotation itself is looked at.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Array(Protocol):
    """What numpy can make an array of: an array, a Series, a tensor."""

    def __array__(self) -> Any:
        """The array."""


MOST_NAMES = 20  # how many variables an error lists

# Scalars a class may derive from and still be written as JSON: the value is validated as the base, then wrapped.
_SCALARS: dict[str, type] = {
    "str": str,
    "bool": bool,
    "int": int,
    "float": float,
    "bytes": bytes,
    "datetime": object,
    "date": object,
    "time": object,
    "timedelta": object,
    "Decimal": object,
}
_CORE_TYPES = {"Decimal": "decimal"}
_SCALAR_MODULES = {"builtins", "datetime", "decimal"}
# numpy's abstract scalar classes, by name: none of them derives from int.
_NUMPY_SCALARS = {"bool_": "bool", "bool": "bool", "integer": "int", "floating": "float", "str_": "str"}


def scalar_base(wanted: Any) -> str | None:
    """The pydantic-core schema type that carries instances of the class, e.g. `int` for `numpy.int64`; None if none does."""
    if not inspect.isclass(wanted) or inspect.isabstract(wanted):
        return None
    for base in wanted.__mro__[1:] if wanted.__module__ not in _SCALAR_MODULES else ():
        if base.__module__ in _SCALAR_MODULES and base.__name__ in _SCALARS:
            return _CORE_TYPES.get(base.__name__, base.__name__)
    for base in wanted.__mro__:
        if base.__module__ == "numpy" and base.__name__ in _NUMPY_SCALARS:
            return _NUMPY_SCALARS[base.__name__]
    return None


def type_name(wanted: Any) -> str:
    """How a person calls the type: `pandas.DataFrame`, `MyClass`, `callable`, `pandas.DataFrame or numpy.ndarray`."""
    if wanted is Callable or wanted is Array:
        return "callable" if wanted is Callable else "array"
    if isinstance(wanted, tuple):
        return " or ".join(type_name(w) for w in wanted)
    name = getattr(wanted, "__qualname__", None) or getattr(wanted, "__name__", None) or str(wanted)
    root = str(getattr(wanted, "__module__", "")).partition(".")[0]
    name = name.rpartition("<locals>.")[2]
    return name if root in ("", "builtins", "__main__") or "<locals>" in str(wanted) else f"{root}.{name}"


def note(wanted: Any) -> str:
    """The sentence of the schema that says how to give the argument."""
    return f"Give the name of a notebook variable: {article(wanted)}."


def is_fit(value: Any, wanted: Any) -> bool:
    """Whether a value is of the wanted type (`Callable` wants anything that can be called)."""
    if isinstance(wanted, tuple):
        return any(is_fit(value, one) for one in wanted)
    if wanted is Callable:
        return callable(value)
    try:
        return isinstance(value, wanted)
    except TypeError:  # a Protocol that is not runtime-checkable promises nothing that could be tested
        return True


def fitting(namespace: Mapping[str, Any], wanted: Any) -> list[str]:
    """Names of the variables of the wanted type, sorted; those that start with an underscore are left out."""
    return sorted(n for n, v in list(namespace.items()) if not n.startswith("_") and is_fit(v, wanted))


def lookup(name: Any, wanted: Any, namespace: Mapping[str, Any] | None) -> Any:
    """The variable's value.

    Raises:
        LookupError: It does not exist or is of another type; the message lists the variables that fit.
    """
    if not isinstance(name, str):
        raise LookupError(f"give the name of a variable holding {article(wanted)}, as a string")
    if namespace is None:
        raise LookupError("there is no notebook here whose variables could be used")
    if name in namespace:
        value = namespace[name]
        if is_fit(value, wanted):
            return value
        problem = f"the variable {name!r} holds {article(type(value))}, not {article(wanted)}"
    else:
        problem = f"there is no variable {name!r}"
    return _refuse(problem, name, wanted, namespace)


def _refuse(problem: str, name: str, wanted: Any, namespace: Mapping[str, Any]) -> Any:
    fits = fitting(namespace, wanted)
    if not fits:
        raise LookupError(f"{problem}, and no variable holds {article(wanted)}")
    near = difflib.get_close_matches(name, fits, n=MOST_NAMES, cutoff=0.6)
    listed = [*near, *(n for n in fits if n not in near)]
    more = f" and {len(listed) - MOST_NAMES} more" if len(listed) > MOST_NAMES else ""
    raise LookupError(f"{problem}; variables that fit: {', '.join(listed[:MOST_NAMES])}{more}")


def article(wanted: Any) -> str:
    """The type's name with its article: `a pandas.DataFrame`, `an int`."""
    name = type_name(wanted)
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
