"""A killed turn goes on from the journal: nothing committed is asked for again."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.offline_model.endpoint import ChatRequest, Reasoning, Refusal, RequestedCall, Usage
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes
Spawn = Callable[..., Worker]
TOOLS = [spec("step", args=["x"])]


def step(n: int) -> RequestedCall:
    return RequestedCall(f"c{n}", "step", json.dumps({"x": str(n)}))


def commit(folder: Path) -> None:
    """The working directory is a repository, and changes between attempts."""
    folder.mkdir(exist_ok=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "one more"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_killed_turn_repeats_no_recorded_call(spawn: Spawn, script: Script, tmp_path: Path) -> None:
    commit(tmp_path / "w")
    answers = [[Reasoning("r"), step(1), Usage({"prompt_tokens": 1, "completion_tokens": 1})], [""], [step(2)], ["Done."]]
    first = spawn("w", producer="w1")
    first.tools["step"] = lambda x: f"first {x}" if x == "1" else threading.Event().wait()
    first.bind(script.url, tools=TOOLS)
    script.in_turn(*answers[:3])
    turn_id = first.start("go", tools=TOOLS, turn_id="long", date="2026-01-15")
    first.wait(lambda m: m["kind"] == "tool.call" and m["arguments"] == '{"x": "2"}')
    first.kill()
    assert len(script.requests) == 3

    commit(tmp_path / "w")
    second = spawn("w", producer="w2")
    ran: list[str] = []
    second.tools["step"] = lambda x: ran.append(x) or f"second {x}"
    second.bind(script.url, tools=TOOLS)
    script.in_turn(["Done."])
    done = second.run("go", tools=TOOLS, turn_id=turn_id, attempt=2, date="2026-01-15")
    assert done["error"] == ""
    assert (done["status"], done["text"], done["n_model_calls"]) == ("completed", "Done.", 1)
    assert ran == ["2"]
    assert len(script.requests) == 1
    assert [m["content"] for m in script.requests[0].messages if m["role"] == "tool"] == ["first 1", "second 2"]
    again = second.events(turn_id, "model.completed")
    assert [e["data"].get("replayed", False) for e in again] == [True, True, True, False]
    for replayed in again[:3]:
        assert not {"usage", "duration_ms", "cost_usd"} & set(replayed["data"])
    tools = second.events(turn_id, "tool.completed")
    assert [(e["data"].get("replayed", False), e["data"]["result"]) for e in tools] == [
        (True, "first 1"),
        (False, "second 2"),
    ]
    assert "duration_ms" not in tools[0]["data"]
    assert {e["attempt"] for e in second.events(turn_id)} == {2}
    assert not second.events(turn_id, "model.started")[0]["data"].get("replayed")
    assert second.text_streamed(turn_id) == "Done."


def test_a_result_that_arrived_with_the_kill_is_not_run_again(spawn: Spawn, script: Script) -> None:
    first = spawn("w", producer="w1")
    first.tools["step"] = lambda x: "kept"
    first.bind(script.url, tools=TOOLS)
    script.in_turn([step(1)], [step(2)])
    turn_id = first.start("go", tools=TOOLS, turn_id="t")
    first.wait_event("tool.completed", turn_id)
    first.kill()
    second = spawn("w", producer="w2")
    ran: list[Any] = []
    second.tools["step"] = lambda x: ran.append(x) or "new"
    second.bind(script.url, tools=TOOLS)
    script.in_turn(["Done."])
    assert second.run("go", tools=TOOLS, turn_id=turn_id, attempt=2)["status"] == "completed"
    assert "1" not in ran


def test_what_came_whole_is_answered_from_the_journal_too(spawn: Spawn, script: Script) -> None:
    refused = Refusal(503, {"error": {"message": "stream is not supported by this model"}})
    left = [[Reasoning("r"), step(1)], ["Half "]]

    def answer(request: ChatRequest) -> list[Any]:
        return [refused] if request.is_streaming else left.pop(0)

    first = spawn("w", producer="w1")
    first.tools["step"] = lambda x: "kept"
    first.bind(script.url, tools=TOOLS)
    script.in_turn([""])
    script.answer = answer
    done = first.run("go", tools=TOOLS, turn_id="t")
    assert (done["status"], done["text"]) == ("completed", "Half"), done["error"]
    assert [r.is_streaming for r in script.requests] == [True, False, False]
    first.close()
    second = spawn("w", producer="w2")
    second.bind(script.url, tools=TOOLS)
    script.in_turn(["Paid again."])
    again = second.run("go", tools=TOOLS, turn_id="t", attempt=2)
    assert (again["status"], again["text"], len(script.requests)) == ("completed", "Half", 0)
    told = second.events("t", "model.completed")
    assert [(e["data"]["replayed"], e["data"].get("usage"), e["data"].get("duration_ms")) for e in told] == [
        (True, None, None),
        (True, None, None),
    ]
    assert second.events("t", "model.delta") == []


def test_a_conversation_that_was_shortened_goes_on_as_it_was(spawn: Spawn, script: Script) -> None:
    config = {"model": {"context_length": 64_000}, "compression": {"threshold": 0.5, "protect_last_n": 4}}
    history = []
    for n in range(60):
        history.append({"role": "user", "content": f"question {n} " * 60})
        history.append({"role": "assistant", "content": f"answer {n} " * 300})
    first = spawn("w", producer="w1")
    first.tools["step"] = lambda x: "kept"
    first.bind(script.url, tools=TOOLS, config=config)
    script.in_turn(["A summary."], [step(1)], ["Done."])
    first.run("now?", tools=TOOLS, turn_id="t", history=history)
    (before,) = first.events("t", "context.compressed")
    assert len(script.requests) == 3
    first.close()
    second = spawn("w", producer="w2")
    second.bind(script.url, tools=TOOLS, config=config)
    script.in_turn(["Paid again."])
    done = second.run("now?", tools=TOOLS, turn_id="t", attempt=2, history=history)
    assert (done["status"], done["text"], len(script.requests)) == ("completed", "Done.", 0)
    again = second.run("now?", tools=TOOLS, turn_id="t", attempt=3, history=history)  # now by a worker that remembers
    assert (again["text"], len(script.requests)) == ("Done.", 0)
    after = second.events("t", "context.compressed")[-1]
    assert after["data"] == {**{k: v for k, v in before["data"].items() if k.startswith("n_")}, "replayed": True}


# Runs in a worker before anything else: another machine, another day.
ELSEWHERE = """
import datetime, platform
platform.release = lambda: "9.9.9-elsewhere"
class Day(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(days=40)
datetime.datetime = Day
import sys, types
probe = sys.modules["tools.env_probe"] = types.ModuleType("tools.env_probe")
probe.get_environment_probe_line = lambda: "Python toolchain: python3=9.9, pip=missing."
probe.warm_environment_probe_async = lambda: None
"""


def test_another_host_on_another_day_answers_from_the_journal(spawn: Spawn, script: Script, tmp_path: Path) -> None:
    config = {"agent": {"environment_probe": True}}
    tools = {"tools": TOOLS, "toolsets": ["terminal"], "config": config}
    first = spawn("here/w", producer="w1", environment={"HOME": str(tmp_path)})
    first.tools["step"] = lambda x: "kept"
    first.bind(script.url, **tools)
    script.in_turn([step(1)], ["Done."])
    first.run("go", tools=TOOLS, turn_id="t", date="2026-01-15")
    sent = [r.messages[0]["content"] for r in script.requests]
    first.close()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(ELSEWHERE)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "w").mkdir()
    for file in (tmp_path / "here" / "w").glob("journal.sqlite*"):
        shutil.copy(file, tmp_path / "there" / "w" / file.name)
    (tmp_path / "another home").mkdir()
    environment = {"HOME": str(tmp_path / "another home"), "PYTHONPATH": str(tmp_path / "site")}
    second = spawn("there/w", producer="w2", environment=environment)
    second.bind(script.url, **tools)
    script.in_turn(["Paid again."])
    done = second.run("go", tools=TOOLS, turn_id="t", attempt=2, date="2026-01-15")
    assert (done["status"], done["text"], len(script.requests)) == ("completed", "Done.", 0)
    second.run("anew", tools=TOOLS, turn_id="u", date="2026-01-15")
    other = script.requests[0].messages[0]["content"]
    for fact in ("Host: ", "User home directory: ", "Current working directory: ", "Active Hermes profile: "):
        here, there = (next(line for line in text.splitlines() if line.startswith(fact)) for text in (sent[0], other))
        assert here != there  # they did differ
    assert "Python toolchain: python3=9.9" in other
    assert "Conversation started: Thursday, January 15, 2026" in sent[0]
    assert "Conversation started: Thursday, January 15, 2026" in other


def test_another_prompt_is_not_answered_from_the_journal(spawn: Spawn, script: Script) -> None:
    first = spawn("w", producer="w1")
    first.bind(script.url)
    first.run("go", turn_id="t")
    first.close()
    second = spawn("w", producer="w2")
    second.bind(script.url)
    script.in_turn(["New."])
    assert second.run("go elsewhere", turn_id="t", attempt=2)["text"] == "New."
    assert second.run("go", turn_id="t", attempt=3)["text"] == "Hello."
