"""Turns that every Hermes is to tell by the same events: each scene plays some in a worker and returns their ids."""

from __future__ import annotations

import itertools
import json
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from hermes_nb.offline_model.endpoint import Reasoning, Refusal, RequestedCall, Usage, Wait
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

Scene = Callable[[Worker, Script], list[str]]
_USAGE = Usage({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
_MCP_SERVER = str(Path(__file__).with_name("mcp_server_script.py"))
_PICTURE = {"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="}


def words(worker: Worker, script: Script) -> list[str]:
    """An answer in pieces, with thoughts before it and tokens after it; then the next question of the session."""
    worker.bind(script.url, agent_id="words", instructions="Be brief.")
    script.in_turn([Reasoning("Let me think."), "Hello ", "there.", _USAGE], ["Again.", _USAGE])
    first = worker.run("hi", agent_id="words")["turn_id"]
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello there."}]
    return [first, worker.run("and?", agent_id="words", history=history)["turn_id"]]


def tools(worker: Worker, script: Script) -> list[str]:
    """Two calls that overlap, one that fails, one that is no JSON, one that is unknown."""
    given = [spec("add", args=["x"], parallel=True), spec("broken")]
    worker.bind(script.url, agent_id="tools", tools=given)
    worker.tools["add"] = lambda x: {"sum": x}
    worker.tools["broken"] = lambda: 1 / 0
    calls = [RequestedCall("c1", "add", '{"x": "1"}'), RequestedCall("c2", "add", '{"x": "2"}')]
    script.in_turn(
        [*calls, _USAGE], [RequestedCall("c3", "broken", "{}")], [RequestedCall("c4", "add", '{"x": ')], ["Done."]
    )
    done = [worker.run("go", agent_id="tools", tools=given)["turn_id"]]
    script.in_turn([RequestedCall("c5", "nowhere", "{}")], ["Well."])
    return [*done, worker.run("go", agent_id="tools", tools=given)["turn_id"]]


def asked(worker: Worker, script: Script) -> list[str]:
    """A command that is allowed, one that is not, and a question of the model."""
    worker.bind(script.url, agent_id="asked", toolsets=["terminal", "clarify"])
    command = [RequestedCall("c", "terminal", '{"command": "echo hello"}')]
    script.in_turn(command, ["Done."])
    done = [worker.run("go", agent_id="asked", allow=True)["turn_id"]]
    script.in_turn(command, ["Done."])
    turn_id = worker.start("go", agent_id="asked")
    request = worker.wait_event("approval.requested", turn_id)["data"]
    worker.send("answer", turn_id=turn_id, request_id=request["request_id"], answer="deny")
    done.append(worker.done(turn_id)["turn_id"])
    script.in_turn([RequestedCall("c", "clarify", '{"question": "Which?", "choices": ["a", "b"]}')], ["Done."])
    turn_id = worker.start("go", agent_id="asked")
    request = worker.wait_event("clarify.requested", turn_id)["data"]
    worker.send("answer", turn_id=turn_id, request_id=request["request_id"], answer="b")
    return [*done, worker.done(turn_id)["turn_id"]]


def steered(worker: Worker, script: Script) -> list[str]:
    """A word put in while a tool runs."""
    given, may_go = [spec("slow")], threading.Event()
    worker.bind(script.url, agent_id="steered", tools=given)
    worker.tools["slow"] = lambda: may_go.wait(10) and "ok"
    script.in_turn([RequestedCall("c", "slow", "{}")], ["Brief."])
    turn_id = worker.start("go", agent_id="steered", tools=given)
    worker.wait_kind("tool.call", turn_id=turn_id)
    worker.send("turn.steer", turn_id=turn_id, text="be brief")
    worker.wait_kind("steer.result", turn_id=turn_id)
    may_go.set()
    return [worker.done(turn_id)["turn_id"]]


def stopped(worker: Worker, script: Script) -> list[str]:
    """A stop while the model writes, and one while a tool runs; then a turn that ends well."""
    given, never = [spec("stuck")], threading.Event()
    worker.bind(script.url, agent_id="stopped", tools=given)
    worker.tools["stuck"] = lambda: never.wait(10)
    script.in_turn(["Some words", Wait(None)])
    first = worker.start("go", agent_id="stopped", tools=given)
    worker.wait_event("model.delta", first)
    worker.send("turn.stop", turn_id=first, reason="user")
    done = [worker.done(first)["turn_id"]]
    script.in_turn([RequestedCall("c", "stuck", "{}")], ["Done."])
    second = worker.start("go", agent_id="stopped", tools=given)
    worker.wait_kind("tool.call", turn_id=second)
    worker.send("turn.stop", turn_id=second, reason="user")
    done.append(worker.done(second)["turn_id"])
    never.set()
    script.in_turn(["Fine."])
    return [*done, worker.run("go", agent_id="stopped", tools=given)["turn_id"]]


def refused(worker: Worker, script: Script) -> list[str]:
    """A key that is not taken, an address that is not there, a limit that is waited for."""
    worker.bind(script.url, agent_id="refused")
    done = []
    for status, body in ((401, b'{"error": {"message": "Bad key"}}'), (404, b'{"error": {"message": "No such model"}}')):
        script.in_turn([Refusal(status, body, {"Content-Type": "application/json"})])
        done.append(worker.run("go", agent_id="refused")["turn_id"])
    script.in_turn([Refusal(429, b'{"error": {"message": "Slow down"}}', {"Retry-After": "0"})], ["Now."])
    return [*done, worker.run("go", agent_id="refused")["turn_id"]]


def limited(worker: Worker, script: Script) -> list[str]:
    """The limit of model calls, with its summary; and the same turn again, from its journal."""
    given = [spec("step", args=["x"])]
    worker.bind(script.url, agent_id="limited", tools=given, max_turns=2)
    worker.tools["step"] = lambda x: x
    steps = [[RequestedCall(n, "step", f'{{"x":"{n}"}}'), _USAGE] for n in ("1", "2")]
    script.in_turn(*steps, ["In short.", _USAGE])
    done = worker.run("go", agent_id="limited", tools=given)
    script.in_turn(["Paid again."])
    worker.run("go", agent_id="limited", tools=given, turn_id=done["turn_id"], attempt=2)
    assert len(script.requests) == 0
    return [done["turn_id"]]


def delegated(worker: Worker, script: Script) -> list[str]:
    """Work that is handed to another agent."""
    worker.bind(script.url, agent_id="boss", toolsets=["delegation"])
    call = RequestedCall("c", "delegate_task", json.dumps({"goal": "Count."}))
    script.in_turn([call, _USAGE], ["Three.", _USAGE], ["He says three.", _USAGE])
    return [worker.run("go", agent_id="boss")["turn_id"]]


def served(worker: Worker, script: Script) -> list[str]:
    """A call of a program's MCP server, which is asked about; the program ends with its agent."""
    program = {"command": sys.executable, "args": [_MCP_SERVER, "plain"], "tools": {"resources": False, "prompts": False}}
    worker.bind(script.url, agent_id="served", mcp={"calc": {**program, "env": {}, "timeout": 5, "connect_timeout": 20}})
    script.in_turn([RequestedCall("c", "mcp__calc__add", '{"a": 2, "b": 40}')], ["Done."])
    done = worker.run("go", agent_id="served", allow=True)["turn_id"]
    children = psutil.Process(worker.process.pid).children(recursive=True)
    worker.send("unbind", agent_id="served")
    assert children
    assert not psutil.wait_procs(children, timeout=15)[1]
    return [done]


def shown(worker: Worker, script: Script) -> list[str]:
    """A question with a picture, for a model that is not known to take any."""
    worker.bind(script.url, agent_id="shown")
    script.in_turn(["I see."])
    return [worker.run([{"type": "text", "text": "What is it?"}, _PICTURE], agent_id="shown")["turn_id"]]


def shortened(worker: Worker, script: Script) -> list[str]:
    """A conversation that is too long, and shortened by a model call."""
    config = {"model": {"context_length": 64_000}, "compression": {"threshold": 0.5, "protect_last_n": 4}}
    worker.bind(script.url, agent_id="long", config=config)
    script.in_turn(["A summary.", _USAGE], ["Now.", _USAGE])
    history = []
    for n in range(60):
        history.append({"role": "user", "content": f"question {n} " * 60})
        history.append({"role": "assistant", "content": f"answer {n} " * 300})
    return [worker.run("now?", agent_id="long", history=history, session_id="long")["turn_id"]]


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (words, tools, asked, steered, stopped, refused, limited, delegated, served, shown, shortened)
}

QUICK = ("words", "tools", "asked", "steered", "stopped", "served")

_TIMES = re.compile(r"_ms$|_unix_s$|^wait_s$")
# What Hermes itself words otherwise in each release.
_HERS = (
    (re.compile(r"\[OUT-OF-BAND USER MESSAGE[^\]]*\]"), "[OUT-OF-BAND]"),
    (re.compile(r'\{"results": \[.*', re.S), "{}"),
    (re.compile(r" \(Recommended\)"), ""),
)
_IDS = {"fingerprint", "id", "request_id", "call_id", "session_id", "tool_call_id"}


def told(worker: Worker, turn_ids: list[str]) -> list[Any]:
    """The events of turns without ids and times, words that stream in put together."""
    found: list[Any] = []
    for turn_id in turn_ids:
        names: dict[str, str] = {}
        for event in _settled(worker.events(turn_id)):
            data = {k: _plain(v) for k, v in event["data"].items() if not _TIMES.search(k) and k not in _IDS}
            if data.get("result") == "{}" or data.get("name") == "clarify":
                data.pop("result_chars", None)
                data.pop("result", None)
            if data.get("messages_of") == "session":  # with the summary in Hermes's own frame
                data["messages"] = [message["role"] for message in data["messages"]]
            ids = [names.setdefault(str(event.get(k)), f"#{len(names)}") for k in ("span_id", "parent_id")]
            row = [event["kind"], event["attempt"], *ids, data]
            is_more = bool(found) and event["kind"].endswith(".delta") and found[-1][:4] == row[:4]
            if is_more:
                found[-1][4] = {"text": found[-1][4]["text"] + data["text"]}
            else:
                found.append(row)
    return json.loads(json.dumps(found).replace(str(worker.folder), "FOLDER"))  # type: ignore[no-any-return]


def _settled(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls that overlap may begin and end in any order: all begin first, in the order of their results."""
    order = {"tool.started": 0, "tool.completed": 1}
    runs = itertools.groupby(events, key=lambda event: event["kind"] in order)
    return [
        event
        for is_tool, run in runs
        for event in (sorted(run, key=lambda e: (order[e["kind"]], e["data"]["tool_call_id"])) if is_tool else run)
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, str):
        for pattern, short in _HERS:
            value = pattern.sub(short, value)
    return value
