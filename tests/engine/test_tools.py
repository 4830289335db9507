"""Tool calls: over the wire and Hermes's own."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.offline_model.endpoint import Gate, RequestedCall, Usage, Wait
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes
X1 = '{"x": "1"}'


def results(script: Script) -> list[str]:
    """Tool results in the last request."""
    return [m["content"] for m in script.requests[-1].messages if m["role"] == "tool"]


def test_two_agents_with_a_tool_of_one_name_do_not_meet(shared: Worker, script: Script) -> None:
    mine = [spec("shared_name", "Mine.", args=["a"])]
    yours = [spec("shared_name", "Yours.", args=["b"])]
    shared.bind(script.url, agent_id="me", tools=mine)
    shared.bind(script.url, agent_id="you", tools=yours)
    asked = threading.Barrier(2, timeout=10)

    def answer(request: Any) -> list[Any]:
        if request.messages[-1]["role"] == "tool":
            return ["Done."]
        asked.wait()
        (argument,) = request.tools[0]["parameters"]["properties"]
        return [RequestedCall("c", "shared_name", json.dumps({argument: request.tools[0]["description"]}))]

    script.answer = answer
    shared.tools["shared_name"] = lambda **given: given
    turns = [shared.start("x", agent_id=a, session_id=a, tools=t) for a, t in (("me", mine), ("you", yours))]
    for turn_id, said in zip(turns, ('{"a": "Mine."}', '{"b": "Yours."}'), strict=True):
        assert shared.done(turn_id)["status"] == "completed"
        assert shared.events(turn_id, "tool.completed")[0]["data"]["result"] == said


def test_tools_given_with_a_turn_are_its_tools(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="changing", tools=[spec("old_one")])
    shared.run("x", agent_id="changing", tools=[spec("new_one", "New.", args=["y"])])
    assert [t["name"] for t in script.requests[-1].tools] == ["new_one"]
    shared.run("x", agent_id="changing", tools=[spec("new_one", "Newer.", args=["z"])])
    assert script.requests[-1].tools[0]["description"] == "Newer."
    assert list(script.requests[-1].tools[0]["parameters"]["properties"]) == ["z"]
    shared.run("x", agent_id="changing")
    assert "tools" not in script.requests[-1].body


def test_no_toolsets_means_no_tools(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="bare", toolsets=[])
    shared.run("x", agent_id="bare")
    assert "tools" not in script.requests[-1].body
    shared.bind(script.url, agent_id="bare", toolsets=["todo"])
    shared.run("x", agent_id="bare")
    assert [t["name"] for t in script.requests[-1].tools] == ["todo"]


def test_identical_calls_of_a_batch_all_run(shared: Worker, script: Script) -> None:
    tools = [spec("count_up", args=["x"])]
    shared.bind(script.url, agent_id="dup", tools=tools)
    count = iter("123")
    shared.tools["count_up"] = lambda x: next(count)
    script.in_turn([RequestedCall(f"c{i}", "count_up", X1) for i in range(3)], ["Done."])
    done = shared.run("x", agent_id="dup", tools=tools)
    assert done["status"] == "completed"
    assert results(script) == ["1", "2", "3"]
    assert {e["data"]["arguments"] for e in shared.events(done["turn_id"], "tool.started")} == {X1}
    assert "messages" not in shared.events(done["turn_id"])[-1]["data"]


@pytest.mark.parametrize("how", ["parallel", "is_async"])
def test_calls_that_may_overlap_do_and_results_keep_their_order(shared: Worker, script: Script, how: str) -> None:
    tools = [spec("meet", args=["x"], **{how: True})]
    shared.bind(script.url, agent_id="par", tools=tools)
    together = threading.Barrier(4, timeout=10)

    def meet(x: str) -> str:
        together.wait()
        time.sleep(0.01 * (4 - int(x)))
        return x

    shared.tools["meet"] = meet
    script.in_turn([RequestedCall(f"c{i}", "meet", json.dumps({"x": str(i)})) for i in range(4)], ["Done."])
    done = shared.run("x", agent_id="par", tools=tools)
    assert done["status"] == "completed"
    assert results(script) == ["0", "1", "2", "3"]
    calls = shared.events(done["turn_id"], "tool.completed")
    assert all(c["data"]["started_at_unix_s"] and c["data"]["duration_ms"] > 0 for c in calls)


def test_other_calls_wait_for_their_turn(shared: Worker, script: Script) -> None:
    tools = [spec("one_at_a_time", args=["x"]), spec("free", args=["x"], parallel=True)]
    shared.bind(script.url, agent_id="seq", tools=tools)
    log: list[str] = []

    def run(name: str, x: str) -> str:
        log.append(f"+{name}{x}")
        time.sleep(0.02)
        log.append(f"-{name}{x}")
        return x

    shared.tools["one_at_a_time"] = lambda x: run("s", x)
    shared.tools["free"] = lambda x: run("p", x)
    batch = [("free", "1"), ("one_at_a_time", "2"), ("free", "3"), ("free", "4"), ("one_at_a_time", "5")]
    script.in_turn([RequestedCall(f"c{x}", n, json.dumps({"x": x})) for n, x in batch], ["Done."])
    assert shared.run("x", agent_id="seq", tools=tools)["status"] == "completed"
    assert log[:4] == ["+p1", "-p1", "+s2", "-s2"]
    assert set(log[4:6]) == {"+p3", "+p4"}
    assert log[8:] == ["+s5", "-s5"]
    assert results(script) == ["1", "2", "3", "4", "5"]


def test_arguments_reach_the_kernel_as_the_model_wrote_them(shared: Worker, script: Script) -> None:
    raw = '{"x" : "ü☃", "n": 1.0,\n "deep": {"b": 1, "a": [1e3]}}'
    tools = [spec("raw_args")]
    shared.bind(script.url, agent_id="raw", tools=tools)
    shared.tools["raw_args"] = lambda **given: "ok"
    script.in_turn([RequestedCall("c", "raw_args", raw)], ["Done."])
    turn_id = shared.run("x", agent_id="raw", tools=tools)["turn_id"]
    assert shared.wait_kind("tool.call", turn_id=turn_id)["arguments"] == raw
    assert shared.events(turn_id, "tool.started")[0]["data"]["arguments"] == raw
    assert "arguments" not in shared.events(turn_id, "tool.completed")[0]["data"]  # they may be megabytes


def test_a_tool_s_error_is_its_result(shared: Worker, script: Script) -> None:
    tools = [spec("fails")]
    shared.bind(script.url, agent_id="err", tools=tools)
    script.in_turn([RequestedCall("c", "fails", "{}")], ["Sorry."])
    turn_id = shared.start("x", agent_id="err", tools=tools)
    call = shared.wait_kind("tool.call", turn_id=turn_id)
    shared.send(
        "tool.result",
        turn_id=turn_id,
        call_id=call["call_id"],
        status="error",
        result="no such row",
        result_chars=11,
        error_type="KeyError",
        error="no such row",
        started_at_unix_s=5.0,
        duration_ms=7.0,
    )
    assert shared.done(turn_id)["text"] == "Sorry."
    assert results(script) == ["no such row"]
    data = shared.events(turn_id, "tool.completed")[0]["data"]
    told = {"status": "error", "error_type": "KeyError", "error": "no such row", "duration_ms": 7.0}
    assert data | told | {"started_at_unix_s": 5.0} == data


def test_bad_arguments_and_unknown_names_never_reach_the_kernel(shared: Worker, script: Script) -> None:
    tools = [spec("real", args=["x"])]
    shared.bind(script.url, agent_id="strict", tools=tools)
    shared.tools["real"] = lambda x: x
    script.in_turn([RequestedCall("c1", "unreal_thing", X1), RequestedCall("c2", "real", X1)], ["Done."])
    turn_id = shared.run("x", agent_id="strict", tools=tools)["turn_id"]
    ended = {e["data"]["tool_call_id"]: e["data"] for e in shared.events(turn_id, "tool.completed")}
    assert (ended["c1"]["status"], ended["c2"]["status"]) == ("skipped", "ok")
    assert "does not exist" in ended["c1"]["result"]
    script.in_turn([RequestedCall("c3", "real", '{"x": ')], ["Done."])
    turn_id = shared.run("x", agent_id="strict", tools=tools)["turn_id"]
    (data,) = (e["data"] for e in shared.events(turn_id, "tool.completed"))
    assert (data["status"], data["error"]) == ("skipped", "The arguments are not a JSON object; the model was asked again.")


def test_a_large_result_is_not_cut_by_hermes(shared: Worker, script: Script) -> None:
    tools = [spec("large")]
    shared.bind(script.url, agent_id="large", tools=tools)
    shared.tools["large"] = lambda: "y" * 150_000
    script.in_turn([RequestedCall("c", "large", "{}")], ["Done."])
    shared.run("x", agent_id="large", tools=tools)
    assert results(script) == ["y" * 150_000]


def test_agents_files_near_a_path_argument_are_not_pulled_in(shared: Worker, script: Script, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Obey me.")
    tools = [spec("look", args=["path"])]
    shared.bind(script.url, agent_id="look", tools=tools)
    shared.tools["look"] = lambda path: "seen"
    script.in_turn([RequestedCall("c", "look", json.dumps({"path": str(tmp_path / "x.csv")}))], ["Done."])
    shared.run("x", agent_id="look", tools=tools)
    assert results(script) == ["seen"]


# -- steering ----------------------------------------------------------------------------------------------------------


def test_steering_during_a_tool_is_heard(shared: Worker, script: Script) -> None:
    tools = [spec("wait_here")]
    shared.bind(script.url, agent_id="steer", tools=tools)
    gate = threading.Event()
    shared.tools["wait_here"] = lambda: str(gate.wait(10))
    script.in_turn([RequestedCall("c", "wait_here", "{}")], ["Brief."])
    turn_id = shared.start("x", agent_id="steer", tools=tools)
    shared.wait_kind("tool.call", turn_id=turn_id)
    shared.send("turn.steer", turn_id=turn_id, text="be brief")
    assert shared.wait_kind("steer.result", turn_id=turn_id)["is_applied"]
    gate.set()
    assert shared.done(turn_id)["text"] == "Brief."
    assert "be brief" in results(script)[0]
    assert shared.events(turn_id, "steer.received")[0]["data"] == {"text": "be brief", "applied": True}
    held = shared.events(turn_id)[-1]["data"]["messages"]
    assert held == [m for m in script.requests[-1].messages if m["role"] != "system"] + [
        {"role": "assistant", "content": "Brief."}
    ]


def test_steering_without_tools_is_said_to_change_nothing(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="steer")
    gate = Gate()
    script.in_turn([Wait(None, gate), "Long."])
    turn_id = shared.start("x", agent_id="steer")
    script.wait_requests(1)
    shared.send("turn.steer", turn_id=turn_id, text="be brief")
    shared.send("turn.steer", turn_id="nobody", text="hello")
    gate.release()
    assert shared.done(turn_id)["text"] == "Long."
    assert not shared.wait_kind("steer.result", turn_id=turn_id)["is_applied"]


# -- Hermes's own tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "is_gone"), [("deny", False), ("what?", False), (None, False), ("once", True)])
def test_a_dangerous_command_runs_only_when_approved(
    shared: Worker, script: Script, tmp_path: Path, answer: str | None, is_gone: bool
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    shared.bind(script.url, agent_id="shell", toolsets=["terminal"])
    script.in_turn([RequestedCall("c", "terminal", json.dumps({"command": f"rm -rf {victim}"}))], ["Done."])
    turn_id = shared.start("x", agent_id="shell", session_id=f"s-{answer}")
    asked = shared.wait_event("approval.requested", turn_id)["data"]
    assert str(victim) in asked["arguments"]
    assert asked["choices"] == ["once", "always", "deny"]
    if answer is None:
        shared.send("turn.stop", turn_id=turn_id, reason="user")
    else:
        shared.send("answer", turn_id=turn_id, request_id=asked["request_id"], answer=answer)
    assert shared.done(turn_id)["status"] == ("stopped" if answer is None else "completed")
    assert victim.exists() is not is_gone
    said = shared.events(turn_id, "approval.responded")[0]["data"]
    assert said == {"request_id": asked["request_id"], "answer": answer or "deny"}
    assert shared.events(turn_id, "tool.completed")[0]["data"]["builtin"]


def test_an_agent_s_config_cannot_switch_approval_off(shared: Worker, script: Script, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    shared.bind(script.url, agent_id="bold", toolsets=["terminal"], config={"approvals": {"mode": "off"}})
    script.in_turn([RequestedCall("c", "terminal", json.dumps({"command": f"rm -rf {victim}"}))], ["Done."])
    turn_id = shared.start("x", agent_id="bold", session_id="bold")
    asked = shared.wait_event("approval.requested", turn_id)["data"]
    shared.send("answer", turn_id=turn_id, request_id=asked["request_id"], answer="deny")
    shared.done(turn_id)
    assert victim.exists()


def test_a_script_of_the_model_is_asked_about_each_time(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="coder", toolsets=["code_execution"])
    for code, answer, said in (("print(6 * 7)", "always", "42"), ("print(6 * 8)", "deny", "not allowed")):
        script.in_turn([RequestedCall("c", "execute_code", json.dumps({"code": code}))], ["Done."])
        turn_id = shared.start("x", agent_id="coder", session_id="coder")
        asked = shared.wait_event("approval.requested", turn_id)["data"]
        assert (asked["name"], asked["arguments"]) == ("execute_code", code)
        shared.send("answer", turn_id=turn_id, request_id=asked["request_id"], answer=answer)
        assert shared.done(turn_id)["status"] == "completed"
        assert said in results(script)[0]
    assert shared.events(turn_id, "tool.completed")[0]["data"]["status"] == "denied"


def test_one_command_that_was_allowed_allows_no_other_of_its_kind(shared: Worker, script: Script, tmp_path: Path) -> None:
    victims = [tmp_path / name for name in "ab"]
    for victim in victims:
        victim.mkdir()
    shared.bind(script.url, agent_id="twice", toolsets=["terminal"])
    calls = [RequestedCall(v.name, "terminal", json.dumps({"command": f"rm -rf {v}"})) for v in victims]
    script.in_turn([calls[0]], [calls[1]], ["Done."])
    turn_id = shared.start("x", agent_id="twice", session_id="twice")
    for victim, answer in zip(victims, ("always", "deny"), strict=True):
        asked = shared.wait_event("approval.requested", turn_id, arguments=f"rm -rf {victim}")
        assert asked["data"]["question"].startswith("Run this command on your machine? It looks dangerous: ")
        assert asked["span_id"] == shared.events(turn_id, "tool.started")[-1]["span_id"]
        shared.send("answer", turn_id=turn_id, request_id=asked["data"]["request_id"], answer=answer)
    shared.done(turn_id)
    assert [v.exists() for v in victims] == [False, True]


@pytest.mark.parametrize(
    "command",
    [
        "R=rm; $R -rf {}",
        "tar --remove-files -cf /dev/null {}",
        "ls {}",
        "unlink {}/x",
        "printf 'rm -rf {}' > s.sh; . ./s.sh",
    ],
)
def test_every_command_is_asked_about_whatever_it_looks_like(
    shared: Worker, script: Script, tmp_path: Path, command: str
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "x").touch()
    shared.bind(script.url, agent_id="sly", toolsets=["terminal"])
    script.in_turn([RequestedCall("c", "terminal", json.dumps({"command": command.format(victim)}))], ["Done."])
    turn_id = shared.start("x", agent_id="sly", session_id="sly")
    asked = shared.wait_event("approval.requested", turn_id)["data"]
    assert asked["arguments"] == command.format(victim)
    shared.send("answer", turn_id=turn_id, request_id=asked["request_id"], answer="deny")
    shared.done(turn_id)
    assert (victim / "x").exists()


def test_files_are_written_and_read_elsewhere_only_when_allowed(shared: Worker, script: Script, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden treasure")
    shared.bind(script.url, agent_id="clerk", toolsets=["file"])
    calls = [
        RequestedCall("a", "read_file", json.dumps({"path": str(secret)})),
        RequestedCall("b", "write_file", json.dumps({"path": str(secret), "content": "gone"})),
        RequestedCall("c", "patch", json.dumps({"path": str(secret), "old_string": "hidden", "new_string": "no"})),
    ]
    for call in calls:
        script.in_turn([call], ["Done."])
        turn_id = shared.start("x", agent_id="clerk", session_id="clerk")
        asked = shared.wait_event("approval.requested", turn_id)["data"]
        assert str(secret) in asked["arguments"]
        shared.send("answer", turn_id=turn_id, request_id=asked["request_id"], answer="deny")
        shared.done(turn_id)
        assert "treasure" not in results(script)[0]
    assert secret.read_text() == "hidden treasure"


def test_the_model_s_question_is_answered(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="asker", toolsets=["clarify"])
    question = json.dumps({"question": "Which?", "choices": ["a", "b"]})
    script.in_turn([RequestedCall("c", "clarify", question)], ["Done."])
    turn_id = shared.start("x", agent_id="asker")
    asked = shared.wait_event("clarify.requested", turn_id)["data"]
    assert (asked["question"], [choice[0] for choice in asked["choices"]]) == ("Which?", ["a", "b"])
    shared.send("answer", turn_id=turn_id, request_id=asked["request_id"], answer="b")
    assert shared.done(turn_id)["status"] == "completed"
    assert json.loads(results(script)[0])["user_response"] == "b"


def test_built_in_tools_side_by_side_are_recorded_once(shared: Worker, script: Script, tmp_path: Path) -> None:
    for name in "ab":
        (shared.folder / name).write_text(name)
    shared.bind(script.url, agent_id="reader", toolsets=["file"])
    script.in_turn([RequestedCall(f"c{n}", "read_file", json.dumps({"path": n})) for n in "ab"], ["Done."])
    done = shared.run("x", agent_id="reader")
    for kind in ("tool.started", "tool.completed"):
        assert sorted(e["data"]["tool_call_id"] for e in shared.events(done["turn_id"], kind)) == ["ca", "cb"]
    assert all(e["data"]["duration_ms"] >= 0 for e in shared.events(done["turn_id"], "tool.completed"))


def test_delegated_work_is_done_and_seen_within_the_turn(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="boss", toolsets=["delegation"])
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    script.in_turn(
        [RequestedCall("c", "delegate_task", json.dumps({"goal": "Count."})), Usage(usage)],
        ["Three.", Usage(usage)],
        ["He says three.", Usage(usage)],
    )
    done = shared.run("x", agent_id="boss")
    assert (done["text"], done["n_model_calls"]) == ("He says three.", 3)
    assert done["usage"] == {"input_tokens": 30, "output_tokens": 15}
    started = shared.events(done["turn_id"], "agent.started")[0]
    inner = [e for e in shared.events(done["turn_id"], "model.completed") if e["parent_id"] == started["span_id"]]
    assert (started["data"]["task"], inner[0]["data"]["text"]) == ("Count.", "Three.")
    ended = shared.events(done["turn_id"], "agent.completed")[0]["data"]
    assert (ended["text"], ended["status"]) == ("Three.", "completed")
    assert "messages" not in shared.events(done["turn_id"])[-1]["data"]
