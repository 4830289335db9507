"""The eleven traps: what the plain adapter does, and what happens here."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import flyte
import flyteplugins.agents.core.testing
import httpx
import pytest

import hermes_nb.flyte
from hermes_nb.engine.durability.fingerprint import without_host
from hermes_nb.errors import UsageError
from hermes_nb.flyte import _sdk
from hermes_nb.flyte.promotion.preflight import checked
from hermes_nb.flyte.promotion.submit import connect
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.testing import Call, Fail, Say, ScriptedModel
from tests.flyte.agents import REMOTE, ask, bind, opened
from tests.flyte.loopback import LoopbackPlane
from tests.flyte.scripts import body_text, n_replies

SCRIPT = Path(__file__).parent / "trap_script.py"


def script(which: str, home: Path, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), which],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=home,
        check=False,
        env={
            "HOME": str(home),
            "HERMES_HOME": str(home / "hermes"),
            "PATH": "/usr/bin:/bin",
            "DO_NOT_TRACK": "1",
            "PYTHONPATH": str(SCRIPT.parents[2]),
            **environment,
        },
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return script("plain", tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return script("ours", tmp_path_factory.mktemp("ours"))


@pytest.mark.parametrize(
    ("what", "theirs", "here"),
    [
        pytest.param("stdout_kept", False, True, id="1 Hermes wraps stdout"),
        pytest.param("report", "HTML", "str", id="2 a report in a kernel is no text"),
        pytest.param("tools_seen", [], ["weather"], id="3 a pickled tool vanishes"),
        pytest.param("own_name", "file", "ToolNameError", id="8 a built-in of that name wins"),
        pytest.param("which", "two", "one", id="9 an older agent gets the newer tool"),
        pytest.param("shipped", "TypeError: cannot pickle '_thread.lock' object", True, id="11 an agent can't be pickled"),
    ],
)
def test_what_the_adapter_does_and_what_happens_here(
    plain: dict[str, Any], ours: dict[str, Any], what: str, theirs: Any, here: Any
) -> None:
    assert plain[what] == theirs
    assert ours[what] == here


def test_9_runs_that_overlap_have_each_their_own_tool(plain: dict[str, Any], ours: dict[str, Any]) -> None:
    assert plain["overlapping"] != ["one", "two"]
    assert ours["overlapping"] == ["one", "two"]
    assert ours["thrice"] == ["one", "two", "one"]
    assert ours["named"] == ["three", "one"]
    assert ours["threads"] == ["one", "two", "one", "two"]


def test_a_name_for_the_model_does_not_rename_the_function(plain: dict[str, Any], ours: dict[str, Any]) -> None:
    assert plain["renamed"] == ["which", True]
    assert ours["renamed"] == ["other", False]


def test_an_agent_of_the_users_own_runs_and_has_the_same_cure(plain: dict[str, Any], ours: dict[str, Any]) -> None:
    assert "1.5" not in plain["own_mean"]
    assert (ours["own_mean"], ours["own_answer"]) == ("1.5", "Done.")


def test_4_outside_a_run_the_model_gets_the_answer(plain: dict[str, Any], ours: dict[str, Any]) -> None:
    assert "coroutine" in plain["tool_said"]
    assert ours["tool_said"] == "Rome: sunny"


def test_whole_numbers_fit_a_list_of_floats(ours: dict[str, Any]) -> None:
    assert ours["mean"] == "1.5"


def test_5_the_replay_key_holds_no_facts_of_a_host_or_a_day() -> None:
    from flyteplugins.agents.hermes._durable import _request_key

    prompt = "You are Hermes.\nConversation started: {day}\nHost: Linux ({kernel})\nUser home directory: {home}\n{tools}"
    probe = "Python toolchain: python=3.11"
    one = prompt.format(day="Sunday, November 29, 2026", kernel="6.1", home="/root", tools=probe)
    other = prompt.format(day="Monday, November 30, 2026", kernel="6.2", home="/home/x", tools="Python toolchain: ")

    def key(text: str, change: Any) -> str:
        return str(_request_key(change({"model": "m", "messages": [{"role": "system", "content": text}]}), {}))

    assert key(one, dict) != key(other, dict)
    assert key(one, without_host) == key(other, without_host)


def test_6_flyte_trace_keeps_nothing_locally(tmp_path: Path) -> None:
    env = flyte.TaskEnvironment("durability")
    log = tmp_path / "log"

    @flyte.trace
    async def mark(path: str) -> str:
        with Path(path).open("a") as file:
            file.write("x")
        return "marked"

    @env.task(retries=1)
    async def twice(path: str) -> str:
        await mark(path)
        if Path(path).stat().st_size == 1:
            raise RuntimeError("the first attempt fails after its trace")
        return "done"

    flyte.with_runcontext(mode="local").run(twice, path=str(log))
    assert log.read_text() == "xx"


async def test_6_a_local_retry_replays_from_our_journal(tmp_path: Path) -> None:
    n_failed = []

    def step(request: Any) -> Any:
        if n_replies(request) == 0:
            return Call("get_weather", {"city": "Rome"})
        if not n_failed:
            n_failed.append(1)
            return Fail(400, "Not now.")
        return Say("Sunny.")

    with opened(tmp_path / "state") as hermes, ScriptedModel(step) as model:
        result = await ask(bind(hermes, model), mode="local", retries=1)
    assert (result.status, result.text) == ("completed", "Sunny.")
    assert [n_replies(r) for r in model.requests] == [0, 1, 1]  # the first reply was not paid for again
    report = body_text(Path(result.raw["report"]).read_text())
    last = [s for s in result.spans if s.attempt == 2]
    assert [(s.kind, s.replayed) for s in last if s.kind != "turn"] == [("model", True), ("tool", True), ("model", False)]
    # and the Agent tab has a row for each step of the last attempt, as on a cluster
    agent_tab = report.split("Hermes agent")[1].split("final answer")[0]
    assert [agent_tab.count(t) for t in ("model turn", "model turn · replayed", "tool · replayed")] == [2, 1, 1]
    assert agent_tab.index("model turn · replayed") < agent_tab.index("tool · replayed") < agent_tab.index("Sunny.")


def test_10_a_child_is_known_again_whatever_the_hash_seed(tmp_path: Path) -> None:
    source = """
import sys, pickle, hashlib, cloudpickle
WORDS = {"a", "b", "c", "d", "e", "f"}
def has(word: str) -> bool:
    "Whether it is known."
    return word in WORDS
def digest(value):
    return hashlib.sha256(cloudpickle.dumps(value)).hexdigest()
if sys.argv[1] == "plain":
    print(digest(has))
else:
    from hermes_nb.flyte.promotion.bundle import source_zip
    from hermes_nb.flyte.task.definition import tool_function
    from hermes_nb.tools.decorator import tool
    from pathlib import Path
    shipped = Path(sys.argv[2])
    if not shipped.exists():
        shipped.write_bytes(cloudpickle.dumps(tool(has)))
    print(digest(tool_function(source_zip(of_turn=False), "d", "has", shipped.read_bytes(), 0)))
"""
    (tmp_path / "seeds.py").write_text(source)

    def digest(which: str, seed: str) -> str:
        command = [sys.executable, str(tmp_path / "seeds.py"), which, str(tmp_path / "shipped")]
        environment = {"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(SCRIPT.parents[2])}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
        return done.stdout.strip()

    assert len({digest("plain", seed) for seed in ("1", "2", "3")}) > 1
    assert len({digest("ours", seed) for seed in ("1", "2", "3")}) == 1


def test_10_tasks_run_with_a_fixed_hash_seed(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as hermes, ScriptedModel() as model:
        task = checked(bind(hermes, model), Flyte(mode="local")).task()
    assert task.parent_env().env_vars["PYTHONHASHSEED"] == "0"


async def test_7_another_python_than_the_kernels_is_refused_before_anything_is_sent(
    plane: LoopbackPlane, tmp_path: Path
) -> None:
    other = "ghcr.io/flyteorg/flyte:py3.99-v2.12.1"
    env = flyte.TaskEnvironment("other-python", image=other)

    @env.task
    async def hello() -> str:
        return "hello"

    run = await flyte.with_runcontext(mode="remote", interactive_mode=True).run.aio(hello)  # nobody minds
    spec = plane.run(run.name).root.spec
    assert spec is not None
    assert "py3.99" in spec.task_template.container.image
    await run.abort.aio()
    n_runs, n_calls = len(plane.store.runs), len(plane.calls)
    with opened(tmp_path / "state") as hermes, ScriptedModel() as model:
        with pytest.raises(UsageError, match=r"\[python\] The image has Python 3\.99, this kernel 3\."):
            await bind(hermes, model).promote("Hi", **REMOTE, image=other)
        assert not model.requests
    assert len(plane.store.runs) == n_runs
    assert not [c for c in plane.calls[n_calls:] if "Upload" in c or "CreateRun" in c]


def test_7_a_pickle_of_another_python_crashes_it(tmp_path: Path) -> None:
    names = [f"python3.{minor}" for minor in range(11, 15) if minor != sys.version_info[1]]
    other = next(filter(None, map(shutil.which, names)), None)
    if other is None:
        pytest.skip("no other Python is installed")
    names_there: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(x):\n    return [y for y in range(x) if y]\n", names_there)
    (tmp_path / "f.pkl").write_bytes(cloudpickle.dumps(names_there["f"]))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))(3))"
    packages = str(Path(cloudpickle.__file__).parents[1])
    done = subprocess.run(
        [other, "-c", code, str(tmp_path / "f.pkl")],
        capture_output=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": packages, "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode != 0


@pytest.mark.parametrize(("is_ours", "n_chunks"), [(False, 1000), (True, 1)], ids=["the SDK's", "ours"])
async def test_files_are_uploaded_by_the_megabyte_and_not_by_the_line(
    plane: LoopbackPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ours: bool, n_chunks: int
) -> None:
    await connect(Flyte(**REMOTE))
    seen: list[int] = []

    async def put(self: Any, url: str, *, content: Any, **_: Any) -> httpx.Response:
        seen.extend([len(chunk) async for chunk in content])
        return httpx.Response(200)

    monkeypatch.setattr(httpx.AsyncClient, "put", put)
    path = tmp_path / "lines"
    path.write_bytes(b"\n" * 1000)
    with _sdk.uploads_in_chunks() if is_ours else contextlib.nullcontext():
        await _sdk.sdk("flyte.remote").upload_file.aio(path)
    assert (len(seen), sum(seen)) == (n_chunks, 1000)


async def test_11_a_secret_of_the_notebook_does_not_travel(plane: LoopbackPlane, tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "TOKEN": "ghp_" + "a1B2" * 9}
    exec("async def ask() -> str:\n    'Asks.'\n    return TOKEN[:2]\n", names)
    task = flyte.TaskEnvironment("secretive").task(names["ask"])
    assert names["TOKEN"].encode() in cloudpickle.dumps(task)
    with opened(tmp_path / "state") as hermes, ScriptedModel() as model:
        with pytest.raises(UsageError, match=r"\[secret\] Tool 'ask' .* would travel in variable 'TOKEN'"):
            await bind(hermes, model, names["ask"]).promote("Hi", **REMOTE)


def test_11_no_object_of_hermes_and_no_key_travels(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as hermes, ScriptedModel() as model:
        plan = checked(bind(hermes, model), Flyte(mode="local"))
        shipped = cloudpickle.dumps(plan.task())
    assert model.model.api_key is not None
    assert model.model.api_key.get_secret_value().encode() not in shipped
    assert b"AIAgent" not in shipped


def test_the_adapters_own_conformance_holds() -> None:
    flyteplugins.agents.core.testing.assert_adapter_conforms(hermes_nb.flyte)
    assert hermes_nb.flyte.FLYTE_TOOLSET == flyteplugins.agents.hermes.FLYTE_TOOLSET


@pytest.mark.parametrize(
    "options",
    [{"agent": object(), "tools": [len]}, {"agent": object(), "api_key": "x"}, {}],
    ids=["tools", "kwargs", "no model"],
)
async def test_the_three_value_errors(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        await hermes_nb.flyte.run_agent("Hi", **options)
    with pytest.raises(ValueError):
        await flyteplugins.agents.hermes.run_agent("Hi", **options)


async def test_the_offline_model_answers_in_a_local_run(tmp_path: Path) -> None:
    from hermes_nb.model.agent import Agent
    from hermes_nb.tools.decorator import tool

    @tool
    def count_orders() -> int:
        """How many orders there are."""
        return 42

    with opened(tmp_path / "state") as hermes:
        bound = hermes.bind(Agent("off", model="offline", tools=[count_orders]))
        result = await ask(bound, "How many orders are there?", mode="local")
    assert result.status == "completed", result.error
    assert "42" in result.text


@pytest.mark.parametrize(("yes", "status"), [(False, "denied"), (True, "ok")])
async def test_hermess_own_tools_do_nothing_unasked_where_nobody_watches(tmp_path: Path, yes: bool, status: str) -> None:
    from hermes_nb.model.agent import Agent

    target = tmp_path / "made"
    steps = [Call("terminal", {"command": f"touch {target}"}), Say("Done.")]
    with opened(tmp_path / "state") as hermes, ScriptedModel(steps) as model:
        bound = hermes.bind(Agent("shell", model=model.model, toolsets=["terminal"]))
        result = await ask(bound, "Touch it.", mode="local", yes=yes)
    assert [t.status for t in result.tools] == [status]
    assert target.exists() is yes
