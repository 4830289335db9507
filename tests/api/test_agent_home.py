"""Memory and skills are an agent's own: lasting, read anew by each session, told as events, put back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Call, Say, ScriptedModel

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[Any, Any]]
SKILL = "---\nname: stew\ndescription: How to cook a stew.\n---\nCook it for an hour.\n"


def noted(text: str) -> list[Any]:
    return [Call("memory", {"action": "add", "target": "memory", "content": text}), Say("Noted.")]


def prompt_of(model: ScriptedModel, at: int = -1) -> str:
    return str(model.requests[at].messages[0]["content"])


async def test_the_next_session_has_what_the_agent_noted_and_no_other_agent_has_it(make: Make) -> None:
    first, one = make([*noted("The ship is the Kestrel."), "a"], name="home_a", toolsets=["memory"])
    other, two = make(["b"], name="home_b", toolsets=["memory", "skills"])
    bare, three = make(["c"], name="home_c")
    result = await first.run("Remember.")
    assert "Kestrel" not in prompt_of(one, 0)
    await first.new_session()
    await first.run("Next.")
    await other.run("Hello.")
    await bare.run("Hello.")
    assert "The ship is the Kestrel." in prompt_of(one)
    assert "Kestrel" not in json.dumps([r.body for r in two.requests + three.requests])
    assert (first.home.entries(), other.home.entries()) == (["The ship is the Kestrel."], [])
    (learned,) = [e.data for e in result.events if e.kind == "home.changed"]
    assert (learned["path"], learned["diff"].splitlines()[-1]) == ("memories/MEMORY.md", "+The ship is the Kestrel.")
    (row,) = [r for r in result.rows if "memories/MEMORY.md" in str(r)]
    assert "+The ship is the Kestrel." in str(row)
    from hermes_nb.views.text import render

    assert "Learned" in render(result.events) or "learned" in render(result.events)


async def test_what_was_learned_can_be_undone_once(make: Make) -> None:
    bound, model = make([*noted("Wrong."), "a"], toolsets=["memory"])
    result = await bound.run("Remember.")
    (change,) = bound.home.changes()
    assert (change.turn_id, change.diff) == (result.turn_id, "+Wrong.")
    bound.home.undo(change.id)
    assert bound.home.entries() == []
    with pytest.raises(UsageError, match="changed again since"):
        bound.home.undo(change.id)
    await bound.new_session()
    await bound.run("Next.")
    assert "Wrong." not in prompt_of(model)


async def test_it_lasts_over_kernels_and_cleanup(tmp_path: Path) -> None:
    with ScriptedModel([*noted("Lasting."), "a"]) as model:
        for question in ("Remember.", "Next."):
            async with Hermes.local(state=tmp_path / "state") as hermes:
                bound = hermes.bind(Agent("keeper", model=model.model, toolsets=["memory"]))
                await bound.run(question)
        assert "Lasting." in prompt_of(model)


async def test_agents_share_a_home_that_they_name(make: Make) -> None:
    first, _ = make(noted("Shared word."), toolsets=["memory"], profile_options={"home": "team"})
    second, two = make(["b"], toolsets=["memory"], profile_options={"home": "team"})
    await first.run("Remember.")
    await second.run("Hello.")
    assert "Shared word." in prompt_of(two)
    assert first.home.path == second.home.path


async def test_a_skill_is_its_agent_s_own_and_read_by_it(make: Make) -> None:
    cook, one = make([Call("skill_view", {"name": "stew"}), Say("ok")], toolsets=["skills"])
    other, two = make([Call("skills_list", {}), Say("ok")], toolsets=["skills"])
    cook.home.set_skill("stew", SKILL)
    await cook.run("Cook.")
    await other.run("Cook.")
    assert "How to cook a stew." in prompt_of(one, 0)
    assert "Cook it for an hour." in str(one.requests[-1].messages[-1])
    assert "stew" not in json.dumps([r.body["messages"] for r in two.requests])
    cook.home.set_skill("stew", None)
    assert cook.home.skills == {}
    with pytest.raises(UsageError, match=r"has no skill 'stew'. It has: none"):
        cook.home.set_skill("stew", None)


async def test_agents_of_two_instances_are_two(hermes: Hermes) -> None:
    one, two = await hermes.create_instance("one-home"), await hermes.create_instance("two-home")
    a = await one.add_agent(Agent("same", model="offline"))
    b = await two.add_agent(Agent("same", model="offline"))
    assert a.home.path != b.home.path
    await one.delete()
    await two.delete()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hom": "x"}, "profile_options has no option 'hom'"),
        ({"home": "../x"}, "profile_options: home must be a name"),
        ({"home": 3}, "profile_options: home must be a name"),
    ],
)
def test_a_home_that_can_t_be_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Agent("a", profile_options=options)
