"""Options of a turn: each has an effect or is refused by name; none is swallowed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hermes_nb import ContentPart, Hermes, Tool, timeline, tool
from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.runtimes.process import Process
from hermes_nb.testing import Call, Hang, Say, ScriptedModel

Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


def one() -> int:
    """One."""
    return 1


def two() -> int:
    """Two."""
    return 2


@pytest.mark.hermes
@pytest.mark.parametrize("method", ["run", "start", "resume"])
@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("max_cost_us", "max_cost_usd"), ("idempotency_kye", "idempotency_key"), ("max_tokn", "max_tokens"), ("liev", "live")],
)
async def test_a_misspelled_option_is_refused_and_nothing_is_sent(make: Make, method: str, wrong: str, meant: str) -> None:
    bound, model = make([Say("no")])
    asked = () if method == "resume" else ("hi",)
    with pytest.raises(UsageError, match=rf"{method} takes no '{wrong}'") as told:
        await getattr(bound, method)(*asked, **{wrong: 1})
    is_known = meant != ("idempotency_key" if method == "resume" else "live")
    assert (f"Did you mean '{meant}'?" in str(told.value)) == is_known
    assert model.requests == []


@pytest.mark.hermes
def test_methods_that_do_not_wait_refuse_them_too(make: Make) -> None:
    bound, _ = make([Say("no")])
    with pytest.raises(UsageError, match=r"run_sync takes no 'max_cost'\. Did you mean 'max_cost_usd'"):
        bound.run_sync("hi", max_cost=1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"run_sync takes no 'timeout_ms'\. Did you mean 'timeout_s'"):
        bound.run_sync("hi", timeout_ms=3)  # type: ignore[arg-type]


@pytest.mark.hermes
@pytest.mark.parametrize("method", ["run", "run_sync"])
async def test_an_old_spelling_works_and_says_the_new_one(make: Make, method: str) -> None:
    bound, _ = make([Say("yes")])
    said = rf"{method}\(timeout=\.\.\.\) is now {method}\(timeout_s=\.\.\.\)"
    with pytest.warns(DeprecationWarning, match=said):
        result = await bound.run("hi", timeout=60) if method == "run" else bound.run_sync("hi", timeout=60)  # type: ignore[arg-type]
    assert result.text == "yes"


@pytest.mark.hermes
async def test_a_value_that_no_option_has_is_refused(make: Make) -> None:
    bound, model = make([Say("no")])
    for options, said in (
        ({"replay_miss": "liev"}, "replay_miss is 'error' or 'live', not 'liev'"),
        ({"metadata": "x"}, "metadata takes a dict"),
        ({"metadata": {"a": object()}}, "metadata takes a dict of JSON values: .*not JSON serializable"),
        ({"metadata": {1: 2}}, "metadata takes a dict with names as keys"),
        ({"tool_binding_ids": "b-1"}, "tool_binding_ids takes a list"),
        ({"tool_binding_ids": ["b-nope"]}, "has no tool binding 'b-nope'. Known: none"),
    ):
        with pytest.raises(UsageError, match=said):
            await bound.run("hi", **options)  # type: ignore[misc]
    assert model.requests == []


@pytest.mark.hermes
async def test_metadata_is_kept_in_the_log_and_not_shown_to_the_model(make: Make) -> None:
    bound, model = make([Say("1"), Say("2")])
    turn = await bound.start("hi", metadata={"run": 7, "tags": ["SEEN"]})
    result = await turn.get()
    assert turn.metadata == result.metadata == {"run": 7, "tags": ["SEEN"]}
    stored = await bound.hermes.io.awaited(_events(bound, turn.id))
    assert next(e.data["metadata"] for e in stored if e.kind == "turn.started") == turn.metadata
    assert "SEEN" not in str(model.requests[0].messages)
    assert (await bound.run("again")).metadata == {}


async def _events(bound: BoundAgent, turn_id: str) -> Any:
    return await (await bound.hermes.conversations.opened_store()).events(turn_id=turn_id)


@pytest.mark.hermes
async def test_only_the_tools_of_the_bindings_named_are_offered_in_that_turn(make: Make) -> None:
    bound, model = make([Say("1"), Call("one"), Say("2"), Say("3"), Say("4")], tools=[one])
    binding = await bound.add_tools([two])
    await bound.run("all")
    result = await bound.run("some", tool_binding_ids=[binding])
    await bound.run("all")
    await bound.run("none", tool_binding_ids=[])
    offered = [sorted(t["name"] for t in r.tools) for r in model.requests]
    assert offered == [["more", "one", "two"], ["more", "two"], ["more", "two"], ["more", "one", "two"], []]
    assert [t.status for t in result.tools] != ["ok"]


@pytest.mark.hermes
async def test_options_of_a_turn_can_not_ride_on_a_running_one(make: Make) -> None:
    bound, _ = make([Hang(), Say("2")])
    first = await bound.start("hi")
    with pytest.raises(UsageError, match=r"metadata can't be changed for it"):
        await bound.start("more", mode="steer", metadata={"a": 1})
    await first.stop()


def test_options_of_declarations_are_refused_with_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"Agent takes no 'instruction'\. Did you mean 'instructions'"):
        Agent("a", instruction="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Model takes no 'baseurl'\. Did you mean 'base_url'"):
        Model("m", "custom", baseurl="http://h/v1")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"Process: options takes no 'enviroment'\. Did you mean 'environment'"):
        Process(options={"enviroment": {}})
    with pytest.raises(UsageError, match=r"the environment variable 'N' must be a text, not of type int"):
        Process(options={"environment": {"N": 1}})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: Hermes(providr="x"),
            "Hermes takes no 'providr'. 'provider' is an option of Agent. Known: host, owner, runtime, state.",
        ),
        (lambda: Hermes.local(stat="x"), "Hermes.local takes no 'stat'. Did you mean 'state'?"),
        (lambda: Hermes.open_local(runtim=None), "Hermes.open_local takes no 'runtim'. Did you mean 'runtime'?"),
        (lambda: Agent("a", api_key="k"), "Agent takes no 'api_key'. 'api_key' is an option of Model."),
        (lambda: Agent("a", timeout=3), "Agent takes no 'timeout'. 'timeout_s' is an option of run."),
        (lambda: Model("m", "custom", bas_url="x"), "Model takes no 'bas_url'. Did you mean 'base_url'?"),
        (lambda: tool(aproval=True), "tool takes no 'aproval'. Did you mean 'approval'?"),
        (lambda: tool(one, paralel=True), "tool takes no 'paralel'. Did you mean 'parallel'?"),
        (lambda: Tool.from_function(one, idempotnt=True), "Did you mean 'idempotent'?"),
        (lambda: timeline(Say("x"), liv=True), "timeline takes no 'liv'. Did you mean 'live'?"),
        (lambda: ContentPart(typ="text"), "ContentPart takes no 'typ'. Did you mean 'type'?"),
        (lambda: Process(exectuable="x"), "Process takes no 'exectuable'. Did you mean 'executable'?"),
        (lambda: ScriptedModel([], apikey="x"), "ScriptedModel takes no 'apikey'. Did you mean 'api_key'?"),
        (lambda: Say("x", delta=1), "Say takes no 'delta'. Did you mean 'deltas'?"),
    ],
)
def test_a_misspelled_option_of_what_is_public_is_refused_with_the_nearest(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError) as told:
        call()
    assert said in str(told.value)


@pytest.mark.hermes
async def test_a_misspelled_option_of_what_a_bound_agent_and_its_turns_do_is_refused_too(make: Make) -> None:
    bound, model = make([Say("yes")])
    turn = await bound.start("hi")
    result = await turn.wait()
    for call, said in (
        (
            lambda: bound.hermes.create_instance("x", agent=[]),
            "create_instance takes no 'agent'. Did you mean 'agents'?",
        ),
        (lambda: bound.instance.add_agent(confg=None), "Instance.add_agent takes no 'confg'. Did you mean 'config'?"),
        (lambda: bound.fork(titel="x"), "BoundAgent.fork takes no 'titel'. Did you mean 'title'?"),
        (lambda: bound.new_session(titl="x"), "Did you mean 'title'?"),
        (lambda: bound.refresh_tools(name=[]), "refresh_tools takes no 'name'. Did you mean 'names'?"),
        (lambda: bound.chat("hi", timeout_sec=1), "run takes no 'timeout_sec'. Did you mean 'timeout_s'?"),
        (lambda: bound.run("hi", model="m"), "run takes no 'model'. 'model' is an option of Agent."),
        (lambda: bound.chat_widget(session="x"), "Did you mean 'session_id'?"),
        (lambda: turn.steer("x", timeout=3), "Turn.steer takes no 'timeout'. 'timeout_s' is an option of run. Known: text."),
        (lambda: turn.wait(timeout=3), "Turn.wait takes no 'timeout'. Did you mean 'timeout_s'?"),
        (lambda: turn.wait_blocking(timeout=3), "Turn.wait_blocking takes no 'timeout'. Did you mean 'timeout_s'?"),
        (lambda: turn.stop(reson="x"), "Turn.stop takes no 'reson'. Did you mean 'reason'?"),
        (lambda: turn.resume(liev=True), "Turn.resume takes no 'liev'. Did you mean 'live'?"),
        (lambda: result.wait(timeout=3), "RunResult.wait takes no 'timeout'. Did you mean 'timeout_s'?"),
        (lambda: bound.hermes.library.search("x", limt=3), "Library.search takes no 'limt'. Did you mean 'limit'?"),
    ):
        with pytest.raises((TypeError, UsageError)) as told:  # noqa: PT012
            found = call()
            await found if inspect.isawaitable(found) else None
        assert said in str(told.value)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"session_options": {"max_tokenz": 1500}}, r"takes no 'max_tokenz'\. Did you mean 'max_tokens'"),
        ({"session_options": {"temperature": 1}}, "takes no 'temperature'. Known: max_cost_usd, max_tokens"),
        ({"session_options": {"max_tokens": -1}}, "max_tokens must be a number of 0 or more, not -1"),
        ({"session_options": {"max_cost_usd": "1"}}, "max_cost_usd must be a number of 0 or more, not '1'"),
        ({"session_options": {"max_tokens": True}}, "not True"),
        ({"session_options": [1]}, "session_options takes a dict"),
        ({"profile_options": {"soul": "x"}}, r"profile_options has no option 'soul'. Hermes's settings go into config"),
        ({"config": ["x"]}, "config takes a dict"),
        ({"max_turns": 2.5}, "max_turns must be a whole number"),
        ({"max_turns": "3"}, "max_turns must be a whole number"),
    ],
)
def test_a_declaration_refuses_what_would_do_nothing(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as told:
        Agent("a", **options)
    assert "Agent 'a'" in str(told.value)


@pytest.mark.hermes
async def test_session_options_changed_in_place_end_the_turn_by_name(make: Make) -> None:
    bound, model = make([Say("no")])
    bound.config.session_options["max_tokenz"] = 3
    result = await bound.run("hi")
    assert result.status == "failed"
    assert "Did you mean 'max_tokens'" in str(result.error)
    assert model.requests == []


@pytest.mark.hermes
async def test_await_of_a_turn_and_of_its_result_gives_the_result(make: Make) -> None:
    bound, _ = make([Say("1"), Say("2")])
    first, second = await bound.start("a"), await bound.start("b")
    results = await asyncio.gather(first, second)
    assert [r.text for r in results] == ["1", "2"]
    assert await first is await results[0] is results[0]


@pytest.mark.hermes
async def test_a_turn_that_is_started_with_all_options_keeps_each(make: Make) -> None:
    hang = Hang()
    bound, model = make([hang, Say("2")], tools=[one])
    binding = await bound.add_tools([two])
    first = await bound.start("a", show=False)
    options: Any = {
        "mode": "enqueue",
        "tool_binding_ids": [binding],
        "metadata": {"run": 7},
        "idempotency_key": f"k-{binding}",
    }
    turn = await bound.start("b", **options)
    assert (turn.id != first.id, turn.status) == (True, "queued")
    hang.release()
    result = await turn
    assert (result.status, result.metadata) == ("completed", {"run": 7})
    assert sorted(t["name"] for t in model.requests[-1].tools) == ["more", "two"]
    assert await bound.start("b", **options) is turn
    later = options | {"metadata": {"run": 8}}
    assert (await bound.start("b", **later)).metadata == {"run": 7}  # the turn that the key names keeps its own
    assert len(model.requests) == 2


@pytest.mark.hermes
async def test_the_bindings_of_a_turn_are_a_part_of_the_question_that_its_key_names(make: Make) -> None:
    bound, model = make([Say("1")], tools=[one])
    binding = await bound.add_tools([two])
    key = f"k-{binding}"
    await bound.run("a", idempotency_key=key)
    others: tuple[Any, ...] = ([], [binding])
    for others_ids in others:
        with pytest.raises(UsageError, match="was used for another question"):
            await bound.run("a", idempotency_key=key, tool_binding_ids=others_ids)
    assert len(model.requests) == 1


@pytest.mark.hermes
@pytest.mark.parametrize("wrong", [5, b"s-1", ["s-1"], True, object()], ids=lambda value: type(value).__name__)
async def test_an_id_that_is_no_text_is_refused_by_name(make: Make, wrong: Any) -> None:
    bound, scripted = make(lambda request: Say("hi"))
    result = await bound.run("x")
    asked: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
        ("session_id", lambda: bound.run("x", session_id=wrong)),
        ("session_id", lambda: bound.fork(wrong)),
        ("at", lambda: bound.fork(at=wrong)),
        ("title", lambda: bound.fork(title=wrong)),
        ("turn_id", lambda: bound.resume(wrong)),
    ]
    for name, ask in asked:
        with pytest.raises(UsageError, match=f"^{name} is a text, not an? "):
            await ask()
    with pytest.raises(UsageError, match=r"turn_id is a text, not a RunResult\. Write \.turn_id after it\."):
        await bound.resume(result)  # type: ignore[arg-type]
    assert len(scripted.requests) == 1
