"""The background thread whose event loop owns the store, the wire and every turn's state.

A user's loop may be blocked, patched or absent; this one never is, so a turn goes on whatever the caller does.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hermes_nb._daemon import daemon, hold_none_of_this
from hermes_nb._quiet import quietly

T = TypeVar("T")
END_S = 2.0  # how long cancelled tasks have for their end when the loop is closed


class IoLoop:
    """A thread with an event loop; starts at the first use."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.is_closed = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop; its thread is started when there is none yet.

        Raises:
            RuntimeError: It was closed.
        """
        if self._loop is None:
            with self._lock:
                if self.is_closed:
                    raise RuntimeError(
                        "This Hermes is closed, or its `async with` has ended. Make a new one: hermes = Hermes.open_local()"
                        " lasts until hermes.close()."
                    )
                if self._loop is None:
                    self._start()
        assert self._loop is not None
        return self._loop

    def _start(self) -> None:
        # SelectorEventLoop by name: a loop or a policy that the user's notebook patched does not reach it.
        with quietly("asyncio"):
            loop = asyncio.SelectorEventLoop()
        pool = concurrent.futures.ThreadPoolExecutor(thread_name_prefix="hermes-nb-file", initializer=hold_none_of_this)
        loop.set_default_executor(pool)
        is_up = threading.Event()

        def main() -> None:
            asyncio.set_event_loop(loop)
            loop.call_soon(is_up.set)
            try:
                loop.run_forever()
            finally:
                if left := asyncio.all_tasks(loop):  # of `submit`: whoever waits for them hears that they were cancelled
                    for task in left:
                        task.cancel()
                    loop.run_until_complete(asyncio.wait(left, timeout=END_S))
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.close()

        self._thread = daemon(main, name="io")
        self._thread.start()
        is_up.wait()
        self._loop = loop

    @property
    def is_here(self) -> bool:
        """Whether the calling thread is this loop's."""
        return threading.current_thread() is self._thread

    def soon(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function on the loop; from any thread, without waiting."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the loop; from any thread, without waiting."""
        try:
            loop = self.loop
        except RuntimeError:
            coroutine.close()  # else Python warns that it was never awaited
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, loop)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and block the calling thread for its result."""
        if self.is_here:
            coroutine.close()
            raise RuntimeError("IoLoop.call was used on the IO loop itself; await the coroutine there.")
        return self.submit(coroutine).result()

    async def awaited(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and await it from the caller's loop."""
        if self.is_here:
            return await coroutine
        return await asyncio.wrap_future(self.submit(coroutine))

    def task(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task; on the loop's own thread only. It is kept until it is done."""
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def close(self) -> None:
        """End the loop and join its thread. Idempotent."""
        with self._lock:
            self.is_closed = True
            loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        loop.call_soon_threadsafe(self._end, loop)
        self._thread.join()

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        for task in self._tasks:
            task.cancel()
        loop.call_soon(loop.stop)
