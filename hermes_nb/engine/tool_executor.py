"""The tool calls of one turn: asked of the kernel over the wire, or of Hermes's own tools; recorded either way.

Hermes runs a batch of calls one after another. Here the batch is known from the response, so that calls that may overlap
(async functions, `parallel=True`) are all asked for when the first of them comes up; results are taken in order.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.durability.event_writer import EventWriter
from hermes_nb.engine.durability.journal import JournalError, ToolResult
from hermes_nb.engine.durability.recorder import Recorder, new_id
from hermes_nb.engine.hermes import verdict
from hermes_nb.engine.hermes.approval_policy import Door
from hermes_nb.engine.hermes.reply import flat_text, is_object
from hermes_nb.model import history
from hermes_nb.model.toolspec import ToolSpec

if TYPE_CHECKING:
    from hermes_nb.model.message import ToolResultKeys

DENIED = "The user did not allow it. Do not try to get there in another way."


@dataclass(slots=True, eq=False)
class Call:
    """One call of a batch."""

    call_key: str
    tool_call_id: str
    name: str
    arguments: str
    span_id: str = field(default_factory=new_id)
    started: float = 0.0
    is_taken: bool = False
    is_sent: bool = False
    is_told: bool = False  # a `tool.started` has its arguments
    is_recorded: bool = False
    message: ToolResultKeys | None = None
    done: threading.Event = field(default_factory=threading.Event)


class ToolExecutor:
    """Tool calls of one turn.

    Args:
        specs: The kernel's tools of this turn, by name.
        replay: Results kept by earlier attempts, by call key; empty on the first.
        door: Lets calls of Hermes's own tools in, or asks; None lets in all.
    """

    def __init__(
        self,
        recorder: Recorder,
        outbox: EventWriter,
        specs: Mapping[str, ToolSpec],
        replay: Mapping[str, ToolResult],
        door: Door | None = None,
    ) -> None:
        self._recorder = recorder
        self._outbox = outbox
        self.specs = specs
        self._replay = replay
        self._door = door
        self._batch: list[Call] = []
        self._by_span: dict[str, Call] = {}
        self._inside: set[Call] = set()
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._hopeless: verdict.Verdict | None = None
        self._lock = threading.Lock()
        self.is_abandoned, self._why_abandoned = False, ""

    def open_batch(self, key: str, tool_calls: Sequence[Mapping[str, str]]) -> None:
        """The model asked for these calls; `key` names the response, the same in each attempt."""
        with self._lock:
            self._batch = [Call(f"{key}.{i}", c["id"], c["name"], c["arguments"]) for i, c in enumerate(tool_calls)]

    def close_batch(self, messages: Sequence[Any] = (), *, is_end: bool = False) -> None:
        """The batch is over: calls that never ran are recorded with what the model reads instead, or (`is_end`) why not."""
        again = "" if is_end else "; the model was asked again"
        with self._lock:
            left = [call for call in self._batch if not call.is_taken]
            left += [call for call in self._inside if is_end and self.is_abandoned]
            for call in left:
                call.done.set()  # nobody takes a result that comes later
            self._batch = []
        for call in left:
            said = next((m for m in messages if isinstance(m, Mapping) and m.get("tool_call_id") == call.tool_call_id), None)
            text = "" if said is None else flat_text(said)
            is_cut = _OF_AN_INTERRUPT.match(text) is not None
            if call.message is not None:
                continue  # its result has come
            if call.is_sent or call.is_taken:
                self._record_cut(call)
                continue
            if text and not is_cut:
                why = {"result": text}
            elif self.is_abandoned or is_cut:
                why = {"result": history.not_started(call.name, history.why_ended(self._why_abandoned))}
            elif is_object(call.arguments):
                why = {"result": "", "error": f"Hermes did not run it{again}."}
            else:
                why = {"result": "", "error": f"The arguments are not a JSON object{again}."}
            self._record(call, {"status": "skipped", **why})

    def _record_cut(self, call: Call) -> str:
        """Nobody takes the result of a call that was asked for: it may have run. Returns what the model reads."""
        why = history.why_ended(self._why_abandoned) if self.is_abandoned else "Hermes did not wait for it"
        text = history.cut_short(call.name, why)
        if call.is_sent:
            self._outbox.send("tool.abandon", turn_id=self._recorder.turn_id, call_id=call.span_id)
        self._record(call, {"status": "stopped", "result": text, **({} if call.is_sent else self._mark(call))})
        return text

    def refused_for_good(self) -> verdict.Verdict | None:
        """Why the turn is hopeless: the model repeated one call that is refused each time; None when it did not."""
        return self._hopeless

    def _note_refusal(self, call: Call, data: Mapping[str, Any]) -> None:
        is_refused = data.get("error_type") == "ToolArgumentError" or (data["status"] == "skipped" and not self.is_abandoned)
        if not is_refused:
            return
        key = call.name, _canonical(call.arguments)
        self._refusals[key] += 1
        if self._refusals[key] >= verdict.MOST_REFUSED and is_object(call.arguments):
            why = str(data.get("error") or error_in(str(data["result"])) or data["result"])
            self._hopeless = verdict.refused(call.name, self._refusals[key], why)

    @property
    def is_running(self) -> bool:
        """Whether a call of the kernel is pending."""
        with self._lock:
            return any(call.is_sent and not call.done.is_set() for call in self._by_span.values())

    # -- running --------------------------------------------------------------------------------------------------

    def run(
        self, name: str, args: Mapping[str, Any], tool_call_id: str, next_call: Callable[[], tuple[Any, dict[str, Any]]]
    ) -> Any:
        """The result the model gets. Raises what the tool's own execution raises, and JournalError.

        `next_call` runs a tool of Hermes's: its result, and what helper models cost (usage, cost_usd) where any did.
        """
        if self._is_within(tool_call_id, name):
            return next_call()[0]  # Hermes passes calls that it runs side by side through its middleware twice
        call = self._take(name, args, tool_call_id)
        kept = self._replay.get(call.call_key)
        given = self._outbox.masker.text(call.arguments)
        if kept is not None and kept.name == name and same_arguments(kept.arguments, given):
            self._record(call, {**kept.body, "replayed": True})
            return with_images(kept.body)
        if self._asks_kernel(name):
            return self._run_in_kernel(call)
        return self._run_builtin(call, args, next_call)

    def _is_within(self, tool_call_id: str, name: str) -> bool:
        with self._lock:
            return any(c.tool_call_id == tool_call_id and c.name == name for c in self._inside)

    def _take(self, name: str, args: Mapping[str, Any], tool_call_id: str) -> Call:
        with self._lock:
            free = [c for c in self._batch if not c.is_taken]
            call = next((c for c in free if c.tool_call_id == tool_call_id and c.name == name), None) or next(
                (c for c in free if c.tool_call_id == tool_call_id), None
            )
            if call is None:
                call = Call(new_id(), tool_call_id, name, json.dumps(args))
            call.is_taken = True
            call.name = name  # Hermes repairs misspelled names
            if not same_arguments(call.arguments, args):
                call.arguments = json.dumps(args, ensure_ascii=False)
            return call

    def _run_in_kernel(self, call: Call) -> Any:
        for other in self._together(call):
            self._ask(other)
        call.done.wait()
        if self._recorder.broken is not None:
            raise self._recorder.broken
        if call.message is None:
            if call.is_sent:
                return self._record_cut(call)
            text = history.not_started(call.name, history.why_ended(self._why_abandoned))
            self._record(call, {"status": "skipped", "result": text})
            return text
        return with_images(call.message)

    def _together(self, call: Call) -> list[Call]:
        """The calls to ask for now: this one, and those right behind it that may overlap with it."""
        with self._lock:
            if call.is_sent:
                return []
            if call not in self._batch or not self._may_overlap(call):
                return [call]
            group = []
            for other in self._batch[self._batch.index(call) :]:
                if other.is_sent or not self._may_overlap(other) or other.call_key in self._replay:
                    break
                group.append(other)
            return group or [call]

    def _may_overlap(self, call: Call) -> bool:
        spec = self.specs.get(call.name)
        return spec is not None and (spec.parallel or spec.is_async) and is_object(call.arguments)

    def _ask(self, call: Call) -> None:
        with self._lock:
            if self.is_abandoned:
                call.done.set()
                return
            call.is_sent = True
            self._by_span[call.span_id] = call
        call.started, call.is_told = time.monotonic(), True
        self._recorder.emit(
            "tool.started",
            {"tool_call_id": call.tool_call_id, "name": call.name, "arguments": call.arguments},
            span_id=call.span_id,
        )
        self._outbox.send(
            "tool.call",
            turn_id=self._recorder.turn_id,
            call_id=call.span_id,
            name=call.name,
            arguments=call.arguments,
            session_id=self._recorder.session_id,
            span_id=call.span_id,
        )

    def on_result(self, message: ToolResultKeys) -> None:
        """The kernel answered, on the reading thread: commit, then let the turn go on."""
        with self._lock:
            call = self._by_span.get(str(message.get("call_id")))
            if call is None or call.done.is_set():
                return
            call.message = message
        try:
            self._record(
                call,
                {
                    "status": str(message.get("status") or "ok"),
                    "result": str(message.get("result") or ""),
                    **{k: v for k, v in message.items() if k in (*_PASSED, "images") and v is not None},
                },
            )
        except JournalError:
            call.message = None  # the turn's thread meets the broken journal
        finally:
            call.done.set()

    def abandon(self, reason: str) -> None:
        """Nobody waits any more: pending calls return at once, and say why the turn was stopped."""
        with self._lock:
            self.is_abandoned, self._why_abandoned = True, reason
            for call in self._by_span.values():
                call.done.set()

    def _run_builtin(self, call: Call, args: Mapping[str, Any], next_call: Callable[[], tuple[Any, dict[str, Any]]]) -> Any:
        call.is_told = True
        self._recorder.emit(
            "tool.started",
            {"tool_call_id": call.tool_call_id, "name": call.name, "arguments": call.arguments, **self._mark(call)},
            span_id=call.span_id,
        )
        passed = self._let_in(call, args)
        if passed is None:
            return self._refused(call)
        call.started = time.monotonic()
        started_at = time.time()
        with self._lock:
            self._inside.add(call)
        try:
            with passed:
                result, spent = next_call()
        except Exception as exc:
            self._record(
                call,
                {
                    "status": "error",
                    "result": f"Error executing tool '{call.name}': {exc}",
                    "error": str(exc),
                    "error_type": type(exc).__name__,
                    "started_at_unix_s": started_at,
                    **self._mark(call),
                },
            )
            raise
        finally:
            with self._lock:
                self._inside.discard(call)
        text = result if isinstance(result, str) else json.dumps(result, default=str)
        self._recorder.tally.count_helper(spent)
        self._record(
            call,
            {
                "result": text,
                "started_at_unix_s": started_at,
                **self._mark(call),
                **spent,
                **self._told(call, text),
            },
        )
        return result

    def _refused(self, call: Call) -> str:
        status, why = ("stopped", "The turn was stopped.") if self.is_abandoned else ("denied", DENIED)
        text = json.dumps({"error": f"The call was not allowed: {why}"})
        self._record(call, {"status": status, "result": text, "error": why, **self._mark(call)})
        return text

    def _let_in(self, call: Call, args: Mapping[str, Any]) -> contextlib.AbstractContextManager[None] | None:
        """What a call in this process runs in; None when nobody allowed it."""
        return self._door.open(call.name, args, call.span_id) if self._door else contextlib.nullcontext()

    def _asks_kernel(self, name: str) -> bool:
        return name in self.specs

    def _mark(self, call: Call) -> dict[str, Any]:
        """What an event says of a call that runs in this process."""
        del call
        return {"builtin": True}

    def _told(self, call: Call, text: str) -> dict[str, Any]:
        """Status of a call that ran in this process, and its error."""
        del call
        error = error_in(text)
        status = "stopped" if self.is_abandoned else "error" if error else "ok"
        return {"status": status, **({"error": error} if error else {})}

    def _record(self, call: Call, data: Mapping[str, Any]) -> None:
        with self._lock:
            if call.is_recorded:
                return
            call.is_recorded = True
        self._note_refusal(call, data)
        is_live = not data.get("replayed")
        body = {
            "tool_call_id": call.tool_call_id,
            "name": call.name,
            **({} if call.is_told else {"arguments": call.arguments}),
            "result_chars": len(data["result"]),
            **{k: v for k, v in data.items() if k != "images"},
        }
        if is_live and call.started:
            body.setdefault("duration_ms", round((time.monotonic() - call.started) * 1000, 3))
        if not is_live:
            for live in ("duration_ms", "started_at_unix_s", "usage", "cost_usd"):
                body.pop(live, None)
        kept = None
        if is_live and data["status"] not in ("skipped", "stopped"):
            stored = {k: v for k, v in data.items() if k != "replayed"}
            kept = ToolResult(
                self._recorder.turn_id, call.call_key, call.name, call.arguments, self._recorder.attempt, stored
            )
            self._recorder.tally.count_tool_call()
        self._recorder.emit("tool.completed", body, span_id=call.span_id, kept=kept)


# What Hermes (0.19) says of calls that it leaves out once it was interrupted, whoever did and why.
_OF_AN_INTERRUPT = re.compile(r"\[Tool execution (?:skipped|cancelled) — ")
_PASSED = ("result_chars", "started_at_unix_s", "duration_ms", "error_type", "error")


def spread_duplicates(tool_calls: Sequence[Any]) -> None:
    """Make identical calls of one batch differ by trailing spaces: Hermes (0.19) drops all but one, comparing raw text."""
    seen: dict[tuple[str, str], int] = {}
    for call in tool_calls:
        function = getattr(call, "function", None)
        arguments = getattr(function, "arguments", None)
        if function is None or not isinstance(arguments, str):
            continue
        key = (str(getattr(function, "name", "")), arguments)
        n_before = seen.get(key, 0)
        seen[key] = n_before + 1
        if n_before:
            function.arguments = arguments + " " * n_before


def with_images(result: Mapping[str, Any]) -> Any:
    """A result as Hermes takes it: its text, and where it has images the envelope from which a model that sees gets them."""
    text, images = str(result.get("result", "")), result.get("images") or ()
    if not images:
        return text
    urls = [f"data:{image.get('mime_type') or 'image/png'};base64,{image.get('data', '')}" for image in images]
    parts = [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]
    return {"_multimodal": True, "content": parts, "text_summary": text}


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return arguments


def same_arguments(arguments: str, other: str | Mapping[str, Any]) -> bool:
    """Whether both mean the same arguments."""
    try:
        return bool(json.loads(arguments) == (json.loads(other) if isinstance(other, str) else other))
    except ValueError:
        return arguments == other


def error_in(result: str) -> str:
    """What a built-in tool's result says went wrong; "" when nothing did."""
    if not result.startswith("{"):
        return result[:500] if result.startswith("Error executing tool") else ""
    try:
        data = json.loads(result)
    except ValueError:
        return ""
    error = data.get("error") if isinstance(data, dict) else None
    return str(error)[:500] if error else ""
