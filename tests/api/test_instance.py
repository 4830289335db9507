"""Instances: made whole or not at all, named so that a folder can bear it; a Hermes nobody closed says so at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import HermesNbError, UsageError
from hermes_nb.model.agent import Agent

pytestmark = pytest.mark.hermes
GOOD = Agent("good", model="offline")


@pytest.mark.parametrize("bad", [Agent("bad", provider="openrouter", model="x/y"), Agent("bad", model="nameless")])
async def test_an_instance_that_fails_is_taken_back_and_can_be_made_again(
    own: Hermes, monkeypatch: pytest.MonkeyPatch, bad: Agent
) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(HermesNbError):
        await own.create_instance("demo", agents=[GOOD, bad])
    assert (own.instances, own.agents) == ({}, {})
    assert not (own.state_dir / "instances" / "demo").exists()
    made = await own.create_instance("demo", agents=[GOOD])
    assert made.worker.folder.path.name == "demo"
    assert (await made.agent("good").run("hello")).status == "completed"


async def test_two_agents_of_one_name_and_a_name_no_folder_can_bear_are_refused(own: Hermes) -> None:
    with pytest.raises(UsageError, match="Two agents here are named 'good'"):
        await own.create_instance("demo", agents=[GOOD, GOOD])
    for name in ("../up", "a/b", "", ".hidden", 3):
        with pytest.raises(UsageError, match="An instance can't be named"):
            await own.create_instance(name)  # type: ignore[arg-type]
    assert own.instances == {}


def _script(tmp_path: Path, source: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(source)
    command = [sys.executable, "-W", "always::ResourceWarning:", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=True)
    return "\n".join(line for line in done.stderr.splitlines() if "A Hermes on" in line)


def test_a_hermes_that_nobody_closed_says_so_with_its_place_and_the_cure(tmp_path: Path) -> None:
    opened = "from hermes_nb import Hermes\nhermes = Hermes.open_local()\n"
    said = _script(tmp_path, opened)
    assert "script.py, line 2, was never closed" in said
    assert "Call hermes.close()" in said
    assert _script(tmp_path, opened + "hermes.close()\n") == ""
    assert _script(tmp_path, opened + "del hermes\n") != ""


async def test_a_session_is_opened_by_the_agent_of_its_own_instance_alone(own: Hermes) -> None:
    one = (await own.create_instance("one", agents=[GOOD])).agent("good")
    two = (await own.create_instance("two", agents=[GOOD])).agent("good")
    shared = own.bind(GOOD)
    result = await one.run("hello")
    for other, name in ((two, "two"), (shared, "default")):
        with pytest.raises(UsageError, match=rf"of instance 'one', not to that of '{name}'. Open it there, fork it"):
            await other.open_session(result.session_id)
        with pytest.raises(UsageError, match="of instance 'one'"):
            await other.run("go on", session_id=result.session_id)
    forked = await two.fork(result.session_id)
    assert (await two.run("go on")).session_id == forked
    own.conversations._sessions.clear()  # as another kernel would find it
    assert await one.open_session(result.session_id) == result.session_id


async def test_an_agent_whose_config_changed_keeps_its_sessions(own: Hermes) -> None:
    first = await own.bind(GOOD).run("hello")
    moved = own.bind(Agent("good", model="offline", config={"agent": {"api_max_retries": 1}}))
    own.conversations._sessions.clear()
    assert (await moved.run("go on", session_id=first.session_id)).session_id == first.session_id
