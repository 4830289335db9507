"""What is recorded of a turn, and that it is committed before it counts."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.model.event import Event
from hermes_nb.offline_model.endpoint import Gate, Reasoning, Refusal, RequestedCall, Usage, Wait
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes
Spawn = Callable[..., Worker]
KEY = "sk-test-Kq8ZpW3xLm7RtV2nBc5Y"


def test_usage_is_summed_and_what_is_missing_stays_missing(shared: Worker, script: Script) -> None:
    tools = [spec("f")]
    shared.bind(script.url, agent_id="use", tools=tools)
    shared.tools["f"] = lambda: "1"
    first = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 4}}
    second = {
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "total_tokens": 27,
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    script.in_turn([RequestedCall("c", "f", "{}"), Usage(first)], ["Done.", Usage(second)])
    done = shared.run("x", agent_id="use", tools=tools)
    each = [e["data"]["usage"] for e in shared.events(done["turn_id"], "model.completed")]
    assert each == [
        {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 4},
        {"input_tokens": 20, "output_tokens": 7, "reasoning_tokens": 3},
    ]
    whole = {"input_tokens": 30, "output_tokens": 12, "cache_read_tokens": 4, "reasoning_tokens": 3}
    assert done["usage"] == whole
    assert shared.events(done["turn_id"])[-1]["data"]["usage"] == whole
    assert done["cost_usd"] is None
    assert "cost_usd" not in shared.events(done["turn_id"])[-1]["data"]
    script.in_turn(["No usage."])
    done = shared.run("x", agent_id="use")
    assert done["usage"] is None
    assert "usage" not in shared.events(done["turn_id"])[-1]["data"]


def test_no_probe_reaches_an_endpoint_on_loopback(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="probe")
    n_before = len(script.model.probes)  # the endpoint is shared: tests of Hermes by itself let it probe
    script.in_turn(["Hi.", Usage({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})])
    shared.run("x", agent_id="probe")
    assert script.model.probes[n_before:] == []


def test_events_are_numbered_paired_and_timed(shared: Worker, script: Script) -> None:
    tools = [spec("nap")]
    shared.bind(script.url, agent_id="ev", tools=tools)
    shared.tools["nap"] = lambda: time.sleep(0.05) or "ok"
    script.in_turn([Wait(0.1), RequestedCall("c", "nap", "{}")], ["Done."])
    done = shared.run("x", agent_id="ev", tools=tools, session_id="ev")
    rows = [Event.from_dict(e) for e in shared.events(done["turn_id"])]
    assert [e.seq for e in rows] == list(range(rows[0].seq, rows[0].seq + len(rows)))
    assert {e.producer for e in rows} == {"w1"}
    assert rows[0].span_id == rows[0].turn_id == rows[-1].span_id
    assert all(e.parent_id == e.turn_id for e in rows[1:-1])
    for kind in ("model", "tool"):
        spans = [e.span_id for e in rows if e.kind == f"{kind}.started"]
        assert spans == [e.span_id for e in rows if e.kind == f"{kind}.completed"]
    completed = [e.data for e in rows if e.kind == "model.completed"]
    assert completed[0]["duration_ms"] >= 100
    assert [c["api_call"] for c in completed] == [1, 2]
    assert [c["n_messages"] for c in completed] == [2, 4]
    tool = next(e.data for e in rows if e.kind == "tool.completed")
    assert tool["duration_ms"] >= 50
    assert rows[0].data | {"tools": ["nap"], "model": "scripted", "provider": "custom", "host": "127.0.0.1"} == rows[0].data
    end = rows[-1].data
    assert (end["n_model_calls"], end["n_tool_calls"]) == (2, 1)
    assert 150 <= end["duration_ms"] < 5000


def test_text_is_coalesced_and_comes_before_what_follows_it(shared: Worker, script: Script) -> None:
    tools = [spec("g")]
    shared.bind(script.url, agent_id="text", tools=tools)
    shared.tools["g"] = lambda: "1"
    script.in_turn(
        [Reasoning("Hm. "), Reasoning("So."), "I ", "look", ".", RequestedCall("c", "g", "{}")],
        [piece for n in range(500) for piece in (f"w{n} ",)],
    )
    turn_id = shared.run("x", agent_id="text", tools=tools)["turn_id"]
    assert "".join(e["data"]["text"] for e in shared.events(turn_id, "reasoning.delta")) == "Hm. So."
    kinds = [e["kind"] for e in shared.events(turn_id)]
    assert kinds.index("reasoning.delta") < kinds.index("model.delta") < kinds.index("model.completed")
    assert "model.delta" not in kinds[kinds.index("tool.started") : kinds.index("tool.completed")]
    deltas = shared.events(turn_id, "model.delta")
    assert len(deltas) < 100
    second = "".join(e["data"]["text"] for e in deltas if e["span_id"] == deltas[-1]["span_id"])
    assert second == "".join(f"w{n} " for n in range(500))
    assert shared.events(turn_id, "model.completed")[0]["data"]["reasoning"] == "Hm. So."


def test_text_shows_while_it_streams(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="live")
    gate = Gate()
    script.in_turn(["First. ", Wait(None, gate), "Second."])
    turn_id = shared.start("x", agent_id="live")
    assert shared.wait_event("model.delta", turn_id)["data"]["text"].startswith("First.")
    gate.release()
    assert shared.done(turn_id)["text"] == "First. Second."


def test_what_is_sent_is_in_the_journal_already(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="jou")
    turn_id = shared.run("x", agent_id="jou")["turn_id"]
    with sqlite3.connect(shared.journal) as db:
        stored = [json.loads(b) for (b,) in db.execute("SELECT body FROM events WHERE turn_id = ? ORDER BY row", [turn_id])]
        responses = db.execute("SELECT body FROM responses WHERE turn_id = ?", [turn_id]).fetchall()
    db.close()
    assert stored == shared.events(turn_id)
    assert len(responses) == 1
    assert "Hello." in responses[0][0]


def test_a_response_is_committed_before_it_is_acted_on(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    tools = [spec("boom")]
    worker.bind(script.url, tools=tools)
    script.in_turn([RequestedCall("c", "boom", "{}")])
    turn_id = worker.start("x", tools=tools)
    worker.wait_kind("tool.call", turn_id=turn_id)
    worker.kill()
    with sqlite3.connect(worker.journal) as db:
        assert db.execute("SELECT count(*) FROM responses WHERE turn_id = ?", [turn_id]).fetchone() == (1,)
    db.close()


@pytest.mark.parametrize("moment", ["start", "response", "tool"])
def test_an_unwritable_journal_ends_the_turn_and_says_so(spawn: Spawn, script: Script, moment: str) -> None:
    worker = spawn()
    tools = [spec("t")]
    worker.bind(script.url, tools=tools)
    db = sqlite3.connect(worker.journal)

    def break_it(table: str) -> None:
        db.execute(f"CREATE TRIGGER full BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        db.commit()

    script.in_turn([RequestedCall("c", "t", "{}")], ["Never."])
    if moment == "start":
        break_it("events")
    elif moment == "response":
        break_it("responses")
    turn_id = worker.start("x", tools=tools)
    if moment == "tool":
        call = worker.wait_kind("tool.call", turn_id=turn_id)
        break_it("tool_results")
        worker.send("tool.result", turn_id=turn_id, call_id=call["call_id"], status="ok", result="1")
    done = worker.done(turn_id)
    assert (done["status"], done["error_type"]) == ("failed", "StoreError")
    assert "disk full" in done["error"]
    assert worker.journal.name in done["error"]
    assert str(worker.journal.parent) not in done["error"]  # a cell is saved, and the path says who and where
    assert worker.events(turn_id)[-1]["kind"] == "turn.failed"
    assert len(script.requests) == (0 if moment == "start" else 1)
    db.execute("DROP TRIGGER full")
    db.commit()
    db.close()
    script.in_turn(["Again."])
    assert worker.run("y")["text"] == "Again."


# -- keys ----------------------------------------------------------------------------------------------------------------


def leaks(worker: Worker) -> list[str]:
    """Where a piece of the key shows: messages, files."""
    pieces = [KEY[i : i + 6] for i in range(8, len(KEY) - 5)]
    found = [m["kind"] for m in worker.messages if any(p in json.dumps(m) for p in pieces)]
    for path in worker.folder.rglob("*"):
        if path.is_file() and any(p.encode() in path.read_bytes() for p in pieces):
            found.append(str(path.relative_to(worker.folder)))
    return found


def test_no_piece_of_a_key_leaves_the_worker(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    tools = [spec("echo", args=["x"])]
    model = {"id": "scripted", "provider": "custom", "base_url": script.url, "api_key": KEY}
    worker.bind(script.url, model=model, tools=tools)
    worker.tools["echo"] = lambda x: f"{x} and {KEY}"
    shortened = f"Incorrect API key provided: {KEY[:12]}******{KEY[-4:]}"
    answers: list[list[Any]] = [
        [Refusal(401, {"error": {"message": f"{shortened}, that is {KEY}"}})],
        [Refusal(401, f"<html>{KEY}</html>".encode(), headers={"content-type": "text/html"})],
        [Refusal(400, {"error": {"message": f"Bearer {KEY}"}})],
        [RequestedCall("c", "echo", json.dumps({"x": KEY}))],
        [Reasoning(f"The key is {KEY}."), "It is ", *[KEY[i : i + 3] for i in range(0, len(KEY), 3)], "!"],
        [RequestedCall("c", "echo", f'{{"x": "{KEY}')],
        ["Fine."],
    ]
    script.in_turn(*answers)
    for _ in range(5):
        done = worker.run(f"My key {KEY} is refused.", tools=tools)
    assert done["status"] == "completed"
    assert [r.bearer for r in script.requests[:1]] == [KEY]
    worker.close()
    assert leaks(worker) == []
    texts = [worker.text_streamed(f"t{n}") for n in range(1, 6)]
    assert any("It is [masked]!" in t for t in texts)


def test_the_key_is_not_in_the_environment_of_what_the_agent_starts(shared: Worker, script: Script) -> None:
    model = {"id": "scripted", "provider": "custom", "base_url": script.url, "api_key": KEY}
    shared.bind(script.url, agent_id="env", model=model, toolsets=["terminal"])
    script.in_turn([RequestedCall("c", "terminal", '{"command": "env | grep -c KEY"}')], ["Done."])
    done = shared.run("x", agent_id="env", session_id="env", allow=True)
    said = json.loads(shared.events(done["turn_id"], "tool.completed")[0]["data"]["result"])
    assert said["output"].strip() == "0"


# -- many at once --------------------------------------------------------------------------------------------------------


def test_agents_run_at_once_and_are_never_mixed_up(shared: Worker, script: Script) -> None:
    meeting = threading.Barrier(4, timeout=20)

    def answer(request: Any) -> list[Any]:
        meeting.wait()
        return [f"You said {request.messages[-1]['content']}."]

    script.answer = answer
    for n in range(2):
        shared.bind(script.url, agent_id=f"many{n}")
    turns = [shared.start(f"p{n}", agent_id=f"many{n % 2}", session_id=f"m{n}") for n in range(4)]
    assert [shared.done(t)["text"] for t in turns] == [f"You said p{n}." for n in range(4)]
    for n, turn_id in enumerate(turns):
        assert {e["session_id"] for e in shared.events(turn_id)} == {f"m{n}"}


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PARTS = [{"type": "text", "text": "What is it?"}, {"type": "image", "data": PIXEL, "mime_type": "image/png"}]


def test_a_prompt_of_parts_carries_its_image(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="image", config={"model": {"supports_vision": True}})
    done = shared.run(PARTS, agent_id="image")
    assert done["status"] == "completed"
    started = shared.events(done["turn_id"])[0]["data"]
    assert started["prompt"] == "What is it?"
    assert started["prompt_parts"][1]["image_url"]["url"].endswith(PIXEL)
    assert script.requests[-1].messages[-1]["content"] == started["prompt_parts"]


def test_an_image_for_a_model_that_takes_none_is_named_and_sent_nowhere(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="blind")
    shared.bind(script.url, agent_id="seeing", config={"model": {"supports_vision": True}})
    done = shared.run(PARTS, agent_id="blind")
    assert done["status"] == "completed"
    assert "not known to take images" in script.requests[-1].messages[-1]["content"]
    assert len(script.requests) == 1


def test_the_date_sent_is_the_session_s_first_day(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="dated")
    shared.run("x", agent_id="dated", date="2025-03-02")
    assert "Conversation started: Sunday, March 02, 2025\n" in script.requests[-1].messages[0]["content"]


def test_instructions_follow_hermes_s_own_prompt(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="told", instructions="Answer from the data.")
    shared.run("x", agent_id="told")
    assert script.requests[-1].messages[0]["content"].endswith("\n\nAnswer from the data.")
    shared.bind(script.url, agent_id="told", instructions="Answer briefly.")
    shared.run("x", agent_id="told")
    assert "Answer from the data." not in script.requests[-1].messages[0]["content"]


def test_hermes_does_not_write_bytecode_or_config_of_others(shared: Worker, tmp_path: Path) -> None:
    config = (shared.home / "config.yaml").read_text()
    assert config.startswith("# Written by hermes_nb")
    assert json.loads(config.partition("\n")[2])["security"]["allow_lazy_installs"] is False
    tracked = subprocess.run(["find", str(shared.home), "-name", "*.pyc"], capture_output=True, text=True, check=True)
    assert tracked.stdout == ""


def test_a_compressed_conversation_is_seen_and_counted(shared: Worker, script: Script) -> None:
    config = {"model": {"context_length": 64_000}, "compression": {"threshold": 0.5, "protect_last_n": 4}}
    shared.bind(script.url, agent_id="long", config=config)
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    script.in_turn(["A summary.", Usage(usage)], ["Now.", Usage(usage)])
    history = []
    for n in range(60):
        history.append({"role": "user", "content": f"question {n} " * 60})
        history.append({"role": "assistant", "content": f"answer {n} " * 300})
    done = shared.run("now?", agent_id="long", history=history, session_id="long")
    assert (done["status"], done["text"]) == ("completed", "Now.")
    (event,) = shared.events(done["turn_id"], "context.compressed")
    assert event["data"]["n_messages_before"] == 121
    assert event["data"]["n_messages_after"] < 121
    assert event["data"]["usage"] == {"input_tokens": 100, "output_tokens": 10}
    assert done["usage"] == {"input_tokens": 200, "output_tokens": 20}
    end = shared.events(done["turn_id"])[-1]["data"]
    assert end["messages_of"] == "session"
    assert [m["content"] for m in end["messages"][-2:]] == ["now?", "Now."]
    assert len(end["messages"]) == event["data"]["n_messages_after"] + 1
