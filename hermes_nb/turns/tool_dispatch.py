"""Serves a turn's calls of notebook functions: approval first, then the host, then the result to the worker."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import functools
import inspect
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import ToolArgumentError, ToolError, ToolRetry, UsageError
from hermes_nb.host.base import Caller, ToolCall
from hermes_nb.host.output.traceback_view import TRACEBACK, coloured
from hermes_nb.model.agent import OFFLINE
from hermes_nb.model.identifier import new_id
from hermes_nb.model.status import ANSWERS, TurnStatus
from hermes_nb.sessions.session import Session
from hermes_nb.tools.call import ToolOutcome, denied, failed, stopped
from hermes_nb.tools.redefinition import redefined
from hermes_nb.turns.tool_definitions import namespace
from hermes_nb.workers import intent_log
from hermes_nb.workers.intent_log import IntentLog

if TYPE_CHECKING:
    from hermes_nb.model.message import ToolCallKeys, ToolResultKeys
    from hermes_nb.model.message_part import Json
    from hermes_nb.tools.decorator import Tool
    from hermes_nb.tools.pinned_definition import PinnedDefinition
    from hermes_nb.turns.context import RunningTurn

_SCHEMA_CHARS = 4_000  # of a schema that is told in an error
OUTPUT_CHARS_MAX = 20_000  # of one tool's prints kept in the log; the cell shows all


# The turns whose tools the code of this context is run by, outermost first.
UNWIND_S = 0.15  # how long the tools of a stopped turn have to end before they are said to ignore it
_INSIDE: contextvars.ContextVar[tuple[RunningTurn, ...]] = contextvars.ContextVar("hermes_nb_inside", default=())


def refuse_nested(session: Session) -> None:
    """Refuse a question to a session from within a tool of its own turn: each would wait for the other for ever.

    Raises:
        UsageError: It is asked from there.
    """
    if any(turn.session_id == session.id and not turn.is_done for turn in _INSIDE.get()):
        raise UsageError(
            f"Session {session.id} waits for the tool that asks, so it can't take a question from it. Ask another agent,"
            " or give the question a session of its own: session_id=await bound.new_session(), or %hermes run -s new."
        )


@dataclass(frozen=True)
class _Request:
    """An open request; what it is about is `data`. Of a call of a notebook tool: the call, or who waits for the decision."""

    data: Json
    tool: Tool | None = None
    call: ToolCallKeys | None = None
    decided: asyncio.Future[str] | None = None


class ToolDispatch:
    """The tool side of one turn; lives on the IO loop."""

    def __init__(
        self,
        turn: RunningTurn,
        tools: Sequence[PinnedDefinition],
        caller: Caller,
        *,
        unfinished: Sequence[tuple[str, str]] = (),
    ) -> None:
        context = caller.context.copy()
        context.run(_INSIDE.set, (*context.get(_INSIDE, ()), turn))
        self._turn, self._caller = turn, replace(caller, context=context)
        self._tools = {t.name: t.tool for t in tools}
        self._told = {t.name: t.definition() for t in tools}
        self._attached = {t.name for t in turn.agent.tools}
        self._n_revoked = {name: turn.agent.definitions.n_revoked(name) for name in self._attached}
        self._waiting: dict[str, _Request] = {}
        self._unfinished = Counter((name, _canonical(arguments)) for name, arguments in unfinished)
        self._is_resumed = turn.is_resumed
        self._answered: dict[str, str] = {}
        self._starts = IntentLog(turn.id, lambda: turn.agent.worker.folder.starts)
        self._said: set[str] = set()
        self._n_output_chars: dict[str, int] = {}
        self.values: dict[str, Any] = {}
        self._masker = turn.masker
        self._options = {"namespace": namespace(), "results": turn.agent.definitions.results, "masker": self._masker}
        self._options["draws"] = turn.agent.model.provider != OFFLINE

    # -- calls ---------------------------------------------------------------------------------------------------
    def call(self, message: ToolCallKeys) -> None:
        """Run a call, or ask about it first."""
        tool = self._current(message["name"])
        if tool is not None and not tool.idempotent:
            self._starts.waits(message["call_id"])
        if self._turn.stop_reason is not None:  # it was under way when the stop came
            self._reply(message, stopped(str(message["name"])))
        elif tool is None:
            self._reply(message, failed(self._detached(message["name"])))
        elif (problem := self._misfit(tool, message["arguments"])) is not None:
            self._reply(message, failed(problem, max_chars=tool.max_result_chars, masker=self._masker))
        elif self._may_have_run(tool, message["arguments"]):
            self._ask(
                tool,
                message,
                reason="started_before",
                question=f"{tool.name} had started when the turn was cut off, and may have run. Run it again?",
            )
        elif self._needs_approval(tool, message["arguments"]):
            self._ask(tool, message, question=f"May the agent call {tool.name}?")
        else:
            self._run(tool, message)

    def _is_attached(self, name: str) -> bool:
        """Whether the turn may still call a tool of that name: the one that its binding attached, and no later one."""
        if name not in self._attached:
            return True
        agent = self._turn.agent
        return self._n_revoked[name] == agent.definitions.n_revoked(name) and any(t.name == name for t in agent.tools)

    def _detached(self, name: str) -> LookupError:
        """What the model is told of a tool that it can't call any more."""
        known = ", ".join(sorted(n for n in self._tools if self._is_attached(n))) or "none"
        return LookupError(f"No tool named {name!r} is attached. Known: {known}.")

    def _begin(self, name: str, call_id: str) -> None:
        """Note that a call begins; it must not when this raises."""
        if not self._is_attached(name):  # detached while the call waited for an answer, or for its thread
            raise self._detached(name)
        self._starts.begins(call_id)

    def _current(self, name: str) -> Tool | None:
        """The tool as the notebook defines it now; None when there is none, or it was detached since the turn began."""
        tool = self._tools.get(name)
        if not self._is_attached(name):
            return None
        if tool is not None:
            with contextlib.suppress(ToolError):
                tool = self._tools[name] = redefined(tool, namespace()) or tool
        return tool

    def _misfit(self, tool: Tool, arguments: str) -> ToolArgumentError | None:
        """Why a call does not fit a function that was redefined otherwise than the model is told."""
        now = tool.definition()
        if now == self._told[tool.name]:
            return None
        try:
            tool.build(arguments, namespace())
        except ToolArgumentError as exc:
            text = (
                f"Tool {tool.name} was redefined, and a call in the form that this session shows does not fit it."
                " %hermes tools refresh tells the model the new form from the next turn on."
            )
            if text not in self._said:
                self._said.add(text)
                self._turn.emit("warning", {"code": "tool", "message": text})
            takes = json.dumps(now["parameters"], ensure_ascii=False)
            return ToolArgumentError(
                f"{exc} The tool was changed after this conversation began. What it takes now"
                + (f": {takes}" if len(takes) <= _SCHEMA_CHARS else f" is: {', '.join(now['parameters']['properties'])}.")
            )
        except Exception:  # noqa: BLE001 - the call itself meets it again, and tells it
            return None
        return None

    def _run(self, tool: Tool, message: ToolCallKeys) -> None:
        turn, io, call_id = self._turn, self._turn.io, message["call_id"]

        def on_output(stream: str, text: str, mime_types: Sequence[str]) -> None:
            io.soon(self._output, call_id, tool.name, stream, text, tuple(mime_types))

        call = ToolCall(
            turn.id,
            call_id,
            tool,
            message["arguments"],
            on_output,
            options=self._options,
            on_begin=functools.partial(self._begin, tool.name, call_id),
        )
        future = turn.context.host.submit(call, self._caller)

        def on_done(future: concurrent.futures.Future[ToolOutcome]) -> None:
            outcome = future.result()
            if outcome.status == "error" and outcome.exception is not None:
                self._show_error(call_id, outcome.exception)
            io.soon(self._reply, message, outcome)

        future.add_done_callback(on_done)

    def _output(self, span_id: str, name: str, stream: str, text: str, mime_types: Sequence[str]) -> None:
        kept = OUTPUT_CHARS_MAX - self._n_output_chars.get(span_id, 0)
        if kept <= 0:
            return
        self._n_output_chars[span_id] = self._n_output_chars.get(span_id, 0) + len(text)
        data: Json = {
            "tool_call_id": self._turn.log.tool_call_id(span_id),
            "name": name,
            "stream": stream,
            "text": text[:kept],
        }
        if mime_types:
            data["mime_types"] = list(mime_types)
        self._turn.emit("tool.output", data, span_id=span_id)

    def _show_error(self, call_id: str, error: BaseException) -> None:
        """Give a browser that shows the turn the traceback of a tool's own error."""
        is_in_place, on_display = (self._caller.extra.get(name) for name in ("is_in_place", "on_display"))
        if on_display is None or is_in_place is None or not is_in_place():
            return  # nobody would see it, and it takes a while to make
        is_own = not isinstance(error, (ToolRetry, ToolArgumentError))
        if is_own and (text := coloured(error, self._turn.context.masker())):
            on_display(call_id, {TRACEBACK: text})

    def _reply(self, message: ToolCallKeys, outcome: ToolOutcome) -> None:
        self.values[message["call_id"]] = outcome.value
        if outcome.traceback:
            self._turn.context.log(f"tool {message['name']} of turn {self._turn.id}:\n{outcome.traceback}")
        began = outcome.started_at_unix_s
        keys: ToolResultKeys = {
            "turn_id": self._turn.id,
            "call_id": message["call_id"],
            "status": outcome.status,
            "result": outcome.content,
            "result_chars": outcome.result_chars or len(outcome.content),
            "error_type": outcome.error_type,
            "error": outcome.error,
        }
        if began is not None:
            keys |= {"started_at_unix_s": began, "duration_ms": outcome.duration_ms}
        if outcome.images:
            keys["images"] = [{"mime_type": part.mime_type, "data": part.data} for part in outcome.images]
        self._turn.tool_result(**keys)

    # -- approval ------------------------------------------------------------------------------------------------
    def _needs_approval(self, tool: Tool, arguments: str) -> bool:
        if not tool.approval or self._is_allowed(tool.name, arguments):
            return False
        try:
            built = _by_name(tool, *tool.build(arguments, namespace()))
        except ToolArgumentError:
            return False  # the body will not run; the model is told what is wrong
        except Exception:  # noqa: BLE001 - what can't be told is asked
            return True
        return not callable(tool.approval) or _holds(tool.approval, built, json.loads(arguments or "{}"))

    def _key(self, name: str, arguments: str) -> tuple[str, str, str]:
        return self._turn.session_id, name, _canonical(arguments)

    def _is_allowed(self, name: str, arguments: str) -> bool:
        """Whether this call was allowed for the session."""
        return self._key(name, arguments) in self._turn.agent.always_allowed

    def _may_have_run(self, tool: Tool, arguments: str) -> bool:
        """Whether an earlier attempt started this call and has no result of it; asked about as often as it was started."""
        what = (tool.name, _canonical(arguments))
        if tool.idempotent or not self._unfinished[what]:
            return False
        self._unfinished[what] -= 1
        return True

    @property
    def waiting_status(self) -> TurnStatus:
        """`needs_confirmation` when a call that may have run is asked about, else `awaiting_approval`."""
        reasons = {w.data.get("reason") for w in list(self._waiting.values())}
        return "needs_confirmation" if "started_before" in reasons else "awaiting_approval"

    def _ask(
        self,
        tool: Tool,
        call: ToolCallKeys,
        *,
        question: str,
        reason: str = "approval",
        decided: asyncio.Future[str] | None = None,
    ) -> None:
        request_id = new_id("r")
        data = {
            "request_id": request_id,
            "question": question,
            "reason": reason,
            "name": tool.name,
            "arguments": self._masker.text(call["arguments"]),
            "choices": list(ANSWERS),
        }
        self._waiting[request_id] = _Request(data, tool, call, decided)
        self._turn.emit("approval.requested", data, span_id=call["call_id"])
        self._turn.asked()

    async def ask_first(self) -> list[tuple[str, str]]:
        """Ask about each call that may have run, before a worker that runs tools itself begins; returns the refused ones."""
        asked: list[tuple[tuple[str, str], asyncio.Future[str]]] = []
        for name, arguments in sorted(self._unfinished):
            tool = self._current(name)
            if tool is None or not self._may_have_run(tool, arguments):
                continue
            decided = asyncio.get_running_loop().create_future()
            asked.append(((name, arguments), decided))
            question = f"{name} had started when the turn was cut off, and may have run. Run it again?"
            call: ToolCallKeys = {
                "turn_id": self._turn.id,
                "call_id": self._turn.id,
                "name": name,
                "arguments": arguments,
            }
            self._ask(tool, call, reason="started_before", question=question, decided=decided)
        return [what for what, decided in asked if await decided == "deny"]

    def ask_worker_question(self, event_data: Json) -> None:
        """Note a question of Hermes's own (approval of a built-in tool, `clarify`): it is answered over the wire."""
        request_id = str(event_data["request_id"])
        if _is_approval(event_data) and self._is_allowed(*_asked_about(event_data)):
            self._answered[request_id] = "always"
            self._turn.worker.send("answer", turn_id=self._turn.id, request_id=request_id, answer="once")
            return
        self._waiting[request_id] = _Request(dict(event_data))
        self._turn.asked()

    @property
    def n_waiting(self) -> int:
        """How many requests are open."""
        return len(self._waiting)

    def asked(self) -> str:
        """The oldest open request in words, and how it is answered from anywhere in the kernel; "" when there is none."""
        for request_id, one in list(self._waiting.items()):
            is_approval, question = _is_approval(one.data), one.data.get("question") or "May it go on?"
            magic, call = ("(or --deny)", "") if is_approval else ("--answer '...'", ", '...'")
            return (
                f"{question} Answer with %hermes approve {request_id} {magic}; in Python turn.approve({request_id!r}{call}),"
                " by the turn in hermes.turns."
            )
        return ""

    def pending(self) -> list[Json]:
        """The open requests."""
        return [dict(w.data) for w in list(self._waiting.values())]

    async def answer(self, request_id: str, answer: str) -> None:
        """Answer a request once (see `Turn.approve`)."""
        if request_id in self._answered:
            raise UsageError(f"Request {request_id} was answered already: {self._answered[request_id]}.")
        waiting = self._waiting.get(request_id)
        if waiting is None:
            known = ", ".join(self._waiting) or "none"
            raise UsageError(f"Turn {self._turn.id} has no open request {request_id!r}. Open: {known}.")
        data, call = waiting.data, waiting.call
        if _is_approval(data) and answer not in ANSWERS:
            raise UsageError(f"Answer {answer!r} is not one of {', '.join(ANSWERS)}.")
        del self._waiting[request_id]
        self._answered[request_id] = answer
        if answer == "always" and _is_approval(data):
            self._turn.agent.always_allowed.add(self._key(*_asked_about(call or data)))
        if call is None or waiting.tool is None:
            self._turn.worker.send("answer", turn_id=self._turn.id, request_id=request_id, answer=answer)
            return
        self._turn.emit(
            "approval.responded",
            {"request_id": request_id, "answer": answer, "name": data["name"]},
            span_id=call["call_id"],
        )
        if waiting.decided is not None:
            waiting.decided.set_result(answer)
        elif answer == "deny":
            self._reply(call, denied("The user did not allow this call."))
        else:
            self._run(waiting.tool, call)

    def stop(self) -> None:
        """Deny what is still asked."""
        waiting, self._waiting = self._waiting, {}
        for request_id, one in waiting.items():
            self._answered[request_id] = "deny"
            if one.call is not None:
                self._turn.emit(
                    "approval.responded",
                    {"request_id": request_id, "answer": "deny", "name": one.data["name"]},
                    span_id=one.call["call_id"],
                )
                self._reply(one.call, denied("The turn was stopped."))

    async def deaf_tools(self) -> list[str]:
        """Return the tools that still run after a stop; those that only unwind are waited for a moment."""
        until_s = time.perf_counter() + UNWIND_S
        while (names := self._turn.context.host.running_tools(self._turn.id)) and time.perf_counter() < until_s:
            await asyncio.sleep(0.01)
        return names

    async def close(self, *, is_completed: bool) -> None:
        """The turn is over: what it asks can't be answered any more, and no call of it begins.

        What began is forgotten when the turn `is_completed`; else a resume reads it.
        """
        self._waiting.clear()
        has_notes = self._starts.close()
        if is_completed and (has_notes or self._is_resumed):
            await asyncio.to_thread(intent_log.forget, [self._turn.id], self._turn.context.state_dir)


def _canonical(arguments: str) -> str:
    """The arguments in one spelling, so that spaces and key order don't matter."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except ValueError:
        return arguments


def _is_approval(data: Mapping[str, Any]) -> bool:
    """Whether a request is about allowing something; else it is a question in words."""
    return "deny" in (data.get("choices") or ())


def _asked_about(data: Mapping[str, Any]) -> tuple[str, str]:
    return str(data.get("name") or ""), str(data.get("arguments") or "")


def _by_name(tool: Tool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the body gets them, defaults included."""
    bound = inspect.signature(tool.function).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _holds(predicate: Callable[[dict[str, Any]], bool], built: dict[str, Any], given: Any) -> bool:
    """Whether a predicate asks: for what the body gets, or for what the model wrote ("true" may be True to the body)."""
    try:
        if predicate(built):
            return True
    except Exception:  # noqa: BLE001 - a predicate that can't tell must not let the call through
        return True
    try:
        return bool(predicate(given))
    except Exception:  # noqa: BLE001 - what the body gets has decided
        return False
