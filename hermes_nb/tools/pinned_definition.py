"""What a model is told of a tool: the same all through a session, whatever the notebook makes of the function meanwhile.

A changed description or schema would cost the cached beginning of the prompt and the keys of kept steps. So a session goes
on with the definition it was first told, and calls run the function as it is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_nb.model.toolspec import ToolSpec
    from hermes_nb.tools.decorator import Tool


@dataclass(frozen=True, slots=True)
class PinnedDefinition:
    """A tool as one session shows it.

    Attributes:
        tool: What runs.
        told: Name, description and parameters as the model is told them.
        takes_variables: Whether one of these parameters takes the name of a notebook variable.
    """

    tool: Tool
    told: dict[str, Any]
    takes_variables: bool

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.tool.name

    @property
    def is_current(self) -> bool:
        """Whether the model is told of the function as it is now."""
        return self.told == self.tool.definition()

    def definition(self) -> dict[str, Any]:
        """`{"name", "description", "parameters"}`."""
        return self.told

    def spec(self) -> ToolSpec:
        """What the worker is told: the definition of the session, and how the function runs now."""
        return replace(self.tool.spec(), description=self.told["description"], parameters=self.told["parameters"])


class PinnedDefinitions:
    """What the sessions of one agent were told of its tools."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, PinnedDefinition]] = {}  # session -> tool name -> offer
        self._newest: dict[str, PinnedDefinition] = {}
        self._said: set[tuple[str, str]] = set()

    def of(self, session_id: str, tools: Sequence[Tool]) -> list[PinnedDefinition]:
        """The tools as the session shows them; nothing is kept yet."""
        kept = self._kept.get(session_id, {})
        return [self._offer(tool, kept.get(tool.name)) for tool in tools]

    def _offer(self, tool: Tool, kept: PinnedDefinition | None) -> PinnedDefinition:
        if kept is not None:
            return kept if kept.tool is tool else replace(kept, tool=tool)
        newest = self._newest.get(tool.name)
        if newest is None or newest.tool is not tool or not newest.is_current:
            newest = self._newest[tool.name] = PinnedDefinition(tool, tool.definition(), bool(tool.variable_parameters))
        return newest

    def keep(self, session_id: str, offers: Sequence[PinnedDefinition], *, is_part: bool = False) -> list[str]:
        """Note what a turn shows; names of tools that were redefined otherwise than the session shows them, told once.

        Args:
            session_id: The turn's session.
            offers: What it shows.
            is_part: Whether the agent has other tools, which the session's next turns show again.
        """
        before = self._kept.get(session_id, {}) if is_part else {}
        self._kept[session_id] = before | {offer.name: offer for offer in offers}
        changed = {o.name: (session_id, str(o.tool.definition())) for o in offers if not o.is_current}
        new = [name for name, form in changed.items() if form not in self._said]
        self._said |= set(changed.values())
        return new

    def knows(self, session_id: str) -> bool:
        """Whether a turn of the session was asked in this process."""
        return session_id in self._kept

    def changed(self, session_id: str, tools: Sequence[Tool]) -> list[str]:
        """Names of tools that were redefined otherwise than the session shows them."""
        return [offer.name for offer in self.of(session_id, tools) if not offer.is_current]

    def renew(self, tools: Sequence[Tool]) -> list[str]:
        """Let the sessions' next turns show these tools as they are now; names of those that then change."""
        changed = dict.fromkeys(name for session_id in self._kept for name in self.changed(session_id, tools))
        self.forget(changed)
        return list(changed)

    def drop(self, session_id: str) -> None:
        """Forget what a session was told of all tools: nobody goes on with it."""
        self._kept.pop(session_id, None)

    def forget(self, names: Iterable[str]) -> None:
        """Forget what the sessions were told of these tools."""
        for name in names:
            for kept in self._kept.values():
                kept.pop(name, None)
