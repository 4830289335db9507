"""The event loop of a Hermes whose agent is a coroutine (async-hermes-agent): one thread of the worker.

The engine itself works on threads. It waits for what such a Hermes does by `settled`; Hermes waits for what the engine does
by `on_thread`. Both keep context variables, by which Hermes knows whose call it is.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any

_STOP_POLL_S = 0.1
_END_S = 5.0  # how long a call that was cancelled may take to end
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
# What the engine waits for on this thread, so that it can be cancelled with the call that it belongs to.
_waits: contextvars.ContextVar[set[concurrent.futures.Future[Any]] | None] = contextvars.ContextVar(
    "hermes_nb_waits", default=None
)


def loop() -> asyncio.AbstractEventLoop:
    """Return the loop; started when it is first asked for."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="hermes-nb-hermes", daemon=True).start()
        return _loop


def settled(value: Any) -> Any:
    """Return what a call of Hermes gives: a coroutine is run to its end, anything else is returned as it is.

    Never called on the loop's own thread.
    """
    if not inspect.iscoroutine(value):
        return value
    future = asyncio.run_coroutine_threadsafe(value, loop())
    waits = _waits.get()
    if waits is None:
        return future.result()
    waits.add(future)
    try:
        return future.result()
    finally:
        waits.discard(future)


def waited_for(value: Any, is_stopping: Callable[[], bool]) -> Any:
    """As `settled`, and given up (cancelled) when the turn is to end.

    Raises:
        InterruptedError: The turn is to end.
    """
    future = asyncio.run_coroutine_threadsafe(value, loop())
    while True:
        try:
            return future.result(timeout=_STOP_POLL_S)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise
            if is_stopping():
                future.cancel()
                raise InterruptedError("Stopped while the model wrote its summary.") from None


def call(function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """Call a function on the loop's thread, for what is to be made or touched there, and return what it gives."""

    async def there() -> Any:
        value = function(*args, **options)
        return await value if inspect.isawaitable(value) else value

    return settled(there())


def post(function: Callable[..., Any], /, *args: Any) -> None:
    """Call a function on the loop's thread, soon; from any thread."""
    loop().call_soon_threadsafe(function, *args)


async def on_thread(function: Callable[[], Any]) -> Any:
    """Run a function of the engine, which may wait, on a thread of its own; on the loop.

    When Hermes cancels the call, what the function waits for is cancelled, and its end is awaited.
    """
    here = asyncio.get_running_loop()
    done: asyncio.Future[Any] = here.create_future()
    waits: set[concurrent.futures.Future[Any]] = set()
    context = contextvars.copy_context()
    context.run(_waits.set, waits)

    def tell(value: Any, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        try:
            value = context.run(function)
        except BaseException as exc:  # noqa: BLE001 - raised where it is awaited
            here.call_soon_threadsafe(tell, None, exc)
        else:
            here.call_soon_threadsafe(tell, value, None)

    threading.Thread(target=run, name="hermes-nb-call", daemon=True).start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        if done.done():  # it was the function's own
            raise
        for wait in list(waits):
            wait.cancel()
        await asyncio.wait({done}, timeout=_END_S)
        if done.done():
            done.exception()  # of a call that nobody waits for any more
        raise


def as_coroutine(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return a coroutine function that runs one of the engine on a thread."""

    async def called(*args: Any, **options: Any) -> Any:
        return await on_thread(lambda: function(*args, **options))

    return called
