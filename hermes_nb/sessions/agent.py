"""An agent bound to an instance: what people run turns with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from hermes_nb.errors import UsageError
from hermes_nb.host.base import Sink
from hermes_nb.model.agent import Agent, Model
from hermes_nb.model.content import ContentPart
from hermes_nb.sessions.agent_tools import AgentTools
from hermes_nb.sessions.model_choice import ModelChoice
from hermes_nb.sessions.result import RunResult
from hermes_nb.sessions.session import Session
from hermes_nb.sessions.turn import Turn
from hermes_nb.sessions.typed_answer import Round, rounds

if TYPE_CHECKING:
    from hermes_nb.sessions.hermes import Hermes
    from hermes_nb.sessions.instance import Instance
    from hermes_nb.sessions.order import TurnOptions
    from hermes_nb.tools.decorator import Tool
    from hermes_nb.widgets.chat import Chat

TIMEOUT_S = 300.0


class BoundAgent(AgentTools):
    """An agent that can run turns; made by `Instance.add_agent` or `%hermes agent`.

    Attributes:
        instance: The instance whose worker runs it.
        config: The declaration it was made of.
        agent_id: Its id in the worker (`profile_id` in seed 001).
        model: The model that answers, chosen when the agent was bound.
        tools: The notebook functions it may call.
        session_id: The conversation that runs continue; None before the first.

    Source: seed 001, `BoundAgent`.
    """

    def __init__(
        self, instance: Instance, config: Agent, agent_id: str, *, choice: ModelChoice, tools: Sequence[Tool]
    ) -> None:
        super().__init__(tools, notices=[("model", choice.notice)] if choice.notice else [])
        self.instance, self.config, self.agent_id = instance, config, agent_id
        self.choice = choice
        self.session_id: str | None = None
        self.always_allowed: set[tuple[str, str, str]] = set()  # session, tool, arguments

    def __repr__(self) -> str:
        return f"<BoundAgent {self.name!r}: {self.model.id} ({self.model.provider}), {len(self.tools)} tools>"

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.config.name

    @property
    def profile_id(self) -> str:
        """Seed 001's name for `agent_id`."""
        return self.agent_id

    @property
    def hermes(self) -> Hermes:
        """The Hermes it belongs to."""
        return self.instance.hermes

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self.choice.model

    @property
    def model_notice(self) -> str | None:
        """A line that says which model was chosen for the user and where requests go; None when they chose."""
        return self.choice.notice

    @property
    def runtime_name(self) -> str:
        """Name of the runtime, e.g. `process`."""
        return str(self.instance.runtime.to_dict().get("type", "process"))

    @property
    def is_ready(self) -> bool:
        """Whether its worker has imported Hermes and answers."""
        return self.instance.worker.is_ready

    def continue_from(self, old: BoundAgent) -> None:
        """Take over the conversation, the allowances and the attached tools of the agent that this one replaces."""
        from hermes_nb.tools.decorator import as_tool

        self.session_id, self.always_allowed, self._results = old.session_id, old.always_allowed, old.results
        self.offers = old.offers
        own = {t.name for t in self.tools}
        declared = {t.name for t in map(as_tool, old.config.tools)}
        self.tools += [t for t in old.tools if t.name not in own | declared]  # attached since, by `add_tools`

    def card(self) -> dict[str, Any]:
        """What a card shows: agent, model, provider, host, tools (name to first line), toolsets, runtime, session, state."""
        return {
            "agent": self.name,
            "model": self.model.id,
            "provider": self.model.provider,
            "host": self.model.host,
            "notice": self.choice.notice,
            "instructions": self.config.instructions,
            "tools": {t.name: t.description.strip().splitlines()[0] if t.description.strip() else "" for t in self.tools},
            "toolsets": list(self.config.toolsets or ()),
            "runtime": self.runtime_name,
            "session": self.session_id,
            "state": str(self.hermes.state_dir),
        }

    # -- sessions ------------------------------------------------------------------------------------------------
    async def new_session(self, *, title: str | None = None) -> str:
        """Start a new conversation for the runs to come; returns its id."""
        session = await self.hermes.io.awaited(self.hermes.new_session(self.name, title or ""))
        self.session_id = session.id
        return session.id

    async def open_session(self, session_id: str) -> str:
        """Go on with a stored conversation of this agent; returns its id.

        Raises:
            SessionNotFoundError: The store has none of that id.
            UsageError: It belongs to another agent.
        """
        session = await self.hermes.io.awaited(self.hermes.open_session(session_id))
        self._check_owner(session)
        self.session_id = session.id
        return session.id

    def _check_owner(self, session: Session) -> None:
        if session.agent != self.name:
            raise UsageError(
                f"Session {session.id} belongs to agent {session.agent!r}, not to {self.name!r}."
                f" Run it with {session.agent!r}, or start a new session."
            )

    # -- turns ---------------------------------------------------------------------------------------------------
    def submit(
        self,
        prompt: str | list[ContentPart],
        *,
        session_id: str | None = None,
        background: bool = False,
        blocks: bool = False,
        timeout_s: float | None = None,
        again: bool | str = False,
        quiet: bool = False,
        sink: Sink | None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Start a turn and return its handle at once; any thread, no loop needed.

        Args:
            prompt: What to ask.
            session_id: The conversation; None continues the agent's own, or starts one.
            background: Nobody waits; output still goes to the asking cell.
            blocks: The caller will block its loop until the end (`Turn.wait_blocking`).
            timeout_s: Stop the turn after so many seconds, with status timed_out; None for no limit.
            again: A turn's id, or True for the session's last turn: the new turn takes its place in the history.
            quiet: Show nothing while it runs.
            sink: Where it shows, e.g. a chat; None means the running cell.
            **options: See `hermes_nb.sessions.order.TurnOptions`: idempotency_key, mode, max_cost_usd, max_tokens, replay,
                replay_miss.

        Raises:
            UsageError: The prompt is empty, the session belongs to another agent, or the key to another question.
            SessionNotFoundError: No such session.
            LoopBlockedError: The agent has async tools and the caller blocks their loop.
        """
        from hermes_nb.sessions.order import place

        return place(
            self, prompt, session_id=session_id, background=background, blocks=blocks, timeout_s=timeout_s, again=again,
            quiet=quiet, options=options, sink=sink,
        )  # fmt: skip

    async def session_for(self, session_id: str | None) -> Session:
        """The conversation a run continues, as `submit` takes it; on the IO loop."""
        await self.hermes.check_state()
        wanted = session_id or self.session_id
        if wanted is None:
            session = await self.hermes.new_session(self.name, "")
        else:
            session = await self.hermes.open_session(wanted)
            self._check_owner(session)
        if session_id is None:
            self.session_id = session.id
        return session

    async def start(
        self,
        prompt: str | list[ContentPart],
        *,
        session_id: str | None = None,
        timeout_s: float | None = None,
        again: bool | str = False,
        show: bool | None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Start a turn without waiting; the handle has get, wait, stop, steer, approve. Arguments as of `submit`."""
        return self.submit(
            prompt, session_id=session_id, background=True, timeout_s=timeout_s, again=again, quiet=self._quiet(show),
            **options,
        )  # fmt: skip

    async def run(
        self,
        prompt: str | list[ContentPart],
        *,
        timeout: float = TIMEOUT_S,
        session_id: str | None = None,
        again: bool | str = False,
        show: bool | None = None,
        returns: Any = None,
        **options: Unpack[TurnOptions],
    ) -> RunResult:
        """Run a turn to its end, or until it waits for an approval.

        Args:
            prompt: What to ask.
            timeout: Seconds after which the turn is stopped, with status timed_out.
            session_id: The conversation; None continues the agent's own.
            again: Replace a turn instead of adding one (see `submit`).
            show: Stream the answer; None does so in a notebook or IPython, and not in a script.
            returns: A type (pydantic model, dataclass, `list[int]`, `pandas.DataFrame` ...): the answer is asked for as
                JSON and comes validated as `result.value`. An answer that does not fit is asked for once more; one that
                still does not gives status failed.
            **options: See `hermes_nb.sessions.order.TurnOptions`: idempotency_key, mode, max_cost_usd, max_tokens, replay,
                replay_miss.

        Returns: the result; an outcome such as stopped or failed is its `status`, not an exception.

        Raises:
            asyncio.CancelledError: The task was cancelled; the turn is stopped and what there was is stored.
        """
        asking = rounds(Round(prompt, session_id, again, options), returns)
        one = next(asking)
        while True:
            result = await self._run(one, timeout=timeout, show=show)
            try:
                one = asking.send(result)
            except StopIteration as end:
                return self._told(cast(RunResult, end.value), show)

    async def _run(self, one: Round, *, timeout: float, show: bool | None) -> RunResult:
        turn = self.submit(
            one.prompt, session_id=one.session_id, timeout_s=timeout, again=one.again, quiet=self._quiet(show),
            **one.options,
        )  # fmt: skip
        try:
            return await turn.wait(until_asked=True)
        except asyncio.CancelledError as exc:
            turn.stop("cancelled")
            await turn.wait()
            kept = f"Turn {turn.id} was stopped; what had arrived is kept: the result of its turn in hermes.turns."
            exc.args = exc.args or (kept,)  # the last line of a cell that was interrupted
            raise

    def run_sync(
        self,
        prompt: str | list[ContentPart],
        *,
        timeout: float = TIMEOUT_S,
        session_id: str | None = None,
        again: bool | str = False,
        show: bool | None = None,
        returns: Any = None,
        **options: Unpack[TurnOptions],
    ) -> RunResult:
        """`run` for code that can't await: blocks until the end.

        Raises:
            LoopBlockedError: Called on a running loop (a notebook cell) by an agent with async tools.
            KeyboardInterrupt: Interrupted; the turn is stopped and what there was is stored.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            # No loop here: one of our own lets async tools run.
            return asyncio.run(
                self.run(
                    prompt, timeout=timeout, session_id=session_id, again=again, show=self._show(show), returns=returns,
                    **options,
                )
            )  # fmt: skip
        asking = rounds(Round(prompt, session_id, again, options), returns)
        one = next(asking)
        while True:
            result = self._run_blocking(one, timeout=timeout, show=show)
            try:
                one = asking.send(result)
            except StopIteration as end:
                return self._told(cast(RunResult, end.value), show)

    def _run_blocking(self, one: Round, *, timeout: float, show: bool | None) -> RunResult:
        turn = self.submit(
            one.prompt, session_id=one.session_id, blocks=True, timeout_s=timeout, again=one.again,
            quiet=self._quiet(show), **one.options,
        )  # fmt: skip
        result = turn.wait_blocking(until_asked=True)
        if turn.stop_reason == "interrupt":
            raise KeyboardInterrupt
        return result

    def submit_resume(
        self,
        turn_id: str | None = None,
        *,
        live: bool = False,
        blocks: bool = False,
        background: bool = False,
        timeout_s: float | None = None,
        quiet: bool = False,
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Go on with a turn that was cut off and return its handle; any thread (see `resume`)."""
        from hermes_nb.sessions.order import resumed
        from hermes_nb.sessions.resume import to_resume

        caller = self.hermes.host.caller(blocks=blocks, background=background)
        if caller.blocks_loop:
            self.refuse_async_tools()
        found, session = self.hermes.io.call(to_resume(self, turn_id, live=live))
        return resumed(self, found, session, caller=caller, timeout_s=timeout_s, quiet=quiet, options=options)

    async def resume(
        self,
        turn_id: str | None = None,
        *,
        live: bool = False,
        timeout: float | None = None,
        show: bool | None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Go on with a turn whose worker or kernel was killed; committed steps are neither asked nor run again.

        Args:
            turn_id: The turn, or its session; None takes the newest unfinished turn of this agent.
            live: Go on although model, tools or instructions changed: committed steps stay as they are, the rest is asked of
                the agent as it is now.
            timeout: Seconds after which it is stopped; None for no limit.
            show: Stream the answer (see `run`).
            **options: Its budget, max_cost_usd and max_tokens, which counts what earlier attempts spent.

        Returns: the handle; a tool that may have run before is asked about (`Turn.pending`) unless it is idempotent.

        Raises:
            SessionNotFoundError: No such turn or session, or nothing is unfinished.
            UsageError: It completed, it is another agent's, or the agent changed (the message says what).
        """
        from hermes_nb.sessions.order import resumed
        from hermes_nb.sessions.resume import to_resume

        found, session = await self.hermes.io.awaited(to_resume(self, turn_id, live=live))
        caller = self.hermes.host.caller(blocks=False, background=True)
        return resumed(
            self, found, session, caller=caller, timeout_s=timeout, quiet=self._quiet(show), options=options
        )

    async def fork(self, session_id: str | None = None, *, at: str | None = None, title: str = "") -> str:
        """Start a conversation from the beginning of another, at no cost; the runs to come continue it.

        Args:
            session_id: The session to fork; None means the agent's own.
            at: The last turn or step that both share; None means all so far.
            title: Its title.

        Returns: the new session's id.

        Raises:
            SessionNotFoundError: No such session, turn or step.
            UsageError: There is no session yet.
        """
        source = session_id or self.session_id
        if source is None:
            raise UsageError(f"Agent {self.name!r} has no session to fork yet. Run it first, or name a session.")
        made = await self.hermes.io.awaited(self.hermes.fork(source, agent=self.name, at=at, title=title))
        self.session_id = made.id
        return made.id

    async def promote(self, prompt: str | None = None, *, on: str = "flyte", **options: Any) -> Turn:
        """A turn on another runtime, with tools and conversation; see `hermes_nb.flyte.promote.promote`."""
        from hermes_nb import _registry

        turn: Turn = await _registry.load("runtimes", on).promote(self, prompt, **options)
        return turn

    async def chat(self, prompt: str | list[ContentPart], **options: Any) -> str:
        """The final text of a turn (seed 002, `chat`).

        Raises:
            TurnError: The turn did not complete.
        """
        return (await self.run(prompt, **options)).raise_for_status().text

    def chat_widget(self, *, session_id: str | None = None) -> Chat:
        """A conversation in one output, as the last line of a cell or in the layout of other widgets (`.widget`).

        Args:
            session_id: The conversation; None continues the agent's own.

        Raises:
            MissingPackageError: The extra `widgets` is not installed.
            SessionNotFoundError: No such session.
            UsageError: It belongs to another agent.
        """
        from hermes_nb import _registry

        chat: Chat = _registry.load("widgets", "chat").Chat(self, session_id=session_id)
        return chat

    def _show(self, show: bool | None) -> bool:
        return self.hermes.host.is_interactive if show is None else show

    def _quiet(self, show: bool | None) -> bool:
        return not self._show(show)

    def _told(self, result: RunResult, show: bool | None) -> RunResult:
        """The result; what its events do not show (an answer of the wrong type, what it waits for) is printed below it."""
        is_asked = any(t.id == result.turn_id and t.has_buttons and not t.is_done for t in self.hermes.turns)
        if result.problem is not None and self._show(show) and not is_asked:
            print(result.problem)
        return result

    # -- tools ---------------------------------------------------------------------------------------------------
    async def add_tools(self, tools: Sequence[Callable[..., Any]]) -> str:
        """Attach more notebook functions; returns a binding id for `remove_tools`.

        Raises:
            ToolDefinitionError: A function that no schema can describe.
            ToolNameError: A name taken by another tool of this agent, or owned by Hermes.
        """
        return self.instance.attach(self, tools)

    async def remove_tools(self, binding_id: str) -> None:
        """Detach what an `add_tools` attached.

        Raises:
            UsageError: No such binding.
        """
        self.instance.detach(self, binding_id)

    async def refresh_tools(self, names: Sequence[str] | None = None) -> list[str]:
        """Tell the model of redefined tools as they are now, from the next turn of each session on.

        Without it a session goes on with the description and the schema it began with, and its calls run the new function.

        Args:
            names: Which tools; None means all.

        Returns: names of the tools whose form changes; the next turn says so, too.

        Raises:
            UsageError: The agent has no tool of that name.
        """
        return self.renew_offers(names)
