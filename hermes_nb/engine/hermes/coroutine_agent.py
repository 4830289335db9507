"""async-hermes-agent as the engine's threads know Hermes: each coroutine of it is waited for, each of ours is made one.

What differs from hermes-agent 0.19 is here; what both share is in `patch`. It ends a turn at once by cancelling what it
awaits (`hard_interrupt`), so no socket has to be found for that.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from hermes_nb.engine.hermes import event_stream, patch
from hermes_nb.engine.hermes.coroutine_loop import as_coroutine, call, on_thread, post, settled, waited_for
from hermes_nb.engine.hermes.line.private_name import has
from hermes_nb.engine.hermes.observer import TurnObserver, hear, same_words, spending

# What makes Hermes ask before a dangerous command: this line knows no other way.
ENVIRONMENT = {"HERMES_INTERACTIVE": "1"}
_AWAITED = frozenset({"clarify_callback"})  # callbacks that it awaits; the others it calls


def adapted(hermes: SimpleNamespace) -> SimpleNamespace:
    """The names that the engine uses, of a Hermes whose agent is a coroutine."""
    original = hermes.AIAgent
    if has("agent.context_compressor.call_llm"):
        _hear_helpers(patch.upstream("agent.context_compressor"))
    original._dump_api_request_debug = _nothing

    def agent(**options: Any) -> Agent:
        inner = call(original, **options)
        # Its tools are looked up when its first turn begins, with those of whatever MCP servers the user has: here instead.
        settled(patch.upstream("tools.mcp_tool").refresh_agent_mcp_tools(inner))
        inner._tool_snapshot_initialized = True
        return Agent(inner)

    return SimpleNamespace(
        **{
            **vars(hermes),
            "AIAgent": agent,
            "registry": _Registry(hermes.registry),
            "plugins": _Plugins(hermes.plugins),
            "estimate_usage_cost": _waiting(hermes.estimate_usage_cost),
            "resolve_provider": _waiting(hermes.resolve_provider),
            "enter_turn": _enter_turn,
            "tame": _tame,
            "listen": _listen,
            "find_tools": _find_tools,
            "environment": ENVIRONMENT,
        }
    )


class Agent:
    """An AIAgent whose methods are waited for."""

    def __init__(self, inner: Any) -> None:
        object.__setattr__(self, "inner", inner)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.inner, name)
        return _waiting(value) if inspect.iscoroutinefunction(value) else value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.inner, name, as_coroutine(value) if name in _AWAITED and value is not None else value)

    def interrupt(self) -> None:
        """End what it does, soon."""
        post(self.inner.hard_interrupt)

    def clear_interrupt(self) -> None:
        """Take an interrupt back."""
        call(self.inner.clear_interrupt)

    def steer(self, text: str) -> bool:
        """Put a word in; whether it was taken."""
        return bool(call(self.inner.steer, text))


class _Registry:
    """Hermes's registry; a handler of ours becomes a coroutine function."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def register(self, *, handler: Callable[..., Any], **options: Any) -> None:
        self._inner.register(handler=as_coroutine(handler), **options)


class _Plugins:
    """Hermes's plug-in context; middleware and hooks of ours become coroutine functions."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def register_middleware(self, kind: str, middleware: Callable[..., Any]) -> None:
        async def called(*, next_call: Callable[..., Any], **context: Any) -> Any:
            def go_on(payload: Any = None) -> Any:
                return settled(next_call(payload))

            return await on_thread(lambda: middleware(next_call=go_on, **context))

        self._inner.register_middleware(kind, called)

    def register_hook(self, name: str, hook: Callable[..., Any]) -> None:
        self._inner.register_hook(name, as_coroutine(hook))


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    def waited(*args: Any, **options: Any) -> Any:
        return settled(function(*args, **options))

    return waited


def _as_it_is(calls: list[Any]) -> list[Any]:
    return calls


async def _nothing(*_: Any, **__: Any) -> None:
    return None


def _enter_turn(session_id: str, approve: Callable[..., str]) -> None:
    patch.upstream("tools.terminal_tool").set_approval_callback(as_coroutine(approve))
    patch.name_session(session_id)


def _find_tools() -> None:
    """Let the tools register themselves, which they do but when a conversation needs them."""
    settled(patch.upstream("model_tools")._ensure_builtin_tools_discovered())


def _hear_helpers(compressor: Any) -> None:
    original: Callable[..., Any] = compressor.call_llm

    async def call_llm(*args: Any, **options: Any) -> Any:
        heard = patch.HELPED.get()
        if heard is None:
            return await original(*args, **options)
        request = {"messages": options.get("messages") or []}
        return await on_thread(lambda: heard(request, lambda: settled(original(*args, **options))))

    compressor.call_llm = call_llm


def _tame(agent: Agent) -> None:
    """What each new AIAgent needs."""
    _read_streams(patch.upstream("openai._streaming"))
    patch.know_no_prices(agent)
    agent._stream_think_scrubber = patch.Thoughts(agent.inner)
    agent.suppress_status_output = True
    agent._subdirectory_hints = None
    # Drops all but one of calls that mean the same, whatever `spread_duplicates` adds to their text.
    agent._deduplicate_tool_calls = _as_it_is
    agent._print_fn = lambda *_, **__: None


def _listen(agent: Agent, listener: TurnObserver) -> Callable[[], None]:
    """Tell `listener` of one agent's retries, summary and compression; returns what ends it."""
    inner = agent.inner
    cls = type(inner)

    def buffer_status(text: str) -> None:
        hear(text, listener)
        cls._buffer_status(inner, text)

    def buffer_vprint(text: str) -> None:
        hear(text, listener)
        cls._buffer_vprint(inner, text)

    async def ask(request: Mapping[str, Any], **options: Any) -> Any:
        context = {"api_request_id": "iteration_limit_summary", "model": inner.model, "provider": inner.provider}

        def sent(request: Mapping[str, Any]) -> Any:
            return waited_for(cls._execute_model_request(inner, dict(request), **options), lambda: listener.is_stopping)

        return await on_thread(lambda: listener.call_model(request, sent, context))

    async def summarise(*args: Any) -> Any:
        vars(inner)["_execute_model_request"] = ask
        try:
            return await cls._handle_max_iterations(inner, *args)
        finally:
            vars(inner).pop("_execute_model_request", None)

    async def compress(messages: list[Any], *args: Any, **options: Any) -> Any:
        n_before, before = len(messages), [dict(m) for m in messages if isinstance(m, Mapping)]
        await on_thread(listener.on_compressing)
        token = patch.HELPED.set(listener.call_helper)
        try:
            with spending() as spent:
                result = await cls._compress_context(inner, messages, *args, **options)
        finally:
            patch.HELPED.reset(token)
        listener.on_compressed(n_before, len(result[0]), spent, is_shorter=not same_words(before, result[0]))
        return result

    replaced = {
        "_buffer_status": buffer_status,
        "_buffer_vprint": buffer_vprint,
        "_handle_max_iterations": summarise,
        "_compress_context": compress,
    }
    replaced = {name: ours for name, ours in replaced.items() if hasattr(cls, name)}
    vars(inner).update(replaced)

    def end() -> None:
        for name in replaced:
            vars(inner).pop(name, None)

    return end


def _read_streams(streaming: Any) -> None:
    """Let the SDK's streams of chat completions be read by `event_stream`, on a thread beside the loop."""
    original = streaming.AsyncStream._iter_events
    if getattr(original, "is_ours", False):
        return

    def iter_events(stream: Any) -> AsyncIterator[Any]:
        if getattr(stream._cast_to, "__name__", "") != "ChatCompletionChunk":
            return original(stream)  # type: ignore[no-any-return]
        return _events(stream.response)

    iter_events.is_ours = True  # type: ignore[attr-defined]
    streaming.AsyncStream._iter_events = iter_events


async def _events(response: Any) -> AsyncIterator[Any]:
    here = asyncio.get_running_loop()
    pieces: queue.SimpleQueue[bytes | BaseException | None] = queue.SimpleQueue()
    found: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue()

    def taken() -> Iterator[bytes]:
        while (piece := pieces.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    def read() -> None:
        error: BaseException | None = None
        try:
            for event in event_stream.events(taken(), str(response.headers.get("content-type") or "")):
                here.call_soon_threadsafe(found.put_nowait, (event, None))
        except Exception as exc:  # noqa: BLE001 - raised where it is awaited
            error = exc
        here.call_soon_threadsafe(found.put_nowait, (None, error))

    async def feed() -> None:
        try:
            async for piece in response.aiter_bytes():
                pieces.put(piece)
        except Exception as exc:  # noqa: BLE001 - raised where the bytes are read
            pieces.put(exc)
        finally:
            pieces.put(None)

    threading.Thread(target=read, name="hermes-nb-stream", daemon=True).start()
    feeding = asyncio.ensure_future(feed())
    try:
        while True:
            event, error = await found.get()
            if error is not None:
                raise error
            if event is None:
                return
            yield event
    finally:
        feeding.cancel()
        pieces.put(None)
