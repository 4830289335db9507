"""The SDK's remote mode against the loopback plane. Each container start costs about two seconds."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import flyte
import flyte.errors
import flyte.remote
import pytest

from hermes_nb.testing import ScriptedModel
from tests.flyte import loopback_agent, loopback_tasks
from tests.flyte.loopback import LoopbackPlane
from tests.flyte.loopback.state import ABORTED, FAILED, RECOVERED, SUCCEEDED
from tests.flyte.scripts import TWO_CITIES, asked, body_text, by_turn

ALL_TURNS = ["model_turn", "agents.get_weather", "model_turn", "agents.get_weather", "model_turn"]


def finished(run: Any) -> Any:
    run.wait(quiet=True)
    return run


def test_children_run_as_their_own_containers(plane: LoopbackPlane) -> None:
    # The client sends its own log level along, and another test may have raised it.
    run = finished(flyte.with_runcontext(log_level=logging.WARNING).run(loopback_tasks.parent, n=3))
    assert run.outputs()[0] == 25
    until_s = time.monotonic() + 30
    while not any("Flyte runtime completed" in line for line in run.get_logs()):  # a container's last line may come later
        assert time.monotonic() < until_s, list(run.get_logs())
        time.sleep(0.2)
    assert plane.tree(run.name) == [
        ("", "sample.parent", SUCCEEDED, 1),
        ("a0", "sample.square", SUCCEEDED, 1),
        ("a0", "sample.square", SUCCEEDED, 1),
    ]
    names = {a.task_name for a in flyte.remote.Action.listall(for_run_name=run.name)}
    assert names == {"sample.parent", "sample.square"}


def test_failure_reaches_the_client(plane: LoopbackPlane) -> None:
    run = finished(flyte.run(loopback_tasks.fails))
    assert plane.run(run.name).root.phase == FAILED
    with pytest.raises(flyte.errors.RuntimeUserError, match="no good"):
        run.raise_for_status()


def test_secret(plane: LoopbackPlane) -> None:
    assert finished(flyte.run(loopback_tasks.secret)).outputs()[0] == "s3cret"


def test_a_retry_replays_traces(plane: LoopbackPlane, tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = finished(flyte.run(loopback_tasks.flaky, path=str(log)))
    assert run.outputs()[0] == "marked"
    assert len(plane.run(run.name).root.attempts) == 2
    assert log.read_text() == "x\n"


def test_child_cache(plane: LoopbackPlane, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        assert finished(flyte.run(loopback_tasks.calls_cached, path=str(log))).outputs()[0] == "ran"
    assert log.read_text() == "x\n"


def test_abort(plane: LoopbackPlane) -> None:
    run = flyte.run(loopback_tasks.sleeps, seconds=60.0)
    run.wait(quiet=True, wait_for="running")
    started = time.monotonic()
    run.abort("enough")
    with pytest.raises(flyte.errors.ActionAbortedError, match="enough"):
        finished(run).raise_for_status()
    assert time.monotonic() - started < 5


def test_a_cancelled_child_is_aborted(plane: LoopbackPlane) -> None:
    run = finished(flyte.run(loopback_tasks.gives_up_on_child))
    assert run.outputs()[0] == "gave up"
    expected = [("sample.gives_up_on_child", SUCCEEDED), ("sample.sleeps", ABORTED)]
    until_s = time.monotonic() + 90
    while (found := [(name, phase) for _, name, phase, _ in plane.tree(run.name)]) != expected:  # the child may die later
        assert time.monotonic() < until_s, found
        time.sleep(0.1)


def test_deployed_task_runs_by_reference(plane: LoopbackPlane) -> None:
    flyte.deploy(loopback_tasks.env)
    task = flyte.remote.Task.get("sample.hello", auto_version="latest")
    assert finished(flyte.run(task, name="ann")).outputs()[0] == "hello ann"


def test_actions_service(plane: LoopbackPlane) -> None:
    """The same children through the service that replaces QueueService and StateService."""
    plane.calls.clear()
    run = finished(flyte.with_runcontext(env_vars={"_U_USE_ACTIONS": "1"}).run(loopback_tasks.parent, n=1))
    assert run.outputs()[0] == 5
    assert "/flyteidl2.actions.ActionsService/Enqueue" in plane.calls
    assert "/flyteidl2.workflow.QueueService/EnqueueAction" not in plane.calls


def ask(model: ScriptedModel) -> Any:
    runner = flyte.with_runcontext(env_vars={"MODEL_URL": model.base_url})
    return finished(runner.run(loopback_agent.ask, prompt="Weather in Paris and Rome?"))


@pytest.mark.parametrize(("when", "n_replayed"), [({}, 0), ({"after_children": 1}, 1)])
def test_an_agent_of_the_adapter_survives_a_crash(plane: LoopbackPlane, when: dict[str, int], n_replayed: int) -> None:
    crash = plane.crash("ask", **when) if when else None
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        run = ask(model)
    assert crash is None or crash.fired
    assert run.outputs()[0] == "Both sunny."
    assert asked(model) == [0, 1, 2]  # no turn was paid for twice
    tree = plane.tree(run.name)
    assert tree[0] == ("", "agents.ask", SUCCEEDED, 2 if when else 1)
    assert [name for parent, name, *_ in tree if parent] == ALL_TURNS
    report = body_text(run.get_report())
    assert "Hermes agent" in report
    assert "Paris: 21C, sunny" in report or when
    assert report.count("replayed") == n_replayed


def test_recover(plane: LoopbackPlane) -> None:
    """A new run adopts what succeeded in a failed one."""
    for attempt in (1, 2, 3):
        plane.crash("ask", attempt=attempt, after_traces=1)
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        failed = ask(model)
        assert plane.run(failed.name).root.phase == FAILED
        n_seen = len(model.requests)
        run = finished(flyte.rerun(failed.name, recover=True))
    assert run.outputs()[0] == "Both sunny."
    assert n_seen == 3  # each attempt got one turn further
    assert len(model.requests) == 3
    assert {a.phase for a in plane.run(run.name).actions.values() if a.trace} == {RECOVERED}


def test_nothing_unserved(plane: LoopbackPlane) -> None:
    assert not [call for call in plane.calls if call.startswith("UNSERVED")]
