"""A call that only waited when its turn was cut off has not run: no resume asks about it, and it never begins later."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import StoreError, UsageError
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import Tool, tool
from hermes_nb.workers import intent_log

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
WAIT_S = 20.0


def _kill(hermes: Hermes) -> None:
    pid = next(iter(hermes.instances.values())).worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def _until(is_so: Callable[[], Any]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.005)


def _paying(**options: Any) -> tuple[Tool, list[int]]:
    calls: list[int] = []

    @tool(**options)
    def pay(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        return "paid"

    return pay, calls


async def test_a_call_that_waited_for_approval_asks_for_approval_again(own: Hermes, make: Make) -> None:
    pay, calls = _paying(approval=True)
    bound, model = make([Call("pay", {"amount": 5}), Say("done")], on=own, tools=[pay])
    turn = await bound.start("question")
    assert (await turn.wait(until_asked=True)).status == "awaiting_approval"
    request_id = turn.pending[0]["request_id"]
    _kill(own)
    assert (await turn.wait()).status == "failed"
    with pytest.raises(UsageError, match="has no open request"):
        await asyncio.to_thread(turn.approve, request_id)
    assert calls == []
    resumed = await bound.resume(turn.id)
    assert (await resumed.wait(until_asked=True)).status == "awaiting_approval"
    assert resumed.pending[0]["question"] == "May the agent call pay?"
    await asyncio.to_thread(resumed.approve, resumed.pending[0]["request_id"])
    assert ((await resumed.wait()).text, calls, len(model.requests)) == ("done", [5], 2)


@pytest.mark.parametrize("approval", [False, True])
async def test_a_call_in_the_queue_neither_runs_after_its_turn_nor_is_asked_about(
    own: Hermes, make: Make, approval: bool
) -> None:
    may_ask = threading.Event()

    def asking(request: object) -> Call:
        may_ask.wait(WAIT_S)
        return Call("pay", {"amount": 5})

    pay, calls = _paying(approval=approval)
    bound, model = make([asking, Say("done")], on=own, tools=[pay])
    turn = await bound.start("question")
    if approval:
        may_ask.set()
        await turn.wait(until_asked=True)
        turn.approve(turn.pending[0]["request_id"])
    # From here on this test is the long cell: it holds the main thread, for which the call waits.
    may_ask.set()
    _until(lambda: own.host._main._entries)
    _kill(own)
    _until(lambda: turn.is_done)
    await asyncio.sleep(0)  # the queue is served
    assert ((await turn.wait()).status, calls) == ("failed", [])
    resumed = await bound.resume(turn.id)
    status = (await resumed.wait(until_asked=True)).status
    assert status == ("awaiting_approval" if approval else "completed")
    if approval:
        await asyncio.to_thread(resumed.approve, resumed.pending[0]["request_id"])
    assert ((await resumed.wait()).text, calls, len(model.requests)) == ("done", [5], 2)


async def test_a_call_that_has_begun_and_one_of_an_older_log_are_asked_about(own: Hermes, make: Make) -> None:
    is_in, may_go = threading.Event(), threading.Event()
    calls: list[int] = []

    @tool(parallel=True, approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        is_in.set()
        may_go.wait(WAIT_S if len(calls) == 1 else 0)
        return "paid"

    bound, _ = make([Call("pay", {"amount": 5}), Say("done")], on=own, tools=[pay])
    turn = await bound.start("question")
    await turn.wait(until_asked=True)
    await asyncio.to_thread(turn.approve, turn.pending[0]["request_id"])
    await asyncio.to_thread(is_in.wait, WAIT_S)
    _kill(own)
    await turn.wait()
    for again in range(2):  # and the question itself may be cut off: the call it is about has begun all the same
        resumed = await bound.resume(turn.id)
        assert (await resumed.wait(until_asked=True)).status == "needs_confirmation"
        _kill(own)
        await resumed.wait()
        if again == 0:
            intent_log.forget([turn.id], own.state_dir)
    may_go.set()
    assert calls == [5]


async def test_notes_go_with_the_turn_and_with_the_session(own: Hermes, make: Make) -> None:
    pay, _ = _paying(approval=True)
    bound, _ = make([Call("pay", {"amount": 5}), Say("done"), Call("pay", {"amount": 6})], on=own, tools=[pay])
    turn = await bound.start("question")
    await turn.wait(until_asked=True)
    assert [p.name for p in own.state_dir.glob("instances/*/starts/*")] == [turn.id]
    await asyncio.to_thread(turn.approve, turn.pending[0]["request_id"])
    await turn.wait()
    assert list(own.state_dir.glob("instances/*/starts/*")) == []
    cut_off = await bound.start("another")
    await cut_off.wait(until_asked=True)
    _kill(own)
    await cut_off.wait()
    assert [p.name for p in own.state_dir.glob("instances/*/starts/*")] == [cut_off.id]
    await asyncio.to_thread(own.library.delete, turn.session_id)
    assert list(own.state_dir.glob("instances/*/starts/*")) == []


def test_a_call_that_cannot_be_noted_does_not_run(tmp_path: Path) -> None:
    notes = intent_log.IntentLog("t", lambda: tmp_path / "starts")
    notes.waits("one")
    os.close(notes._file)  # as a disk that is gone
    with pytest.raises(StoreError, match="can't be noted"):
        notes.begins("one")
    notes._file = None
    notes.close()
    with pytest.raises(UsageError, match="is over"):
        notes.begins("one")


def test_only_whole_lines_say_that_a_call_waited(tmp_path: Path) -> None:
    path = tmp_path / "instances" / "a" / "starts" / "t"
    path.parent.mkdir(parents=True)
    path.write_text("waits one\nwaits two\nbegins two\nwaits three\nbegins three\nwaits fo")
    assert intent_log.only_waited("t", tmp_path) == {"one"}
