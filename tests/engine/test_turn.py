from __future__ import annotations

import pytest

from hermes_nb.engine.endpoint import ToolCall
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes


def test_turn_calls_a_tool_of_the_kernel_and_answers(shared: Worker, script: Script) -> None:
    script.in_turn([ToolCall("c1", "add_up", '{"x": "1"}')], ["Hello ", "there."])
    shared.tools["add_up"] = lambda x: {"sum": x}
    tools = [spec("add_up", args=["x"])]
    assert shared.bind(script.url, agent_id="adder", tools=tools)["kind"] == "bound"
    done = shared.run("hi", agent_id="adder", tools=tools)
    assert (done["status"], done["text"]) == ("completed", "Hello there.")
    assert shared.kinds(done["turn_id"]) == [
        "turn.started", "model.started", "model.completed", "tool.started", "tool.completed", "model.started",
        "model.completed", "turn.completed",
    ]  # fmt: skip
    assert shared.text_streamed(done["turn_id"]) == "Hello there."
    assert script.requests[-1].messages[-1]["content"] == '{"sum": "1"}'
