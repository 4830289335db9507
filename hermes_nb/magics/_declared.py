"""Whether a bound agent is still what the notebook declares: its cell may have run again, or a key been corrected."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hermes_nb.model.agent import Agent


@dataclass
class Source:
    """The declaration that an agent was bound from.

    Attributes:
        agent: The declaration itself.
        kept: As it was then; a declaration can be changed in place.
        variable: The notebook's variable that holds it; None when none did.
    """

    agent: Agent
    kept: Agent
    variable: str | None

    @classmethod
    def of(cls, agent: Agent, declared: Mapping[str, Agent]) -> Source:
        """The source of a binding that is made now."""
        return cls(agent, _kept(agent), _holder(agent, declared))

    def note(self, declared: Mapping[str, Agent]) -> None:
        """Remember the variable as soon as one holds it."""
        self.variable = self.variable or _holder(self.agent, declared)

    def now(self, declared: Mapping[str, Agent]) -> Agent:
        """The declaration as the notebook has it now: its variable's, as long as that one is of the same name."""
        self.note(declared)
        found = declared.get(self.variable) if self.variable else None
        return found if found is not None and found.name == self.agent.name else self.agent

    def is_same(self, agent: Agent) -> bool:
        """Whether a declaration holds the very same things, functions included."""
        return _fields(agent) == _fields(self.kept) and _tools(agent) == _tools(self.kept)

    def has_same_form(self, agent: Agent) -> bool:
        """Whether it says the same: new functions of the same code are no change."""
        from hermes_nb.tools.form import form

        def forms(tools: list[Any]) -> list[Any]:
            return [(getattr(t, "__name__", ""), _options(t), form(getattr(t, "function", t))) for t in tools]

        return _fields(agent) == _fields(self.kept) and forms(_tools(agent)) == forms(_tools(self.kept))


def _holder(agent: Agent, declared: Mapping[str, Agent]) -> str | None:
    held = [name for name, value in declared.items() if value is agent]
    return agent.name if agent.name in held else next(iter(held), None)


def _kept(agent: Agent) -> Agent:
    made = copy.copy(agent)
    for name in ("profile_options", "session_options", "config"):
        setattr(made, name, copy.deepcopy(getattr(agent, name)))
    made.tools = list(agent.tools)
    return made


def _fields(agent: Agent) -> dict[str, Any]:
    found = {f.name: getattr(agent, f.name) for f in fields(agent) if f.name != "tools"}
    return {**found, "toolsets": list(agent.toolsets or ())}


def _tools(agent: Agent) -> list[Any]:
    return list(agent.tools)


def _options(tool: Any) -> Any:
    """The options of a `Tool`; None of a plain function."""
    from hermes_nb.tools.decorator import Tool

    if not isinstance(tool, Tool):
        return None
    return [repr(getattr(tool, f.name)) for f in fields(tool) if f.kw_only and f.name[0] != "_" and f.name != "approval"] + [
        tool.name,
        tool.description,
        bool(tool.approval),
    ]
