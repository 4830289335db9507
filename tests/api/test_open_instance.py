"""What an earlier kernel left of an instance is found again: home, id, agents, sessions. Not that of another owner."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import AgentNotFoundError, StoreError, UnknownNameError, UsageError, WorkerDiedError, WorkerStartError
from hermes_nb.model.agent import Agent
from hermes_nb.runtimes.process import Process
from hermes_nb.testing import Say, ScriptedModel
from hermes_nb.turns.result import RunResult

pytestmark = pytest.mark.hermes
GOOD = Agent("good", model="offline", instructions="Be good.", max_turns=7, session_options={"max_tokens": 100_000})
ANN, BOB = {"tenantId": "acme", "subjectId": "ann"}, {"tenantId": "acme", "subjectId": "bob"}


def double(n: int) -> int:
    """Double a number."""
    return 2 * n


def said(result: RunResult, code: str = "instance") -> list[str]:
    return [e.data["message"] for e in result.events if e.kind == "warning" and e.data["code"] == code]


@contextlib.asynccontextmanager
async def later(state: Path, **options: Any) -> AsyncIterator[Hermes]:
    """A Hermes as a later kernel makes it."""
    async with Hermes.local(state=state, **options) as hermes:
        yield hermes


async def left(state: Path, *agents: Agent, **options: Any) -> tuple[str, dict[str, str]]:
    """An instance `demo` that a block left, each of its agents asked once: its id, and the sessions by agent."""
    async with Hermes.local(state=state, cleanup=False) as hermes:
        instance = await hermes.create_instance("demo", agents=agents, **options)
        return instance.id, {a.name: (await instance.agent(a.name).run("hello")).session_id for a in agents}


async def test_an_instance_that_a_block_left_is_opened_with_its_agents_and_sessions(tmp_path: Path) -> None:
    instance_id, sessions = await left(tmp_path, GOOD)
    (tmp_path / "instances/demo/home/kept.txt").write_text("mine")
    for wanted in (instance_id, "demo"):
        async with later(tmp_path) as hermes:
            instance = await hermes.open_instance(wanted)
            assert (instance.id, instance.name, instance.is_opened) == (instance_id, "demo", True)
            assert await hermes.open_instance(wanted) is instance
            bound = instance.agent("good")
            assert bound.config == GOOD
            await bound.open_session(sessions["good"])
            result = await bound.run("again")
            assert (result.status, result.session_id) == ("completed", sessions["good"])
            assert said(result) == []
        assert (tmp_path / "instances/demo/home/kept.txt").read_text() == "mine"  # cleanup does not own it


async def test_a_profile_id_stays_and_an_agent_added_anew_has_it(tmp_path: Path) -> None:
    async with Hermes.local(state=tmp_path, cleanup=False) as hermes:
        instance = await hermes.create_instance("demo")
        bound = await instance.add_agent(GOOD, profile_id="profile-7")
        assert bound.profile_id == "profile-7"
    async with later(tmp_path) as hermes:
        instance = await hermes.open_instance("demo")
        before = instance.agent("good")
        assert before.profile_id == "profile-7"
        after = await instance.add_agent(Agent("good", model="offline", tools=[double]))
        assert after is before
        assert (after.profile_id, [t.name for t in after.tools]) == ("profile-7", ["double"])


@pytest.mark.parametrize("profile_id", ["", "  ", 7])
async def test_a_profile_id_that_can_not_be_is_refused(own: Hermes, profile_id: Any) -> None:
    instance = await own.create_instance("demo")
    with pytest.raises(UsageError, match="Agent 'good': profile_id takes a text"):
        await instance.add_agent(GOOD, profile_id=profile_id)
    await instance.add_agent(Agent("other", model="offline"), profile_id="p")
    with pytest.raises(UsageError, match="the profile_id 'p' is that of agent 'other' in instance 'demo'"):
        await instance.add_agent(GOOD, profile_id="p")
    assert list(instance.agents) == ["other"]


async def test_functions_and_keys_that_no_folder_keeps_are_said_with_the_first_turn(tmp_path: Path) -> None:
    with ScriptedModel([Say("1"), Say("2"), Say("3")], api_key="sk-unseen-0123456789") as model:
        await left(tmp_path, Agent("a", model=model.model, tools=[double]))
        record = (tmp_path / "instances/demo/instance.json").read_text()
        assert "sk-unseen" not in record
        async with later(tmp_path) as hermes:
            bound = (await hermes.open_instance("demo")).agent("a")
            assert bound.tools == []
            texts = said(await bound.run("hi"))
            assert texts[0].startswith("Its key was given in code, which no folder keeps")
            assert texts[1] == "Agent 'a' had the tools double, which no folder keeps. Attach them: bound.add_tools([...])."
            assert said(await bound.run("again")) == []


async def test_an_agent_that_can_not_be_bound_again_is_named_with_the_reason_and_not_lost(tmp_path: Path) -> None:
    secret = Agent("secret", model="offline", config={"auxiliary": {"vision": {"api_key": "sk-unseen-0123456789"}}})
    await left(tmp_path, GOOD, secret)
    assert "sk-unseen" not in (tmp_path / "instances/demo/instance.json").read_text()
    for _ in range(2):
        async with later(tmp_path) as hermes:
            instance = await hermes.open_instance("demo")
            assert list(instance.agents) == ["good"]
            with pytest.raises(
                AgentNotFoundError, match=r"bound by an earlier kernel.*its config can't be kept.*Declare it"
            ):
                instance.agent("secret")
    async with later(tmp_path) as hermes:
        instance = await hermes.open_instance("demo")
        await instance.add_agent(secret)
        assert (sorted(instance.agents), instance.unbound) == (["good", "secret"], {})


async def test_an_instance_that_is_not_there_and_one_that_is_open_elsewhere_are_refused(own: Hermes) -> None:
    await own.create_instance("demo", agents=[GOOD])
    other = Hermes.open_local(state=own.state_dir)
    try:
        with pytest.raises(UnknownNameError, match=r"No instance 'nope' in .*\. Known: demo\."):
            await other.open_instance("nope")
        for name in ("../demo", "", "kernels"):
            with pytest.raises(UnknownNameError):
                await other.open_instance(name)
        with pytest.raises(UsageError, match="Instance 'demo' is open in another kernel"):
            await other.open_instance("demo")
        assert other.instances == {}
        own.close()
        assert (await other.open_instance("demo")).agent("good").config == GOOD
    finally:
        other.close()


async def test_an_instance_of_an_ended_kernel_that_bound_its_agents_by_name_is_opened_too(tmp_path: Path) -> None:
    first = Hermes.open_local(state=tmp_path)
    result = await first.bind(GOOD).run("hello")
    first.close()
    async with later(tmp_path) as hermes:
        instance = await hermes.open_instance("default")
        assert await instance.agent("good").open_session(result.session_id) == result.session_id
        assert hermes.bind(GOOD) is instance.agent("good")


async def test_a_deleted_instance_is_found_no_more_and_a_retained_one_is(tmp_path: Path) -> None:
    await left(tmp_path, GOOD)
    async with later(tmp_path) as hermes:
        await (await hermes.open_instance("demo")).delete(retain_data=True)
        assert hermes.instances == {}
        await (await hermes.open_instance("demo")).delete()
        with pytest.raises(UnknownNameError, match="Known: none"):
            await hermes.open_instance("demo")
        assert not (tmp_path / "instances/demo").exists()


async def test_a_handle_that_was_deleted_does_not_delete_the_instance_that_took_its_name(own: Hermes) -> None:
    old = await own.create_instance("demo", agents=[GOOD])
    await old.delete()
    new = await own.create_instance("demo", agents=[GOOD])
    await old.delete()
    assert own.instances == {"demo": new}
    assert (new.worker.folder.path / "instance.json").exists()
    assert (await new.agent("good").run("hello")).status == "completed"


async def test_agents_that_are_bound_from_many_threads_are_all_kept(tmp_path: Path) -> None:
    async with Hermes.local(state=tmp_path, cleanup=False) as hermes:
        agents = [Agent(f"a{n}", model="offline") for n in range(12)]
        await asyncio.gather(*(asyncio.to_thread(hermes.bind, agent) for agent in agents))
        assert [text for _, code, text in hermes.warnings if code == "instance"] == []
    told = json.loads((tmp_path / "instances/default/instance.json").read_text())
    assert sorted(a["declaration"]["name"] for a in told["agents"]) == sorted(a.name for a in agents)


async def test_a_toolset_that_hermes_has_no_more_leaves_its_agent_unbound(tmp_path: Path) -> None:
    await left(tmp_path, GOOD)
    path = tmp_path / "instances/demo/instance.json"
    told = json.loads(path.read_text())
    told["agents"][0]["declaration"]["toolsets"] = ["no_such_toolset"]
    path.write_text(json.dumps(told))
    async with later(tmp_path) as hermes:
        instance = await hermes.open_instance("demo")
        assert "no_such_toolset" in instance.unbound["good"].reason
        assert instance.agents == {}


async def test_a_restarted_instance_keeps_agents_sessions_and_bindings(own: Hermes) -> None:
    instance = await own.create_instance("demo", agents=[GOOD])
    bound = instance.agent("good")
    binding = await bound.add_tools([double])
    first, pid = await bound.run("hello"), instance.worker.pid
    await instance.restart()
    assert instance.worker.pid not in (None, pid)
    assert (await bound.run("again", tool_binding_ids=[binding])).session_id == first.session_id
    await instance.delete()
    with pytest.raises(WorkerDiedError, match=r"The instance is closed\. Bind the agent again"):
        await instance.restart()


async def test_where_it_ran_is_where_it_goes_on(tmp_path: Path) -> None:
    await left(
        tmp_path, GOOD, runtime=Process(options={"environment": {"MY_LEVEL": "7"}}), options={"working_dir": tmp_path}
    )
    assert '"7"' not in (tmp_path / "instances/demo/instance.json").read_text()
    async with later(tmp_path) as hermes:
        instance = await hermes.open_instance("demo")
        assert instance.runtime == Process()
        assert instance.options == {"working_dir": str(tmp_path)}
        assert [text for _, code, text in hermes.warnings if code == "instance"] == [
            "Instance 'demo' had variables of its own, whose values are not kept: MY_LEVEL. Give them anew:"
            " open_instance('demo', runtime=Process(options={'environment': ...}))."
        ]
    path = tmp_path / "instances/demo/instance.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"runtime": {"type": "elsewhere"}}))
    async with later(tmp_path) as hermes:
        with pytest.raises(UsageError, match=r"Instance 'demo' ran on elsewhere\. Name it anew"):
            await hermes.open_instance("demo")
        assert (await hermes.open_instance("demo", runtime=Process())).runtime == Process()


@pytest.mark.parametrize("text", ["", "[]", '{"v": 1}', '{"v": 99}'])
async def test_a_record_that_can_not_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "instances/demo").mkdir(parents=True)
    (tmp_path / "instances/demo/instance.json").write_text(text)
    async with later(tmp_path) as hermes:
        for call in (hermes.open_instance("demo"), hermes.create_instance("demo")):
            with pytest.raises(StoreError, match=r"instance\.json.*(can't be read|newer hermes_nb)"):
                await call
        with pytest.raises(UnknownNameError):
            await hermes.open_instance("other")


# -- owners ------------------------------------------------------------------------------------------------------
def test_the_owner_is_the_user_of_this_machine_unless_it_is_told(tmp_path: Path) -> None:
    for given, owner in ((None, {"tenantId": "local", "subjectId": "local-user"}), (ANN, ANN)):
        hermes = Hermes.open_local(state=tmp_path, owner=given)
        assert hermes.owner == owner
        hermes.close()


@pytest.mark.parametrize("owner", [{}, "ann", {"a": 1}, {1: "a"}, {"a": ""}, ["a"]])
async def test_an_owner_that_is_no_dict_of_names_is_refused(own: Hermes, owner: Any) -> None:
    for call in (Hermes.local, Hermes.open_local):
        with pytest.raises(UsageError, match="owner takes a dict of names"):
            call(owner=owner)
    with pytest.raises(UsageError, match="owner takes a dict of names"):
        await own.create_instance("demo", owner=owner)
    assert own.instances == {}


async def test_an_instance_of_another_owner_is_neither_opened_nor_taken(tmp_path: Path) -> None:
    await left(tmp_path, GOOD, owner=ANN)
    async with later(tmp_path, owner=BOB) as bob:
        whose = r"Instance 'demo' of .* belongs to tenantId=acme, subjectId=ann, not to tenantId=acme, subjectId=bob"
        for call in (bob.open_instance("demo"), bob.create_instance("demo", agents=[GOOD])):
            with pytest.raises(UsageError, match=whose):
                await call
        assert bob.instances == {}
    async with later(tmp_path, owner=ANN) as ann:
        assert (await ann.open_instance("demo")).owner == ANN
    async with later(tmp_path) as nobody:
        assert (await nobody.create_instance("demo", owner=ANN)).owner == ANN


async def test_a_session_of_another_owner_is_neither_opened_nor_run_nor_forked(tmp_path: Path) -> None:
    async with Hermes.local(state=tmp_path, owner=ANN) as ann:
        session_id = (await (await ann.create_instance("demo", agents=[GOOD])).agent("good").run("hello")).session_id
    for owner in (BOB, None):
        async with later(tmp_path, owner=owner) as other:  # the folder is gone, its sessions are in the store
            bound = (await other.create_instance("demo", agents=[GOOD])).agent("good")
            for call in (
                lambda bound=bound: bound.open_session(session_id),
                lambda bound=bound: bound.run("go on", session_id=session_id),
                lambda bound=bound: bound.fork(session_id),
            ):
                with pytest.raises(
                    UsageError, match=f"Session {session_id} belongs to tenantId=acme, subjectId=ann; instance"
                ):
                    await call()
    async with later(tmp_path, owner=ANN) as ann:
        bound = (await ann.create_instance("demo", agents=[GOOD])).agent("good")
        assert await bound.open_session(session_id) == session_id
        forked = await bound.fork(session_id)
    async with later(tmp_path, owner=BOB) as bob:
        with pytest.raises(UsageError, match="belongs to tenantId=acme, subjectId=ann"):
            await (await bob.create_instance("demo", agents=[GOOD])).agent("good").open_session(forked)


# -- options of an instance --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"options": {"workingdir": "/"}}, r"create_instance: options takes no 'workingdir'\. Did you mean 'working_dir'"),
        ({"options": {"working_dir": "/no/such"}}, "working_dir must be a folder that is there, not '/no/such'"),
        ({"options": {"working_dir": 3}}, "working_dir must be a folder"),
        ({"options": ["x"]}, "options takes a dict"),
        ({"timeout_s": 0}, "timeout_s must be more than 0 seconds"),
        ({"timout": 3}, r"create_instance takes no 'timout'"),
    ],
)
async def test_options_of_an_instance_that_would_do_nothing_are_refused(own: Hermes, options: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        await own.create_instance("demo", **options)
    assert own.instances == {}


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="this system does not show where a process is")
async def test_a_worker_starts_in_the_folder_that_was_named(own: Hermes, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    instance = await own.create_instance("demo", agents=[GOOD], options={"working_dir": folder})
    assert Path(f"/proc/{instance.worker.pid}/cwd").resolve() == folder.resolve()


class Never:
    """A runtime that never starts."""

    def to_dict(self) -> dict[str, Any]:
        return {"type": "never"}

    async def open(self, place: Any, *, on_message: Any, on_end: Any) -> Any:
        await asyncio.Event().wait()


async def test_an_instance_that_is_not_up_in_time_is_taken_back(own: Hermes) -> None:
    with pytest.raises(WorkerStartError, match=r"Instance 'demo' was not up within 0\.2 s, and was taken back"):
        await own.create_instance("demo", agents=[GOOD], runtime=Never(), timeout_s=0.2)
    assert own.instances == {}
    assert not (own.state_dir / "instances/demo").exists()
    with pytest.warns(DeprecationWarning, match=r"create_instance\(timeout=\.\.\.\) is now create_instance\(timeout_s="):
        made = await own.create_instance("demo", agents=[GOOD], timeout=60)  # type: ignore[arg-type]
    assert (await made.agent("good").run("hello")).status == "completed"


@pytest.mark.parametrize("name", ["tools_host", "settings"])
def test_what_only_a_control_plane_has_is_refused_with_the_reason(name: str) -> None:
    reason = "over its own pipes" if name == "tools_host" else "no control plane"
    with pytest.raises(UsageError, match=f"Hermes.local takes no {name}: .*{reason}.*Leave it out"):
        Hermes.local(**{name: "x"})  # type: ignore[arg-type]
    Hermes.local(**{name: None})  # type: ignore[arg-type]
