"""Every way to stop a turn, and the turn after it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from hermes_nb.offline_model.endpoint import Refusal, RequestedCall, Wait
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes
TOOLS = [spec("never", args=["x"])]


@pytest.fixture
def worker(shared: Worker, script: Script) -> Worker:
    shared.bind(script.url, agent_id="stopper", tools=TOOLS)
    return shared


def stop(worker: Worker, turn_id: str, reason: str = "user") -> tuple[dict[str, Any], float]:
    started = time.monotonic()
    worker.send("turn.stop", turn_id=turn_id, reason=reason)
    done = worker.done(turn_id)
    return done, time.monotonic() - started


def next_prompt_is_its_own(worker: Worker, script: Script) -> None:
    script.in_turn(["Fine."])
    assert worker.run("next", agent_id="stopper")["text"] == "Fine."
    assert [m["content"] for m in script.requests[-1].messages if m["role"] == "user"] == ["next"]


def is_hung_up(script: Script) -> bool:
    """Whether the last request is closed by its client within a second."""
    request = script.requests[-1]
    return request.wait_finished(1.0) and request.outcome == "client_closed"


def test_before_the_first_byte(worker: Worker, script: Script) -> None:
    script.in_turn([Wait(None)])
    turn_id = worker.start("x", agent_id="stopper")
    script.wait_requests(1)
    done, took = stop(worker, turn_id)
    assert (done["status"], done["text"], done["n_model_calls"]) == ("stopped", "", 0)
    assert took < 0.6
    assert len(script.requests) == 1
    assert is_hung_up(script)
    next_prompt_is_its_own(worker, script)


def test_before_hermes_began_nothing_is_asked(worker: Worker, script: Script) -> None:
    turn_id = worker.start("x", agent_id="stopper")
    done, _ = stop(worker, turn_id)
    if done["status"] == "stopped":  # the stop may come too late
        assert done["text"] == ""
    next_prompt_is_its_own(worker, script)


def test_while_streaming_keeps_what_there_is(worker: Worker, script: Script) -> None:
    script.in_turn(["Once upon", Wait(None)])
    turn_id = worker.start("x", agent_id="stopper")
    worker.wait_event("model.delta", turn_id)
    done, took = stop(worker, turn_id, "interrupt")
    assert (done["status"], done["text"]) == ("stopped", "Once upon")
    assert took < 0.6
    last = worker.events(turn_id)[-1]
    assert (last["kind"], last["data"]["reason"], last["data"]["text"]) == ("turn.stopped", "interrupt", "Once upon")
    assert worker.text_streamed(turn_id) == "Once upon"
    assert is_hung_up(script)
    next_prompt_is_its_own(worker, script)


def test_a_pending_tool_is_abandoned_and_each_call_is_paired(worker: Worker, script: Script) -> None:
    script.in_turn([RequestedCall("c1", "never", '{"x":"1"}'), RequestedCall("c2", "never", '{"x":"2"}')])
    turn_id = worker.start("x", agent_id="stopper", tools=TOOLS)
    call = worker.wait_kind("tool.call", turn_id=turn_id)
    done, took = stop(worker, turn_id)
    assert done["status"] == "stopped"
    assert took < 0.4
    assert worker.wait_kind("tool.abandon", turn_id=turn_id)["call_id"] == call["call_id"]
    ended = {e["data"]["tool_call_id"]: e["data"]["status"] for e in worker.events(turn_id, "tool.completed")}
    assert ended == {"c1": "stopped", "c2": "skipped"}
    assert len(script.requests) == 1
    worker.send("tool.result", turn_id=turn_id, call_id=call["call_id"], status="ok", result="late")
    next_prompt_is_its_own(worker, script)


def test_a_wait_after_429(worker: Worker, script: Script) -> None:
    script.in_turn([Refusal(429, "slow down", headers={"retry-after": "60"})])
    turn_id = worker.start("x", agent_id="stopper")
    worker.wait_event("model.retried", turn_id)
    done, took = stop(worker, turn_id)
    assert (done["status"], done["text"]) == ("stopped", "")
    assert took < 0.5
    next_prompt_is_its_own(worker, script)


def test_a_summary_at_the_limit(worker: Worker, script: Script) -> None:
    worker.bind(script.url, agent_id="one", tools=TOOLS, max_turns=1)
    worker.tools["never"] = lambda x: x
    try:
        script.in_turn([RequestedCall("c", "never", '{"x":"1"}')], [Wait(None)])
        turn_id = worker.start("x", agent_id="one", tools=TOOLS)
        script.wait_requests(2)
        done, took = stop(worker, turn_id)
    finally:
        del worker.tools["never"]
    assert done["status"] == "stopped"
    assert took < 0.6
    assert is_hung_up(script)


@pytest.mark.parametrize("reason", ["timeout", "cancelled", "closed"])
def test_a_request_without_an_answer_is_hung_up_whoever_stops(worker: Worker, script: Script, reason: str) -> None:
    script.in_turn([Wait(None)])
    turn_id = worker.start("x", agent_id="stopper")
    script.wait_requests(1)
    stop(worker, turn_id, reason)
    assert is_hung_up(script)


def test_the_second_try_is_hung_up_too(worker: Worker, script: Script) -> None:
    script.in_turn([Refusal(500, "not now")], [Wait(None)])
    turn_id = worker.start("x", agent_id="stopper")
    script.wait_requests(2, timeout_s=30)
    stop(worker, turn_id)
    assert is_hung_up(script)


def test_a_request_of_another_turn_stays_open(worker: Worker, script: Script) -> None:
    script.in_turn([Wait(None)])
    kept = worker.start("x", agent_id="stopper", session_id="kept")
    script.wait_requests(1)
    stopped = worker.start("y", agent_id="stopper", session_id="stopped")
    script.wait_requests(2)
    stop(worker, stopped)
    assert is_hung_up(script)
    assert script.requests[0].outcome == ""
    stop(worker, kept)


def test_a_stale_stop_is_ignored(worker: Worker, script: Script) -> None:
    first = worker.run("x", agent_id="stopper")["turn_id"]
    worker.send("turn.stop", turn_id=first, reason="user")
    assert worker.run("y", agent_id="stopper")["status"] == "completed"


def test_the_clock_stops_a_turn_too(worker: Worker, script: Script) -> None:
    script.in_turn(["So far", Wait(None)])
    done = worker.run("x", agent_id="stopper", timeout_s=0.5)
    assert (done["status"], done["text"]) == ("timed_out", "So far")
    last = worker.events(done["turn_id"])[-1]
    assert (last["kind"], last["data"]["status"], last["data"]["reason"]) == ("turn.stopped", "timed_out", "timeout")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("user", "never was stopped: the user stopped the turn. It may have run."),
        ("interrupt", "never was stopped: the user stopped the turn. It may have run."),
        ("timeout", "never was stopped: the turn reached its time limit. It may have run."),
        ("closed", "never was stopped: the kernel or Hermes closed. It may have run."),
        ("cancelled", "never was stopped: the task that waited for the turn was cancelled. It may have run."),
    ],
)
def test_the_model_is_told_who_stopped_a_tool(worker: Worker, script: Script, reason: str, said: str) -> None:
    script.in_turn([RequestedCall("c1", "never", '{"x":"1"}')])
    turn_id = worker.start("x", agent_id="stopper", tools=TOOLS)
    worker.wait_kind("tool.call", turn_id=turn_id)
    worker.send("turn.stop", turn_id=turn_id, reason=reason)
    worker.done(turn_id)
    (ended,) = worker.events(turn_id, "tool.completed")
    assert json.loads(ended["data"]["result"]) == {"error": said}


@pytest.mark.parametrize("kind", ["parallel", "is_async"])
@pytest.mark.parametrize(
    ("reason", "why"), [("user", "the user stopped the turn"), ("timeout", "the turn reached its time limit")]
)
def test_calls_that_overlap_are_all_stopped_and_the_rest_never_began(
    worker: Worker, script: Script, kind: str, reason: str, why: str
) -> None:
    tools = [spec("pay", args=["x"], **{kind: True}), spec("never", args=["x"])]
    worker.bind(script.url, agent_id="payer", tools=tools)
    asked = [RequestedCall(f"c{n}", "pay", json.dumps({"x": str(n)})) for n in (1, 2, 3)]
    script.in_turn([*asked, RequestedCall("c4", "never", '{"x":"4"}'), RequestedCall("c5", "pay", '{"x":"5"}')])
    turn_id = worker.start("x", agent_id="payer", tools=tools)
    for n in (1, 2, 3):
        worker.wait_kind("tool.call", turn_id=turn_id, arguments=json.dumps({"x": str(n)}))
    stop(worker, turn_id, reason)
    ended = {e["data"]["tool_call_id"]: e["data"] for e in worker.events(turn_id, "tool.completed")}
    statuses = [ended[f"c{n}"]["status"] for n in (1, 2, 3, 4, 5)]
    assert statuses == ["stopped", "stopped", "stopped", "skipped", "skipped"]
    told = {json.loads(ended[c]["result"])["error"] for c in ("c1", "c2", "c3")}
    assert told == {f"pay was stopped: {why}. It may have run."}
    assert json.loads(ended["c4"]["result"]) == {"error": f"never was not started: {why}."}
    assert json.loads(ended["c5"]["result"]) == {"error": f"pay was not started: {why}."}
    assert "duration_ms" not in ended["c4"]


def test_a_call_that_ended_before_the_stop_keeps_its_result(worker: Worker, script: Script) -> None:
    tools = [spec("pay", args=["x"], parallel=True)]
    worker.bind(script.url, agent_id="payer", tools=tools)
    script.in_turn([RequestedCall(f"c{n}", "pay", json.dumps({"x": str(n)})) for n in (1, 2, 3)])
    turn_id = worker.start("x", agent_id="payer", tools=tools)
    call = worker.wait_kind("tool.call", turn_id=turn_id, arguments='{"x": "2"}')
    worker.wait_kind("tool.call", turn_id=turn_id, arguments='{"x": "3"}')
    worker.send("tool.result", turn_id=turn_id, call_id=call["call_id"], status="ok", result="paid")
    worker.wait_event("tool.completed", turn_id)
    stop(worker, turn_id)
    ended = [(e["data"]["tool_call_id"], e["data"]["status"]) for e in worker.events(turn_id, "tool.completed")]
    assert sorted(ended) == [("c1", "stopped"), ("c2", "ok"), ("c3", "stopped")]
    abandoned = {m["call_id"] for m in worker.messages if m["kind"] == "tool.abandon" and m["turn_id"] == turn_id}
    assert len(abandoned) == 2
    assert call["call_id"] not in abandoned


def test_only_the_named_turn_stops(worker: Worker, script: Script) -> None:
    script.in_turn([Wait(None)])
    slow = worker.start("slow", agent_id="stopper", session_id="one")
    script.wait_requests(1)
    script.in_turn(["Quick."])
    assert worker.run("quick", agent_id="stopper", session_id="two")["text"] == "Quick."
    done, _ = stop(worker, slow)
    assert done["status"] == "stopped"


def test_while_hermes_is_still_being_imported(spawn: Callable[..., Worker], script: Script) -> None:
    worker = spawn()
    worker.wait_kind("ready")
    worker.bind(script.url, is_awaited=False)
    turn_id = worker.start("x")
    done, took = stop(worker, turn_id)
    assert done["status"] == "stopped"
    assert took < 0.9
    assert worker.kinds(turn_id) == ["turn.started", "turn.stopped"]
    timed = worker.run("y", timeout_s=0.01)
    assert timed["status"] in ("timed_out", "completed")
