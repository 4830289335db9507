"""One line of conversation within a turn: the agent's own, or that of an agent it delegated to.

Hermes's middleware ends here: a model call is replayed or sent, a tool call is run, both recorded before Hermes sees
what came of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import SimpleNamespace, TracebackType
from typing import Any

from hermes_nb.engine import connection_fault
from hermes_nb.engine.accounting.budget import Budget
from hermes_nb.engine.durability.fingerprint import fingerprint, with_date, with_prompts
from hermes_nb.engine.durability.recorder import ModelCall, Recorder, short_error
from hermes_nb.engine.durability.recording import RecordedSteps
from hermes_nb.engine.durability.replay_matcher import Carried, Key
from hermes_nb.engine.hermes import outcome, reply, verdict
from hermes_nb.engine.hermes.agent_home import WRITERS, AgentHome
from hermes_nb.engine.hermes.call_id import make_unique, used_in
from hermes_nb.engine.hermes.observer import spending
from hermes_nb.engine.hermes.reachability import Reachability
from hermes_nb.engine.hermes.tool_schema import garbled, restored
from hermes_nb.engine.tool_executor import ToolExecutor, spread_duplicates
from hermes_nb.model.agent import OFFLINE
from hermes_nb.model.model_option import applied


class EngineFault(BaseException):
    """A fault of ours inside Hermes; an Exception would be logged and the turn would go on unrecorded."""


class AgentRun:
    """Model and tool calls of one conversation.

    Args:
        recorder: Its events.
        toolbox: Its tools.
        hermes: `Bootstrap.hermes()`.
        asker: The AIAgent that asks (of a delegated one, that which delegated).
        provider: What its provider is called by its user.
        replay: Responses kept by earlier attempts, by (fingerprint, occurrence).
        day: The session's first day as Hermes writes it; "" leaves today's.
        prompts: The conversation's prompts as they were typed.
        reach: Knows which addresses answer; None watches none.
        on_silence: Told when the address swallows what is sent.
        budget: What may be spent; None for no limit.
        recording: What answers in the model's place; None for the model.
        carried: What was committed before the agent changed; None when it did not.
        most_wait_s: A provider that wants to be asked again later than that ends the turn; None where that is seen to when
            Hermes is about to wait.
        options: Options of the model's requests.
        home: The agent's memory and skills; None for one without.
    """

    def __init__(
        self,
        recorder: Recorder,
        toolbox: ToolExecutor,
        hermes: SimpleNamespace,
        asker: Any,
        *,
        provider: str,
        replay: Mapping[tuple[str, int], Mapping[str, Any]] = {},
        day: str = "",
        prompts: Sequence[str] = (),
        reach: Reachability | None = None,
        on_silence: Callable[[str], None] = lambda text: None,
        budget: Budget | None = None,
        recording: RecordedSteps | None = None,
        carried: Carried | None = None,
        most_wait_s: float | None = None,
        options: Mapping[str, Any] = {},
        home: AgentHome | None = None,
    ) -> None:
        self.recorder = recorder
        self.toolbox = toolbox
        self._hermes = hermes
        self._asker = asker
        self.provider = provider
        self._replay = replay
        self._day = day
        self._prompts = prompts
        self._garbled = garbled(toolbox.specs.values())
        self._reach = reach
        self._on_silence = on_silence
        self._budget = budget
        self._recording = recording
        self._carried = carried
        self._most_wait_s = most_wait_s
        self.options = options
        self.home = home

    def call_model(self, request: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]) -> Any:
        """The response to a request: from the journal, or from the model and then in the journal."""
        with _Ours():
            self.toolbox.close_batch(request.get("messages") or ())
            self._give_up_in_vain()
            if self._day:
                request = with_date(request, self._day)
            request = with_prompts(request, self._prompts)
            if self._garbled and request.get("tools"):
                request = {**request, "tools": restored(request["tools"], self._garbled)}
            is_own = context.get("provider") in (None, self._asker.provider)
            is_fallback = getattr(self._asker, "_fallback_activated", False)
            provider = self.provider if is_own and not is_fallback else str(context.get("provider") or self._asker.provider)
            options = self.options if is_own and request.get("model") == self._asker.model else {}
            if options:
                request = applied(request, str(self._asker.api_mode), options)
            call, print_ = self.recorder.start_call(request, str(context.get("api_request_id", "")), provider, options)
            key = self._committed(request) or (print_, self.recorder.next_occurrence(print_))
            kept = self._replay.get(key)
            if kept is not None:
                response = reply.rebuild(kept)
                self._take(call, print_, request, response, key, price=None)
                return response
            if self._recording is not None:
                self._recording.miss(request)
        with ExitStack() as spending:
            with _Ours():
                spending.enter_context(self._spending(call, request, provider))
                end_watch = self._watch()
            try:
                response = next_call(request)
            except Exception as exc:
                with _Ours():
                    self._fail(call, exc)
                raise
            finally:
                end_watch()
            with _Ours():
                price = None if reply.is_replayed(response) else lambda: self._price(response, provider)
                self._take(call, print_, request, response, key, price=price)
        return response

    def _give_up_in_vain(self) -> None:
        """Raise GivenUp when the model is about to be asked once more for what it gave wrongly too often."""
        if getattr(self._asker, "_fallback_chain", None):
            return  # Hermes may have another model to turn to
        why = self.toolbox.refused_for_good() or verdict.of_replies(self.recorder.replies, is_over=False)
        if why is not None:
            raise verdict.GivenUp(why)

    def _price(self, response: Any, provider: str) -> float | None:
        """What a response cost: nothing when the embedded model gave it."""
        return 0.0 if provider == OFFLINE else reply.cost_usd(response, self._asker, self._hermes)

    def _committed(self, request: Mapping[str, Any]) -> Key | None:
        """The key of what this request was answered with before the agent changed; None where that can't be taken."""
        key = None if self._carried is None else self._carried.take(request)
        body = None if key is None else self._replay.get(key)
        if body is None or ("choices" in body) != (self._asker.api_mode == "chat_completions"):
            return None  # of a model that is spoken to otherwise
        return key

    def _spending(self, call: ModelCall, request: Mapping[str, Any], provider: str) -> AbstractContextManager[None]:
        if self._budget is None or not self._budget.is_any:
            return nullcontext()
        asker, hermes = self._asker, self._hermes
        return self._budget.spending(
            call.span_id,
            str(request.get("model") or ""),
            bound=lambda: reply.bound(request, asker, hermes, is_free=provider == OFFLINE),
            knows_price=lambda: reply.knows_price(asker, hermes),
        )

    def call_helper(self, request: Mapping[str, Any], send: Callable[[], Any]) -> tuple[Any, bool]:
        """The answer of a helper model: committed and True, or from it and then committed, and False.

        Its key is its place in the turn: what it is asked also holds what its process remembers of earlier turns.
        """
        with _Ours():
            print_ = fingerprint({"helper_after": len(self.recorder.replies)})
            kept = self._replay.get((print_, self.recorder.next_occurrence(print_)))
            if kept is not None and self.recorder.tally.n_model_calls == 0:  # so far all was as before
                self.recorder.keep_helper(print_, None)
                return reply.rebuild(kept), True
            if self._recording is not None:
                self._recording.miss(request)
        answer = send()
        with _Ours():
            self.recorder.keep_helper(print_, reply.plain(answer))
        return answer, False

    def check_budget(self) -> None:
        """Raise BudgetSpent when no further model call is allowed, be it one of Hermes's own."""
        if self._budget is not None:
            self._budget.check(
                str(self._asker.model),
                is_free=self.provider == OFFLINE,
                knows_price=lambda: reply.knows_price(self._asker, self._hermes),
            )

    def _watch(self) -> Callable[[], None]:
        if self._reach is None:
            return lambda: None
        return self._reach.watch(str(self._asker.base_url or ""), self._on_silence)

    def _take(
        self,
        call: ModelCall,
        print_: str,
        request: Mapping[str, Any],
        response: Any,
        key: Key,
        *,
        price: Callable[[], float | None] | None,
    ) -> None:
        asker, hermes = self._asker, self._hermes
        choices = getattr(response, "choices", None)
        calls = (getattr(choices[0].message, "tool_calls", None) if choices else None) or []
        make_unique(calls, used_in(request.get("messages") or ()))
        reply.part_thought(response)
        reply.mend_arguments(calls)
        said = reply.read(response, asker, hermes)
        self.recorder.complete_call(call, print_, request, said, price=price)
        self.toolbox.open_batch(f"{key[0]}:{key[1]}", said.tool_calls)
        spread_duplicates(calls)

    def _fail(self, call: ModelCall, error: Exception) -> None:
        cause: BaseException = error
        while isinstance(inner := getattr(cause, "original", None), BaseException):  # Hermes wraps at each middleware
            cause = inner
        self.recorder.fail_call(call, cause)
        is_refused = outcome.is_refused(cause)
        if is_refused and self._reach is not None:
            self._reach.forget()
        if getattr(self._asker, "_fallback_chain", None):
            return  # Hermes may have another model to turn to
        fault = connection_fault.of(cause, str(self._asker.base_url or ""))
        if fault is not None and (fault.is_lasting or call.n_failures > 1):
            raise outcome.Unreachable(fault.text, fault)
        if is_refused and call.n_failures > 1:
            raise outcome.Unreachable(short_error(cause))
        wait_s = (outcome.retry_after_s(cause) or 0.0) if getattr(cause, "status_code", None) == 429 else 0.0
        if self._most_wait_s is not None and wait_s > self._most_wait_s:
            raise outcome.LongWait(wait_s) from cause
        status = getattr(cause, "status_code", None)
        is_moved = isinstance(status, int) and 300 <= status < 400
        if status == 404 or is_moved or isinstance(cause, RecursionError):
            raise outcome.Hopeless from cause

    def call_tool(
        self, name: str, args: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]
    ) -> Any:
        """The result of a tool call."""
        theirs: list[Exception] = []

        def run() -> tuple[Any, dict[str, Any]]:
            try:
                with spending() as spent, self._learning(name):
                    result = next_call(args)
                return result, spent.data()
            except Exception as exc:
                theirs.append(exc)
                raise

        try:
            return self.toolbox.run(name, args, str(context.get("tool_call_id") or ""), run)
        except Exception as exc:
            if exc in theirs:
                raise
            raise EngineFault(f"Recording the call of {name} failed: {exc!r}") from exc

    @contextmanager
    def _learning(self, tool: str) -> Iterator[None]:
        """Tell what a tool changes of the agent's memory and skills within the block."""
        if self.home is None or tool not in WRITERS:
            yield
            return
        before = self.home.texts()
        try:
            yield
        finally:
            ids = {"session_id": self.recorder.session_id, "turn_id": self.recorder.turn_id}
            for change in self.home.changes(before, **ids):
                self.recorder.emit("home.changed", change)


class _Ours:
    """Our own Exceptions become EngineFaults: Hermes would swallow an Exception and go on."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, Exception):
            raise EngineFault(f"Recording failed: {error!r}") from error
