"""What a callable is, behind partials, methods, wrappers and Flyte tasks: its name, its text, the body that runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from hermes_nb.tools.schema.docstring import written_doc


def display_name(function: Callable[..., Any]) -> str:
    """What the callable is called: its `__name__`, that of what a partial wraps, or of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def innermost(function: Callable[..., Any]) -> Any:
    """The function whose body runs in the end: behind partials, bound methods, wrappers and `__call__`."""
    for _ in range(100):
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif isinstance(function, (staticmethod, classmethod)) or (
            hasattr(function, "__wrapped__") and not inspect.isclass(function)
        ):
            function = function.__wrapped__
        elif inspect.isroutine(function) or inspect.isclass(function):
            break
        else:
            function = type(function).__call__
    return function


def is_method(function: Callable[..., Any]) -> bool:
    """Whether it is a function of a class body whose first parameter, `self` or `cls`, is still to be bound."""
    if not inspect.isfunction(function):
        return False
    outer, _, _ = function.__qualname__.rpartition(".")
    first = next(iter(function.__code__.co_varnames[: function.__code__.co_argcount]), "")
    return bool(outer) and not outer.endswith("<locals>") and first in ("self", "cls")


def documentation(function: Any) -> str | None:
    """The docstring that speaks of calling it: not that of `partial`, nor the one `dataclass` writes."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return function.__doc__ or (inspect.getdoc(function) if inspect.ismethod(function) else None)
    if not inspect.isclass(function):
        own = vars(function).get("__doc__") if hasattr(function, "__dict__") else None
        return own or type(function).__call__.__doc__ or type(function).__doc__
    return written_doc(function)


def flyte_task(function: Any) -> Any:
    """The Flyte task in (or behind) a callable, told by its attributes; None when there is none."""
    for task in (function, getattr(function, "__wrapped_task__", None), getattr(function, "task", None)):
        if hasattr(task, "native_interface") and callable(getattr(task, "func", None)):
            return task
    return None


def speaker(function: Any) -> Any:
    """What speaks for the callable: a task's own function, whose signature and docstring the task does not show."""
    return function.func if flyte_task(function) is function else function
