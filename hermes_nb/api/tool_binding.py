"""What `add_tools` returns: the id of a binding, as text, that also says which functions it attached."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class ToolBinding(str):
    """Functions that were attached to an agent together; equal to its id, so it goes wherever the id does.

    Attributes:
        agent: Name of the agent.
        tools: Names of the functions.
    """

    agent: str
    tools: tuple[str, ...]

    def __new__(cls, binding_id: str, *, agent: str, tools: Iterable[str]) -> ToolBinding:
        """The binding of that id."""
        made = super().__new__(cls, binding_id)
        made.agent, made.tools = agent, tuple(tools)
        return made

    @property
    def id(self) -> str:
        """Its id, e.g. `b-3f2a9c01b7`."""
        return str(self)

    def __repr__(self) -> str:
        return f"<ToolBinding {self.id} of {self.agent!r}: {', '.join(self.tools) or 'no tools'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (self.id,)  # elsewhere it is an id and no more
