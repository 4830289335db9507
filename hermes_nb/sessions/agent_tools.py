"""The tools of a bound agent: what the model is offered, what changed, what was cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_nb.errors import LoopBlockedError, UsageError
from hermes_nb.sessions.serving import namespace
from hermes_nb.tools.offer import Offer, Offers

if TYPE_CHECKING:
    from hermes_nb.tools.builtin import ResultStore
    from hermes_nb.tools.decorator import Tool


class AgentTools(ABC):
    """The half of `BoundAgent` that holds its tools and says, with the next turn, what changed."""

    def __init__(self, tools: Sequence[Tool], *, notices: list[tuple[str, str]]) -> None:
        self.tools: list[Tool] = list(tools)
        self.offers = Offers()
        self._results: ResultStore | None = None
        self._more: Tool | None = None
        self._notices = notices

    @property
    @abstractmethod
    def name(self) -> str:
        """The agent's name."""

    @property
    def offered(self) -> list[Tool]:
        """What the model of a new session is offered: `tools`, and with any of them `more` (reads on in a cut result)
        and, where one takes the name of a notebook variable, `list_variables`."""
        return [*self.tools, *self._built_in(takes_variables=any(t.variable_parameters for t in self.tools))]

    def offered_in(self, session_id: str) -> list[Offer]:
        """What the model of a session is offered: what it was told of a tool before is told again."""
        own = self.offers.of(session_id, self.tools)
        built_in = self._built_in(takes_variables=any(offer.takes_variables for offer in own))
        return [*own, *self.offers.of(session_id, built_in)]

    def _built_in(self, *, takes_variables: bool) -> list[Tool]:
        from hermes_nb.tools.builtin import list_variables_tool, more_tool

        if not self.tools:
            return []
        if self._more is None:
            self._more = more_tool(self.results)
        made = [self._more, *([list_variables_tool(namespace)] if takes_variables else ())]
        names = {t.name for t in self.tools}
        return [t for t in made if t.name not in names]

    def renew_tools(self) -> None:
        """Take the tools as the notebook defines them now. What the model is told of them is each session's (`offers`)."""
        from hermes_nb.tools.redefinition import renewed

        self.tools, said = renewed(self.tools, namespace())
        for text in said:
            self.tell("tool", text)

    def renew_offers(self, names: Sequence[str] | None = None) -> list[str]:
        """Tell the model of tools as they are now, from the next turn of each session on (see `refresh_tools`)."""
        self.renew_tools()
        known = {t.name for t in self.tools}
        if missing := [name for name in names or () if name not in known]:
            shown = ", ".join(map(repr, missing))
            raise UsageError(f"Agent {self.name!r} has no tool {shown}. It has: {', '.join(sorted(known)) or 'none'}.")
        changed = self.offers.renew([t for t in self.tools if names is None or t.name in names])
        for name in changed:
            self.tell("tool", f"Tool {name} was redefined: from this turn on the model is told of its new form.")
        return changed

    def tell(self, code: str, text: str) -> None:
        """Say something with the next turn, once."""
        if (code, text) not in self._notices:
            self._notices.append((code, text))

    @property
    def results(self) -> ResultStore:
        """Tool results that were cut, whole, for `more`."""
        from hermes_nb.tools.builtin import ResultStore

        if self._results is None:
            self._results = ResultStore()
        return self._results

    def take_notices(self) -> list[tuple[str, str]]:
        """Notices (code, text) that were not shown yet; shown once, in the first turn."""
        notices, self._notices = self._notices, []
        return notices

    def refuse_async_tools(self) -> None:
        """Raise LoopBlockedError when there is a tool that can't run while the caller blocks its loop."""
        names = [t.name for t in self.tools if t.is_async and not t.parallel]
        if names:
            raise LoopBlockedError(
                f"Agent {self.name!r} has async tools ({', '.join(names)}), which run on the event loop that this call"
                " blocks. Use `await bound.run(...)` or `%%hermes run` in a cell of its own, or make them plain functions."
            )
