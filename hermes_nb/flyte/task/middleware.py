"""Our place in Hermes's chain of model calls: outside of Flyte's record and inside of it.

The adapter's middleware answers a request from the record of an earlier attempt, or lets it through. One middleware of ours
stands before it, one behind: a call that never reached the one behind was replayed. The one before also hands the adapter a
request without the facts of a host or a day, because the adapter makes its key of all that it is handed; the one behind
sends what Hermes wrote.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

from hermes_nb.engine.durability.fingerprint import without_host
from hermes_nb.engine.hermes.reply import mark_replayed
from hermes_nb.flyte import _sdk

_STEP = "_hermes_nb_step"  # the adapter hands the request on as it is


class CallMiddleware(Protocol):
    """Who is told of model and tool calls."""

    def call_model(self, request: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]) -> Any:
        """A model call; `next_call` gives a response that says whether it was replayed."""

    def call_tool(
        self, name: str, args: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]
    ) -> Any:
        """A tool call."""


@dataclass
class _Step:
    request: Mapping[str, Any]
    was_sent: bool = False


class _Nobody:
    """An agent that says nothing; makes the adapter register its middleware."""

    def run_conversation(self, *args: Any, **options: Any) -> dict[str, Any]:
        return {}


class Seam:
    """Both middlewares, registered once in a process; calls of nobody's turn pass through untouched but for the key."""

    def __init__(self) -> None:
        self._listeners: dict[str, CallMiddleware] = {}
        self._delegated: dict[str, CallMiddleware] = {}
        self._steps: dict[int, _Step] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._is_open = False

    async def open(self, hermes: SimpleNamespace) -> None:
        """Register ours, the adapter's between them."""
        with self._lock:
            if self._is_open:
                return
            self._is_open = True
        plugins = hermes.plugins
        plugins.register_middleware("llm_execution", self._before)
        plugins.register_middleware("tool_execution", self._tool)
        plugins.register_hook("subagent_start", self._on_delegated)
        plugins.register_hook("subagent_stop", self._on_returned)
        await _sdk.adapter().run_agent("", agent=_Nobody(), observability=False)
        plugins.register_middleware("llm_execution", self._behind)

    def add(self, task_id: str, listener: CallMiddleware) -> None:
        """Calls of that task id are `listener`'s from now on."""
        with self._lock:
            self._listeners[task_id] = listener

    def remove(self, task_id: str) -> None:
        """The turn is over."""
        with self._lock:
            listener = self._listeners.pop(task_id, None)
            self._delegated = {k: v for k, v in self._delegated.items() if v is not listener}

    def _listener(self, context: Mapping[str, Any]) -> CallMiddleware | None:
        with self._lock:
            return self._listeners.get(str(context.get("task_id"))) or self._delegated.get(str(context.get("session_id")))

    # -- model calls -------------------------------------------------------------------------------------------------
    def _before(self, request: Any, next_call: Callable[..., Any], **context: Any) -> Any:
        if not isinstance(request, dict):
            return next_call(request)

        def ask(asked: Mapping[str, Any]) -> Any:
            step = _Step(asked)
            with self._lock:
                number = next(self._numbers)
                self._steps[number] = step
            try:
                response = next_call({**without_host(asked), _STEP: number})
            finally:
                with self._lock:
                    del self._steps[number]
            if not step.was_sent and isinstance(response, SimpleNamespace):
                mark_replayed(response)
            return response

        listener = self._listener(context)
        return ask(request) if listener is None else listener.call_model(request, ask, context)

    def _behind(self, request: Any, next_call: Callable[..., Any], **context: Any) -> Any:
        with self._lock:
            step = self._steps.get(request.get(_STEP, 0)) if isinstance(request, dict) else None
        if step is None:
            return next_call(request)
        step.was_sent = True
        return next_call(dict(step.request))

    # -- tools and delegated agents -------------------------------------------------------------------------------------
    def _tool(self, tool_name: str, args: Any, next_call: Callable[..., Any], **context: Any) -> Any:
        listener = self._listener(context)
        return next_call(args) if listener is None else listener.call_tool(tool_name, args, next_call, context)

    def _on_delegated(self, **context: Any) -> None:
        parent, child = str(context.get("parent_session_id")), str(context.get("child_session_id"))
        turn_id = str(context.get("parent_turn_id"))
        with self._lock:
            found: Any = self._delegated.get(parent) or next(
                (x for name, x in self._listeners.items() if name in turn_id), None
            )
            if found is None:
                return
            self._delegated[child] = found
        found.on_delegated(child, parent, str(context.get("child_role") or "agent"), str(context.get("child_goal") or ""))

    def _on_returned(self, **context: Any) -> None:
        child = str(context.get("child_session_id"))
        with self._lock:
            found: Any = self._delegated.pop(child, None)
        if found is not None:
            found.on_returned(child, str(context.get("child_summary") or ""), str(context.get("child_status") or ""))


seam = Seam()
"""The one of this process: Hermes's list of middlewares is one per process, too."""
