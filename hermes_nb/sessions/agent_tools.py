"""The tools of a bound agent: what the model is offered, what changed, what was cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_nb.errors import LoopBlockedError
from hermes_nb.sessions.serving import namespace

if TYPE_CHECKING:
    from hermes_nb.tools.builtin import ResultStore
    from hermes_nb.tools.decorator import Tool


class AgentTools(ABC):
    """The half of `BoundAgent` that holds its tools and says, with the next turn, what changed."""

    def __init__(self, tools: Sequence[Tool], *, notices: list[tuple[str, str]]) -> None:
        self.tools: list[Tool] = list(tools)
        self._results: ResultStore | None = None
        self._more: Tool | None = None
        self._notices = notices

    @property
    @abstractmethod
    def name(self) -> str:
        """The agent's name."""

    @property
    def offered(self) -> list[Tool]:
        """What the model is offered: `tools`, and with any of them `more` (reads on in a cut result) and, where one takes
        the name of a notebook variable, `list_variables`."""
        from hermes_nb.tools.builtin import list_variables_tool, more_tool

        if not self.tools:
            return []
        if self._more is None:
            self._more = more_tool(self.results)
        names = {t.name for t in self.tools}
        built_in = [self._more]
        if any(t.variable_parameters for t in self.tools):
            built_in.append(list_variables_tool(namespace))
        return [*self.tools, *(t for t in built_in if t.name not in names)]

    def renew_tools(self) -> None:
        """Take the tools as the notebook defines them now; what the model sees of a change is told with the next turn."""
        from hermes_nb.tools.redefinition import renewed

        self.tools, said = renewed(self.tools, namespace())
        for text in said:
            self.tell("tool", text)

    def tell(self, code: str, text: str) -> None:
        """Say something with the next turn."""
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
