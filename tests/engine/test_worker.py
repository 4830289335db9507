"""The process itself: how it starts, how it ends, what it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from hermes_nb.engine import wire
from hermes_nb.offline_model.endpoint import Refusal, RequestedCall, Wait
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes
Spawn = Callable[..., Worker]


def test_ready_says_what_the_hermes_here_can_do_before_an_agent_is_bound(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    worker.bind(script.url)
    kinds = [m["kind"] for m in worker.messages]
    assert kinds.index("ready") < kinds.index("bound")
    ready = worker.wait_kind("ready")
    assert (ready["protocol"], ready["producer"]) == (wire.VERSION, "w1")
    assert (ready["distribution"], ready["hermes_agent"][:2]) in (("hermes-agent", "0."), ("async-hermes-agent", "0."))
    assert {"tools", "steer", "journal", "usage"} <= set(ready["capabilities"])
    assert (ready["missing"], ready["problem"]) == ([], "")


@pytest.mark.parametrize("moment", ["idle", "call", "tool", "backoff"])
def test_the_end_of_the_pipe_ends_it_within_a_second(spawn: Spawn, script: Script, moment: str) -> None:
    worker = spawn()
    tools = [spec("slow")]
    worker.bind(script.url, tools=tools)
    if moment == "call":
        script.in_turn([Wait(None)])
        worker.wait_event("model.started", worker.start("x"))
    elif moment == "tool":
        script.in_turn([RequestedCall("c", "slow", "{}")])
        worker.start("x", tools=tools)
        worker.wait_kind("tool.call")
    elif moment == "backoff":
        script.in_turn([Refusal(429, "slow down", headers={"retry-after": "60"})])
        worker.wait_event("model.retried", worker.start("x"))
    started = time.monotonic()
    worker.close()
    assert time.monotonic() - started < 1
    assert worker.process.returncode == 0


def test_shutdown_ends_it(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    worker.bind(script.url)
    worker.send("shutdown")
    assert worker.process.wait(2) == 0


def test_a_parent_that_dies_ends_it_though_a_fork_holds_the_pipe(tmp_path: Path) -> None:
    code = f"""
import os, subprocess, sys, time
r, w_there = os.pipe(); r_there, w = os.pipe()
p = subprocess.Popen([sys.executable, "-P", "-m", "hermes_nb.engine", "--read-fd", str(r_there), "--write-fd", str(w_there),
    "--home", {str(tmp_path / "h")!r}, "--journal", {str(tmp_path / "j")!r}, "--producer", "w"],
    pass_fds=(r_there, w_there), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
os.read(r, 100)  # ready
print(p.pid, flush=True)
keeper = os.fork()
if keeper == 0:
    os.close(1)
    time.sleep(30)  # holds the pipe's end
    os._exit(0)
print(keeper, flush=True)
os.kill(os.getpid(), 9)
"""
    kernel = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert kernel.stdout is not None
    with kernel.stdout:
        worker_pid, keeper = int(kernel.stdout.readline()), int(kernel.stdout.readline())
        killed = time.monotonic()
        kernel.wait(5)
    try:
        while _process(worker_pid) is not None and time.monotonic() - killed < 3:
            threading.Event().wait(0.01)
        assert time.monotonic() - killed < 1
    finally:
        os.kill(keeper, signal.SIGKILL)


def _process(pid: int) -> psutil.Process | None:
    """A living process; a zombie nobody reaps counts as dead."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


def test_garbage_and_unknown_messages_do_no_harm(shared: Worker, script: Script) -> None:
    shared._sender.send_bytes(b"not json\n\n[1,2]\n")
    shared.send("from.the.future", x=1)
    shared.send("turn.stop", turn_id="nobody", reason="user")
    shared.send("tool.result", turn_id="nobody", call_id="x", status="ok", result="")
    shared.bind(script.url, agent_id="tough")
    assert shared.run("hi", agent_id="tough")["status"] == "completed"


def test_a_message_that_lacks_something_is_answered(shared: Worker) -> None:
    shared.send("turn.start", turn_id="halfway")
    assert shared.wait_kind("turn.done", turn_id="halfway")["error_type"] == "WireError"
    shared.send("bind", agent_id="halfway")
    assert shared.wait_kind("bind.failed", agent_id="halfway")["error_type"] == "WireError"
    shared.send("tool.result")
    shared.send("answer", turn_id=None)


def test_what_is_printed_goes_to_the_log_only(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    worker.bind(script.url, toolsets=["terminal"])
    script.in_turn([RequestedCall("c", "terminal", json.dumps({"command": "echo noise >&2; echo more"}))], ["Done."])
    assert worker.run("x", allow=True)["text"] == "Done."
    assert all(m["kind"] != "malformed" for m in worker.messages)


def test_nothing_is_written_outside_its_folders(spawn: Spawn, script: Script, tmp_path: Path) -> None:
    home, temporary = tmp_path / "user", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    worker = spawn(environment={"HOME": str(home), "TMPDIR": str(temporary)})
    tools = [spec("big")]
    worker.tools["big"] = lambda: "x" * 150_000
    worker.bind(script.url, tools=tools, toolsets=["terminal", "file"])
    script.in_turn([RequestedCall("c", "big", "{}"), RequestedCall("d", "terminal", '{"command": "true"}')], ["Done."])
    assert worker.run("x", tools=tools, allow=True)["text"] == "Done."
    script.in_turn([Refusal(400, "bad")])
    assert worker.run("x")["status"] == "failed"
    assert list(home.rglob("*")) == []
    assert list(temporary.rglob("*")) == []
    assert sorted(p.name for p in worker.folder.iterdir() if "sqlite" not in p.name) == ["home", "w1.log"]
    assert list((worker.home / "sessions").iterdir()) == []


def test_an_unusable_home_is_fatal_and_said(spawn: Spawn, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "home").write_text("a file")
    worker = spawn()
    assert "home" in worker.wait_kind("fatal", 10)["error"]
    assert worker.process.wait(5) == 1


def test_the_home_s_env_file_overrides_nothing(spawn: Spawn, script: Script, tmp_path: Path) -> None:
    home = tmp_path / "w" / "home"
    home.mkdir(parents=True)
    (home / ".env").write_text("LANG=overridden\nOPENAI_API_KEY=sk-from-the-file-000\n")
    worker = spawn()
    worker.bind(script.url, toolsets=["terminal"])
    command = "echo [$LANG] [$OPENAI_API_KEY] [$HERMES_HOME]"
    script.in_turn([RequestedCall("c", "terminal", json.dumps({"command": command}))], ["Done."])
    done = worker.run("x", allow=True)
    said = worker.events(done["turn_id"], "tool.completed")[0]["data"]["result"]
    assert "overridden" not in said
    assert "sk-from" not in said
    assert str(home) in said


def test_warming_up_leaves_no_trace(spawn: Spawn, script: Script) -> None:
    worker = spawn()
    worker.bind(script.url)
    worker.send("warm", agent_id="a")
    warmed = worker.wait_kind("warmed")
    assert warmed["is_ok"]
    assert warmed["duration_ms"] > 0
    assert [m["kind"] for m in worker.messages] == ["ready", "bound", "warmed"]
    assert script.requests == []
    done = worker.run("hi")
    assert worker.events(done["turn_id"])[0]["seq"] == 1


def test_warming_up_an_agent_that_is_not_there_is_said(shared: Worker) -> None:
    shared.send("warm", agent_id="nobody")
    warmed = shared.wait_kind("warmed", agent_id="nobody")
    assert not warmed["is_ok"]
    assert warmed["error"] == "its agent is not bound"
