"""An agent bound to an instance: what people run turns with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from hermes_nb import _frontend
from hermes_nb._near import suggesting_methods
from hermes_nb.api import agent_home, toolset_offer
from hermes_nb.api._launch import launch
from hermes_nb.api._options import old_spelling, refuse_unknown
from hermes_nb.api._resumption import resume_awaited, resume_blocking
from hermes_nb.api._run import has_loop, run_awaited, run_blocking
from hermes_nb.api._session_choice import forked
from hermes_nb.api.batch import mapping
from hermes_nb.api.session_handle import SessionHandle, opened, own_session
from hermes_nb.api.turn import Turn
from hermes_nb.model.agent import Agent, Model
from hermes_nb.model.content import ContentPart
from hermes_nb.model.notice import Notices
from hermes_nb.turns.limit import checked
from hermes_nb.turns.model_choice import ModelChoice, renew
from hermes_nb.turns.request import Mode, ReplayMiss, TurnRequest, TurnTerms
from hermes_nb.turns.result import RunResult
from hermes_nb.turns.tool_definitions import ToolDefinitions

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.api.instance import Instance
    from hermes_nb.api.tool_binding import ToolBinding
    from hermes_nb.runtimes._base import Runtime
    from hermes_nb.tools.decorator import Tool
    from hermes_nb.turns.context import TurnContext
    from hermes_nb.widgets.chat import Chat
    from hermes_nb.workers.client import WorkerClient

TIMEOUT_S = 300.0


@suggesting_methods
class BoundAgent:
    """An agent that can run turns; made by `Instance.add_agent` or `%hermes agent`.

    Binding a declaration of the same name again changes this object: whoever holds it goes on with the new one. One that the
    magics bound looks at its declaration's variable before each turn, takes what it says now, and says so in one line.

    Attributes:
        instance: The instance whose worker runs it.
        config: The declaration it was made of.
        agent_id: Its id in the worker (`profile_id` is the same).
        model: The model that answers, chosen when the agent was bound.
        session_id: The conversation that runs continue; None before the first.
        last_map, last_evaluation: The last `map`'s frame and `Evaluation`, also when interrupted; None before the first.
    """

    def __init__(
        self, instance: Instance, config: Agent, agent_id: str, *, choice: ModelChoice, tools: Sequence[Tool]
    ) -> None:
        self.instance, self.config, self.agent_id = instance, config, agent_id
        self.choice = choice
        self.notices = Notices()
        if choice.notice:
            self.notices.add("model", choice.notice)
        self.definitions = ToolDefinitions(lambda: self.name, tools, tell=self.notices.add)
        self.renewing: Callable[[], None] | None = None  # set by the magics: look whether the declaration changed
        self.declared_tools = list(tools)
        self.session_id: str | None = None
        self.last_map: Any = None
        self.last_evaluation: Any = None
        self.always_allowed: set[tuple[str, str, str]] = set()  # session, tool, arguments

    def __repr__(self) -> str:
        return f"<BoundAgent {self.name!r}: {self.model.id} ({self.model.provider}), {len(self.tools)} tools>"

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.config.name

    @property
    def profile_id(self) -> str:
        """The same as `agent_id`."""
        return self.agent_id

    @property
    def ownership(self) -> dict[str, Any]:
        """What a turn's first event says of whose it is; {} for an agent that serves single turns of another."""
        return self.instance.ownership

    @property
    def context(self) -> TurnContext:
        """The process that its turns run in: its Hermes."""
        return self.instance.hermes

    @property
    def worker(self) -> WorkerClient:
        """The worker that hosts it."""
        return self.instance.worker

    @property
    def hermes(self) -> Hermes:
        """The Hermes it belongs to."""
        return self.instance.hermes

    @property
    def tools(self) -> list[Tool]:
        """The notebook functions it may call."""
        return self.definitions.tools

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

    def declare(self, config: Agent, *, choice: ModelChoice, tools: Sequence[Tool]) -> None:
        """Be another declaration from the next turn on, for all who hold this; conversation and attached tools stay."""
        own, declared = {t.name for t in tools}, {t.name for t in self.declared_tools}
        attached = [t for t in self.tools if t.name not in own | declared]  # since, by `add_tools`
        if choice != self.choice:
            self.notices.clear()
            if choice.notice:
                self.notices.add("model", choice.notice)
        self.config, self.choice = config, choice
        self.declared_tools = list(tools)
        self.definitions.tools = [*tools, *attached]

    def renew(self) -> None:
        """Be what the notebook declares now, if whoever bound this agent can tell."""
        if self.renewing is not None:
            self.renewing()
        else:
            renew(self)

    async def new_session(self, *, title: str | None = None) -> str:
        """Start a new conversation for the runs to come; returns its id."""
        session = await self.hermes.io.awaited(self.hermes.conversations.new_session(self.name, title or ""))
        self.session_id = session.id
        return session.id

    async def open_session(self, session_id: str) -> SessionHandle:
        """Go on with a stored conversation of this agent, by id, unique start of one, or title; returns its handle.

        Raises:
            SessionNotFoundError: The store has none of that id.
            UsageError: It belongs to another agent, or to the one of that name in another instance.
        """
        return await opened(self, session_id)

    @property
    def session(self) -> SessionHandle:
        """The conversation that runs continue: its events, its turns; one is begun when there is none yet."""
        return own_session(self)

    def submit(self, request: TurnRequest) -> Turn:
        """Start the turn of a request and return its handle at once; any thread, no loop needed.

        Raises:
            UsageError: The session belongs to another agent, or the key to another question.
            SessionNotFoundError: No such session.
            LoopBlockedError: The agent has async tools and the caller blocks their loop.
        """
        return launch(self, request)

    async def start(
        self,
        prompt: str | list[ContentPart],
        *,
        session_id: str | None = None,
        timeout_s: float | None = None,
        again: bool | str = False,
        show: bool | None = None,
        idempotency_key: str | None = None,
        mode: Mode = "enqueue",
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        replay: str | Path | None = None,
        replay_miss: ReplayMiss | None = None,
        metadata: Mapping[str, Any] | None = None,
        tool_binding_ids: Sequence[str] | None = None,
        **unknown: Never,
    ) -> Turn:
        """Start a turn without waiting; the handle has get, wait, stop, steer, approve.

        Args:
            prompt: What to ask.
            session_id: The conversation; None continues the agent's own.
            timeout_s: Seconds after which the turn is stopped, with status timed_out; None for no limit.
            again: A turn's id, or True for the session's last turn: the new turn takes its place in the history.
            show: Stream the answer; None does so in a notebook or IPython, and not in a script.
            idempotency_key: As of `run`, like all that follow.
            mode: As of `run`.
            max_cost_usd: In dollars.
            max_tokens: Sent and received.
            replay: A recording.
            replay_miss: `live` or `error`.
            metadata: A dict of JSON values.
            tool_binding_ids: Ids that `add_tools` gave.
            **unknown: None is known; a misspelt option is an error that names the nearest.

        Raises:
            UsageError: The prompt is empty, the session belongs to another agent, or the key to another question.
            SessionNotFoundError: No such session.
        """
        refuse_unknown(BoundAgent.start, unknown)
        request = TurnRequest(
            prompt=prompt,
            session_id=session_id,
            timeout_s=timeout_s,
            again=again,
            show=self._show(show),
            background=True,
            idempotency_key=idempotency_key,
            mode=mode,
            limits=checked(max_cost_usd=max_cost_usd, max_tokens=max_tokens),
            replay=replay,
            replay_miss=replay_miss,
            metadata=metadata,
            tool_binding_ids=tool_binding_ids,
        )
        return self.submit(request)

    async def run(
        self,
        prompt: str | list[ContentPart],
        *,
        timeout_s: float | None = TIMEOUT_S,
        session_id: str | None = None,
        again: bool | str = False,
        show: bool | None = None,
        returns: Any = None,
        idempotency_key: str | None = None,
        mode: Mode = "enqueue",
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        replay: str | Path | None = None,
        replay_miss: ReplayMiss | None = None,
        metadata: Mapping[str, Any] | None = None,
        tool_binding_ids: Sequence[str] | None = None,
        **unknown: Never,
    ) -> RunResult:
        """Run a turn to its end, or until it waits for an approval.

        Args:
            prompt: What to ask.
            timeout_s: Seconds after which the turn is stopped, with status timed_out; None for no limit. `timeout` is its
                old name.
            session_id: The conversation; None continues the agent's own.
            again: A turn's id, or True for the session's last turn: the new turn takes its place in the history.
            show: Stream the answer; None does so in a notebook or IPython, and not in a script.
            returns: A type (pydantic model, dataclass, `list[int]`, `pandas.DataFrame` ...): the answer is asked for as
                JSON and comes validated as `result.value`; bare words and tables with one reading only are taken too. An
                answer that does not fit is asked for once more; one that still does not gives status failed.
            idempotency_key: The turn runs once, however often it is asked for under this key, from however many tasks, also
                after a restart: later calls get the same turn, with the metadata it was asked with.
            mode: `enqueue`: the turn waits for those of its session asked before. `steer`: when one of them is running, the
                prompt is put into it and its handle returned; `unread_steer` tells when its model never read it.
            max_cost_usd: No further model call once the turn has cost so much, in dollars; None for no limit of its own.
            max_tokens: The same for tokens, sent and received.
            replay: A recording to answer from instead of the model (see `Hermes.record`).
            replay_miss: `live` lets what the recording does not hold go to the model, `error` does not; None means as
                HERMES_NB_REPLAY_MISS says.
            metadata: A dict of JSON values that is kept in the turn's log: `turn.metadata`, `result.metadata`. The model
                does not see it.
            tool_binding_ids: Ids that `add_tools` gave: in this turn the model is offered the tools of these bindings alone;
                None means all of the agent's.
            **unknown: None is known; a misspelt option is an error that names the nearest.

        Returns: the result; an outcome such as stopped or failed is its `status`, not an exception.

        Raises:
            UsageError: The prompt is empty, the session belongs to another agent, or the key to another question.
            SessionNotFoundError: No such session.
            asyncio.CancelledError: The task was cancelled; the turn is stopped and what there was is stored.
        """
        timeout_s = old_spelling(BoundAgent.run, unknown, "timeout", "timeout_s", timeout_s)
        refuse_unknown(BoundAgent.run, unknown)
        request = TurnRequest(
            prompt=prompt,
            session_id=session_id,
            timeout_s=timeout_s,
            again=again,
            show=self._show(show),
            idempotency_key=idempotency_key,
            mode=mode,
            limits=checked(max_cost_usd=max_cost_usd, max_tokens=max_tokens),
            replay=replay,
            replay_miss=replay_miss,
            metadata=metadata,
            tool_binding_ids=tool_binding_ids,
        )
        return await run_awaited(self, request, returns)

    def run_sync(
        self,
        prompt: str | list[ContentPart],
        *,
        timeout_s: float | None = TIMEOUT_S,
        session_id: str | None = None,
        again: bool | str = False,
        show: bool | None = None,
        returns: Any = None,
        idempotency_key: str | None = None,
        mode: Mode = "enqueue",
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        replay: str | Path | None = None,
        replay_miss: ReplayMiss | None = None,
        metadata: Mapping[str, Any] | None = None,
        tool_binding_ids: Sequence[str] | None = None,
        **unknown: Never,
    ) -> RunResult:
        """Run a turn for code that can't await: blocks until the end. Arguments as of `run`.

        Raises:
            LoopBlockedError: Called on a running loop (a notebook cell) by an agent with async tools.
            KeyboardInterrupt: Interrupted; the turn is stopped and what there was is stored.
        """
        timeout_s = old_spelling(BoundAgent.run_sync, unknown, "timeout", "timeout_s", timeout_s)
        refuse_unknown(BoundAgent.run_sync, unknown)
        request = TurnRequest(
            prompt=prompt,
            session_id=session_id,
            timeout_s=timeout_s,
            again=again,
            show=self._show(show),
            blocks=has_loop(),
            idempotency_key=idempotency_key,
            mode=mode,
            limits=checked(max_cost_usd=max_cost_usd, max_tokens=max_tokens),
            replay=replay,
            replay_miss=replay_miss,
            metadata=metadata,
            tool_binding_ids=tool_binding_ids,
        )
        return run_blocking(self, request, returns)

    async def resume(
        self,
        turn_id: str | None = None,
        *,
        live: bool = False,
        timeout_s: float | None = None,
        show: bool | None = None,
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        replay: str | Path | None = None,
        replay_miss: ReplayMiss | None = None,
        on: Runtime | None = None,
        **unknown: Never,
    ) -> Turn:
        """Go on with a turn whose worker or kernel was killed; committed steps are neither asked nor run again.

        Args:
            turn_id: The turn, or its session; None takes the newest unfinished turn of this agent.
            live: Go on although model, tools or instructions changed: committed steps stay as they are, the rest is asked of
                the agent as it is now.
            timeout_s: Seconds after which it is stopped; None for no limit. `timeout` is its old name.
            show: Stream the answer (see `run`).
            max_cost_usd: No further model call once the turn has cost so much, in dollars, earlier attempts included.
            max_tokens: The same for tokens, sent and received.
            replay: A recording to answer from instead of the model.
            replay_miss: As of `run`.
            on: Where it goes on; None means the runtime it ran on.
            **unknown: None is known; a misspelt option is an error that names the nearest.

        Returns: the handle; a tool that may have run before is asked about (`Turn.pending`) unless it is idempotent.

        Raises:
            SessionNotFoundError: No such turn or session, or nothing is unfinished.
            UsageError: It completed, it is another agent's, or the agent changed (the message says what).
        """
        timeout_s = old_spelling(BoundAgent.resume, unknown, "timeout", "timeout_s", timeout_s)
        refuse_unknown(BoundAgent.resume, unknown)
        terms = TurnTerms(
            timeout_s=timeout_s,
            show=self._show(show),
            background=True,
            limits=checked(max_cost_usd=max_cost_usd, max_tokens=max_tokens),
            replay=replay,
            replay_miss=replay_miss,
        )
        caller = self.hermes.host.caller(blocks=False, background=True)
        return await resume_awaited(self, turn_id, terms, caller, live=live, on=on)

    def submit_resume(self, turn_id: str | None, terms: TurnTerms, *, live: bool = False, on: Runtime | None = None) -> Turn:
        """Go on with a turn that was cut off and return its handle, with options as of `resume`; any thread."""
        caller = self.hermes.host.caller(blocks=terms.blocks, background=terms.background)
        if caller.blocks_loop:
            self.definitions.refuse_async()
        return resume_blocking(self, turn_id, terms, caller, live=live, on=on)

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
        return await forked(self, session_id, at=at, title=title)

    async def promote(self, prompt: str | None = None, *, on: str = "flyte", **options: Any) -> Turn:
        """A turn on another runtime, with tools and conversation; see `hermes_nb.flyte.promotion.promoted.promote`."""
        from hermes_nb import _registry

        turn: Turn = await _registry.load("runtimes", on).promote(self, prompt, **options)
        return turn

    async def chat(self, prompt: str | list[ContentPart], **options: Any) -> str:
        """The final text of a turn.

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
        chat: Chat = _frontend.load().chat(self, session_id)
        return chat

    map = mapping.map
    tools_by_toolset = toolset_offer.tools_by_toolset
    home = agent_home.home

    def _show(self, show: bool | None) -> bool:
        return self.hermes.host.is_interactive if show is None else show

    async def add_tools(self, tools: Sequence[Callable[..., Any]]) -> ToolBinding:
        """Attach more notebook functions, of which each session is told with its next turn.

        Returns: the binding, for `remove_tools` and `tool_binding_ids`; it is also its id, as text.

        Raises:
            UsageError: There is no function among them.
            ToolDefinitionError: A function that no schema can describe.
            ToolNameError: A name taken by another tool of this agent, or owned by Hermes.
        """
        return self.instance.attach(self, tools)

    async def remove_tools(self, binding_id: str) -> None:
        """Detach what an `add_tools` attached; functions that the declaration or another binding has stay.

        A call that a running turn makes of them later, or that waits for an answer or for its thread, is refused: the model
        is told that the tool is gone. One whose body has begun ends.

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
        return self.definitions.tell_anew(names)
