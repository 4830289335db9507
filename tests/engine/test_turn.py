from __future__ import annotations

from collections.abc import Callable

import pytest

from hermes_nb.model.event import Event
from hermes_nb.model.span import fold
from hermes_nb.offline_model.endpoint import RequestedCall
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes


def test_turn_calls_a_tool_of_the_kernel_and_answers(shared: Worker, script: Script) -> None:
    script.in_turn([RequestedCall("c1", "add_up", '{"x": "1"}')], ["Hello ", "there."])
    shared.tools["add_up"] = lambda x: {"sum": x}
    tools = [spec("add_up", args=["x"])]
    assert shared.bind(script.url, agent_id="adder", tools=tools)["kind"] == "bound"
    done = shared.run("hi", agent_id="adder", tools=tools)
    assert (done["status"], done["text"]) == ("completed", "Hello there.")
    assert shared.kinds(done["turn_id"]) == [
        "turn.started",
        "model.started",
        "model.completed",
        "tool.started",
        "tool.completed",
        "model.started",
        "model.completed",
        "turn.completed",
    ]
    assert shared.text_streamed(done["turn_id"]) == "Hello there."
    assert script.requests[-1].messages[-1]["content"] == '{"sum": "1"}'


def test_a_turn_that_waited_for_its_agent_is_over_when_its_log_says_so(spawn: Callable[..., Worker], script: Script) -> None:
    script.in_turn(["hi"], ["again"])
    worker = spawn()
    worker.bind(script.url, is_awaited=False)
    ids = [worker.run("hi")["turn_id"], worker.run("again")["turn_id"]]
    first, second = (span for span in fold(_log(worker, ids)) if span.kind == "turn")
    end = worker.events(ids[0], "turn.completed")[0]
    assert first.end_unix_s == pytest.approx(end["at_unix_s"], abs=0.05)
    assert first.duration_ms == end["data"]["duration_ms"]
    assert first.end_unix_s <= second.start_unix_s


def _log(worker: Worker, turn_ids: list[str]) -> list[Event]:
    return [Event.from_dict(e) for turn_id in turn_ids for e in worker.events(turn_id)]
