"""Agents in containers, with a real engine: what every runtime holds, what a container may, and what is left of it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError, WorkerStartError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.runtimes import docker
from hermes_nb.runtimes._base import WorkerFiles
from hermes_nb.runtimes.docker import Docker
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.testing.runtime_check import assert_runtime_conforms
from hermes_nb.tools.decorator import tool
from tests.containers import engine

KEY = "sk-of-a-container-0123456789abcdef"
FILES = WorkerFiles("w-1", Path("/h"), Path("/j"), Path("/l"), Path("/w"), shares_disk=False)


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, Any]]:
    if said := engine.lack():
        pytest.skip(said)
    # Its runtime's folder has a short name, or it refuses it.
    with (
        tempfile.TemporaryDirectory(prefix="hnc-", ignore_cleanup_errors=True) as name,
        pytest.MonkeyPatch.context() as patch,
    ):
        folder = Path(name)
        patch.setenv("CONTAINERS_ROOT", str(folder / "root"))
        (folder / "image").mkdir()
        if said := engine.build(folder / "image"):
            pytest.skip(said)
        yield {"executable": str(engine.DOCKER), "network": "host", "mounts": engine.mounts(), "python": sys.executable}
        subprocess.run([engine.DOCKER, "rmi", "--force", "--all"], capture_output=True, check=False)


@pytest.fixture
def runtime(options: dict[str, Any]) -> Docker:
    return Docker(engine.IMAGE, environment={"OF_THE_USER": KEY}, options=options)


def containers() -> list[str]:
    listed = subprocess.run(
        [engine.DOCKER, "ps", "--all", "--quiet", "--filter", f"label={docker.LABEL}"], capture_output=True, text=True
    )
    return listed.stdout.split()


async def nothing_is_left() -> None:
    async with asyncio.timeout(20):
        while await asyncio.to_thread(containers):
            await asyncio.sleep(0.1)


@pytest.mark.hermes
async def test_it_conforms(runtime: Docker, tmp_path: Path) -> None:
    await assert_runtime_conforms(runtime, tmp_path)
    await nothing_is_left()


@pytest.mark.hermes
async def test_a_turn_runs_its_tool_here_and_the_container_sees_no_more_than_it_may(runtime: Docker, tmp_path: Path) -> None:
    @tool
    def where() -> str:
        """Where this runs."""
        return str(os.getpid())

    look = (
        "import json,os;print(json.dumps({'uid':os.getuid(),'root':os.access('/',os.W_OK),'home':os.path.exists("
        f"{str(tmp_path)!r}),'key':os.environ.get('OF_THE_USER','')[:3],"
        "'caps':[l.split()[1] for l in open('/proc/self/status') if l.startswith('CapEff')],"
        "'new':[l.split()[1] for l in open('/proc/self/status') if l.startswith('NoNewPrivs')]}))"
    )
    command = f'{sys.executable} -c "{look}"'
    steps = [Call("where", {}), Say("There."), Call("terminal", {"command": command}), Say("Seen.")]
    with ScriptedModel(steps) as model:
        async with Hermes.local(state=tmp_path / "state", runtime=runtime) as hermes:
            route = Model(model.model.id, "custom", base_url=model.base_url, api_key=KEY)
            agent = Agent("inside", model=route, tools=[where], toolsets=["terminal"])
            instance = await hermes.create_instance("boxed", agents=[agent])
            bound = instance.agent("inside")
            first = await bound.run("Where?", show=False)
            assert (first.status, [t.content for t in first.tools]) == ("completed", [str(os.getpid())])
            shown = await asyncio.to_thread(
                lambda: subprocess.run([engine.DOCKER, "inspect", *containers()], capture_output=True, text=True).stdout
            )
            assert '"Id"' in shown
            assert KEY not in shown
            turn = await bound.start("Look.", show=False)
            while not turn.is_done and not turn.pending:
                await asyncio.sleep(0.05)
            if turn.pending:
                turn.approve(turn.pending[0]["request_id"], "once")
            result = await turn.wait()
            assert result.status == "completed", result.error
            said = json.loads(json.loads(result.tools[0].content)["output"])
            none = "0000000000000000"
            assert said == {"uid": 65534, "root": False, "home": False, "key": "sk-", "caps": [none], "new": ["1"]}
            assert [turn.status for turn in await bound.session.turns()] == ["completed", "completed"]
    await nothing_is_left()


@pytest.mark.hermes
async def test_a_container_that_is_killed_fails_its_turn_and_the_next_continues(runtime: Docker, tmp_path: Path) -> None:
    seen = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        seen.set()
        await asyncio.sleep(60)
        return "never"

    with ScriptedModel([Call("wait", {}), Say("After.")]) as model:
        async with Hermes.local(state=tmp_path / "state", runtime=runtime) as hermes:
            route = Model(model.model.id, "custom", base_url=model.base_url, api_key=KEY)
            bound = (await hermes.create_instance("boxed", agents=[Agent("a", model=route, tools=[wait])])).agent("a")
            turn = await bound.start("Wait.", show=False)
            await asyncio.wait_for(seen.wait(), 60)
            await asyncio.to_thread(subprocess.run, [engine.DOCKER, "kill", *containers()], capture_output=True)
            result = await asyncio.wait_for(turn.wait(), 30)
            assert result.status == "failed"
            assert "Docker(memory=" in str(result.error)
            assert (await bound.run("Again.", show=False)).text == "After."
    await nothing_is_left()


async def test_containers_of_kernels_that_are_gone_are_removed(runtime: Docker) -> None:
    there = [
        "run", "--detach", "--label", f"{docker.LABEL}={docker._kernel().rpartition('/')[0]}/1", "--name", "left",
        *(part for place, here in engine.mounts().items() for part in ("--volume", f"{here}:{place}:ro")),
        "--entrypoint", sys.executable, engine.IMAGE, "-c", "import time; time.sleep(600)",
    ]  # fmt: skip
    done = await asyncio.to_thread(subprocess.run, [engine.DOCKER, *there], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(await asyncio.to_thread(containers)) == 1
    await asyncio.to_thread(docker._remove_orphans, str(engine.DOCKER))
    assert await asyncio.to_thread(containers) == []


async def test_an_image_that_is_nowhere_is_said_with_what_to_do(options: dict[str, Any], tmp_path: Path) -> None:
    told: list[Any] = []
    missing = Docker("localhost/no/such-image:1", options=options)
    with pytest.raises(WorkerStartError, match=r"no/such-image:1 can't be pulled: .* Check its name"):
        await missing.open(FILES, on_message=told.append, on_end=print)
    assert told[0] == {"kind": "engine.progress", "text": "localhost/no/such-image:1 is pulled"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"image": ""}, "image takes the name of one"),
        ({"image": "--privileged"}, "image takes the name of one"),
        ({"cpu": "two"}, "cpu takes a number"),
        ({"cpu": "0"}, "cpu takes a number"),
        ({"memory": "much"}, "memory takes an amount"),
        ({"options": {"netwrok": "none"}}, "Did you mean 'network'"),
        ({"options": {"privileged": True}}, "privileged"),
        ({"options": {"network": "--privileged"}}, "the option network takes a text"),
        ({"options": {"mounts": {"data": "."}}}, "a mount is"),
        ({"options": {"mounts": {"/a:/b": "."}}}, "a mount is"),
        ({"options": {"mounts": ["/a"]}}, "mounts takes a dict"),
        ({"environment": {"A B": "x"}}, "no name of a variable"),
        ({"environment": {"A": 1}}, "no name of a variable"),
    ],
)
def test_what_can_t_be_meant_is_refused_by_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Docker(**given)


def test_no_variable_is_in_what_is_printed_or_started() -> None:
    made = Docker(environment={"MY_API_KEY": f' "{KEY}" '}, options={"mounts": {"/data": "/srv", "/out:rw": "/tmp"}})
    assert made.worker_variables() == {"MY_API_KEY": KEY}
    started = made.arguments("c", FILES)
    for shown in (repr(made), str(made.to_dict()), str(made.label()), " ".join(started)):
        assert KEY not in shown
    assert ["--memory", str(2 * 1024**3)] == started[started.index("--memory") : started.index("--memory") + 2]
    assert [v for k, v in itertools.pairwise(started) if k == "--volume"] == ["/srv:/data:ro", "/tmp:/out:rw"]
    assert {"--read-only", "ALL", "no-new-privileges", "--rm"} <= set(started)
    assert Docker.from_label(made.label()).to_dict() == made.to_dict()


def test_a_model_on_this_machine_and_a_home_on_this_disk_are_named_with_the_cure() -> None:
    local: Any = {"id": "m", "provider": "custom", "base_url": "http://127.0.0.1:8080/v1"}
    away: Any = {"id": "m", "provider": "custom", "base_url": "https://api.example/v1"}
    agent: Any = {"name": "a", "model": local}
    assert "host.docker.internal" in str(Docker().misfit(agent))
    assert Docker(options={"network": "host"}).misfit(agent) is None
    assert "host.docker.internal" in str(Docker().misfit({**agent, "model": {**away, "fallbacks": [local]}}))
    kept = {**agent, "model": away, "home": {"name": "a", "path": "/state/homes/a"}}
    assert "'/state/homes/a:rw': '/state/homes/a'" in str(Docker().misfit(kept))
    assert Docker(options={"mounts": {"/state:rw": "/state"}}).misfit(kept) is None


def test_without_docker_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert docker.lack().startswith("There is neither docker nor podman on the PATH.")
    with pytest.raises(UsageError, match="no program 'nerdctl'"):
        _ = Docker(options={"executable": "nerdctl"}).program
