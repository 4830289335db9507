"""A tool as the notebook defines it now: the cell that defines it may have been run again.

The same definition is told by its module, its qualified name and the tool's name; where it stands now, by the variable of
that name. What has no name of its own (a lambda, a function made by a call) stays what it was.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from hermes_nb.errors import ToolError
from hermes_nb.tools.decorator import Tool


def redefined(old: Tool, variables: Mapping[str, Any]) -> Tool | None:
    """The tool that took the place of `old`; None when it is what it was.

    A plain function in place of a tool keeps the options that `old` has, its approval among them.

    Args:
        old: The tool an agent has.
        variables: The notebook's variables.

    Raises:
        ToolError: What took its place can't be a tool.
    """
    if not old.__qualname__ or "<" in old.__qualname__ or old._binds:
        return None
    own = variables.get(old.__name__)
    for found in (own, variables.get(old.name)):
        if isinstance(found, Tool) and found is not old and _same_place(found, old) and found.name == old.name:
            return found
    if own is old or not inspect.isfunction(own) or own is old.function or not _same_place(own, old):
        return None
    if any(value is old for name, value in variables.items() if not name.startswith("_")):
        return None  # the tool has a variable of its own, whose cell was not run again
    options: dict[str, Any] = {f.name: getattr(old, f.name) for f in fields(Tool) if f.kw_only and f.name[0] != "_"}
    return Tool.from_function(own, **options, **({"name": old.name} if old.name != old.__name__ else {}))


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


def _same_place(found: Any, old: Tool) -> bool:
    return (found.__module__, found.__qualname__) == (old.__module__, old.__qualname__)
