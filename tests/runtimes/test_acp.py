"""An agent behind the Agent Client Protocol: its words, tools, questions and tokens are a turn of ours."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.errors import UsageError, WorkerStartError
from hermes_nb.model.capability import lacking
from hermes_nb.runtimes._base import WorkerFiles
from hermes_nb.runtimes.acp import ACP
from hermes_nb.testing import Call, Say, ScriptedModel

STAND_IN = [sys.executable, str(Path(__file__).with_name("acp_stand_in.py"))]


class Rig:
    """A connection and all that it said."""

    def __init__(self, folder: Path) -> None:
        (folder / "w").mkdir()
        self.place = WorkerFiles("w1", folder / "home", folder / "journal", folder / "log", folder / "w")
        self.said: list[dict[str, Any]] = []
        self.ends: list[str] = []
        self._news = asyncio.Event()

    async def open(self, runtime: ACP) -> None:
        self.connection = await runtime.open(self.place, on_message=self._hear, on_end=self._end)
        agent = {"name": "a", "instructions": "Be brief.", "toolsets": [], "model": {}}
        self.connection.send("bind", agent_id="a", agent=agent)
        await self.until(lambda m: m["kind"] in ("bound", "bind.failed"))

    def _hear(self, message: dict[str, Any]) -> None:
        self.said.append(message)
        self._news.set()

    def _end(self, why: str) -> None:
        self.ends.append(why)
        self._news.set()

    async def until(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(60):
            while True:
                found = next((m for m in self.said if fits(m)), None)
                if found is not None:
                    return found
                assert not self.ends, self.ends
                self._news.clear()
                await self._news.wait()

    def start(self, turn_id: str, prompt: Any, **keys: Any) -> None:
        start = {"turn_id": turn_id, "session_id": "s", "agent_id": "a", "prompt": prompt, "history": [], "attempt": 1}
        self.connection.send("turn.start", **{**start, **keys})

    async def event(self, turn_id: str, kind: str) -> dict[str, Any]:
        found = await self.until(
            lambda m: m["kind"] == "event" and (m["event"]["turn_id"], m["event"]["kind"]) == (turn_id, kind)
        )
        return found["event"]  # type: ignore[no-any-return]

    async def done(self, turn_id: str) -> dict[str, Any]:
        return await self.until(lambda m: m["kind"] == "turn.done" and m["turn_id"] == turn_id)

    def rows(self, turn_id: str) -> list[tuple[str, dict[str, Any]]]:
        events = [m["event"] for m in self.said if m["kind"] == "event" and m["event"]["turn_id"] == turn_id]
        return [(e["kind"], e["data"]) for e in events]


async def test_words_and_tools_are_rows_and_tokens_are_those_of_the_turn(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP(STAND_IN))
    rig.start("t1", "hi")
    first = await rig.done("t1")
    assert (first["status"], first["text"]) == ("completed", "Half and half of: Be brief. | hi")
    rig.start("t2", "use a tool")
    second = await rig.done("t2")
    assert first["usage"] == second["usage"] == {"input_tokens": 10, "output_tokens": 5}
    kinds = [kind for kind, _ in rig.rows("t2")]
    assert kinds == [
        "turn.started",
        "model.started",
        "reasoning.delta",
        "model.completed",
        "tool.started",
        "tool.completed",
        "model.started",
        "model.delta",
        "model.completed",
        "turn.completed",
    ]
    tool = dict(rig.rows("t2"))["tool.completed"]
    assert (tool["name"], tool["status"], tool["result"], tool["builtin"]) == ("read_file", "ok", "the file", True)
    assert "Be brief" not in second["text"]  # their session has heard it
    await rig.connection.close()
    assert rig.ends == ["exit code 0"]


async def test_what_was_said_before_is_told_to_a_session_that_does_not_know_it(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP(STAND_IN))
    rig.start(
        "t1",
        [{"type": "text", "text": "and?"}, {"type": "image", "data": "aGk="}],
        history=[{"role": "user", "content": "hi"}],
    )
    assert (await rig.done("t1"))["text"].endswith("The conversation so far:\nuser: hi | and? | image")
    await rig.connection.close()


@pytest.mark.parametrize(("answer", "chosen"), [("once", "yes"), ("always", "yes"), ("deny", "no")])
async def test_a_permission_is_an_approval_and_never_more_than_once(tmp_path: Path, answer: str, chosen: str) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP(STAND_IN))
    rig.start("t1", "ask for permission")
    asked = (await rig.event("t1", "approval.requested"))["data"]
    assert (asked["name"], asked["arguments"], asked["question"]) == ("run", "make it so", "Run it?")
    rig.connection.send("answer", turn_id="t1", request_id=asked["request_id"], answer=answer)
    assert (await rig.done("t1"))["text"] == f"chosen: {chosen}"
    await rig.connection.close()


@pytest.mark.parametrize("prompt", ["wait", "ask for permission"])
async def test_a_stop_ends_it_with_what_there_is_and_the_next_turn_works(tmp_path: Path, prompt: str) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP(STAND_IN))
    rig.start("t1", prompt)
    await rig.event("t1", "model.delta" if prompt == "wait" else "approval.requested")
    rig.connection.send("turn.stop", turn_id="t1", reason="user")
    done = await rig.done("t1")
    assert done["status"] in ("stopped", "completed")
    assert (prompt == "wait") == (done["status"] == "stopped")
    rig.start("t2", "hi")
    assert (await rig.done("t2"))["status"] == "completed"
    await rig.connection.close()


async def test_an_error_is_told_in_its_own_words(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP(STAND_IN))
    rig.start("t1", "fail")
    done = await rig.done("t1")
    assert (done["status"], done["error"]) == ("failed", "Internal error no credits")
    await rig.connection.close()


async def test_what_the_protocol_has_no_word_for_is_told_as_lacking(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP(STAND_IN))
    ready = next(m for m in rig.said if m["kind"] == "ready")
    assert (ready["distribution"], ready["hermes_agent"]) == ("stand-in", "9.9")
    assert {"tools", "journal", "cost", "toolsets", "steer"} <= lacking(ready["capabilities"])
    assert not {"approve", "usage", "images"} & lacking(ready["capabilities"])
    await rig.connection.close()


async def test_another_version_of_the_protocol_is_refused_with_both_numbers(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP([*STAND_IN, "7"]))
    assert "speaks version 7 of the protocol, and 1 is needed" in rig.said[-1]["error"]
    await rig.connection.close()


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkerStartError, match=r"'no-such-agent' can't be started.*ACP\(command="):
        await Rig(tmp_path).open(ACP(["no-such-agent"]))


async def test_a_program_that_ends_is_told_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP([sys.executable, "-c", "print('no agent', flush=True); input()"]))
    assert "can't be asked by the Agent Client Protocol" in rig.said[-1]["error"]
    await rig.connection.close()
    assert rig.ends == ["exit code 0"]


def test_the_command_is_read_from_a_name_and_checked() -> None:
    assert ACP.from_name("/opt/hermes acp --verbose").command == ["/opt/hermes", "acp", "--verbose"]
    assert ACP.from_name("").command == ["hermes", "acp"]
    with pytest.raises(UsageError, match="command takes a list"):
        ACP("hermes acp")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="can't be read"):
        ACP.from_name("'open")
    assert "secret" not in repr(ACP(environment={"A_KEY": "secret"}))


ADD = {
    "name": "add",
    "description": "Add.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
}


async def answered(rig: Rig, turn_id: str, **result: Any) -> dict[str, Any]:
    """The call of a turn, which is answered so."""
    call = await rig.until(lambda m: m["kind"] == "tool.call" and m["turn_id"] == turn_id)
    given = {"turn_id": turn_id, "call_id": call["call_id"], "status": "ok", "result": "42", "result_chars": 2, **result}
    rig.connection.send("tool.result", **given)
    return call


async def test_a_function_of_the_notebook_is_called_as_a_worker_calls_it_and_is_one_row(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP([*STAND_IN, "1", "tools"]))
    assert "tools" not in lacking(next(m for m in rig.said if m["kind"] == "ready")["capabilities"])
    rig.start("t1", "the notebook", tools=[ADD])
    call = await answered(rig, "t1", duration_ms=3.5)
    assert (call["name"], json.loads(call["arguments"])) == ("add", {"a": 40, "b": "2"})
    done = await rig.done("t1")
    assert done["text"] == "ok 42"
    rows = rig.rows("t1")
    assert dict(rows)["turn.started"]["tools"] == ["add"]
    tools = [(kind, data["name"]) for kind, data in rows if kind.startswith("tool.")]
    assert tools == [("tool.started", "add"), ("tool.completed", "add")]
    ended = dict(rows)["tool.completed"]
    assert (ended["status"], ended["result"], ended["duration_ms"], "builtin" in ended) == ("ok", "42", 3.5, False)
    rig.start("t2", "the notebook", tools=[ADD])
    await answered(rig, "t2", status="denied", result="The user did not allow this call.")
    assert (await rig.done("t2"))["text"] == "error The user did not allow this call."
    await rig.connection.close()
    assert "Bearer" not in str(rig.said)


async def test_a_call_that_still_runs_when_its_turn_is_stopped_ends_with_it(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP([*STAND_IN, "1", "tools"]))
    rig.start("t1", "the notebook", tools=[ADD])
    await rig.until(lambda m: m["kind"] == "tool.call")
    rig.connection.send("turn.stop", turn_id="t1", reason="user")
    await answered(rig, "t1", status="stopped", result="Stopped.")
    await rig.done("t1")
    assert dict(rig.rows("t1"))["tool.completed"]["status"] == "stopped"
    await rig.connection.close()


async def test_a_program_that_does_not_ask_for_the_functions_is_told_of(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    await rig.open(ACP([*STAND_IN, "1", "tools"]))
    rig.start("t1", "hi", tools=[ADD])
    await rig.done("t1")
    assert "stand-in did not ask for the functions" in dict(rig.rows("t1"))["warning"]["message"]
    await rig.connection.close()


def hermes_acp(tmp_path: Path, model: ScriptedModel) -> ACP:
    home = tmp_path / "hermes"
    home.mkdir()
    config = {"default": "scripted", "provider": "custom", "base_url": model.start(), "api_key": "k" * 20}
    (home / "config.yaml").write_text(json.dumps({"model": {**config, "context_length": 200_000}}))
    program = shutil.which("hermes-acp", path=str(Path(sys.executable).parent))
    assert program is not None
    return ACP([program], {"HERMES_HOME": str(home)})


@pytest.mark.hermes
@pytest.mark.skipif(importlib.util.find_spec("acp") is None, reason="agent-client-protocol is not installed")
async def test_hermes_itself_calls_functions_of_the_notebook_in_each_of_its_sessions(tmp_path: Path) -> None:
    offered: list[set[str]] = []

    def step(request: Any) -> Any:
        names = {t["name"] for t in request.tools if "notebook" in t["name"]}
        if not request.tools:
            return Say("A title")
        offered.append(names)
        last = request.messages[-1]
        if last["role"] == "tool":
            return Say(f"Got {json.loads(last['content'])['result']}.")
        return Call(min(names), {"a": 40, "b": 2})

    model = ScriptedModel(step)
    rig = Rig(tmp_path)
    await rig.open(hermes_acp(tmp_path, model))
    for turn_id, session in (("t1", "s"), ("t2", "other")):
        rig.start(turn_id, "go", tools=[ADD], session_id=session)
        call = await answered(rig, turn_id)
        assert (call["name"], json.loads(call["arguments"])) == ("add", {"a": 40, "b": 2})
        done = await rig.done(turn_id)
        assert (done["status"], done["text"]) == ("completed", "Got 42.")
        assert [d["name"] for kind, d in rig.rows(turn_id) if kind == "tool.started"] == ["add"]
    assert all(len(names) == 1 for names in offered)
    await rig.connection.close()
    model.close()


@pytest.mark.hermes
@pytest.mark.skipif(importlib.util.find_spec("acp") is None, reason="agent-client-protocol is not installed")
async def test_hermes_itself_answers_asks_hears_and_stops(tmp_path: Path) -> None:
    steps: list[Any] = [
        Call("terminal", {"command": "rm -rf nothing_here"}),
        Say("Done."),
        Call("terminal", {"command": "sleep 30"}),
    ]
    model = ScriptedModel(lambda request: steps.pop(0) if request.tools and steps else Say("A title"))
    rig = Rig(tmp_path)
    await rig.open(hermes_acp(tmp_path, model))
    rig.start("t1", "go")
    asked = (await rig.event("t1", "approval.requested"))["data"]
    assert (asked["name"], asked["arguments"]) == ("terminal", "rm -rf nothing_here")
    rig.connection.send("answer", turn_id="t1", request_id=asked["request_id"], answer="once")
    done = await rig.done("t1")
    assert (done["status"], done["text"], done["usage"]["input_tokens"]) == ("completed", "Done.", 40)
    rig.start("t2", "wait")
    await rig.event("t2", "tool.started")
    rig.connection.send("turn.steer", turn_id="t2", text="be quick")
    assert (await rig.event("t2", "steer.received"))["data"] == {"text": "be quick", "applied": True}
    rig.connection.send("turn.stop", turn_id="t2", reason="user")
    assert (await rig.done("t2"))["status"] == "stopped"
    assert "be quick" not in rig.place.log.read_text()
    await rig.connection.close()
    model.close()
