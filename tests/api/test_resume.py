"""Resume and fork: committed steps cost nothing again, what changed is said, a tool that may have run is asked about."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.api.turn import Turn
from hermes_nb.errors import SessionNotFoundError, UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


def _kill(hermes: Hermes) -> None:
    pid = next(iter(hermes.instances.values())).worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def _counting() -> tuple[Any, list[int]]:
    calls: list[int] = []

    @tool
    def add(n: int) -> int:
        """Add one."""
        calls.append(n)
        return n + 1

    return add, calls


async def _killed_after_a_step(own: Hermes, make: Make) -> tuple[BoundAgent, ScriptedModel, Turn, list[int]]:
    add, calls = _counting()
    hang = Hang()
    bound, model = make([Call("add", {"n": 1}), hang], on=own, tools=[add], name="solver")
    turn = await bound.start("question")
    await asyncio.to_thread(hang.wait_reached)
    _kill(own)
    assert (await turn.wait()).status == "failed"
    model.extend([Say("2 it is")])
    return bound, model, turn, calls


async def test_resumed_turn_pays_and_runs_nothing_twice(own: Hermes, make: Make) -> None:
    bound, model, turn, calls = await _killed_after_a_step(own, make)
    resumed = await turn.resume()
    result = await resumed.wait()
    assert (result.text, result.status, result.turn_id) == ("2 it is", "completed", turn.id)
    assert calls == [1]
    assert len(model.requests) == 3  # the committed one once, the hanging one twice
    assert [e.data.get("replayed") for e in result.events if e.kind in ("model.completed", "tool.completed")] == [
        True,
        True,
        None,
    ]
    model.extend([Say("next")])
    await bound.run("next question")
    roles = [m["role"] for m in model.requests[-1].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_another_kernel_resumes_what_a_killed_one_left(own: Hermes, make: Make) -> None:
    _, model, turn, calls = await _killed_after_a_step(own, make)
    other = Hermes.open_local(state=own.state_dir)  # the first still holds its instance: this one gets another journal
    try:
        add, more_calls = _counting()
        bound = other.bind(Agent("solver", model=model.model, tools=[add]))
        result = await (await bound.resume(turn.session_id)).wait()
        assert (result.text, result.turn_id) == ("2 it is", turn.id)
        assert calls == [1]
        assert more_calls == []
        assert len(model.requests) == 3
    finally:
        other.close()


async def test_resume_of_nothing_is_an_error(own: Hermes, make: Make) -> None:
    bound, _ = make([Say("done")], on=own)
    with pytest.raises(SessionNotFoundError):
        await bound.resume()
    with pytest.raises(SessionNotFoundError):
        await bound.resume("t-nothing")
    result = await bound.run("question")
    with pytest.raises(UsageError, match="completed"):
        await bound.resume(result.turn_id)


async def test_changed_agent_is_said_and_live_goes_on(own: Hermes, make: Make) -> None:
    _, model, turn, calls = await _killed_after_a_step(own, make)

    @tool(name="add")
    def other(n: int, m: int = 0) -> int:
        """Add something else."""
        return n + m

    bound = own.bind(Agent("solver", instructions="Be brief.", model=model.model, tools=[other]))
    with pytest.raises(UsageError, match=r"instructions changed.*tool add changed"):
        await bound.resume(turn.id)
    assert len(model.requests) == 2
    result = await (await bound.resume(turn.id, live=True)).wait()
    assert (result.status, result.text) == ("completed", "2 it is")
    assert calls == [1]
    assert len(model.requests) == 3  # the committed step was not asked again, though its request would be another now
    assert "Be brief." in model.requests[-1].body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "offline"}, "the model was custom:scripted@http://127.0.0.1:.* and is offline:hermes-nb-offline"),
        ({"instructions": "Be brief."}, "the instructions changed"),
        ({"toolsets": ["todo"]}, r"the toolsets were \[\] and are \['todo'\]"),
        ({"config": {"agent": {"api_max_retries": 2}}}, "config changed: agent"),
        ({"tools": []}, "tool add is gone; tool more is gone"),
        ({"tools": ["add", "other"]}, "tool other is new"),
        ({"tools": ["described"]}, "the description of tool add changed"),
        ({"tools": ["widened"]}, "the parameters of tool add changed"),
    ],
)
async def test_each_thing_that_differs_is_said(own: Hermes, make: Make, changed: dict[str, Any], said: str) -> None:
    def other(n: int) -> int:
        """Another."""
        return n

    @tool(name="add")
    def described(n: int) -> int:
        """Add something else."""
        return n

    @tool(name="add")
    def widened(n: int, m: int = 0) -> int:
        """Add one."""
        return n + m

    first, model, turn, _ = await _killed_after_a_step(own, make)
    known = {"add": first.tools[0], "other": other, "described": described, "widened": widened}
    if "tools" in changed:
        changed = {"tools": [known[name] for name in changed["tools"]]}
    bound = own.bind(Agent("solver", **{"model": model.model, "tools": [known["add"]], **changed}))
    with pytest.raises(UsageError, match=rf"Turn {turn.id} can't be resumed as it was: {said}\. Bind"):
        await bound.resume(turn.id)
    assert len(model.requests) == 2


async def test_the_same_agent_goes_on_and_one_of_its_name_elsewhere_is_refused(own: Hermes, make: Make) -> None:
    first, model, turn, calls = await _killed_after_a_step(own, make)
    agent = Agent("solver", model=model.model, tools=[first.tools[0]])
    elsewhere = (await own.create_instance("elsewhere", agents=[agent])).agent("solver")
    with pytest.raises(UsageError, match="belongs to the agent 'solver' of instance 'default', not to that of 'elsewhere'"):
        await elsewhere.resume(turn.id)
    assert len(model.requests) == 2
    assert (await (await own.bind(agent).resume(turn.id)).wait()).text == "2 it is"
    assert calls == [1]


async def test_a_turn_goes_on_once_whoever_asks(own: Hermes, make: Make) -> None:
    bound, model, turn, _ = await _killed_after_a_step(own, make)
    hang = Hang()
    model._script[-1] = hang
    add, _ = _counting()
    other = Hermes.open_local(state=own.state_dir)
    try:
        there = other.bind(Agent("solver", model=model.model, tools=[add]))
        tries = await asyncio.gather(
            *(bound.resume(turn.id) for _ in range(3)), *(there.resume(turn.id) for _ in range(3)), return_exceptions=True
        )
        going_on = [t for t in tries if isinstance(t, Turn)]
        assert len(going_on) == 1, [(t.agent.hermes.life.name, t._attempt, t.status, t.events) for t in going_on]
        (resumed,) = going_on
        refused = [str(t) for t in tries if not isinstance(t, Turn)]
        assert all(isinstance(t, UsageError) for t in tries if not isinstance(t, Turn)), refused
        said = ("being resumed", "still running", "runs in another kernel")
        assert all(any(words in text for words in said) for text in refused), refused
        await asyncio.to_thread(hang.wait_reached)
        for agent in (bound, there):
            with pytest.raises(UsageError, match=r"is still running|runs in another kernel"):
                await agent.resume(turn.id)
        hang.release()
        assert (await resumed.wait()).status == "completed"
        assert len(model.requests) == 3
    finally:
        await other.aclose()


async def test_a_prompt_with_a_key_in_it_is_not_paid_twice(own: Hermes, make: Make) -> None:
    add, calls = _counting()
    hang = Hang()
    key = "sk-scripted-0123456789abcdef"
    bound, model = make([Call("add", {"n": 1}, text=f"{key}?"), hang, Say("2 it is")], on=own, tools=[add])
    turn = await bound.start(f"Is {key} yours?")
    await asyncio.to_thread(hang.wait_reached)
    _kill(own)
    assert (await turn.wait()).status == "failed"
    result = await (await turn.resume()).wait()
    assert (result.text, result.status) == ("2 it is", "completed")
    assert (calls, len(model.requests)) == ([1], 3)


async def test_another_model_goes_on_after_the_committed_steps(own: Hermes, make: Make) -> None:
    paid: list[int] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    hangs = [Hang(), Hang()]
    script = [Call("pay", {"amount": 1}), Call("pay", {"amount": 2}), hangs[0]]
    bound, first = make(script, on=own, tools=[pay], name="payer")
    turn = await bound.start("question")
    await asyncio.to_thread(hangs[0].wait_reached)
    _kill(own)
    await turn.wait()
    other, second = make([Call("pay", {"amount": 3}), hangs[1]], on=own, tools=[pay], name="payer", instructions="Go on.")
    turn = await other.resume(turn.id, live=True)
    await asyncio.to_thread(hangs[1].wait_reached)
    _kill(own)
    await turn.wait()
    last, third = make([Say("done")], on=own, tools=[pay], name="payer", instructions="End it.")
    result = await (await last.resume(turn.id, live=True)).wait()
    assert (result.text, result.status) == ("done", "completed")
    assert paid == [1, 2, 3]
    assert [len(m.requests) for m in (first, second, third)] == [3, 2, 1]
    sent = third.requests[0].body["messages"]
    assert [m["role"] for m in sent] == ["system", "user", *["assistant", "tool"] * 3]
    assert [e.data.get("replayed") for e in result.events if e.kind == "tool.completed"] == [True] * 3
    assert last.model.base_url == third.base_url


async def test_tool_that_may_have_run_is_asked_about(own: Hermes, make: Make) -> None:
    started, release = threading.Event(), threading.Event()
    calls: list[int] = []

    @tool(parallel=True)
    def pay(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        if len(calls) == 1:
            started.set()
            release.wait(60)
        return "paid"

    bound, model = make([Call("pay", {"amount": 5}), Say("done")], on=own, tools=[pay])
    turn = await bound.start("question")
    await asyncio.to_thread(started.wait, 20)
    _kill(own)
    assert (await turn.wait()).status == "failed"
    resumed = await bound.resume(turn.id)
    waiting = await resumed.wait(until_asked=True)
    assert waiting.status == "needs_confirmation"
    assert "may have run" in resumed.pending[0]["question"]
    assert calls == [5]
    await asyncio.to_thread(resumed.approve, resumed.pending[0]["request_id"])
    assert (await resumed.wait()).text == "done"
    assert calls == [5, 5]
    release.set()
    assert len(model.requests) == 2


@pytest.mark.parametrize("reason", ["user", "closed"])
async def test_a_tool_that_was_stopped_half_way_is_asked_about_too(own: Hermes, make: Make, reason: str) -> None:
    """A restarted kernel stops its turns before it goes: what they ran has begun all the same."""
    started = asyncio.Event()
    calls: list[int] = []

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        if len(calls) == 1:
            started.set()
            await asyncio.Event().wait()
        return "paid"

    bound, model = make([Call("pay", {"amount": 5}), Say("done")], on=own, tools=[pay])
    turn = await bound.start("question")
    await asyncio.wait_for(started.wait(), 20)
    turn.stop(reason)
    assert (await turn.wait()).status == "stopped"
    resumed = await bound.resume(turn.id)
    assert (await resumed.wait(until_asked=True)).status == "needs_confirmation"
    assert "may have run" in resumed.pending[0]["question"]
    assert calls == [5]
    await asyncio.to_thread(resumed.approve, resumed.pending[0]["request_id"])
    assert (await resumed.wait()).text == "done"
    assert (calls, len(model.requests)) == ([5, 5], 2)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("amounts", [(1, 2, 3), (7, 7, 7)])
async def test_each_of_the_calls_that_ran_side_by_side_is_asked_about(
    own: Hermes, make: Make, is_async: bool, amounts: tuple[int, ...]
) -> None:
    all_began, release = threading.Semaphore(0), threading.Event()
    calls: list[int] = []

    async def pay_async(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        all_began.release()
        await asyncio.Event().wait()
        return "paid"

    def pay_in_thread(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        all_began.release()
        release.wait(60)
        return "paid"

    pay = tool(pay_async, name="pay") if is_async else tool(pay_in_thread, name="pay", parallel=True)
    bound, model = make([[Call("pay", {"amount": n}) for n in amounts], Say("done")], on=own, tools=[pay])
    turn = await bound.start("question")
    for _ in amounts:
        assert await asyncio.to_thread(all_began.acquire, timeout=20)
    turn.stop()
    result = await turn.wait()
    release.set()
    ended = [e.data for e in result.events if e.kind == "tool.completed"]
    assert [d["status"] for d in ended] == ["stopped"] * 3
    assert all("It may have run." in d["result"] for d in ended)
    resumed = await bound.resume(turn.id)
    n_asked = 0
    while (await resumed.wait(until_asked=True)).status == "needs_confirmation":
        n_asked += 1
        await asyncio.to_thread(resumed.deny, resumed.pending[0]["request_id"])
    assert n_asked == 3
    assert (await resumed.wait()).text == "done"
    assert (sorted(calls), len(model.requests)) == (sorted(amounts), 2)


async def test_idempotent_tool_runs_again_unasked(own: Hermes, make: Make) -> None:
    started, release = threading.Event(), threading.Event()
    calls: list[int] = []

    @tool(parallel=True, idempotent=True)
    def look(n: int) -> int:
        """Look."""
        calls.append(n)
        if len(calls) == 1:
            started.set()
            release.wait(60)
        return n

    bound, _ = make([Call("look", {"n": 5}), Say("done")], on=own, tools=[look])
    turn = await bound.start("question")
    await asyncio.to_thread(started.wait, 20)
    _kill(own)
    assert (await turn.wait()).status == "failed"
    assert (await (await bound.resume(turn.id)).wait(until_asked=True)).text == "done"
    assert calls == [5, 5]
    release.set()


async def test_fork_shares_the_beginning_and_costs_nothing(own: Hermes, make: Make, tmp_path: Path) -> None:
    bound, model = make([Say("one"), Say("two"), Say("other two"), Say("three")], on=own)
    first = await bound.run("first")
    await bound.run("second")
    forked = await bound.fork(at=first.turn_id, title="The other way")
    assert len(model.requests) == 2
    assert bound.session_id == forked != first.session_id
    await bound.run("second, otherwise")
    prompts = [m["content"] for m in model.requests[-1].body["messages"] if m["role"] == "user"]
    assert prompts == ["first", "second, otherwise"]
    row = next(r for r in own.sessions() if r.session_id == forked)
    assert (row.title, row.parent_session_id, row.n_turns) == ("The other way", first.session_id, 1)
    await bound.open_session(first.session_id)
    await bound.run("third")
    prompts = [m["content"] for m in model.requests[-1].body["messages"] if m["role"] == "user"]
    assert prompts == ["first", "second", "third"]


async def test_fork_at_a_step_of_a_stored_session_by_another_agent(own: Hermes, make: Make) -> None:
    add, _ = _counting()
    bound, _ = make([Call("add", {"n": 1}), Say("two")], on=own, tools=[add])
    result = await bound.run("first")
    step = next(e.span_id for e in result.events if e.kind == "tool.completed")
    other, model = make([Say("from here")], on=own)
    forked = await other.fork(result.session_id, at=step)
    own.conversations._sessions.clear()  # as another kernel would find it
    await other.open_session(forked)
    await other.run("go on")
    sent = model.requests[-1].body["messages"]
    assert [m["role"] for m in sent][:4] == ["system", "user", "assistant", "tool"]
    assert sent[-1]["content"] == "go on"
    with pytest.raises(SessionNotFoundError):
        await other.fork(result.session_id, at="nowhere")


async def test_what_git_says_of_the_working_directory_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.py").write_text("secret_project = 1\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    with ScriptedModel([Say("hi")]) as model:
        async with Hermes.local(state=tmp_path / "state") as hermes:
            await hermes.bind(Agent("a", model=model.model)).run("hello")
        system = model.requests[0].body["messages"][0]["content"]
    assert "untracked" not in system
    assert "branch" not in system.lower()


async def test_a_fork_keeps_what_it_was_told_when_its_parent_goes_on(own: Hermes, make: Make) -> None:
    hang = Hang()
    add, _ = _counting()
    bound, model = make([Call("add", {"n": 1}), hang, Say("in the fork"), Say("resumed"), Say("again")], on=own, tools=[add])
    turn = await bound.start("question")
    await asyncio.to_thread(hang.wait_reached)
    _kill(own)
    await turn.wait()
    forked = await bound.fork(at=turn.id)
    await bound.run("go on")
    before = model.requests[-1].body["messages"][1:]
    step = next(e.span_id for e in turn.events if e.kind == "tool.completed")
    at_step = await bound.fork(turn.session_id, at=step)
    await bound.open_session(turn.session_id)
    assert (await (await bound.resume(turn.id)).wait()).text == "resumed"
    own.conversations._sessions.clear()  # as another kernel would find it
    await bound.open_session(forked)
    await bound.run("once more")
    assert model.requests[-1].body["messages"][1 : len(before) + 1] == before
    assert await _texts(own, at_step) == await _texts(own, forked, n=len(before) - 1)
    whole = await bound.fork(turn.session_id)
    assert (await _texts(own, whole))[-1] == "resumed"


async def _texts(hermes: Hermes, session_id: str, *, n: int | None = None) -> list[str]:
    async def found() -> list[str]:
        return [str(m["content"]) for m in (await hermes.conversations.reload_session(session_id)).history()]

    return (await asyncio.to_thread(lambda: hermes.io.call(found())))[:n]
