"""A model may use an id twice; the conversation does not."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from hermes_nb.engine.hermes.call_id import make_unique, used_in
from hermes_nb.offline_model.endpoint import RequestedCall
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec


def test_an_id_used_before_gets_a_number_and_none_gets_one() -> None:
    calls = [SimpleNamespace(id=i) for i in ("c", "c", "d", "", None, "c_2", {"a": 1})]
    make_unique(calls, {"c", "call_4"})
    assert [c.id for c in calls] == ["c_2", "c_3", "d", "call_4_2", "call_5", "c_2_2", "call_7"]
    again = [SimpleNamespace(id=c.id) for c in calls]
    make_unique(again, {"c"})  # a replayed answer keeps its ids
    assert [c.id for c in again] == [c.id for c in calls]


def test_ids_are_found_in_messages_of_any_shape() -> None:
    messages = [{"role": "user"}, {"tool_calls": None}, {"tool_calls": [{"id": "a"}, {"id": None}, 3]}, "x"]
    assert used_in(messages) == {"a"}


@pytest.mark.hermes
def test_a_model_that_counts_anew_sees_each_result(shared: Worker, script: Script) -> None:
    tools = [spec("step", args=["x"])]
    shared.tools["step"] = lambda x: f"result {x}"
    shared.bind(script.url, agent_id="counter", tools=tools)
    calls = [[RequestedCall("call_0", "step", json.dumps({"x": str(n)}))] for n in range(3)]
    script.in_turn(*calls, ["Done."])
    done = shared.run("go", agent_id="counter", tools=tools)
    assert done["text"] == "Done."
    sent = script.requests[-1].messages
    assert [m["content"] for m in sent if m["role"] == "tool"] == [f"result {n}" for n in range(3)]
    assert [c["id"] for m in sent for c in m.get("tool_calls") or ()] == ["call_0", "call_0_2", "call_0_3"]
    told = [e["data"]["tool_calls"][0]["id"] for e in shared.events(done["turn_id"], "model.completed")[:3]]
    assert told == ["call_0", "call_0_2", "call_0_3"]  # so that a history made of the log has them too
