"""Functions of a notebook that could be tools: each with the schema a model would see, or with what is in the way."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes_nb.errors import ToolError
from hermes_nb.tools.decorator import Tool, as_tool
from hermes_nb.tools.secret import environment_masker


@dataclass(frozen=True)
class Candidate:
    """A variable that holds a function or a tool.

    Attributes:
        variable: The variable.
        tool: The tool it makes; None when it can't be one.
        problem: Why it can't, and what to do; "" when it can.
        is_declared: Whether it was made a tool on purpose, by `@tool`.
    """

    variable: str
    tool: Tool | None
    problem: str = ""
    is_declared: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data for whoever shows it, without secrets: variable, name, signature, description, schema, marks,
        problem, is_declared."""
        tool, mask = self.tool, environment_masker()
        if tool is None:
            shown: dict[str, Any] = {"name": self.variable, "signature": "", "description": "", "schema": {}, "marks": []}
        else:
            spec = tool.spec()
            marks = ["async"] * spec.is_async + ["asks first"] * spec.needs_approval + ["parallel"] * spec.parallel
            signature = repr(tool).removeprefix(f"<Tool {spec.name}").removesuffix(">").replace("__main__.", "")
            shown = {
                "name": spec.name,
                "signature": signature,
                "description": spec.description,
                "schema": spec.parameters,
                "marks": marks,
            }
        whole = {**shown, "variable": self.variable, "problem": self.problem, "is_declared": self.is_declared}
        masked: dict[str, Any] = mask.data(whole)
        return masked


def candidates(namespace: Mapping[str, Any]) -> list[Candidate]:
    """Tools, and functions defined in the notebook itself, in the order of their definition."""
    return [_candidate(name, value) for name, value in list(namespace.items()) if _may_be(name, value)]


def _may_be(name: str, value: Any) -> bool:
    if name.startswith("_"):
        return False
    if isinstance(value, Tool):
        return True
    return isinstance(value, types.FunctionType) and value.__module__ == "__main__"


def _candidate(name: str, value: Any) -> Candidate:
    is_declared = isinstance(value, Tool)
    try:
        return Candidate(name, as_tool(value), is_declared=is_declared)
    except ToolError as exc:
        return Candidate(name, None, str(exc), is_declared)
