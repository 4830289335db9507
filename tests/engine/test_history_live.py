"""The next request from a rebuilt history is, byte for byte, the one a session that never ended would send."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.model.event import Event
from hermes_nb.model.history import messages
from hermes_nb.offline_model.endpoint import ChatRequest, Reasoning, RequestedCall, Wait
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes
Spawn = Callable[..., Worker]
TOOLS = [spec("work", args=["x"])]
X = '{ "x" : "1"}'


def conversation(request: ChatRequest) -> str:
    """What a request tells, but for the system prompt; keys in any order."""
    return json.dumps([m for m in request.messages if m["role"] != "system"], sort_keys=True)


def history(worker: Worker) -> list[dict[str, Any]]:
    return messages(Event.from_dict(m["event"]) for m in worker.messages if m["kind"] == "event")


# No id twice: there Hermes by itself loses the result (test_call_id).
TURNS: list[tuple[str, list[list[Any]]]] = [
    ("plain", [["  Hello.\n"]]),
    ("one tool", [["Let me see. ", RequestedCall("c1", "work", X)], ["Done."]]),
    (
        "a batch, and one more call",
        [
            [
                RequestedCall("c2", "work", X),
                RequestedCall("c3", "work", '{"x": "2", "y": 0}'),
                RequestedCall("c4", "work", '{"x": "☃"}'),
            ],
            [RequestedCall("c5", "work", '{"x":"2"}')],
            ["Done."],
        ],
    ),
    ("reasoning", [[Reasoning("Hm."), RequestedCall("c6", "work", X)], [Reasoning("So."), "Done."]]),
    ("an unknown tool", [[RequestedCall("c7", "wrok_unknown", X), RequestedCall("c8", "work", X)], ["Done."]]),
    ("an empty reply, asked again", [[""], ["Yes."]]),
    ("arguments cut off", [[RequestedCall("c9", "work", '{"x": ')], ["Yes."]]),
    ("last", [["Bye."]]),
]


def test_each_next_request_equals_that_of_a_session_that_never_ended(spawn: Spawn, script: Script, tmp_path: Path) -> None:
    answers = [answer for _, of_turn in TURNS for answer in of_turn]
    script.in_turn(*answers)
    prompts = [{"prompt": prompt, "keep": True} for prompt, _ in TURNS]
    plain = subprocess.run(
        [sys.executable, "-P", str(Path(__file__).with_name("plain.py")), script.url, str(tmp_path / "plain")],
        input="\n".join(map(json.dumps, prompts)),
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert plain.returncode == 0, plain.stderr[-2000:]
    theirs = [conversation(r) for r in script.requests]
    script.in_turn(*answers)
    worker = spawn()
    worker.tools["work"] = lambda x, **_: f"did {x}"
    worker.bind(script.url, tools=TOOLS)
    for prompt, _ in TURNS:
        assert worker.run(prompt, tools=TOOLS, history=history(worker))["status"] == "completed"
    assert [conversation(r) for r in script.requests] == theirs
    # and from a new worker, as after a restart of the kernel
    script.in_turn(["Bye."])
    told = history(worker)[:-2]
    again = spawn("again")
    again.bind(script.url, tools=TOOLS)
    again.run("last", tools=TOOLS, history=told)
    assert conversation(script.requests[0]) == theirs[-1]


def test_a_prompt_after_a_stopped_one_is_its_own(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="glue")
    script.in_turn([Wait(None)])
    turn_id = shared.start("never mind", agent_id="glue", session_id="glue")
    script.wait_requests(1)
    shared.send("turn.stop", turn_id=turn_id, reason="user")
    shared.done(turn_id)
    events = [Event.from_dict(e) for e in shared.events(turn_id)]
    script.in_turn(["Yes."])
    shared.run("hello?", agent_id="glue", session_id="glue", history=messages(events))
    assert [m["content"] for m in script.requests[0].messages[1:]] == ["hello?"]


def test_a_turn_stopped_in_a_tool_is_followed_by_a_well_formed_request(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="mid", tools=TOOLS)
    script.in_turn(["I look. ", RequestedCall("c1", "work", X), RequestedCall("c2", "work", '{"x":"2"}')])
    turn_id = shared.start("go", agent_id="mid", session_id="mid", tools=TOOLS)
    shared.wait_kind("tool.call", turn_id=turn_id)
    shared.send("turn.stop", turn_id=turn_id, reason="user")
    shared.done(turn_id)
    script.in_turn(["Yes."])
    told = messages(Event.from_dict(e) for e in shared.events(turn_id))
    shared.run("and now?", agent_id="mid", session_id="mid", history=told, tools=TOOLS)
    sent = script.requests[0].messages[1:]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert [c["id"] for c in sent[1]["tool_calls"]] == [m["tool_call_id"] for m in sent[2:4]]
