"""A tool as the notebook, or its module, defines it now: the cell may have run again, the module may have been reloaded.

The same definition is told by its module, its qualified name and the tool's name; where it stands now, by the variable of
that name, or by the attribute of its module. What has no name of its own (a lambda, a function made by a call) stays what
it was. `%autoreload` puts new code into the old objects, which identity does not show: there the form decides.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from hermes_nb.errors import ToolError
from hermes_nb.tools.decorator import Tool


def redefined(old: Tool, variables: Mapping[str, Any]) -> Tool | None:
    """The tool that took the place of `old`; None when it is what it was, or was changed in place.

    A plain function in place of a tool keeps the options that `old` has, its approval among them.

    Args:
        old: The tool an agent has.
        variables: The notebook's variables.

    Raises:
        ToolError: What took its place can't be a tool.
    """
    old.renew()
    if not old.__qualname__ or "<" in old.__qualname__ or old._binds:
        return None
    if isinstance(old.function, types.MethodType):
        return _bound_again(old)
    if old.__module__ != variables.get("__name__", "__main__"):
        return _reloaded(old, variables)
    own = variables.get(old.__name__)
    for found in (own, variables.get(old.name)):
        if isinstance(found, Tool) and found is not old and _same_place(found, old) and found.name == old.name:
            return found
    if own is old or not _is_anew(own, old):
        return None
    if any(value is old for name, value in variables.items() if not name.startswith("_")):
        return None  # the tool has a variable of its own, whose cell was not run again
    return _of_function(own, old)


def renewed(tools: Sequence[Tool], variables: Mapping[str, Any]) -> tuple[list[Tool], list[str]]:
    """The tools as the notebook defines them now, and what has to be said about it."""
    now, said = [], []
    for old in tools:
        try:
            new = redefined(old, variables) or old
        except ToolError as exc:
            new = old
            said.append(f"Tool {old.name} was redefined, but can't be a tool: {exc} The one before is kept.")
        now.append(new)
    return now, said


def _reloaded(old: Tool, variables: Mapping[str, Any]) -> Tool | None:
    """What stands in a module in the place of its tool, after a reload; a tool the notebook made of it keeps its options."""
    now = _find(sys.modules.get(old.__module__), old.__qualname__)
    for name in (old.__name__, old.name):
        own = variables.get(name)
        if not isinstance(own, Tool) or own is old or not _same_place(own, old) or own.name != old.name:
            continue
        if own._derived or not isinstance(now, Tool):
            return own
    if not isinstance(now, Tool):
        return _of_function(now, old) if _is_anew(now, old) else None
    now.renew()
    if now is old or not _same_place(now, old) or not _is_code_of(now.function, old):
        return None
    if not old._derived:
        return now if now.name == old.name else None
    if now.function is old.function:
        return None
    return replace(now, **{name: getattr(old, name) for name in old._derived}, _derived=old._derived)


def _bound_again(old: Tool) -> Tool | None:
    """The method of the same object, where its class has another one now."""
    owner = old.function.__self__  # type: ignore[attr-defined]
    now = getattr(owner, old.__name__, None)
    if isinstance(now, Tool):
        return now if now.function != old.function and now.name == old.name else None
    function = getattr(now, "__func__", None)
    if function is None or function is old.function.__func__:  # type: ignore[attr-defined]
        return None
    return _of_function(now, old)


def _of_function(function: Any, old: Tool) -> Tool:
    return Tool.from_function(function, **_options(old), **_described(old))


def _options(old: Tool) -> dict[str, Any]:
    options: dict[str, Any] = {f.name: getattr(old, f.name) for f in fields(Tool) if f.kw_only and f.name[0] != "_"}
    return options | ({"name": old.name} if old.name != old.__name__ else {})


def _described(old: Tool) -> dict[str, Any]:
    return {"description": old.description} if old._describes else {}


def _is_anew(now: Any, old: Tool) -> bool:
    """Whether a function is another one that stands where the tool's function stood, and no layer below it."""
    return inspect.isfunction(now) and now is not old.function and _same_place(now, old) and _is_code_of(now, old)


def _is_code_of(now: Any, old: Tool) -> bool:
    """Whether two functions come of one `def`: a decorated one and the function inside it do not."""
    codes = [getattr(f, "__code__", None) for f in (now, old.function)]
    return all(codes) and len({code.co_name for code in codes if code}) == 1


def _same_place(found: Any, old: Tool) -> bool:
    return (found.__module__, found.__qualname__) == (old.__module__, old.__qualname__)


def _find(found: Any, qualname: str) -> Any:
    for part in qualname.split("."):
        found = vars(found).get(part) if isinstance(found, (type, types.ModuleType)) else None
    return found
