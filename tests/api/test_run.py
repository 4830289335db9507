"""Whole turns through the real worker: what a run gives, how sessions go on, what is refused."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import (
    LoopBlockedError,
    SessionNotFoundError,
    TurnFailedError,
    UsageError,
)
from hermes_nb.model.agent import Agent
from hermes_nb.model.content import ContentPart
from hermes_nb.testing import Call, Fail, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.turns.tool_definitions import ToolDefinitions

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


@tool
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n


def _prompts(model: ScriptedModel, n: int = -1) -> list[str]:
    return [m["content"] for m in model.requests[n].body["messages"] if m["role"] == "user"]


@pytest.mark.parametrize("options", [{}, {"returns": int}, {"idempotency_key": "wrong"}])
@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (None, "A prompt is a text or a list of ContentPart, not None"),
        (5, "not an int"),
        (["What is this?"], r"Part 1 of the prompt is a str, not a ContentPart. Write ContentPart\('text', text='...'\)"),
        ([ContentPart("text", text="see"), object()], "Part 2 of the prompt is an object.*%hermes run --image NAME"),
    ],
)
async def test_what_is_no_prompt_is_named(make: Make, prompt: Any, said: str, options: dict[str, Any]) -> None:
    bound, model = make([])
    with pytest.raises(UsageError, match=said):
        await bound.run(prompt, **options)
    assert not model.requests


async def test_a_replayed_call_and_one_that_never_ran_have_their_arguments(make: Make, own: Hermes, tmp_path: Path) -> None:
    bound, _ = make([Call("double", {"n": 21}), Call("treble", {"n": 1}), Say("It is 42.")], on=own, tools=[double])
    first = await bound.run("Double 21.")
    own.record(tmp_path / "talk.jsonl")
    again = await bound.run("Double 21.", replay=tmp_path / "talk.jsonl", session_id=await bound.new_session())
    assert [e.data.get("replayed") for e in again.events if e.kind == "tool.completed"][:1] == [True]
    for result in (first, again):
        assert [t.arguments for t in result.tools] == ['{"n": 21}', '{"n": 1}']


async def test_an_argument_of_megabytes_is_whole_quick_and_kept_once_an_event(make: Make, own: Hermes) -> None:
    text = "ACGT" * 500_000
    got: list[str] = []

    @tool
    def save(text: str) -> str:
        """Save a text."""
        got.append(text)
        return f"{len(text)} characters"

    bound, _ = make([Call("save", {"text": text}), Say("Saved."), Say("Yes.")], on=own, tools=[save])
    began_s = time.monotonic()
    results = [await bound.run("Save it."), await bound.run("Is it saved?")]
    assert [r.text for r in results] == ["Saved.", "Yes."]
    assert got == [text]
    assert time.monotonic() - began_s < 20
    large = [e.kind for e in results[0].events if len(str(e.data)) > len(text)]
    assert large == ["model.completed", "tool.started"]


async def test_run_answers_with_a_notebook_tool(make: Make) -> None:
    bound, model = make([Call("double", {"n": 21}), Say("It is 42.")], tools=[double])
    result = await bound.run("Double 21")
    assert (result.text, result.status) == ("It is 42.", "completed")
    assert [(t.name, t.status, t.content, t.value) for t in result.tools] == [("double", "ok", "42", 42)]
    assert result.usage["input_tokens"] > 0
    assert result.cost_usd is None  # nobody gave a price: unknown, not 0
    assert result.model == "scripted"
    assert [s.kind for s in result.spans].count("model") == 2
    assert list(result.frame().columns)
    model.assert_followed()


def test_run_sync_needs_no_loop_and_serves_async_tools(make: Make) -> None:
    @tool
    async def slow(n: int) -> int:
        """A number, later."""
        await asyncio.sleep(0)
        return n + 1

    bound, _ = make([Call("slow", {"n": 1}), Say("2")], tools=[slow])
    assert bound.run_sync("go").tools[0].value == 2


async def test_run_sync_on_a_running_loop_refuses_async_tools_before_anything_is_sent(make: Make) -> None:
    @tool
    async def slow() -> int:
        """A number."""
        return 1

    bound, model = make([Say("never")], tools=[slow, double])
    with pytest.raises(LoopBlockedError, match="slow"):
        bound.run_sync("go")
    assert not model.requests


async def test_run_sync_on_a_running_loop_serves_plain_tools_on_the_main_thread(make: Make) -> None:
    seen: list[threading.Thread] = []

    @tool
    def where() -> str:
        """Which thread."""
        seen.append(threading.current_thread())
        return "here"

    bound, _ = make([Call("where"), Say("ok")], tools=[where])
    assert bound.run_sync("go").text == "ok"
    assert seen == [threading.main_thread()]


async def test_the_worker_starts_before_the_tools_are_described(
    make: Make, own: Hermes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Describing may take 0.1 s, of libraries that are imported for it, and an answer waits for the worker."""
    there: list[int | None] = []
    described = ToolDefinitions.tell_anew

    def describe(definitions: ToolDefinitions) -> None:
        there.append(own.instances["default"].worker.pid)
        described(definitions)

    monkeypatch.setattr(ToolDefinitions, "tell_anew", describe)
    bound, _ = make([Say("Yes.")], on=own, tools=[double])
    assert isinstance(there[0], int)
    assert (await bound.run("There?", show=False)).text == "Yes."
    assert bound.instance.worker.pid == there[0]


async def test_runs_continue_one_session(make: Make) -> None:
    bound, model = make([Say("one"), Say("two")])
    first = await bound.run("first question")
    second = await bound.run("second question")
    assert first.session_id == second.session_id == bound.session_id
    assert _prompts(model) == ["first question", "second question"]
    assert [m["role"] for m in model.requests[1].body["messages"]] == ["system", "user", "assistant", "user"]


async def test_new_session_forgets_and_open_session_remembers(make: Make) -> None:
    bound, model = make([Say("a"), Say("b"), Say("c")])
    first = await bound.run("in the first")
    await bound.new_session(title="Another")
    await bound.run("in the second")
    assert _prompts(model) == ["in the second"]
    await bound.open_session(first.session_id)
    await bound.run("back")
    assert _prompts(model) == ["in the first", "back"]


async def test_again_replaces_the_last_turn(make: Make) -> None:
    bound, model = make([Say("bad"), Say("better"), Say("next")])
    first = await bound.run("question")
    again = await bound.run("question, better put", again=True)
    assert again.session_id == first.session_id
    assert _prompts(model) == ["question, better put"]
    await bound.run("and then?")
    assert _prompts(model) == ["question, better put", "and then?"]


async def test_session_of_another_process_goes_on_with_the_same_messages(make: Make, own: Hermes, hermes: Hermes) -> None:
    bound, model = make([Call("double", {"n": 1}), Say("2"), Say("live")], tools=[double])
    first = await bound.run("once")
    await bound.run("twice")
    live = [m for m in model.requests[2].body["messages"] if m["role"] != "system"]
    events = await hermes.io.awaited((await hermes.io.awaited(hermes.conversations.opened_store())).events(first.session_id))
    model.extend([Say("restored")])
    restored = own.bind(Agent(bound.name, model=model.model, tools=[double]))
    turn_id = first.turn_id
    store = await own.io.awaited(own.conversations.opened_store())
    await own.io.awaited(
        store.put_session((await hermes.io.awaited(hermes.conversations.open_session(first.session_id))).row())
    )
    await own.io.awaited(store.ingest([e for e in events if e.turn_id == turn_id]))
    await restored.open_session(first.session_id)
    await restored.run("twice")
    assert [m for m in model.requests[3].body["messages"] if m["role"] != "system"] == live


async def test_unknown_session_is_an_error(make: Make) -> None:
    bound, _ = make()
    with pytest.raises(SessionNotFoundError, match="nowhere"):
        await bound.open_session("nowhere")


async def test_session_of_another_agent_is_refused(make: Make) -> None:
    bound, _ = make([Say("mine")])
    other, model = make([Say("never")])
    result = await bound.run("hi")
    with pytest.raises(UsageError, match=bound.name):
        await other.run("hi", session_id=result.session_id)
    assert not model.requests


@pytest.mark.parametrize("prompt", ["", "  \n\t "])
async def test_empty_prompt_is_refused_and_nothing_is_sent(make: Make, prompt: str) -> None:
    bound, model = make([Say("never")])
    with pytest.raises(UsageError, match="empty"):
        await bound.run(prompt)
    assert not model.requests


async def test_chat_gives_the_text_and_raises_for_a_failure(make: Make) -> None:
    bound, _ = make([Say("words"), *[Fail(401)] * 3])
    assert await bound.chat("hi") == "words"
    with pytest.raises(TurnFailedError) as caught:
        await bound.chat("hi")
    assert caught.value.result.status == "failed"  # type: ignore[attr-defined]


async def test_two_sessions_of_one_agent_overlap(make: Make) -> None:
    hang = Hang(then="slow answer")
    bound, _ = make(lambda request: hang if "slow" in str(request.body["messages"][-1]) else Say("quick answer"))
    one, two = await bound.new_session(), await bound.new_session()
    slow = await bound.start("slow", session_id=one)
    await asyncio.to_thread(hang.wait_reached)
    assert (await bound.run("quick", session_id=two)).text == "quick answer"
    assert not slow.is_done
    hang.release()
    assert (await slow.wait()).text == "slow answer"


async def test_turns_of_one_session_run_in_the_order_submitted(make: Make) -> None:
    bound, model = make([Say("1"), Say("2"), Say("3")])
    turns = [await bound.start(f"question {i}") for i in (1, 2, 3)]
    results = [await t.wait() for t in turns]
    assert [r.text for r in results] == ["1", "2", "3"]
    assert _prompts(model) == ["question 1", "question 2", "question 3"]
    assert [t.number for t in turns] == [1, 2, 3]


async def test_two_agents_with_a_tool_of_one_name_do_not_meet(make: Make) -> None:
    def maker(answer: str) -> Any:
        @tool
        def place() -> str:
            """Where it is."""
            return answer

        return place

    one, _ = make([Call("place"), Say("done")], tools=[maker("Paris")])
    two, _ = make([Call("place"), Say("done")], tools=[maker("Oslo")])
    results = await asyncio.gather(one.run("?"), two.run("?"))
    assert [r.tools[0].value for r in results] == ["Paris", "Oslo"]


async def test_rebinding_a_changed_tool_replaces_its_body_and_keeps_the_session(make: Make, hermes: Hermes) -> None:
    bound, model = make([Call("double", {"n": 1}), Say("two"), Call("double", {"n": 1}), Say("three")], tools=[double])
    first = await bound.run("?")

    @tool(name="double")
    def triple(n: int) -> int:
        """Twice a number."""
        return 3 * n

    again = hermes.bind(Agent(bound.name, model=model.model, tools=[triple]))
    second = await again.run("?")
    assert second.session_id == first.session_id
    assert second.tools[0].value == 3


async def test_steer_reaches_the_model_with_the_next_tool_result(make: Make) -> None:
    started, gate = threading.Event(), threading.Event()

    @tool(parallel=True)
    def wait_here() -> str:
        """Wait."""
        started.set()
        gate.wait(20)
        return "waited"

    bound, model = make([Call("wait_here"), Say("ok")], tools=[wait_here])
    turn = await bound.start("go")
    await asyncio.to_thread(started.wait, 20)
    assert await asyncio.to_thread(turn.steer, "in French, please")
    gate.set()
    await turn.wait()
    assert "in French, please" in str(model.requests[1].body["messages"][-1])
    assert any(e.kind == "steer.received" for e in turn.events)


async def test_add_and_remove_tools(make: Make) -> None:
    bound, model = make([Say("none"), Say("one"), Say("none")])
    await bound.run("?")
    binding = await bound.add_tools([double])
    await bound.run("?")
    await bound.remove_tools(binding)
    await bound.run("?")
    offered = [[t["function"]["name"] for t in r.body.get("tools") or []] for r in model.requests]
    assert offered == [[], ["double", "more"], []]
    with pytest.raises(UsageError, match=binding):
        await bound.remove_tools(binding)


async def test_what_was_shown_is_in_the_store(make: Make, hermes: Hermes) -> None:
    bound, _ = make([Call("double", {"n": 3}), Say("six")], tools=[double])
    result = await bound.run("Double three")
    store = await hermes.io.awaited(hermes.conversations.opened_store())
    stored = await hermes.io.awaited(store.events(result.session_id))
    assert {e.key for e in stored} == {e.key for e in result.events}
    row = next(r for r in hermes.sessions() if r.session_id == result.session_id)
    assert (row.agent, row.title, row.n_turns) == (bound.name, "Double three", 1)


async def test_cut_result_can_be_read_on(make: Make) -> None:
    @tool(max_result_chars=400)
    def report() -> str:
        """A long text."""
        return "".join(f"<{i}>" for i in range(500))

    def script(request: Any) -> Any:
        last = request.body["messages"][-1]
        if last["role"] == "user":
            return Call("report")
        found = re.search(r"result_id='(\w+)', offset=(\d+)", str(last["content"]))
        if found and len(request.body["messages"]) < 6:
            return Call("more", {"result_id": found[1], "offset": int(found[2])})
        return Say("read")

    bound, _ = make(script, tools=[report])
    result = await bound.run("Read it")
    assert [t.name for t in result.tools] == ["report", "more"]
    assert result.tools[0].content.startswith("<0><1>")
    assert len(result.tools[0].content) <= 420
    assert result.tools[1].content[:1] in "<0123456789>"
    assert len(result.tools[0].value) > 1500


async def test_tool_takes_a_variable_of_the_notebook_by_name(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    monkeypatch.setattr(sys.modules["__main__"], "sales", pd.DataFrame({"revenue": [1, 2]}), raising=False)

    @tool
    def total(frame: pd.DataFrame) -> int:
        """The total revenue."""
        return int(frame["revenue"].sum())

    bound, model = make([Call("total", {"frame": "sale"}), Call("total", {"frame": "sales"}), Say("3")], tools=[total])
    result = await bound.run("Total?")
    assert [t.status for t in result.tools] == ["error", "ok"]
    assert "sales" in result.tools[0].content
    assert result.tools[1].value == 3
    assert [t["function"]["name"] for t in model.requests[0].body["tools"]] == ["total", "more", "list_variables"]
