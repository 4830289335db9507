"""MCP servers of an agent, against real ones: over stdio and HTTP, one that dies, one that hangs, one that lies."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_nb.offline_model.endpoint import RequestedCall
from tests.engine.conftest import Script
from tests.engine.rig import Worker

pytest.importorskip("mcp")
pytestmark = pytest.mark.hermes
SERVER = str(Path(__file__).with_name("mcp_server_script.py"))
ONLY_TOOLS = {"resources": False, "prompts": False}
Spawn = Callable[..., Worker]


def stdio(kind: str, **keys: Any) -> dict[str, Any]:
    return {
        "tools": ONLY_TOOLS,
        "command": sys.executable,
        "args": [SERVER, kind],
        "env": {},
        "timeout": 5,
        "connect_timeout": 20,
        **keys,
    }


def call(name: str, **arguments: Any) -> RequestedCall:
    return RequestedCall("c1", name, json.dumps(arguments))


@pytest.fixture(scope="module")
def http() -> Iterator[str]:
    """The address of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, SERVER, "web", str(port)])
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait(10)


def result(script: Script) -> str:
    return str(script.requests[-1].messages[-1]["content"])


def test_a_tool_of_a_program_is_offered_asked_about_and_answers(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    told = worker.bind(script.url, mcp={"calc": stdio("plain")})
    assert told["tools_by_toolset"]["mcp-calc"]["tools"] == ["mcp__calc__add", "mcp__calc__greeting"], told
    script.in_turn([call("mcp__calc__add", a=2, b=40)], ["Done."])
    done = worker.run("x", allow=True)
    assert {t["name"] for t in script.requests[0].tools} == {"mcp__calc__add", "mcp__calc__greeting"}
    assert "42" in result(script)
    assert worker.events(done["turn_id"], "approval.requested")[0]["data"]["name"] == "mcp__calc__add"
    ended = worker.events(done["turn_id"], "tool.completed")[0]["data"]
    assert (ended["name"], ended["status"]) == ("mcp__calc__add", "ok")
    children = psutil.Process(worker.process.pid).children(recursive=True)
    assert children
    worker.send("unbind", agent_id="a")
    assert not psutil.wait_procs(children, timeout=15)[1]


def test_a_server_at_an_address_answers_beside_it_and_another_agent_has_neither(
    spawn: Spawn, script: Script, http: str
) -> None:
    worker = spawn()
    secret = "hush-0123456789abcdef"
    worker.bind(
        script.url,
        mcp={
            "web": {
                "tools": ONLY_TOOLS,
                "url": http,
                "headers": {"Authorization": f"Bearer {secret}"},
                "timeout": 5,
                "connect_timeout": 20,
            },
            "calc": stdio("plain", env={"GREETING": secret}),
        },
    )
    worker.bind(script.url, agent_id="bare")
    script.in_turn([call("mcp__web__add", a=1, b=1)], [call("mcp__calc__greeting")], ["Done."])
    done = worker.run("x", allow=True)
    texts = [str(m["content"]) for m in script.requests[-1].messages if m["role"] == "tool"]
    assert "2" in texts[0]
    assert secret not in str(worker.messages) + worker.log.read_text()
    assert not any(secret.encode() in path.read_bytes() for path in worker.folder.rglob("*") if path.is_file())
    assert done["status"] == "completed"
    worker.run("x", agent_id="bare", session_id="bare")
    assert "tools" not in script.requests[-1].body


def test_one_that_hangs_and_one_that_is_not_there_are_told_and_the_rest_works(shared: Worker, script: Script) -> None:
    worker = shared
    told = worker.bind(
        script.url,
        agent_id="hang",
        mcp={
            "slow": stdio("hangs", connect_timeout=2),
            "gone": {"command": "no-such-program", "args": [], "env": {}, "timeout": 5, "connect_timeout": 5},
            "calc": stdio("plain"),
        },
    )["tools_by_toolset"]
    assert told["mcp-calc"]["tools"]
    assert (told["mcp-slow"]["tools"], told["mcp-gone"]["tools"]) == ([], [])
    assert told["mcp-slow"]["missing"]["slow"] == "a server that answers: it said nothing within 2 s"
    assert "no-such-program" in told["mcp-gone"]["missing"]["gone"]
    assert worker.run("x", agent_id="hang", session_id="hang")["status"] == "completed"
    worker.send("unbind", agent_id="hang")


def test_one_that_dies_in_a_call_fails_the_call_and_not_the_turn(shared: Worker, script: Script) -> None:
    worker = shared
    worker.bind(script.url, agent_id="die", mcp={"frail": stdio("dies", timeout=3)})
    script.in_turn([call("mcp__frail__die")], ["Done."])
    done = worker.run("x", agent_id="die", session_id="die", allow=True, timeout_s=None)
    assert (done["status"], done["text"]) == ("completed", "Done.")
    assert "error" in result(script)
    worker.send("unbind", agent_id="die")


def test_one_that_lies_in_its_schema_is_sent_as_an_object(shared: Worker, script: Script) -> None:
    worker = shared
    told = worker.bind(script.url, agent_id="lie", mcp={"liar": stdio("lies")})
    assert told["kind"] == "bound"
    worker.run("x", agent_id="lie", session_id="lie")
    for tool in script.requests[-1].tools:
        assert tool["parameters"]["type"] == "object"
        assert isinstance(tool["parameters"].get("properties", {}), dict)
    worker.send("unbind", agent_id="lie")


def test_a_name_is_one_server_in_a_worker(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    worker.bind(script.url, mcp={"calc": stdio("plain")})
    answer = worker.bind(script.url, agent_id="b", mcp={"calc": stdio("dies")})
    assert (answer["kind"], answer["error_type"]) == ("bind.failed", "UsageError")
    assert "Another agent of this worker has another MCP server 'calc'" in answer["error"]
    assert worker.bind(script.url, agent_id="c", mcp={"calc": stdio("plain")})["kind"] == "bound"


def test_no_process_outlives_a_worker_that_is_killed(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    worker.bind(script.url, mcp={"calc": stdio("plain")})
    children = psutil.Process(worker.process.pid).children(recursive=True)
    worker.kill()
    assert children
    assert not psutil.wait_procs(children, timeout=15)[1]
