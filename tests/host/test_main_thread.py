"""Calls that wait for a main thread which does not come to them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hermes_nb.host.base import ToolCall
from hermes_nb.host.plain import PlainHost
from hermes_nb.tools.decorator import as_tool
from tests.host.fake_turn import FakeTurn


@pytest.fixture
def host() -> Iterator[PlainHost]:
    host = PlainHost()
    yield host
    host.close()


def on_main() -> bool:
    """Whether this runs on the main thread."""
    return threading.current_thread() is threading.main_thread()


async def test_a_thread_is_not_waited_for_by_the_blocked_loop_that_joins_it(host: PlainHost) -> None:
    host.caller(blocks=False)  # knows the loop of the main thread
    turns: list[FakeTurn] = []
    thread = threading.Thread(target=lambda: turns.append(FakeTurn(host, on_main, on_main, blocks=True).wait_blocking()))
    thread.start()
    thread.join(20)
    assert [o.value for o in turns[0].outcomes] == [False, False]


async def later() -> str:
    """An async tool."""
    return f"{on_main()}"


@pytest.mark.parametrize("background", [False, True], ids=["asked", "started"])
async def test_a_turn_of_a_pool_that_the_main_thread_waits_for_ends(host: PlainHost, background: bool) -> None:
    host.caller(blocks=False)

    def ask(n: int) -> list[object]:
        return [
            o.value for o in FakeTurn(host, on_main, blocks=not background, background=background).wait_blocking().outcomes
        ]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, range(2))) == [[False], [False]]


async def test_a_turn_begun_in_a_thread_and_awaited_later_runs_where_the_main_thread_is(host: PlainHost) -> None:
    host.caller(blocks=False)

    async def start() -> FakeTurn:
        return FakeTurn(host, on_main, later, background=True, begin=False)

    begun: list[FakeTurn] = []
    thread = threading.Thread(target=lambda: begun.append(asyncio.run(start())))
    thread.start()
    thread.join()  # its loop is closed
    begun[0].thread.start()
    turn = await begun[0].wait()
    assert [o.value for o in turn.outcomes] == [True, "True"]


async def test_an_async_call_for_a_loop_that_no_longer_runs_is_refused_with_the_cure(
    host: PlainHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_nb.host.plain.BLOCKED_S", 0.05)
    own = asyncio.new_event_loop()

    async def start() -> FakeTurn:
        return FakeTurn(host, later, background=True)

    begun: list[FakeTurn] = []
    thread = threading.Thread(target=lambda: begun.append(own.run_until_complete(start())))
    thread.start()
    thread.join()
    turn = await begun[0].wait()
    own.close()
    assert turn.outcomes[0].error_type == "LoopBlockedError"
    assert "does not run any more" in turn.outcomes[0].error
    assert "run_sync" in turn.outcomes[0].error


async def test_a_call_that_was_stopped_before_its_turn_is_not_noted_as_begun(host: PlainHost) -> None:
    begun: list[str] = []
    call = ToolCall("turn", "call", as_tool(on_main), "{}", lambda *_: None, on_begin=lambda: begun.append("call"))
    future = host.submit(call, host.caller(blocks=False))
    host.stop_tools("turn")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (future.result(0).status, begun) == ("stopped", [])
