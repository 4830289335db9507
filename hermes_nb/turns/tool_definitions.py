"""The tools of a bound agent: what the model is offered, what changed, what was cut."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import LoopBlockedError, UsageError
from hermes_nb.tools.pinned_definition import PinnedDefinition, PinnedDefinitions

if TYPE_CHECKING:
    from hermes_nb.tools.builtin import ResultStore
    from hermes_nb.tools.decorator import Tool


def namespace() -> dict[str, Any]:
    """The user's variables: of the notebook (a kernel's user module is `__main__`), or of the script."""
    return vars(sys.modules["__main__"])


class ToolDefinitions:
    """Hold the tools of an agent, and what the model of each session was told of them.

    Args:
        agent: Tells the agent's name, for messages.
        tools: The notebook functions it may call.
        tell: Says something with the next turn, as a code and a text.

    Attributes:
        tools: The notebook functions that it may call now.
        pinned: What each session was told of them.
    """

    def __init__(self, agent: Callable[[], str], tools: Sequence[Tool], *, tell: Callable[[str, str], None]) -> None:
        self._agent, self._tell = agent, tell
        self.tools: list[Tool] = list(tools)
        self.pinned = PinnedDefinitions()
        self._n_revoked: Counter[str] = Counter()
        self._results: ResultStore | None = None
        self._more: Tool | None = None

    @property
    def offered(self) -> list[Tool]:
        """What the model of a new session is offered: `tools`, and with any of them `more` (reads on in a cut result)
        and, where one takes the name of a notebook variable, `list_variables`."""
        return [*self.tools, *self._built_in(takes_variables=any(t.variable_parameters for t in self.tools))]

    def offered_in(self, session_id: str, *, only: Sequence[str] | None = None) -> list[PinnedDefinition]:
        """What the model of a session is offered: what it was told of a tool before is told again.

        Args:
            session_id: The session.
            only: Names of the tools that a turn offers; None means all.
        """
        own = self.pinned.of(session_id, [t for t in self.tools if only is None or t.name in only])
        built_in = self._built_in(takes_variables=any(offer.takes_variables for offer in own)) if own else []
        return [*own, *self.pinned.of(session_id, built_in)]

    def _built_in(self, *, takes_variables: bool) -> list[Tool]:
        from hermes_nb.tools.builtin import list_variables_tool, more_tool

        if not self.tools:
            return []
        if self._more is None:
            self._more = more_tool(self.results)
        return [self._more, *([list_variables_tool(namespace)] if takes_variables else ())]

    def revoke(self, names: Collection[str]) -> None:
        """Take tools away for good: a turn that runs does not call them any more, whatever bears their names later."""
        self.tools = [tool for tool in self.tools if tool.name not in names]
        self.pinned.forget(names)
        self._n_revoked.update(names)

    def n_revoked(self, name: str) -> int:
        """How often a tool of that name was revoked."""
        return self._n_revoked[name]

    def renew(self) -> None:
        """Take the tools as the notebook defines them now. What the model is told of them is each session's (`pinned`)."""
        from hermes_nb.tools.redefinition import renewed

        self.tools, said = renewed(self.tools, namespace())
        for text in said:
            self._tell("tool", text)

    def tell_anew(self, names: Sequence[str] | None = None) -> list[str]:
        """Tell the model of tools as they are now, from the next turn of each session on (see `refresh_tools`)."""
        self.renew()
        known = {t.name for t in self.tools}
        if missing := [name for name in names or () if name not in known]:
            shown = ", ".join(map(repr, missing))
            raise UsageError(f"Agent {self._agent()!r} has no tool {shown}. It has: {', '.join(sorted(known)) or 'none'}.")
        changed = self.pinned.renew([t for t in self.tools if names is None or t.name in names])
        for name in changed:
            self._tell("tool", f"Tool {name} was redefined: from this turn on the model is told of its new form.")
        return changed

    @property
    def results(self) -> ResultStore:
        """Tool results that were cut, whole, for `more`."""
        from hermes_nb.tools.builtin import ResultStore

        if self._results is None:
            self._results = ResultStore()
        return self._results

    def refuse_async(self) -> None:
        """Raise LoopBlockedError when there is a tool that can't run while the caller blocks its loop."""
        names = [t.name for t in self.tools if t.is_async and not t.parallel]
        if names:
            raise LoopBlockedError(
                f"Agent {self._agent()!r} has async tools ({', '.join(names)}), which run on the event loop that this call"
                " blocks. Use `await bound.run(...)` or `%%hermes run` in a cell of its own, or make them plain functions."
            )
