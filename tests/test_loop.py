from __future__ import annotations

import asyncio
import threading

import pytest

from hermes_nb._loop import IoLoop


async def _name() -> str:
    return threading.current_thread().name


def test_nothing_starts_before_it_is_used() -> None:
    before = threading.active_count()
    io = IoLoop()
    assert threading.active_count() == before
    io.close()


def test_call_runs_on_its_own_thread_and_close_ends_it() -> None:
    io = IoLoop()
    assert io.call(_name()) == "hermes-nb-io"
    io.close()
    io.close()
    assert "hermes-nb-io" not in [t.name for t in threading.enumerate()]


async def test_awaited_does_not_block_the_callers_loop() -> None:
    io = IoLoop()
    gate = threading.Event()

    async def wait() -> str:
        await asyncio.get_running_loop().run_in_executor(None, gate.wait)
        return "open"

    task = asyncio.create_task(io.awaited(wait()))
    await asyncio.sleep(0)
    gate.set()
    assert await task == "open"
    io.close()


def test_call_from_its_own_thread_is_refused_not_a_deadlock() -> None:
    io = IoLoop()

    async def inner() -> None:
        io.call(_name())

    with pytest.raises(RuntimeError, match="await the coroutine"):
        io.call(inner())
    io.close()


def test_use_after_close_says_what_to_do() -> None:
    io = IoLoop()
    io.close()
    with pytest.raises(RuntimeError, match="closed"):
        io.submit(_name())


def test_a_coroutine_that_waits_is_cancelled_at_the_end_and_nothing_is_left_pending() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append("cancelled")

    loop = IoLoop()
    future = loop.submit(waits())
    loop.call(asyncio.sleep(0))
    loop.close()
    assert ended == ["cancelled"]
    assert future.cancelled()
