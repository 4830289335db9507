"""One turn under a key, from many tasks of two kernels; from kernels that die; in one conversation of both."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api._observed_turn import ObservedRunner
from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Hang, Say, ScriptedModel
from hermes_nb.turns.request import TurnRequest

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]

# Another kernel: asks N times at once under each key it is told, says what came of it; ends with its input.
KERNEL = """
import asyncio, json, sys
from hermes_nb.model.agent import Agent, Model
from hermes_nb.api.hermes import Hermes
hermes = Hermes.open_local(state=sys.argv[1])
bound = hermes.bind(Agent("keyed", model=Model("scripted", "custom", base_url=sys.argv[2], api_key="sk-scripted-012345678")))
async def ask(order):
    turns = [await bound.start(order["prompt"], idempotency_key=order["key"]) for _ in range(order["n"])]
    print(json.dumps({"turns": [t.id for t in turns]}), flush=True)
    results = [await t.wait() for t in turns]
    return [[r.status, r.text, r.turn_id, r.error] for r in results]
async def main():
    print(json.dumps("ready"), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await ask(json.loads(line))), flush=True)
asyncio.run(main())
hermes.close()
"""


class Other:
    """A kernel in a process of its own."""

    def __init__(self, state: Path, base_url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", KERNEL, str(state), base_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.hear() == "ready"

    def ask(self, prompt: str, key: str, n: int = 1) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"prompt": prompt, "key": key, "n": n}) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Callable[[ScriptedModel], Other]]:
    """`beside(model) -> another kernel on the same state folder`."""
    others: list[Other] = []

    def start(model: ScriptedModel) -> Other:
        others.append(Other(tmp_path / "state", model.base_url))
        return others[-1]

    yield start
    for other in others:
        other.end()


async def test_two_kernels_ask_once_from_many_tasks(own: Hermes, beside: Any) -> None:
    with ScriptedModel(lambda request: Say(f"answer to {request.messages[-1]['content']}", first_byte_delay_s=0.1)) as model:
        bound = own.bind(Agent("keyed", model=model.model))
        other = await asyncio.to_thread(beside, model)
        await bound.run("warm")
        for n in range(8):
            prompt = f"question {n}"
            await asyncio.to_thread(other.ask, prompt, f"k{n}", 5)
            mine = await asyncio.gather(*(bound.run(prompt, idempotency_key=f"k{n}") for _ in range(5)))
            await asyncio.to_thread(other.hear)
            theirs = await asyncio.to_thread(other.hear)
            assert {(r.status, r.text) for r in mine} == {("completed", f"answer to {prompt}")}
            assert {tuple(t[:3]) for t in theirs} == {("completed", f"answer to {prompt}", mine[0].turn_id)}
            assert {r.turn_id for r in mine} == {mine[0].turn_id}
        asked = [r.body["messages"][-1]["content"] for r in model.requests]
        assert sorted(asked) == sorted(["warm", *(f"question {n}" for n in range(8))])


async def test_another_body_under_a_key_of_another_kernel_is_an_error(own: Hermes, beside: Any) -> None:
    hang = Hang()
    with ScriptedModel([hang]) as model:
        bound = own.bind(Agent("keyed", model=model.model))
        other = await asyncio.to_thread(beside, model)
        await asyncio.to_thread(other.ask, "question", "k")
        (turn_id,) = (await asyncio.to_thread(other.hear))["turns"]
        await asyncio.to_thread(hang.wait_reached)
        with pytest.raises(UsageError, match="'k' was used for another question"):
            await bound.start("another question", idempotency_key="k")
        waiting = await bound.start("question", idempotency_key="k")
        assert isinstance(waiting._runner, ObservedRunner)
        assert (waiting.id, waiting.status, waiting.is_here) == (turn_id, "running", False)
        given_up = await (await bound.start("question", idempotency_key="k")).stop()
        assert given_up.status == "stopped"
        hang.release()
        (theirs,) = await asyncio.to_thread(other.hear)
        assert theirs[0] == "completed"  # it went on
        again = await bound.hermes.io.awaited(bound.hermes.conversations.opened_store())
        stored = await bound.hermes.io.awaited(again.events(turn_id=turn_id))
        assert [e.kind for e in stored if e.is_turn_end] == ["turn.completed"]


async def test_what_a_killed_kernel_began_under_a_key_is_gone_on_with_once(own: Hermes, beside: Any) -> None:
    hang = Hang(text="Half ")
    with ScriptedModel([hang, Say("whole")]) as model:
        bound = own.bind(Agent("keyed", model=model.model))
        other = await asyncio.to_thread(beside, model)
        third = await asyncio.to_thread(beside, model)
        await asyncio.to_thread(other.ask, "question", "k")
        (turn_id,) = (await asyncio.to_thread(other.hear))["turns"]
        await asyncio.to_thread(hang.wait_reached)
        turn = await bound.start("question", idempotency_key="k")
        await asyncio.to_thread(third.ask, "question", "k", 3)
        await asyncio.to_thread(third.hear)
        other.process.kill()
        result = await turn.wait(60)
        theirs = await asyncio.to_thread(third.hear)
        assert (result.text, result.status, result.turn_id) == ("whole", "completed", turn_id), result.error
        assert {tuple(t[:3]) for t in theirs} == {("completed", "whole", turn_id)}
        assert len(model.requests) == 2
        assert (await bound.run("question", idempotency_key="k")).turn_id == turn_id


async def test_a_claim_whose_turn_never_began_is_taken_over(own: Hermes, make: Make) -> None:
    from hermes_nb.api._launch import _digest
    from hermes_nb.store.claim import Claim

    bound, model = make([Say("once")], on=own)
    store = await own.io.awaited(own.conversations.opened_store())
    body = _digest(bound.name, TurnRequest(prompt="question"))
    await own.io.awaited(store.claim(Claim("k", body, "s-gone", "t-gone", "k-gone")))
    with pytest.raises(UsageError, match="another question"):
        await bound.run("other", idempotency_key="k")
    assert (await bound.run("question", idempotency_key="k")).text == "once"
    assert len(model.requests) == 1
    assert (await own.io.awaited(store.claim_of("k"))).owner == own.life.name


async def test_a_submission_that_is_refused_frees_its_key(own: Hermes, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bound, _ = make([Say("once")], on=own)
    with monkeypatch.context() as patched:
        patched.setattr("hermes_nb.host.plain.PlainHost.open_sink", lambda *a, **k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            bound.submit(TurnRequest(prompt="question", idempotency_key="k"))
    store = await own.io.awaited(own.conversations.opened_store())
    assert await own.io.awaited(store.claim_of("k")) is None
    assert (await bound.run("question", idempotency_key="k")).text == "once"


async def test_a_deleted_session_frees_its_keys(own: Hermes, make: Make) -> None:
    bound, model = make([Say("one"), Say("two")], on=own)
    first = await bound.run("question", idempotency_key="k")
    await asyncio.to_thread(own.library.delete, first.session_id)
    own.keyed.clear()  # as another kernel would find it
    assert (await bound.run("question", idempotency_key="k")).text == "two"
    assert len(model.requests) == 2


async def test_two_kernels_in_one_conversation_send_what_both_said(own: Hermes, make: Make) -> None:
    bound, model = make([Say(str(n)) for n in range(4)], on=own, name="talker")
    first = await bound.run("a")
    other = Hermes.open_local(state=own.state_dir)
    try:
        there = other.bind(Agent("talker", model=model.model))
        await there.open_session(first.session_id)
        await there.run("b")
        await bound.run("c")
        await there.run("d")
    finally:
        await other.aclose()
    sent = [m["content"] for m in model.requests[-1].body["messages"][1:]]
    assert sent == ["a", "0", "b", "1", "c", "2", "d"]
    assert (await asyncio.to_thread(own.library.turns, first.session_id))[-1].prompt == "d"


@pytest.mark.parametrize("key", [5, 0, True, b"order-5", uuid.uuid4(), "", "  ", "\ud800", "a\0b"])
async def test_what_is_no_key_is_refused_at_once(make: Make, key: Any) -> None:
    bound, model = make([Say("never")])
    with pytest.raises(UsageError, match="An idempotency key is a text"):
        await bound.run("question", idempotency_key=key)
    assert model.requests == []


@pytest.mark.parametrize("key", ["order\u20285", "x" * 100_000, "schlüssel"])
async def test_any_text_is_a_key(own: Hermes, make: Make, key: str) -> None:
    bound, model = make([Say("once")], on=own)
    first = await bound.run("question", idempotency_key=key)
    own.keyed.clear()  # as another kernel would find it
    assert (await bound.run("question", idempotency_key=key)).turn_id == first.turn_id
    assert len(model.requests) == 1
