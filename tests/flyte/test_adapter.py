"""The adapter functions inside tasks of the loopback plane."""

from __future__ import annotations

from typing import Any

import flyte

from hermes_nb.testing import Call, Say, ScriptedModel
from tests.flyte import adapter_tasks
from tests.flyte.loopback import LoopbackPlane
from tests.flyte.loopback.state import SUCCEEDED
from tests.flyte.scripts import asked, body_text, by_turn

STEPS = [Call("mean", {"values": [1, 2]}), Call("shout", {"text": "done"}), Say("1.5")]


def run(model: ScriptedModel, task: Any, **inputs: Any) -> Any:
    run = flyte.with_runcontext(env_vars={"MODEL_URL": model.base_url}).run(task, **inputs)
    run.wait(quiet=True)
    return run


def test_an_agent_of_a_script_survives_a_crash_and_remembers(plane: LoopbackPlane) -> None:
    crash = plane.crash("ask", after_traces=1)
    with ScriptedModel(by_turn(STEPS)) as model:
        first = run(model, adapter_tasks.ask, prompt="Mean of 1 and 2?", key="thread-1")
        assert crash.fired
        assert first.outputs()[0] == "1.5"
        assert asked(model) == [0, 1, 2]
        assert plane.tree(first.name)[0] == ("", "scripts.ask", SUCCEEDED, 2)
        assert [row[1] for row in plane.tree(first.name)].count("scripts.mean") == 1
        report = body_text(first.get_report())
        assert report.count("replayed") == 1
        assert "1.5" in report
        assert "DONE" in report
        system = model.requests[-1].body["messages"][0]["content"]
        assert "Conversation started:" in system  # what is sent is what Hermes wrote; only the key leaves it out
        run(model, adapter_tasks.ask, prompt="And again?", key="thread-1")
        said = [m["content"] for m in model.requests[-1].body["messages"] if m["role"] == "user"]
    assert said == ["Mean of 1 and 2?", "And again?"]


def test_an_agent_in_a_task_that_is_no_coroutine(plane: LoopbackPlane) -> None:
    with ScriptedModel(by_turn([Call("shout", {"text": "hey"}), Say("HEY")])) as model:
        assert run(model, adapter_tasks.ask_sync, prompt="Shout.").outputs()[0] == "HEY"
        tool_says = [m["content"] for m in model.requests[-1].body["messages"] if m["role"] == "tool"]
    assert tool_says == ["HEY"]


def test_an_agent_of_the_users_own_is_durable_and_replays_no_deltas(plane: LoopbackPlane) -> None:
    steps = [
        Call("mean", {"values": [1, 2]}, text="Let me see."),
        Call("mean", {"values": [3, 4]}, text="And once more."),
        Say("1.5 and 3.5", deltas=3),
    ]
    crash = plane.crash("ask_own", after_traces=2)
    with ScriptedModel(by_turn(steps)) as model:
        ran = run(model, adapter_tasks.ask_own, prompt="Means?")
        assert crash.fired
        assert ran.outputs()[0] == "1.5 and 3.5"
        assert asked(model) == [0, 1, 2]  # neither turn is paid for twice
        last = model.requests[-1].body
    assert [m["content"] for m in last["messages"] if m["role"] == "tool"] == ["1.5", "3.5"]
    assert "Be brief, this once." in last["messages"][0]["content"]
    assert [row[1] for row in plane.tree(ran.name)].count("scripts.mean") == 2
    first, second = (plane.logs(ran.name, attempt=n) for n in (1, 2))
    assert ("Let me see." in first, "And once more." in first) == (True, True)
    assert ("Let me see." in second, "And once more." in second) == (False, False)
    assert "3.5" in second
    assert body_text(ran.get_report()).count("replayed") == 2


def test_tool_calls_are_durable_where_the_models_turns_are_not(plane: LoopbackPlane) -> None:
    crash = plane.crash("ask_again", after_children=1)
    with ScriptedModel(by_turn([Call("mean", {"values": [1, 2]}), Say("1.5")])) as model:
        ran = run(model, adapter_tasks.ask_again, prompt="Mean?")
        assert crash.fired
        assert ran.outputs()[0] == "1.5"
        assert asked(model) == [0, 0, 1]  # asked again, as nothing of it was recorded
    children = [row for row in plane.tree(ran.name) if row[1] == "scripts.mean"]
    assert [row[2:] for row in children] == [(SUCCEEDED, 1)]
