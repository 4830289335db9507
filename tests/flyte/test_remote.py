"""Agents of a notebook as runs of the loopback cluster: every container is a process of its own."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import flyte
import flyte.remote
import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.flyte.task.report import events_in
from hermes_nb.model.span import fold
from hermes_nb.testing import Call, Fail, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.views import rows, text
from tests.flyte.agents import KEY, REMOTE, Flyte, ask, bind, essence, of_run, opened
from tests.flyte.loopback import LoopbackPlane
from tests.flyte.loopback.state import ABORTED, SUCCEEDED
from tests.flyte.scripts import TWO_CITIES, asked, body_text, by_turn


@pytest.fixture
def hermes(plane: LoopbackPlane, tmp_path: Path) -> Any:
    with opened(tmp_path / "state") as hermes:
        yield hermes


async def test_a_remote_turn_tells_the_same_story_as_a_local_one(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        here = bind(hermes, model)
        in_notebook = await here.run("Weather in Paris and Rome?")
        await here.new_session()
        local = await ask(here, mode="local")
        await here.new_session()
        remote = await ask(here)
    assert remote.status == "completed"
    assert remote.text == local.text == in_notebook.text == "Both sunny."
    assert essence(remote.events) == essence(local.events) == essence(in_notebook.events)
    assert len(model.requests) == 9
    name = here.name
    assert plane.tree(remote.raw["run"]) == [
        ("", f"{name}.turn", SUCCEEDED, 1),
        ("a0", "model_turn", SUCCEEDED, 0),
        ("a0", f"{name}-get-weather.get_weather", SUCCEEDED, 1),
        ("a0", "model_turn", SUCCEEDED, 0),
        ("a0", f"{name}-get-weather.get_weather", SUCCEEDED, 1),
        ("a0", "model_turn", SUCCEEDED, 0),
    ]
    # the schema the model saw is the notebook's, and the key came by the secret's name
    assert model.requests[-1].body["tools"] == model.requests[0].body["tools"]
    assert model.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert Path(local.raw["report"]).read_text().count("final answer") >= 1
    stored = await hermes.io.awaited(
        (await hermes.io.awaited(hermes.conversations.opened_store())).events(remote.session_id)
    )
    assert of_run(stored) == of_run(remote.events)


@pytest.mark.parametrize("when", [{"after_traces": 1}, {"after_children": 1}])
async def test_a_crash_is_not_paid_for_twice_and_both_views_agree(
    plane: LoopbackPlane, hermes: Hermes, when: dict[str, int]
) -> None:
    crash = plane.crash("turn", **when)
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        result = await ask(bind(hermes, model))
    assert crash.fired
    assert (result.status, result.text) == ("completed", "Both sunny.")
    assert asked(model) == [0, 1, 2]  # each model call once
    assert plane.run(result.raw["run"]).root.attempts[1:]
    phases = [(e.attempt, e.data["phase"]) for e in result.events if e.kind == "flyte.run"]
    assert (phases[0], phases[-1]) == ((1, "submitting"), (2, "succeeded"))
    replayed = [s for s in result.spans if s.replayed]
    assert [s.kind for s in replayed] == ["model"]
    assert all(s.duration_ms is None and not s.usage for s in replayed)
    report = await (await flyte.remote.Run.get.aio(result.raw["run"])).get_report.aio()
    in_report = events_in(report)
    assert in_report == of_run(result.events)
    of_notebook, of_report = fold(of_run(result.events)), fold(in_report)
    assert of_notebook == of_report
    assert rows.render(of_run(result.events)) == rows.render(in_report)
    assert text.render(of_run(result.events)) == text.render(in_report)
    assert "replayed" in body_text(report)
    agent_tab = body_text(report).split("Hermes agent")[1]
    assert agent_tab.count("model turn") >= 3


async def test_stop_aborts_the_run(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel([Hang()]) as model:
        turn = await bind(hermes, model).promote("Think.", **REMOTE)
        await asyncio.to_thread(model.wait_for_requests, 1, 60)
        result = await turn.stop()
        name = turn.result.raw["run"] if turn.result and turn.result.raw.get("run") else list(plane.store.runs)[-1]
        model.release()
    assert result.status == "stopped"
    run = await flyte.remote.Run.get.aio(name)
    await asyncio.wait_for(run.wait.aio(quiet=True), 20)
    assert plane.run(name).root.phase == ABORTED


async def test_a_turn_that_is_refused_says_what_was_asked_and_can_be_resumed(plane: LoopbackPlane, hermes: Hermes) -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    with ScriptedModel([Say("Done.")]) as model:
        bound = bind(hermes, model, pay)
        refused = await hermes.bind_on(bound, Flyte(**REMOTE)).run("Pay Ada.", show=False)
        assert refused.status == "failed"
        assert "[approval]" in refused.error
        (started,) = (e for e in refused.events if e.kind == "turn.started")
        assert (started.data["prompt"], started.data["model"]) == ("Pay Ada.", "scripted")
        (session,) = await hermes.io.awaited((await hermes.io.awaited(hermes.conversations.opened_store())).sessions())
        assert session.title == "Pay Ada."
        result = await (await bound.resume(show=False)).wait()
    assert (result.status, result.text, result.turn_id) == ("completed", "Done.", refused.turn_id)


async def test_a_word_that_can_not_be_put_in_is_handed_back_and_said(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel([Hang()]) as model:
        turn = await bind(hermes, model).promote("Think.", **REMOTE)
        await asyncio.to_thread(model.wait_for_requests, 1, 60)
        assert await asyncio.to_thread(turn.steer, "Be quick.") is False
        result = await turn.stop()
        model.release()
    said = [e.data["message"] for e in result.events if e.kind == "warning" and e.data["code"] == "no-steering"]
    assert said == ["Flyte has no way to put in a word while a run goes on. Stop it, or ask in the next turn."]
    assert turn.unread_steer == "Be quick."


async def test_a_stop_before_the_run_has_a_name_aborts_it_all_the_same(plane: LoopbackPlane, hermes: Hermes) -> None:
    n_before = len(plane.store.runs)
    with ScriptedModel([Say("Too late.")]) as model:
        turn = await bind(hermes, model).promote("Think.", **REMOTE)
        while not any(e.data.get("phase") == "submitting" for e in turn.events):
            await asyncio.sleep(0.01)
        result = await turn.stop()
        assert result.status == "stopped"
        async with asyncio.timeout(30):
            while len(plane.store.runs) == n_before or not plane.run(list(plane.store.runs)[-1]).root.done:
                await asyncio.sleep(0.05)
        assert plane.run(list(plane.store.runs)[-1]).root.phase == ABORTED
        assert not model.requests


async def test_a_control_plane_that_is_away_for_a_while_loses_no_turn(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel(lambda request: Hang()) as model:
        turn = await bind(hermes, model).promote("Think.", **REMOTE)
        await asyncio.to_thread(model.wait_for_requests, 1, 60)
        n_calls, n_refused = len(plane.calls), plane.n_refused
        # what the notebook asks, not what the container does
        plane.refused = ("RunService/GetRunDetails", "RunService/GetActionDetails", "RunService/WatchActionDetails")
        plane.refusal = "unavailable"
        async with asyncio.timeout(30):
            while plane.n_refused < n_refused + 3:  # so often the notebook has asked in vain
                await asyncio.sleep(0.05)
        plane.refusal, plane.refused = "", ("",)
        model.release()
        result = await asyncio.wait_for(turn.wait(), 60)
        assert (result.status, result.text) == ("completed", "Released.")
        assert len(plane.calls) > n_calls


async def test_two_agents_at_once_are_two_runs(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel(lambda request: Say(f"To {request.body['messages'][-1]['content'][-1]}.")) as model:
        bound = [bind(hermes, model, name=f"Analyst.{n}") for n in (1, 2)]
        results = await asyncio.gather(*(ask(b, f"I am {n}") for n, b in enumerate(bound, 1)))
    assert [r.text for r in results] == ["To 1.", "To 2."]
    assert len({r.raw["run"] for r in results}) == 2


async def test_a_closed_notebook_leaves_its_run_alone_and_another_takes_it_up(plane: LoopbackPlane, tmp_path: Path) -> None:
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        with opened(tmp_path / "state") as first:
            turn = await bind(first, model, name="keeper").promote("Weather in Paris and Rome?", **REMOTE)
            await asyncio.to_thread(model.wait_for_requests, 1, 60)
            session_id = turn.session_id
        name = list(plane.store.runs)[-1]
        assert not plane.run(name).root.done
        with opened(tmp_path / "state") as second:
            result = await asyncio.wait_for(second.attach_run(name), 90)
            assert (result.text, result.status, result.session_id) == ("Both sunny.", "completed", session_id)
            assert [s.name for s in result.spans if s.kind == "tool"] == ["get_weather", "get_weather"]
            row = second.sessions()[0]
            assert (row.session_id, row.agent) == (session_id, "keeper")
            again = await asyncio.wait_for(second.attach_run(name), 30)  # a finished one, once more
            assert again.text == "Both sunny."
    assert asked(model) == [0, 1, 2]


async def test_a_module_edited_after_its_import_arrives_new(
    plane: LoopbackPlane, hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_rates.py").write_text("RATE = 1\n\ndef rate():\n    return RATE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import shop_rates  # type: ignore[import-not-found]

    (tmp_path / "shop_rates.py").write_text("RATE = 2\n\ndef rate():\n    return RATE\n")

    @tool
    def today() -> int:
        """Today's rate."""
        return int(shop_rates.rate())

    with ScriptedModel(by_turn([Call("today"), Say("Done.")])) as model:
        result = await ask(bind(hermes, model, today), "What is the rate?")
    monkeypatch.delitem(sys.modules, "shop_rates")
    assert [t.content for t in result.tools] == ["2"]


async def test_one_idempotency_key_is_one_run(plane: LoopbackPlane, hermes: Hermes) -> None:
    n_before = len(plane.store.runs)
    with ScriptedModel(by_turn([Say("Once.")])) as model:
        bound = bind(hermes, model)
        first, second = await ask(bound, "Hi", key="k1"), await ask(bound, "Hi", key="k1")
        third = await ask(bound, "Hi")
    assert first.raw["run"] == second.raw["run"] != third.raw["run"]
    assert len(plane.store.runs) == n_before + 2
    assert len(model.requests) == 2


async def test_a_key_of_another_question_is_refused(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel(by_turn([Say("Once.")])) as model:
        bound, other = bind(hermes, model), bind(hermes, model)
        first = await ask(bound, "Hi", key="k2")
        n_runs = len(plane.store.runs)
        for asked, prompt in ((bound, "Something else"), (other, "Hi")):
            refused = await ask(asked, prompt, key="k2")
            assert refused.status == "failed"
            assert "was used for another question" in str(refused.error)
            assert refused.text != first.text
    assert len(plane.store.runs) == n_runs
    assert len(model.requests) == 1
    for key in (5, "", " "):
        with pytest.raises(UsageError, match="key is a text"):
            Flyte(key=key)  # type: ignore[arg-type]


async def test_a_tool_has_retries_cache_and_resources_of_its_own(
    plane: LoopbackPlane, hermes: Hermes, tmp_path: Path
) -> None:
    tries, reads = tmp_path / "tries", tmp_path / "reads"

    @tool(remote={"retries": 1, "resources": flyte.Resources(cpu=2, memory="300Mi")})
    def flaky() -> str:
        """Fails at first."""
        with tries.open("a") as file:
            file.write("x")
        if tries.stat().st_size == 1:
            raise RuntimeError("not yet")
        return "up"

    @tool(remote={"cache": "auto"})
    def slow(n: int) -> int:
        """Worth keeping."""
        with reads.open("a") as file:
            file.write("x")
        return n * 2

    steps = by_turn([[Call("flaky"), Call("slow", {"n": 2})], Call("slow", {"n": 2}), Say("Done.")])
    with ScriptedModel(steps) as model:
        result = await ask(bind(hermes, model, flaky, slow), "Go.")
    assert [(t.name, t.status, t.content) for t in sorted(result.tools, key=lambda t: t.name)] == [
        ("flaky", "ok", "up"),
        ("slow", "ok", "4"),
        ("slow", "ok", "4"),
    ]
    assert (tries.read_text(), reads.read_text()) == ("xx", "x")
    actions = {a.task_name.rpartition(".")[2]: a for a in plane.run(result.raw["run"]).actions.values()}
    assert len(actions["flaky"].attempts) == 2
    spec = actions["flaky"].spec
    assert spec is not None
    wanted = {str(r.value) for r in spec.task_template.container.resources.requests}
    assert {"2", "300Mi"} <= wanted


async def test_inline_tools_share_their_state_and_a_conversation_goes_on(plane: LoopbackPlane, hermes: Hermes) -> None:
    basket: list[str] = []

    @tool(remote="inline")
    def put(item: str) -> int:
        """Put an item in."""
        basket.append(item)
        return len(basket)

    @tool(remote="inline")
    def count() -> int:
        """How many there are."""
        return len(basket)

    steps = by_turn([Call("put", {"item": "pear"}), Call("count"), Say("One.")])
    with ScriptedModel(steps) as model:
        bound = bind(hermes, model, put, count)
        first = await ask(bound, "Put a pear in and count.")
        second = await bound.run("And now?")  # back in the notebook, on the same conversation
    assert [t.content for t in first.tools] == ["1", "1"]
    assert basket == ["pear"]  # the run's basket was its own; this one was filled by the second turn here
    assert second.session_id == first.session_id
    sent = [m.get("content") for m in model.requests[-1].body["messages"]]
    assert "Put a pear in and count." in sent
    assert "One." in sent
    assert [row for row in plane.tree(first.raw["run"]) if row[1].endswith(("put", "count"))] == []


async def test_a_model_that_refuses_fails_the_turn_with_its_words(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel(lambda request: Fail(401, "Incorrect API key provided.")) as model:
        result = await ask(bind(hermes, model), "Hi", retries=0)
    assert result.status == "failed"
    assert "401" in str(result.error) or "key" in str(result.error)
    assert KEY not in str(result)


async def test_a_conversation_lives_on_both_sides_of_a_memory_key(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel(lambda request: Say(f"Answer {len(model.requests)}.")) as model:
        bound = bind(hermes, model, name="memo")
        await bound.run("First, here.")
        await ask(bound, "Second, in Flyte.", memory_key="thread-2")
        # Another agent goes on with it; this notebook does not hear of that.
        other = bind(hermes, model, name="other")
        elsewhere = await ask(other, "Third, elsewhere.", memory_key="thread-2")
        assert said(model) == ["First, here.", "Second, in Flyte.", "Third, elsewhere."]
        await ask(bound, "Fourth, in Flyte.", memory_key="thread-2")
        await bound.run("Fifth, here again.")
    assert elsewhere.status == "completed"
    expected = ["First, here.", "Second, in Flyte.", "Third, elsewhere.", "Fourth, in Flyte.", "Fifth, here again."]
    assert said(model) == expected


def said(model: ScriptedModel) -> list[str]:
    """What the user has said in the newest request."""
    return [m["content"] for m in model.requests[-1].body["messages"] if m["role"] == "user"]
