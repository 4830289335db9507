"""A recording answers in the model's place: no key, no network, the same answers; what it lacks is a clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import ModelAuthError, TurnReplayError, UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.turns.recording import Recording

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]
HEAD = '{"format": "hermes-nb recording", "version": 1}\n{"agent": "a", "prompt": "p"}'


def _adding() -> tuple[Any, list[int]]:
    calls: list[int] = []

    @tool
    def add(n: int) -> int:
        """Add one."""
        calls.append(n)
        return n + 1

    return add, calls


async def _recorded(own: Hermes, make: Make, file: Path) -> list[str]:
    """Two turns of a session and one of another, with a tool, into a file; the answers."""
    add, calls = _adding()
    script = [Call("add", {"n": 1}), Say("two", reasoning="hm"), Say("and three"), Say("apart \u2028 too")]
    bound, _ = make(script, on=own, name="solver", tools=[add], instructions="Solve.")
    first = await bound.run("one plus one")
    assert own.record(file) == 1
    second = await bound.run("plus one")
    await bound.new_session()
    third = await bound.run("something else")
    assert calls == [1]
    return [r.text for r in (first, second, third)]


async def test_a_recording_answers_without_key_and_network(own: Hermes, make: Make, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    texts = await _recorded(own, make, file)
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    assert (lines[0]["format"], lines[0]["version"]) == ("hermes-nb recording", 1)
    assert [(line["prompt"], line["session"]) for line in lines if "prompt" in line] == [
        ("one plus one", 1),
        ("plus one", 1),
        ("something else", 2),
    ]
    assert "sk-scripted" not in file.read_text(encoding="utf-8")
    add, calls = _adding()
    nowhere = Model("scripted", "custom", base_url="http://127.0.0.1:9/v1")
    async with Hermes.local(state=tmp_path / "other", replay=file) as other:
        bound = other.bind(Agent("solver", "Solve.", model=nowhere, tools=[add]))
        results = [await bound.run("one plus one"), await bound.run("plus one")]
        await bound.new_session()
        results.append(await bound.run("something else"))
    assert [r.text for r in results] == texts
    assert [r.status for r in results] == ["completed"] * 3
    assert calls == []
    assert all(e.data.get("replayed") for r in results for e in r.events if e.kind in ("model.completed", "tool.completed"))
    assert results[0].tools[0].content == "2"
    assert results[0].usage == {}


async def test_recording_the_same_again_gives_the_same_file(own: Hermes, make: Make, tmp_path: Path) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for n, file in enumerate(files):
        hermes = Hermes.open_local(state=tmp_path / f"s{n}")
        await _recorded(hermes, make, file)
        await hermes.aclose()
    left, right = ([json.loads(line) for line in f.read_text().split("\n") if line] for f in files)
    for line in [*left, *right]:
        line.pop("model", None)  # its port is another
        line.pop("profile", None)
    assert left == right


async def test_what_is_not_recorded_is_an_error_that_says_what_differs(own: Hermes, make: Make, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    await _recorded(own, make, file)
    nowhere = Model("scripted", "custom", base_url="http://127.0.0.1:9/v1")

    @tool
    def add(n: int, m: int = 0) -> int:
        """Add one."""
        return n + 1 + m

    async with Hermes.local(state=tmp_path / "other", replay=file) as other:
        changed = other.bind(Agent("solver", "Solve it.", model=nowhere, tools=[add]))
        result = await changed.run("one plus one")
        assert result.status == "failed"
        assert "the instructions changed; the parameters of tool add changed" in str(result.error)
        with pytest.raises(TurnReplayError):
            result.raise_for_status()
        unknown = await changed.run("never asked", session_id=await changed.new_session())
        assert "holds no step of this turn" in str(unknown.error)
        assert "was None" not in str(unknown.error)
        assert "HERMES_NB_REPLAY_MISS=live" in str(unknown.error)
        longer = other.bind(Agent("solver", "Solve.", model=nowhere, tools=[_adding()[0]]))
        await longer.new_session()
        result = await longer.run("plus one")  # without the turn that came before it
        assert "it has 2 messages, and those recorded for this turn have 6" in str(result.error)


async def test_a_miss_goes_live_where_allowed(own: Hermes, make: Make, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    await _recorded(own, make, file)
    bound, model = make([Say("fresh")], on=own, name="solver", tools=[_adding()[0]], instructions="Solve.")
    old = await bound.run("one plus one", replay=file, session_id=await bound.new_session())
    assert (old.text, len(model.requests)) == ("two", 0)
    new = await bound.run("what now", replay=file, replay_miss="live")
    assert (new.text, len(model.requests)) == ("fresh", 1)


async def test_the_recording_of_one_run_is_named_as_the_notebook_sees_it(
    own: Hermes, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "talk.jsonl"
    await _recorded(own, make, file)
    monkeypatch.chdir(tmp_path)
    bound, _ = make([], on=own, name="solver", tools=[_adding()[0]], instructions="Solve.")
    missed = await bound.run("what now", replay=file)
    assert str(missed.error).startswith("The recording talk.jsonl has no answer to this request: ")


async def test_no_key_is_needed_and_the_recorded_model_is_taken(
    own: Hermes, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "talk.jsonl"
    await _recorded(own, make, file)
    needs_key = Agent("other", model=Model("gpt-4o-mini", "openai-api"))
    with pytest.raises(ModelAuthError):
        own.bind(needs_key)
    monkeypatch.setenv("HERMES_NB_REPLAY", str(file))
    async with Hermes.local(state=tmp_path / "other") as other:
        assert other.bind(needs_key).model.api_key == "no-key"
        bound = other.bind(Agent("solver", "Solve.", tools=[_adding()[0]]))
        assert (bound.model.id, bound.model.provider) == ("scripted", "custom")
        assert "Answers come from the recording" in str(bound.model_notice)
        assert (await bound.run("one plus one")).text == "two"
        with pytest.raises(UsageError, match="being replayed"):
            other.record(tmp_path / "x.jsonl")
        result = await other.bind(needs_key).run("anything")
        assert "has no answer to this request" in str(result.error)


async def test_a_recording_that_was_edited_by_hand_answers_as_it_says_now(own: Hermes, make: Make, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    await _recorded(own, make, file)
    text = file.read_text(encoding="utf-8").replace("and three", "and four")
    file.write_text("\ufeff" + text.replace("\n", "\r\n"), encoding="utf-8", newline="")  # as some editors and git save it
    nowhere = Model("scripted", "custom", base_url="http://127.0.0.1:9/v1")
    async with Hermes.local(state=tmp_path / "other", replay=file) as other:
        bound = other.bind(Agent("solver", "Solve.", model=nowhere, tools=[_adding()[0]]))
        assert [(await bound.run(p)).text for p in ("one plus one", "plus one")] == ["two", "and four"]
    lines = file.read_text(encoding="utf-8-sig").split("\n")
    cut = [line for line in lines if '"call_key"' not in line]
    edited = [line if '"call_key"' in line else line.replace('\\"n\\": 1', '\\"n\\": 2') for line in lines]
    assert edited != lines
    for name, kept, said in (("cut", cut, None), ("edited", edited, "its last message was recorded as '2' and is '3'")):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(kept), encoding="utf-8")
        add, calls = _adding()
        async with Hermes.local(state=tmp_path / name, replay=path) as other:
            bound = other.bind(Agent("solver", "Solve.", model=nowhere, tools=[add]))
            result = await bound.run("one plus one")
        assert len(calls) == 1  # a call whose result is not recorded runs
        assert (result.status == "completed") is (said is None)
        assert said is None or said in str(result.error)


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    for text, message in (
        ("no", "is not JSON lines"),
        ('{"format": "hermes-nb sessions", "version": 1}', "is no file of"),
        ('{"format": "hermes-nb recording", "version": 2}', "Upgrade"),
        ('{"format": "hermes-nb recording", "version": 1}\n{"fingerprint": "x"}', "Line 2 of the recording"),
        (f"{HEAD}\n<<<<<<< mine\n", "line 3: Expecting value"),
        (f'{HEAD}\n{{"fingerprint": "x", "occurrence": 0, "body": {{}}}}', "Line 3 of the recording.*holds no answer"),
        (f'{HEAD}\n{{"fingerprint": "x", "occurrence": 0, "body": {{"choices": []}}}}', "Line 3 of the recording"),
        (f'{HEAD}\n{{"fingerprint": "x", "occurrence": "first", "body": {{"choices": []}}}}', "Line 3 of the recording"),
        (f'{HEAD}\n{{"call_key": "x", "body": 3}}', "Line 3 of the recording"),
        (f"{HEAD}\n[1, 2]", "is no file of"),
        (HEAD.replace("1}", '"one"}'), "no version that is a number"),
        (f'{HEAD}\n{{"prompt": "p", "agent": "a", "profile": [1]}}', "Line 3 of the recording.*profile"),
        (f'{HEAD}\n{{"prompt": "p", "agent": "a", "model": 5}}', "Line 3 of the recording"),
        (f'{HEAD}\n{{"prompt": "p", "agent": "a", "model": {{"id": "m", "provider": "custom"}}}}', "Line 3.*base_url"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            Recording(file)
    with pytest.raises(UsageError, match="can't be read"):
        Recording(tmp_path / "none.jsonl")


async def test_a_prompt_with_a_key_in_it_is_found_again(
    own: Hermes, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "tok-zyxwvu-987654")
    file = tmp_path / "talk.jsonl"
    bound, _ = make([Say("seen")], on=own, name="solver")
    own.record(file)
    prompt = "Look at tok-zyxwvu-987654, please."
    await bound.run(prompt)
    assert "zyxwvu" not in file.read_text(encoding="utf-8")
    nowhere = Model("scripted", "custom", base_url="http://127.0.0.1:9/v1")
    async with Hermes.local(state=tmp_path / "other", replay=file) as other:
        result = await other.bind(Agent("solver", model=nowhere)).run(prompt)
    assert (result.status, result.text) == ("completed", "seen")
