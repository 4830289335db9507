"""Runs one tool call: what comes out is always a `ToolOutcome`, never an exception of the tool.

Where a call runs (main thread, loop, thread), when it is stopped and when a synchronous one has had its time is the
host's business; which arguments fit is the tool's (`Tool.build`); how a value becomes text is `result`'s, what an
exception says is `failure`'s.

How a host ends a call that runs:

- A synchronous body: raise KeyboardInterrupt in its thread (a guarded SIGINT handler on the main thread). The outcome
  is `stopped`, or `timed_out` if `is_late()` then says that the tool's `timeout_s` has passed. The exception may hit
  any line of `run_sync`, not only the body; one that is raised while an earlier one is being handled comes out.
- So too where the interrupt or the cancellation was replaced on its way out, by an error raised while it was handled.
- An asynchronous body: cancel the task that awaits `run_async`. Its `timeout_s` is kept here, by the loop's clock, unless
  the host keeps it (`keeps_time=False`), whose clock can stand still while a person is asked.
- A body that swallows the interrupt or the cancellation and returns has returned: the outcome is `ok`.
- A body that never comes back: the host stops waiting and takes `stopped(name)` or `timed_out(name, limit_s)`.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import AsyncGeneratorType, GeneratorType
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import ToolArgumentError, ToolRetry
from hermes_nb.model.status import ToolStatus
from hermes_nb.tools.rendering import error_report
from hermes_nb.tools.rendering.encoder import Encoder, dumps
from hermes_nb.tools.rendering.image import images_in
from hermes_nb.tools.rendering.result import MAX_CHARS, Rendered, render
from hermes_nb.tools.secret import environment_masker

if TYPE_CHECKING:
    from hermes_nb.model.content import ContentPart
    from hermes_nb.model.mask import Masker
    from hermes_nb.tools.builtin import ResultStore
    from hermes_nb.tools.decorator import Tool

MAX_ITEMS = 10_000  # that are taken from a generator
_MOST_CAUSES = 100
_ARGUMENT_HINT = "The tool did not run. Correct the arguments and call it again."
_RETRY_HINT = "Try again in another way: with other arguments, or with another tool."


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How one call ended.

    Attributes:
        status: `ok`, `error`, `stopped`, `timed_out` or `denied`.
        content: What the model gets: valid JSON or plain text, bounded by the tool's `max_result_chars`.
        value: What the tool returned, whole; the list of what a generator gave.
        error_type: Class name of the exception; "" when there was none.
        error: Its message, without secrets; "" when there was none.
        traceback: The whole traceback, without secrets, for the log.
        result_chars: Length of the content before it was cut; an estimate for a large value.
        started_at_unix_s: When the call started, seconds since the epoch; None when it never did.
        duration_ms: How long it ran, by the monotonic clock.
        images: The value as images, for a model that sees; empty when it is none, or nobody asked for them.
        exception: What the tool raised, with its traceback; None when there was nothing, or it was stopped.
    """

    status: ToolStatus
    content: str
    value: Any = None
    error_type: str = ""
    error: str = ""
    traceback: str = ""
    result_chars: int = 0
    started_at_unix_s: float | None = None
    duration_ms: float = 0.0
    images: Sequence[ContentPart] = ()
    exception: BaseException | None = field(default=None, repr=False, compare=False)


def run_sync(
    tool: Tool,
    arguments: str,
    *,
    namespace: Mapping[str, Any] | None = None,
    results: ResultStore | None = None,
    masker: Masker | None = None,
    draws: bool = False,
    is_late: Callable[[], bool] | None = None,
) -> ToolOutcome:
    """The outcome of calling a synchronous tool on this thread. Never raises for the tool's own errors.

    Wrong arguments, whatever the body raises (SystemExit too, which does not end the process), and an awaitable that
    nothing here could await are outcomes of status `error`; KeyboardInterrupt is `stopped` or `timed_out`. A
    generator is read up to 10,000 items.

    Args:
        tool: What to call.
        arguments: Raw JSON text of the arguments.
        namespace: Variables of the notebook, for parameters that take the name of one.
        results: Keeps results that were cut, so that `more` can read on; None when there is no `more`.
        masker: Secrets to take out of content, error and traceback; None for those of the environment.
        draws: Whether a value that is an image or a figure is drawn as `images`, too.
        is_late: Asked when the body was interrupted: whether its time was over. None means it was not.
    """
    call = _Call(tool, arguments, results, masker or environment_masker(), draws)
    try:
        args, kwargs = tool.build(arguments, namespace)
        with _Unforked():
            value = tool.function(*args, **kwargs)
        return call.returned(_collected(value))
    except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is an outcome
        if not call.came_of(exc, KeyboardInterrupt):
            return call.raised(exc)
        return call.ended(timed_out(tool.name, tool.timeout_s) if is_late and is_late() else stopped(tool.name))


async def run_async(
    tool: Tool,
    arguments: str,
    *,
    namespace: Mapping[str, Any] | None = None,
    results: ResultStore | None = None,
    masker: Masker | None = None,
    draws: bool = False,
    keeps_time: bool = True,
) -> ToolOutcome:
    """The outcome of awaiting a tool on the running loop, within its `timeout_s`. Never raises for the tool's own
    errors.

    Cancelling gives status `stopped`: the CancelledError ends here, so a host whose own task was cancelled asks
    `task.cancelling()` and re-raises. A CancelledError of something the tool awaited is an error of the tool. A
    synchronous function is called right here, and what it returns is awaited if it can be.

    Args:
        tool: What to call.
        arguments: Raw JSON text of the arguments.
        namespace: As for `run_sync`.
        results: As for `run_sync`.
        masker: As for `run_sync`.
        draws: As for `run_sync`.
        keeps_time: Whether the tool's `timeout_s` ends it here.
    """
    call = _Call(tool, arguments, results, masker or environment_masker(), draws)
    limit = asyncio.timeout(None)
    try:
        args, kwargs = tool.build(arguments, namespace)
        async with asyncio.timeout(tool.timeout_s if keeps_time else None) as limit:
            with _Unforked():
                value = tool.function(*args, **kwargs)
                if inspect.isawaitable(value):
                    value = await value
            value = await _collected_async(value) if isinstance(value, AsyncIterator) else _collected(value)
        return call.returned(value)
    except GeneratorExit:  # the loop is gone and this coroutine with it
        raise
    except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is an outcome
        if limit.expired() and (isinstance(exc, TimeoutError) or call.came_of(exc, asyncio.CancelledError)):
            return call.ended(timed_out(tool.name, tool.timeout_s))
        task = asyncio.current_task()
        is_cancelled = (task is None or task.cancelling()) and call.came_of(exc, asyncio.CancelledError)
        return call.ended(stopped(tool.name)) if is_cancelled or call.came_of(exc, KeyboardInterrupt) else call.raised(exc)


def stopped(tool_name: str) -> ToolOutcome:
    """The outcome of a call that was stopped, running or before it began."""
    return _without_value("stopped", f"Tool '{tool_name}' was stopped before it returned.")


def timed_out(tool_name: str, limit_s: float | None) -> ToolOutcome:
    """The outcome of a call that took longer than its tool allows."""
    limit = f"within {limit_s:g} s" if limit_s is not None else "in time"
    return _without_value("timed_out", f"Tool '{tool_name}' did not return {limit}.", error_type="TimeoutError")


def denied(reason: str) -> ToolOutcome:
    """The outcome of a call that was not allowed; its body did not run."""
    return _without_value("denied", f"The call was not allowed: {reason}")


def failed(error: BaseException, *, max_chars: int = MAX_CHARS, masker: Masker | None = None) -> ToolOutcome:
    """The outcome of a call that raised `error`.

    The model reads `{"error": "ValueError: ...", "lines": ["cell 3, line 5, in f: ..."], "caused_by": [...]}`: the
    user's own lines only. A `ToolRetry` and wrong arguments are told without lines but with what to do next.

    Args:
        error: What was raised.
        max_chars: Most characters of the content.
        masker: Secrets to take out; None for those of the environment.
    """
    masker = masker or environment_masker()
    text = error_report.message(error, masker)
    parts: dict[str, Any]
    if isinstance(error, ToolRetry):
        text = text or "The tool did not get there this way."
        parts = {"error": text, "hint": _RETRY_HINT}
    elif isinstance(error, ToolArgumentError):
        parts = {"error": text, "hint": _ARGUMENT_HINT}
    else:
        parts = {"error": error_report.headline(error, masker)}
        parts |= {"lines": lines} if (lines := error_report.user_lines(error, masker)) else {}
        parts |= {"caused_by": causes} if (causes := error_report.causes(error, masker)) else {}
    content = dumps(Encoder(masker, is_masking=True).encode(parts, max(max_chars, 60)))
    return ToolOutcome(
        "error",
        content,
        error_type=type(error).__name__,
        error=text,
        traceback=error_report.full_traceback(error, masker),
        result_chars=len(content),
        exception=error,
    )


def _without_value(status: ToolStatus, text: str, *, error_type: str = "") -> ToolOutcome:
    content = dumps({"error": text})
    return ToolOutcome(status, content, error_type=error_type, error=text, result_chars=len(content))


class _Call:
    """One call, and the ways in which it ends."""

    def __init__(self, tool: Tool, arguments: str, results: ResultStore | None, masker: Masker, draws: bool) -> None:
        self._tool, self._arguments, self._results, self._masker = tool, arguments, results, masker
        self._draws = draws
        self._outer = sys.exc_info()[1]  # what whoever calls is handling, which is context of all that is raised here
        self._began_unix_s, self._began_s = time.time(), time.perf_counter()

    def came_of(self, error: BaseException, kind: type[BaseException]) -> bool:
        """Whether an error of the body is of that kind, or was raised while one was being handled.

        An interrupt may be replaced on its way out: `threading.Condition.wait`, hit at its last line, raises "release
        unlocked lock" in its place (CPython 3.11), and a cleaning up may fail.
        """
        at: BaseException | None = error
        for _ in range(_MOST_CAUSES):
            if at is None or at is self._outer:
                return False
            if isinstance(at, kind):
                return True
            at = at.__context__ or at.__cause__
        return False

    def ended(self, outcome: ToolOutcome) -> ToolOutcome:
        duration_ms = (time.perf_counter() - self._began_s) * 1000
        return replace(outcome, started_at_unix_s=self._began_unix_s, duration_ms=duration_ms)

    def raised(self, error: BaseException) -> ToolOutcome:
        if isinstance(error, BaseExceptionGroup) and error.subgroup(KeyboardInterrupt):
            return self.ended(stopped(self._tool.name))
        if isinstance(error, _Awaitable):
            name = self._tool.name
            error = TypeError(
                f"Tool '{name}' returned {error.what}, which nothing awaits. Define it with 'async def', or let it"
                f" return the value itself."
            )
        return self.ended(failed(error, max_chars=self._tool.max_result_chars, masker=self._masker))

    def returned(self, collected: tuple[Any, bool]) -> ToolOutcome:
        value, is_all = collected
        shown = value if is_all else {"note": f"The generator was closed after {MAX_ITEMS:,} items.", "items": value}
        try:
            rendered = self._render(shown)
        except Exception as exc:  # noqa: BLE001 - the tool did its work: what it gave is named
            text = f"<{type(value).__name__}, which can't be shown: {error_report.headline(exc, self._masker)}>"
            rendered = self._render(text)
        images = images_in(value) if self._draws else ()
        return self.ended(ToolOutcome("ok", rendered.content, value=value, result_chars=rendered.n_chars, images=images))

    def _render(self, value: Any) -> Rendered:
        limit = self._tool.max_result_chars
        rendered = render(value, max_chars=limit, masker=self._masker)
        if not rendered.is_cut or self._results is None:
            return rendered
        result_id = self._results.keep(self._tool.name, self._arguments, rendered.content, value)
        return render(value, max_chars=limit, masker=self._masker, result_id=result_id)


class _Unforked:
    """Ends a process that a body forked where it would leave the body: it must not go on as a second kernel.

    It ends as a process of `multiprocessing` does: with the status of its SystemExit, without exit handlers.
    """

    def __enter__(self) -> None:
        self._pid = os.getpid()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if os.getpid() == self._pid:
            return
        code = error.code if isinstance(error, SystemExit) else 0 if error is None else 1
        if isinstance(error, Exception):
            with contextlib.suppress(OSError):
                os.write(2, f"{error!r}\n".encode("utf-8", "replace"))
        os._exit(code if isinstance(code, int) else 1 if code else 0)


class _Awaitable(Exception):
    """An awaitable where there is no loop to await it on."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def _collected(value: Any) -> tuple[Any, bool]:
    """(the value, True); of a generator or one of Python's own iterators the list of its items, and whether it is whole."""
    if inspect.iscoroutine(value):
        value.close()  # else Python warns that it was never awaited
        raise _Awaitable("a coroutine")
    if isinstance(value, AsyncIterator):
        raise _Awaitable("an async generator")
    if inspect.isawaitable(value):
        raise _Awaitable(f"an awaitable ({type(value).__name__})")
    if not _is_read(value):
        return value, True
    items = list(islice(value, MAX_ITEMS + 1))
    if isinstance(value, GeneratorType):
        value.close()
    return items[:MAX_ITEMS], len(items) <= MAX_ITEMS


def _is_read(value: Any) -> bool:
    if isinstance(value, GeneratorType):
        return True
    return type(value).__module__ in ("builtins", "itertools", "sqlite3") and isinstance(value, Iterator)


async def _collected_async(value: AsyncIterator[Any]) -> tuple[Any, bool]:
    items: list[Any] = []
    try:
        async for item in value:
            if len(items) == MAX_ITEMS:
                return items, False
            items.append(item)
        return items, True
    finally:
        if isinstance(value, AsyncGeneratorType):
            await value.aclose()
