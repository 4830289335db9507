"""What the sub-commands share: the shell and its names, the kernel's one Hermes, its agents, the last result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hermes_nb import _settings
from hermes_nb._near import near
from hermes_nb.api._card import card_of
from hermes_nb.errors import AgentNotFoundError, UnknownNameError, UsageError
from hermes_nb.host.client import cell_named
from hermes_nb.magics._agent_diff import changes, moved, snapshot
from hermes_nb.magics._cells import Cells
from hermes_nb.magics._declared import Source
from hermes_nb.model.agent import Agent, is_agent_name
from hermes_nb.runtimes._base import Runtime
from hermes_nb.turns.model_choice import has_new_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.api.turn import Turn
    from hermes_nb.turns.result import RunResult

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
        given: What the sub-command that ran last gives to an assignment; None for most.
        last_result: The newest result there was when the last cell ended; None before the first.
    """

    def __init__(self, shell: InteractiveShell, open_hermes: Callable[[], Hermes] | None = None) -> None:
        self.shell = shell
        self.cells = Cells(lambda: cell_named(getattr(shell, "get_parent", dict)() or {}))
        self.default_agent: str | None = None
        self.last_result: RunResult | None = None
        self.given: Any = None
        self._loaded_in = Path.cwd()
        self._open_hermes = open_hermes or self._open_local
        self._hermes: Hermes | None = None
        self._snapshots: dict[str, dict[str, Any]] = {}
        self._sources: dict[str, Source] = {}
        self._attached: dict[BoundAgent, dict[str, str]] = {}
        self._background: list[tuple[Turn, str | None]] = []
        self._runs_on: dict[str, str] = {}
        self._unasked: Agent | None = None  # made for a question that came before any agent

    # -- Hermes --------------------------------------------------------------------------------------------------
    @property
    def hermes(self) -> Hermes:
        """The kernel's Hermes, made at the first use."""
        if self._hermes is None:
            from hermes_nb.api._sink_factory import set_stage

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
            name
            for name, value in self.variables().items()
            if value is before or getattr(value, "turn_id", None) == before.id
        ]
        for name in held or [None]:
            self.follow(turn, name)

    def open_stored(self) -> None:
        """Open the kernel's Hermes if sessions are stored for it; makes no file. On the main thread alone."""
        from hermes_nb.workers.state_dir import FOLDER, STORE

        home = _settings.home()
        folder = Path(home).expanduser() if home else self._loaded_in / FOLDER
        if self._hermes is None and (folder / STORE).is_file():
            self.hermes  # noqa: B018 - opened by being asked for

    def _open_local(self) -> Hermes:
        from hermes_nb.api.hermes import Hermes

        moved = _settings.home() is None and Path.cwd() != self._loaded_in
        return Hermes.open_local(state=self._loaded_in / ".hermes-nb" if moved else None).keep_open()

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
            how = (
                near(name, list(self.variables()))
                if is_name
                else (" Names of variables go here, no expressions and no paths: put it into one first, and give its name.")
            )
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
        if isinstance(held, Runtime) and not isinstance(held, type):
            return held
        if name != "flyte":
            return self._named_runtime(name, mode if ":" in wanted else None)
        from hermes_nb.flyte.run.runtime import Flyte

        return Flyte(mode=mode or "remote")  # type: ignore[arg-type]

    def _named_runtime(self, name: str, text: str | None) -> Runtime:
        """A runtime as it is without options, or what it makes of the text after a colon: a file of `runtimes/`, or an entry
        point."""
        from hermes_nb import _registry

        try:
            module = _registry.load("runtimes", name)
        except UnknownNameError as exc:
            raise UsageError(f"--on takes a runtime's name, or a variable that holds a runtime. {exc}") from None
        kind = getattr(module, name.title().replace("_", ""))
        if text is None:
            made: Runtime = kind()
            return made
        if not hasattr(kind, "from_name"):
            raise UsageError(f"--on {name}:{text}: the runtime {name!r} takes nothing after its name.")
        return kind.from_name(text)  # type: ignore[no-any-return]

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
        declared, last = self.declared(), self._sources.get(agent.name)
        place = moved(declared, last.agent if last else None, source or agent)
        bound = self.hermes.bind(agent)
        bound.renewing = partial(self._renew, bound, bound.notices.add)
        if on is not None:
            self._runs_on[agent.name] = on
        after = {**snapshot(bound), "runtime": self.runs_on(agent.name) or PROCESS}
        self._snapshots[agent.name] = after
        self._sources[agent.name] = Source.of(source or agent, declared)
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
        on = self.runs_on(bound.name)
        if on is None:
            return card_of(bound)
        try:
            card = card_of(bound, on=self.runtime(on))
        except UsageError as exc:  # its variable is gone
            card = {**card_of(bound), "engine": str(exc)}
        return {**card, "runtime": on}

    def pick(self, name: str | None) -> BoundAgent:
        """Who is asked: the agent of that name, bound when it was not; without a name the only or the default one.

        A variable means its declaration as it is now: where another one of that agent's name is bound, or the cell ran
        again, it takes its place, and a line says what differs.

        Raises:
            AgentNotFoundError: None bears that name; the message lists those that are there.
            UsageError: No name was given and there are several.
        """
        return self._named(name) if name is not None else self._unnamed()

    def _named(self, name: str) -> BoundAgent:
        agent = self.declared().get(name)
        if agent is None and name in self.agents:
            return self._renewed(self.agents[name])
        agent = agent or self.find(name)
        if agent is not None:
            bound = self.agents.get(agent.name)
            if bound is None:
                return self.bind(agent).bound
            self._take(bound, agent, _print)
            return bound
        known = sorted({*self.agents, *self.declared()})
        raise AgentNotFoundError(
            f"No agent named {name!r}.{near(name, known)} Known: {', '.join(known) or 'none'}. {self._how_to_make(name)}"
        )

    def _how_to_make(self, name: str) -> str:
        from hermes_nb.model.agent_code import how_to_make

        how = how_to_make(name, self.user_ns)
        return f"{how}, or %hermes agent {name} --instructions '...'." if is_agent_name(name) else how

    def _renewed(self, bound: BoundAgent) -> BoundAgent:
        self._renew(bound, _print)
        return bound

    def _renew(self, bound: BoundAgent, say: Callable[[str, str], None]) -> None:
        """Bind an agent again if its declaration is another one now: the cell of its variable may have run again."""
        source = self._sources.get(bound.name)
        if source is not None and self.agents.get(bound.name) is bound:
            self._take(bound, source.now(self.declared()), say)

    def _take(self, bound: BoundAgent, agent: Agent, say: Callable[[str, str], None]) -> None:
        """Bind that declaration in the place of the one that is bound, and say what differs, if anything does."""
        source = self._sources.get(agent.name) or Source.of(bound.config, {})
        source.note(self.declared())
        if source.has_same_form(agent):
            if agent.tools and not source.is_same(agent):  # functions made anew by the same code
                own = [*bound.config.tools] == [*source.kept.tools]
                agent = replace(bound.config, tools=agent.tools) if own else bound.config
                self._bind_quietly(agent, source=self.declared().get(source.variable or "") or agent)
            elif has_new_model(bound):
                self._say(self._bind_quietly(bound.config, source=source.agent), say)
            elif agent is not source.agent:
                self._sources[agent.name] = Source.of(agent, self.declared())
            return
        self._say(self._bind_quietly(agent), say)

    def _bind_quietly(self, agent: Agent, *, source: Agent | None = None) -> Binding:
        """`bind`, without a line for each tool: what changed is said in one."""
        bound = self.agents[agent.name]
        before = [text for code, text in bound.notices if code == "tool"]
        binding = self.bind(agent, source=source)
        bound.notices.discard("tool", keep=before)
        return binding

    def _say(self, binding: Binding, say: Callable[[str, str], None]) -> None:
        if binding.changes:
            name, said = binding.bound.name, "; ".join(binding.changes)
            is_other = " in place of " in binding.changes[0]
            say("agent", f"Agent {name!r} {'is now another declaration' if is_other else 'was declared anew'}: {said}.")

    def _unnamed(self) -> BoundAgent:
        agents = self.agents
        if self.default_agent in agents:
            return self._renewed(agents[self.default_agent])
        agents = {name: bound for name, bound in agents.items() if bound.config is not self._unasked}
        if len(agents) == 1:
            return self._renewed(next(iter(agents.values())))
        if agents:
            raise UsageError(
                f"Several agents are bound: {', '.join(sorted(agents))}. Say which with -a NAME, or choose one for good"
                " with %hermes agent NAME --default."
            )
        declared = {agent.name: agent for agent in self.declared().values()}
        if len(declared) > 1:
            raise UsageError(f"Several agents are there: {', '.join(sorted(declared))}. Say which with -a NAME.")
        if declared:
            agent = self.find(next(iter(declared)))
            assert agent is not None
            return self.bind(agent).bound
        if DEFAULT_AGENT in self.agents:
            return self._renewed(self.agents[DEFAULT_AGENT])
        self._unasked = Agent(DEFAULT_AGENT)
        return self.bind(self._unasked).bound

    def attach(self, bound: BoundAgent, names: list[str]) -> None:
        """Give an agent functions of the notebook, for the turns to come.

        Raises:
            UsageError: A name is no variable, or none of a function, or the agent has that one already.
            ToolError: A function that can't be a tool of this agent.
        """
        bound.definitions.renew()
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
        for source in self._sources.values():
            source.note(self.declared())
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
        from hermes_nb.api._open_handle import running_turns

        return running_turns()


def _print(code: str, text: str) -> None:
    print(text, flush=True)


def _ended_at(result: RunResult | None) -> float:
    """When the turn of a result said its last; before everything where there is none."""
    return result.events[-1].at_unix_s if result is not None and result.events else 0.0
