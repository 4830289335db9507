"""What the sub-commands share: the shell and its names, the kernel's one Hermes, its agents, the last result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_nb import _settings
from hermes_nb.errors import AgentNotFoundError, UnknownNameError, UsageError
from hermes_nb.host.client import cell_named
from hermes_nb.magics._cells import Cells
from hermes_nb.magics._change import changes, moved, snapshot
from hermes_nb.magics._parser import near
from hermes_nb.model.agent import Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from hermes_nb.runtimes._base import Runtime
    from hermes_nb.sessions.agent import BoundAgent
    from hermes_nb.sessions.hermes import Hermes
    from hermes_nb.sessions.result import RunResult
    from hermes_nb.sessions.turn import Turn

PROCESS = "process"
DEFAULT_AGENT = "hermes"  # made when a question is asked and there is no agent at all


@dataclass(frozen=True, slots=True)
class Binding:
    """A bound agent, and what differs from its last binding; `changes` is None at the first."""

    bound: BoundAgent
    changes: list[str] | None


class Context:
    """The state of the magics in one shell.

    Args:
        shell: The shell.
        open_hermes: Makes the kernel's Hermes; None opens a local one, in the state folder of the directory the
            extension was loaded in.

    Attributes:
        cells: Which cell runs.
        default_agent: Who is asked without `-a` when several agents are bound; None for nobody.
        last_result: The newest result there was when the last cell ended; None before the first.
    """

    def __init__(self, shell: InteractiveShell, open_hermes: Callable[[], Hermes] | None = None) -> None:
        self.shell = shell
        self.cells = Cells(lambda: cell_named(getattr(shell, "get_parent", dict)() or {}))
        self.default_agent: str | None = None
        self.last_result: RunResult | None = None
        self._loaded_in = Path.cwd()
        self._open_hermes = open_hermes or self._open_local
        self._hermes: Hermes | None = None
        self._snapshots: dict[str, dict[str, Any]] = {}
        self._sources: dict[str, Agent] = {}
        self._attached: dict[BoundAgent, dict[str, str]] = {}
        self._background: list[tuple[Turn, str | None]] = []
        self._runs_on: dict[str, str] = {}

    # -- Hermes --------------------------------------------------------------------------------------------------
    @property
    def hermes(self) -> Hermes:
        """The kernel's Hermes, made at the first use."""
        if self._hermes is None:
            from hermes_nb.sessions.stage import set_stage

            self._hermes = self._open_hermes()
            set_stage(self._hermes.host, self._asked_again)
            for _, _, text in self._hermes.warnings:
                print(text)
        return self._hermes

    @property
    def opened_hermes(self) -> Hermes | None:
        """The kernel's Hermes; None when nothing has needed it yet."""
        return self._hermes

    def _asked_again(self, before: Turn, turn: Turn) -> None:
        """A button asked a cell's question again: the cell's variable, and `--again`, mean the new turn."""
        self.cells.replace(before, turn)
        held: list[str | None] = [
            name for name, value in self.variables().items()
            if value is before or getattr(value, "turn_id", None) == before.id
        ]  # fmt: skip
        for name in held or [None]:
            self.follow(turn, name)

    def open_stored(self) -> None:
        """Open the kernel's Hermes if sessions are stored for it; makes no file. On the main thread alone."""
        from hermes_nb.sessions.state_dir import FOLDER, STORE

        home = _settings.home()
        folder = Path(home).expanduser() if home else self._loaded_in / FOLDER
        if self._hermes is None and (folder / STORE).is_file():
            self.hermes  # noqa: B018 - opened by being asked for

    def _open_local(self) -> Hermes:
        from hermes_nb.sessions.hermes import Hermes

        moved = _settings.home() is None and Path.cwd() != self._loaded_in
        return Hermes.open_local(state=self._loaded_in / ".hermes-nb" if moved else None)

    def close(self) -> None:
        """End the Hermes and what it started. Idempotent."""
        hermes, self._hermes = self._hermes, None
        self._snapshots.clear()
        self._sources.clear()
        self._attached.clear()
        self._runs_on.clear()
        self._background.clear()
        self.default_agent = None
        if hermes is not None:
            hermes.close()

    # -- names of the notebook -----------------------------------------------------------------------------------
    @property
    def user_ns(self) -> dict[str, Any]:
        """The notebook's variables."""
        namespace: dict[str, Any] = self.shell.user_ns
        return namespace

    def variables(self) -> dict[str, Any]:
        """The notebook's own variables: without IPython's and those that start with an underscore."""
        hidden = getattr(self.shell, "user_ns_hidden", {})
        return {
            name: value
            for name, value in list(self.user_ns.items())  # a cell may be adding some: the panel asks from a thread
            if not name.startswith("_") and not (name in hidden and hidden[name] is value)
        }

    def value(self, name: str) -> Any:
        """A variable of the notebook.

        Raises:
            UsageError: There is none of that name.
        """
        if name not in self.user_ns:
            is_name = name.isidentifier()
            how = near(name, list(self.variables())) if is_name else (
                " Names of variables go here, no expressions and no paths: put it into one first, and give its name."
            )  # fmt: skip
            raise UsageError(f"There is no variable named {name!r}.{how}")
        return self.user_ns[name]

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the notebook, or a tool.

        Raises:
            UsageError: There is no such variable, or it can't be called.
        """
        value = self.value(name)
        if not callable(value):
            raise UsageError(f"{name!r} is a {type(value).__name__}, not a function that an agent could call.")
        function: Callable[..., Any] = value
        return function

    def runtime(self, wanted: str) -> Runtime:
        """The runtime that `--on` means: `flyte`, `flyte:local`, or what a variable of the notebook holds.

        Raises:
            UsageError: Neither a runtime nor a variable that holds one.
        """
        name, _, mode = wanted.partition(":")
        held: Any = self.user_ns.get(wanted)
        if callable(getattr(held, "open", None)) and hasattr(held, "to_dict"):
            found: Runtime = held
            return found
        if name != "flyte":
            return self._named_runtime(wanted)
        from hermes_nb.flyte.runtime import Flyte

        return Flyte(mode=mode or "remote")  # type: ignore[arg-type]

    def _named_runtime(self, name: str) -> Runtime:
        """A runtime as it is without options: a file of `runtimes/`, or an entry point."""
        from hermes_nb import _registry

        try:
            module = _registry.load("runtimes", name)
        except UnknownNameError as exc:
            raise UsageError(f"--on takes a runtime's name, or a variable that holds a runtime. {exc}") from None
        made: Runtime = getattr(module, name.title().replace("_", ""))()
        return made

    # -- agents --------------------------------------------------------------------------------------------------
    @property
    def agents(self) -> dict[str, BoundAgent]:
        """The bound agents by name."""
        return {} if self._hermes is None else self._hermes.agents

    def declared(self) -> dict[str, Agent]:
        """Variables of the notebook that hold an `Agent`."""
        return {name: value for name, value in self.variables().items() if isinstance(value, Agent)}

    def find(self, name: str) -> Agent | None:
        """The declaration `name` means: the variable of that name, else an Agent with that name; None when none is.

        Raises:
            UsageError: Several different agents bear that name.
        """
        declared = self.declared()
        if name in declared:
            return declared[name]
        named = {variable: agent for variable, agent in declared.items() if agent.name == name}
        agents = list(named.values())
        if any(agent != agents[0] for agent in agents):
            raise UsageError(
                f"Several agents are named {name!r}: the variables {', '.join(named)}. Say which by its variable."
            )
        return agents[0] if agents else None

    def bind(self, agent: Agent, *, on: str | None = None, source: Agent | None = None) -> Binding:
        """Bind an agent (again); returns at once.

        Args:
            agent: The agent.
            source: The declaration of the notebook it was made of, with options besides; None means itself.
            on: Where its turns run from now on, as `runtime` takes it; `process` is beside the kernel, None is as before.

        Raises:
            UsageError: `on` is no runtime.
        """
        if on not in (None, PROCESS):
            self.runtime(str(on))
        before = self._snapshot(agent.name)
        place = moved(self.declared(), self._sources.get(agent.name), source or agent)
        bound = self.hermes.bind(agent)
        if on is not None:
            self._runs_on[agent.name] = on
        after = {**snapshot(bound), "runtime": self.runs_on(agent.name) or PROCESS}
        self._snapshots[agent.name] = after
        self._sources[agent.name] = source or agent
        found = None if before is None else changes(before, after)
        return Binding(bound, [place, *found] if place and found else found)

    def _snapshot(self, agent: str) -> dict[str, Any] | None:
        """What the agent of that name was bound with, and the tools it got since, which stay; None when it was not bound."""
        before = self._snapshots.get(agent)
        if before is None or agent not in self.agents:
            return None
        tools = snapshot(self.agents[agent])["tools"]
        return {**before, "tools": {**tools, **before["tools"]}}

    def runs_on(self, agent: str) -> str | None:
        """Where the turns of that agent run, as `runtime` takes it; None beside the kernel."""
        on = self._runs_on.get(agent, PROCESS)
        return None if on == PROCESS else on

    def card(self, bound: BoundAgent) -> dict[str, Any]:
        """What the card of an agent says (see `BoundAgent.card`)."""
        card = bound.card()
        return {**card, "runtime": self.runs_on(bound.name) or card["runtime"]}

    def pick(self, name: str | None) -> BoundAgent:
        """Who is asked: the agent of that name, bound when it was not; without a name the only or the default one.

        A variable means its declaration: where another one of that agent's name is bound, it takes its place, and a line
        says what differs.

        Raises:
            AgentNotFoundError: None bears that name; the message lists those that are there.
            UsageError: No name was given and there are several.
        """
        return self._named(name) if name is not None else self._unnamed()

    def _named(self, name: str) -> BoundAgent:
        if name in self.agents:
            return self.agents[name]
        agent = self.find(name)
        if agent is not None:
            bound = self.agents.get(agent.name)
            if bound is not None and agent == self._sources.get(agent.name, bound.config):
                return bound
            binding = self.bind(agent)
            if binding.changes:
                said = "; ".join(binding.changes)
                print(f"Agent {agent.name!r} is now another declaration: {said}.", flush=True)
            return binding.bound
        known = sorted({*self.agents, *self.declared()})
        raise AgentNotFoundError(
            f"No agent named {name!r}.{near(name, known)} Known: {', '.join(known) or 'none'}."
            f" Make one: {name} = Agent({name!r}), or %hermes agent {name} --instructions '...'."
        )

    def _unnamed(self) -> BoundAgent:
        agents = self.agents
        if self.default_agent in agents:
            return agents[self.default_agent]
        if len(agents) == 1:
            return next(iter(agents.values()))
        if agents:
            raise UsageError(
                f"Several agents are bound: {', '.join(sorted(agents))}. Say which with -a NAME, or choose one for good"
                " with %hermes agent NAME --default."
            )
        declared = {agent.name: agent for agent in self.declared().values()}
        if len(declared) > 1:
            raise UsageError(f"Several agents are there: {', '.join(sorted(declared))}. Say which with -a NAME.")
        agent = self.find(next(iter(declared))) if declared else Agent(DEFAULT_AGENT)
        assert agent is not None
        return self.bind(agent).bound

    def attach(self, bound: BoundAgent, names: list[str]) -> None:
        """Give an agent functions of the notebook, for the turns to come.

        Raises:
            UsageError: A name is no variable, or none of a function, or the agent has that one already.
            ToolError: A function that can't be a tool of this agent.
        """
        bound.renew_tools()
        functions = {name: self.function(name) for name in names}
        for name, function in functions.items():
            if any(function is tool or function is tool.function for tool in bound.tools):
                raise UsageError(f"Agent {bound.name} has {name} already.")
        for function in functions.values():
            binding_id = bound.instance.attach(bound, [function])
            self._attached.setdefault(bound, {})[bound.tools[-1].name] = binding_id

    def detach(self, bound: BoundAgent, names: list[str]) -> None:
        """Take back what `attach` gave.

        Raises:
            UsageError: A tool was not attached so.
        """
        attached = self._attached.get(bound, {})
        for name in names:
            if name not in attached:
                raise UsageError(
                    f"Tool {name!r} was not attached to {bound.name} by %hermes tools."
                    f" Attached: {', '.join(attached) or 'none'}. Others belong to the agent's declaration."
                )
        for name in names:
            bound.instance.detach(bound, attached.pop(name))

    # -- turns ---------------------------------------------------------------------------------------------------
    def follow(self, turn: Turn, variable: str | None) -> None:
        """Note a background turn; `variable` holds its handle, and its result once it has ended."""
        self._background.append((turn, variable))
        if variable is not None:
            self.user_ns[variable] = turn

    def settle(self) -> None:
        """Put results of ended background turns into their variables, and note the newest of all that ended.

        Called between cells, never while one runs.
        """
        for turn, variable in list(self._background):
            result = turn.result
            if result is None:
                continue
            self._background.remove((turn, variable))
            self.last_result = result
            if variable is not None and self.user_ns.get(variable) is turn:
                self.user_ns[variable] = result
        turns = self._hermes.turns if self._hermes is not None else []
        newest = next((t.result for t in reversed(turns) if t.result is not None), None)
        if newest is not None and _ended_at(newest) > _ended_at(self.last_result):
            self.last_result = newest

    @property
    def running(self) -> list[Turn]:
        """The turns that run in this kernel now, oldest first; also those of a Hermes that a cell made."""
        from hermes_nb.sessions.opened import running_turns

        return running_turns()


def _ended_at(result: RunResult | None) -> float:
    """When the turn of a result said its last; before everything where there is none."""
    return result.events[-1].at_unix_s if result is not None and result.events else 0.0
