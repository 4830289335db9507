"""A turn on Flyte that was killed goes on where it ran, from its own journal."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.runtimes.process import Process
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from tests.flyte.agents import bind, opened
from tests.flyte.scripts import n_replies


def _child(bound: BoundAgent, turn_id: str) -> int:
    """The process of a local run."""
    for instance in bound.hermes.instances.values():
        runs = getattr(instance.worker._connection, "_runs", {})
        if turn_id in runs:
            return int(runs[turn_id]._process.pid)
    raise AssertionError("no local run of that turn")


def _noting(path: Path, *, idempotent: bool = False, waits: bool = False) -> Any:
    """A tool that leaves a line for each time its body began, and, if it waits, does not return the first time."""
    kept = str(path)

    @tool(idempotent=idempotent)
    def note(word: str) -> str:
        """Note a word."""
        import time

        with open(kept, "a") as file:  # noqa: PTH123 - travels
            file.write(word + "\n")
        with open(kept) as file:  # noqa: PTH123
            n = len(file.readlines())
        while waits and n == 1:
            time.sleep(0.1)
        return f"noted {word}"

    return note


def _script(first: asyncio.Event, loop: asyncio.AbstractEventLoop) -> Any:
    """A tool call, then an answer whose first request never gets one."""
    asked = []

    def step(request: Any) -> Any:
        if n_replies(request) == 0:
            return Call("note", {"word": "a"})
        asked.append(1)
        if len(asked) == 1:
            loop.call_soon_threadsafe(first.set)
            return Hang()
        return Say("Done.")

    return step


def _kept(state: Path) -> list[Path]:
    return list(state.glob("instances/*/flyte/*/*.db"))


async def _killed_at_the_second_call(hermes: Hermes, model_of: Any, path: Path) -> tuple[BoundAgent, Any]:
    bound = bind(hermes, model_of, _noting(path), name="noter")
    turn = await bound.promote("Note a.", mode="local", retries=0)
    return bound, turn


async def test_a_killed_child_goes_on_where_it_ran_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    waits = asyncio.Event()
    with ScriptedModel(_script(waits, asyncio.get_running_loop())) as model, opened(tmp_path / "state") as hermes:
        bound, turn = await _killed_at_the_second_call(hermes, model, tmp_path / "notes")
        await asyncio.wait_for(waits.wait(), 60)
        os.killpg(_child(bound, turn.id), signal.SIGKILL)
        assert (await asyncio.wait_for(turn.wait(), 30)).status == "failed"
        again = await bound.resume(turn.id)
        result = await asyncio.wait_for(again.wait(), 60)
    assert (result.status, result.text) == ("completed", "Done.")
    assert [n_replies(r) for r in model.requests] == [0, 1, 1]
    assert (tmp_path / "notes").read_text() == "a\n"
    last = [s for s in result.spans if s.attempt == 2]
    assert [(s.kind, s.replayed) for s in last if s.kind != "turn"] == [("model", True), ("tool", True), ("model", False)]
    assert {e.data["runtime"] for e in result.events if e.kind == "turn.started"} == {"flyte:local"}


async def test_another_kernel_finds_the_runtime_in_the_log_and_the_journal_beside_it(tmp_path: Path) -> None:
    waits = asyncio.Event()
    with ScriptedModel(_script(waits, asyncio.get_running_loop())) as model:
        with opened(tmp_path / "state") as hermes:
            bound, turn = await _killed_at_the_second_call(hermes, model, tmp_path / "notes")
            await asyncio.wait_for(waits.wait(), 60)
            os.killpg(_child(bound, turn.id), signal.SIGKILL)
            await asyncio.wait_for(turn.wait(), 30)
        with opened(tmp_path / "state") as hermes:
            bound = bind(hermes, model, _noting(tmp_path / "notes"), name="noter")
            again = await bound.resume()
            result = await asyncio.wait_for(again.wait(), 60)
            assert bound.session_id == turn.session_id  # the next question continues that conversation
    assert (result.status, result.turn_id) == ("completed", turn.id)
    assert [n_replies(r) for r in model.requests] == [0, 1, 1]
    assert (tmp_path / "notes").read_text() == "a\n"
    assert again.agent.runtime_name == "flyte:local"


async def _cut_off_in_the_tool(hermes: Hermes, model: ScriptedModel, notes: Path, **options: Any) -> tuple[BoundAgent, Any]:
    bound = bind(hermes, model, _noting(notes, waits=True, **options), name="noter")
    turn = await bound.promote("Note a.", mode="local", retries=0)
    async with asyncio.timeout(60):
        while not (notes.is_file() and notes.read_text()):
            await asyncio.sleep(0.05)
    os.killpg(_child(bound, turn.id), signal.SIGKILL)
    await asyncio.wait_for(turn.wait(), 30)
    return bound, turn


def _two_calls(request: Any) -> Any:
    return Call("note", {"word": "a"}) if n_replies(request) == 0 else Say("Done.")


async def test_a_tool_that_may_have_run_is_asked_about_before_the_child_starts(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for answer, n_lines in (("deny", 1), ("once", 2)):
        notes.unlink(missing_ok=True)
        with ScriptedModel(_two_calls) as model, opened(tmp_path / answer) as hermes:
            bound, turn = await _cut_off_in_the_tool(hermes, model, notes)
            again = await bound.resume(turn.id)
            asked = await asyncio.wait_for(again.wait(until_asked=True), 60)
            assert asked.status == "needs_confirmation"
            [question] = again.pending
            assert "may have run" in question["question"]
            assert notes.read_text() == "a\n"
            again.approve(question["request_id"], answer)
            result = await asyncio.wait_for(again.wait(), 60)
        assert (result.status, result.text) == ("completed", "Done.")
        assert notes.read_text() == "a\n" * n_lines
        assert [n_replies(r) for r in model.requests] == [0, 1]
        told = str(model.requests[-1])
        assert ("not allowed" in told) == (answer == "deny")


async def test_an_idempotent_tool_runs_again_unasked(tmp_path: Path) -> None:
    with ScriptedModel(_two_calls) as model, opened(tmp_path / "state") as hermes:
        bound, turn = await _cut_off_in_the_tool(hermes, model, tmp_path / "notes", idempotent=True)
        again = await bound.resume(turn.id)
        result = await asyncio.wait_for(again.wait(), 60)
    assert (result.status, (tmp_path / "notes").read_text()) == ("completed", "a\na\n")


async def test_another_runtime_is_said_and_has_the_committed_steps_too(tmp_path: Path) -> None:
    waits = asyncio.Event()
    with ScriptedModel(_script(waits, asyncio.get_running_loop())) as model, opened(tmp_path / "state") as hermes:
        bound, turn = await _killed_at_the_second_call(hermes, model, tmp_path / "notes")
        await asyncio.wait_for(waits.wait(), 60)
        os.killpg(_child(bound, turn.id), signal.SIGKILL)
        await asyncio.wait_for(turn.wait(), 30)
        again = await bound.resume(turn.id, on=Process())
        result = await asyncio.wait_for(again.wait(), 60)
    assert result.status == "completed"
    said = [e.data["message"] for e in result.events if e.kind == "warning" and e.data["code"] == "runtime"]
    assert said == ["The turn ran on flyte:local before; from here on it runs on process."]
    assert [n_replies(r) for r in model.requests] == [0, 1, 1]
    assert (tmp_path / "notes").read_text() == "a\n"


def test_a_label_makes_the_same_runtime_and_holds_no_value() -> None:
    made = Flyte(
        mode="local", retries=1, secrets={"DB": "db-pass"}, env_vars={"TOKEN": "v-123"}, memory_key="k", allow=["a"]
    )
    label = made.label()
    assert "v-123" not in str(label)
    assert label["unkept"] == ["env_vars"]
    again = Flyte.from_label(label)
    assert (again.mode, again.retries, again.memory_key, again.secrets) == ("local", 1, "k", {"DB": "db-pass"})


async def test_a_run_ends_with_its_kernel(tmp_path: Path) -> None:
    import sys

    code = """
import asyncio, sys
from pathlib import Path
from tests.flyte.agents import bind, opened
from hermes_nb.model.agent import Agent, Model
async def main():
    with opened(Path(sys.argv[1])) as hermes:
        bound = hermes.bind(Agent("a", model=Model("m", "custom", sys.argv[2], api_key="k" * 20)))
        turn = await bound.promote("Hi", mode="local", retries=0)
        await turn.wait()
asyncio.run(main())
"""
    waits = asyncio.Event()
    loop = asyncio.get_running_loop()

    def step(request: Any) -> Any:
        loop.call_soon_threadsafe(waits.set)
        return Hang()

    with ScriptedModel(step) as model:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(tmp_path / "state"), model.base_url)
        await asyncio.wait_for(waits.wait(), 60)
        child = _children(process.pid)
        process.kill()
        await process.wait()
        async with asyncio.timeout(10):
            while any(_is_alive(pid) for pid in child):
                await asyncio.sleep(0.05)
    assert child
    [journal] = _kept(tmp_path / "state")
    with sqlite3.connect(journal) as db:
        assert db.execute("SELECT count(*) FROM events WHERE kind = 'model.started'").fetchone() == (1,)


def _children(pid: int) -> list[int]:
    listed = [int(p) for t in Path(f"/proc/{pid}/task").iterdir() for p in (t / "children").read_text().split()]
    return [p for p in listed if b"hermes_nb.flyte.run.local" in Path(f"/proc/{p}/cmdline").read_bytes()]


def _is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.is_file() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
