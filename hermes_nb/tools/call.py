"""Runs one tool call: what comes out is always a `ToolOutcome`, never an exception of the tool.

Where a call runs (main thread, loop, thread), when it is stopped and when its time is over is the host's business;
which arguments fit is the tool's (`Tool.build`); how a value becomes text is `result`'s.
"""

from __future__ import annotations

import time
import traceback as traceback_module
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How one call ended.

    Attributes:
        status: `ok`, `error`, `stopped`, `timed_out` or `denied`.
        content: What the model gets: valid JSON or plain text, bounded by the tool's `max_result_chars`.
        value: What the tool returned, whole.
        error_type: Class name of the exception; "" when there was none.
        error: Its message; "" when there was none.
        traceback: The whole traceback, for the log.
        result_chars: Length of the content before it was cut.
        started_at_unix_s: When the call started, seconds since the epoch; 0.0 when it never did.
        duration_ms: How long it ran, by the monotonic clock.
    """

    status: str
    content: str
    value: Any = None
    error_type: str = ""
    error: str = ""
    traceback: str = ""
    result_chars: int = 0
    started_at_unix_s: float = 0.0
    duration_ms: float = 0.0


def run_sync(tool: Tool, arguments: str) -> ToolOutcome:
    """The outcome of calling a synchronous tool on this thread. Never raises for the tool's own errors.

    KeyboardInterrupt inside the body gives status `stopped`; SystemExit is an error like any other.
    """
    from hermes_nb.tools.result import to_content

    began, began_s = time.time(), time.perf_counter()
    try:
        args, kwargs = tool.build(arguments)
        value = tool.function(*args, **kwargs)
        content, n_chars = to_content(value, max_chars=tool.max_result_chars)
        outcome = ToolOutcome("ok", content, value=value, result_chars=n_chars)
    except KeyboardInterrupt:
        outcome = stopped(tool.name)
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - whatever a tool raises is an outcome
        outcome = failed(exc)
    return _timed(outcome, began, began_s)


async def run_async(tool: Tool, arguments: str) -> ToolOutcome:
    """The outcome of awaiting an asynchronous tool on the running loop. Never raises for the tool's own errors.

    Cancelling gives status `stopped`; the CancelledError ends here, so a host that itself was cancelled re-raises.
    """
    import asyncio
    import inspect

    from hermes_nb.tools.result import to_content

    began, began_s = time.time(), time.perf_counter()
    try:
        args, kwargs = tool.build(arguments)
        value = tool.function(*args, **kwargs)
        if inspect.isawaitable(value):
            async with asyncio.timeout(tool.timeout_s):
                value = await value
        content, n_chars = to_content(value, max_chars=tool.max_result_chars)
        outcome = ToolOutcome("ok", content, value=value, result_chars=n_chars)
    except (KeyboardInterrupt, asyncio.CancelledError):
        outcome = stopped(tool.name)
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - whatever a tool raises is an outcome
        outcome = failed(exc)
    return _timed(outcome, began, began_s)


def stopped(tool_name: str) -> ToolOutcome:
    """The outcome of a call that was stopped, running or before it began."""
    text = f"Tool '{tool_name}' was stopped before it returned."
    return ToolOutcome("stopped", text, error=text, result_chars=len(text))


def denied(reason: str) -> ToolOutcome:
    """The outcome of a call that was not allowed; its body did not run."""
    text = f"The call was not allowed: {reason}"
    return ToolOutcome("denied", text, error=reason, result_chars=len(text))


def failed(error: BaseException) -> ToolOutcome:
    """The outcome of a call that raised `error`."""
    import json

    text = json.dumps({"error": f"{type(error).__name__}: {error}"})
    return ToolOutcome(
        "error",
        text,
        error_type=type(error).__name__,
        error=str(error),
        traceback="".join(traceback_module.format_exception(error)),
        result_chars=len(text),
    )


def _timed(outcome: ToolOutcome, began: float, began_s: float) -> ToolOutcome:
    from dataclasses import replace

    return replace(outcome, started_at_unix_s=began, duration_ms=(time.perf_counter() - began_s) * 1000)
