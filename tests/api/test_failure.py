"""What goes wrong: the thing and the cure are named, what was shown is kept, no key is seen, the next run works."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.testing import Call, Drop, Fail, Hang, Malformed, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
KEY = "sk-scripted-0123456789abcdef"


def _leaks(folder: Path) -> Iterator[str]:
    """Files under a folder that hold the key or a piece of it."""
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if any(piece in data for piece in (KEY.encode(), b"0123456789ab", b"456789abcdef")):
                yield str(path)


async def test_wrong_key_names_the_cure_and_shows_no_piece_of_it(make: Make, hermes: Hermes) -> None:
    bound, _ = make([*[Fail(401, "Incorrect API key provided: {key}. Yours ends in abcdef.")] * 4])
    result = await bound.run("question")
    assert result.status == "failed"
    assert result.error is not None
    assert "key" in result.error.lower()
    seen = result.error + repr(result) + str(result) + str(result.raw) + "".join(e.to_json() for e in result.events)
    assert "0123456789ab" not in seen
    assert not list(_leaks(hermes.state_dir))


async def test_key_echoed_in_an_answer_is_masked(make: Make, hermes: Hermes) -> None:
    bound, _ = make([Say(f"Your key is {KEY}, and in two: {KEY[:20]} {KEY[8:]}.", deltas=40)])
    result = await bound.run("question")
    assert "0123456789ab" not in result.text + "".join(e.to_json() for e in result.events)
    assert not list(_leaks(hermes.state_dir))


async def test_unreachable_model_is_said_within_ten_seconds(hermes: Hermes) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    bound = hermes.bind(Agent("unreachable", model=Model("m", "custom", f"http://127.0.0.1:{port}/v1", "k")))
    began = time.perf_counter()
    result = await bound.run("question")
    assert time.perf_counter() - began < 10
    assert result.status == "failed"
    assert str(port) in (result.error or "")


async def test_rate_limit_then_success_shows_the_retry(make: Make) -> None:
    bound, _ = make([Fail(429, retry_after_s=0.2), Say("at last")])
    result = await bound.run("question")
    assert (result.text, result.status) == ("at last", "completed")
    assert [e.kind for e in result.events].count("model.retried") >= 1
    assert "retr" in str(result).lower()


@pytest.mark.parametrize("step", [Malformed("json"), Malformed("empty"), Drop(2)], ids=["json", "empty", "drop"])
async def test_turn_after_a_bad_reply_is_asked_again_not_answered_from_the_journal(make: Make, step: object) -> None:
    bound, model = make(lambda request: step if len(model.requests) == 1 else Say("good"))
    first = await bound.run("question")
    if first.status != "completed":
        assert first.error
    n_before = len(model.requests)
    assert (await bound.run("question")).text == "good"
    assert len(model.requests) == n_before + 1


async def test_worker_killed_mid_turn_is_one_clear_line_and_nothing_shown_is_lost(own: Hermes, make: Make) -> None:
    hang = Hang(text="Half of it")
    bound, model = make([hang], on=own)
    turn = await bound.start("question")
    async with asyncio.timeout(20):
        while not any(e.kind == "model.delta" for e in turn.events):
            await asyncio.sleep(0)
    shown = [e.key for e in turn.events]
    pid = bound.instance.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    result = await turn.wait()
    assert result.status == "failed"
    assert "SIGKILL" in (result.error or "")
    assert "\n" not in (result.error or "")
    assert "Half of it".startswith(result.text.strip())
    assert result.text
    store = await own.io.awaited(own.conversations.opened_store())
    assert set(shown) <= {e.key for e in await own.io.awaited(store.events(turn.session_id))}
    model.extend([Say("alive")])
    assert (await bound.run("again")).text == "alive"


async def test_unknown_toolset_is_refused_with_the_known_ones(hermes: Hermes) -> None:
    with pytest.raises(UsageError, match=r"Hermes has no toolset 'no_such_toolset'. Known: web, file, terminal"):
        hermes.bind(Agent("odd", model="offline", toolsets=["no_such_toolset"]))
    assert "odd" not in hermes.agents
    with pytest.raises(UsageError, match="no_such_toolset"):
        await (await hermes.create_instance("odd")).add_agent(Agent("odd", model="offline", toolsets=["no_such_toolset"]))


async def test_close_leaves_nothing(tmp_path: Path) -> None:
    import threading

    this = psutil.Process()
    threads = set(threading.enumerate())
    before = (this.num_fds(), set(this.children(recursive=True)))
    with ScriptedModel([Say("hi"), Hang(text="x")]) as model:
        async with Hermes.local(state=tmp_path / "state") as hermes:
            bound = hermes.bind(Agent("a", model=model.model))
            await bound.run("hello")
            await bound.start("and hang")
    await asyncio.get_running_loop().shutdown_default_executor()
    for thread in set(threading.enumerate()) - threads:  # those of the model's last connections are ending
        thread.join(10)
    assert {t.name for t in set(threading.enumerate()) - threads} == set()
    assert (this.num_fds(), set(this.children(recursive=True))) == before
    assert list((tmp_path / "state" / "instances").iterdir()) == []


async def test_tool_error_reaches_the_model_and_the_turn_goes_on(make: Make) -> None:
    @tool
    def broken() -> str:
        """Fail."""
        raise ValueError("the disk is on fire")

    bound, model = make([Call("broken"), Say("I see.")], tools=[broken])
    result = await bound.run("go")
    assert result.text == "I see."
    assert result.tools[0].status == "error"
    assert "the disk is on fire" in str(model.requests[1].body["messages"][-1])


async def test_approval_is_asked_answered_once_and_remembered_when_always(make: Make) -> None:
    calls: list[int] = []

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        return "paid"

    five, six = Call("pay", {"amount": 5}), Call("pay", {"amount": 6})
    script = [five, Say("1"), five, Say("2"), six, Say("3")]
    bound, _ = make(script, tools=[pay])
    waiting = await bound.run("go")
    assert waiting.status == "awaiting_approval"
    turn = bound.hermes.turns[-1]
    request_id = turn.pending[0]["request_id"]
    assert calls == []
    await asyncio.to_thread(turn.approve, request_id, "always")
    with pytest.raises(UsageError, match="already"):
        turn.approve(request_id)
    assert (await turn.wait()).text == "1"
    assert (await bound.run("again")).status == "completed"
    assert calls == [5, 5]
    other = await bound.run("more")
    assert other.status == "awaiting_approval"
    turn = bound.hermes.turns[-1]
    await asyncio.to_thread(turn.deny, turn.pending[0]["request_id"])
    final = await turn.wait()
    assert calls == [5, 5]
    assert final.tools[0].status == "denied"


async def test_worker_killed_between_turns_is_not_noticed_by_the_next_run(own: Hermes, make: Make) -> None:
    bound, model = make([Say("one"), Say("two")], on=own)
    await bound.run("first")
    pid = bound.instance.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert (await bound.run("second")).text == "two"
    assert len(model.requests) == 2
