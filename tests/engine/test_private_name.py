"""Which private names of Hermes are used, and what is said where some of them are gone."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.engine.hermes.line import coroutine, threaded
from hermes_nb.engine.hermes.line.lines import LINES
from hermes_nb.engine.hermes.line.private_name import Line
from hermes_nb.model.capability import CAPABILITIES
from tests.engine.rig import Worker
from tests.engine.stand_in import make

ROOT = Path(__file__).resolve().parents[2]


def test_each_name_is_needed_for_something_that_is_told() -> None:
    for line in LINES:
        assert {name.need for name in line.names} <= {"core", "guard", *CAPABILITIES}
        assert len({name.path for name in line.names}) == len(line.names)


def _module(node: ast.AST) -> str | None:
    """The module of Hermes that an expression is: `upstream("NAME")`."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "upstream":
        return next((a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)), None)
    return None


def _reached(function: ast.AST) -> set[str]:
    """What is taken of modules of Hermes there: of the call itself, of a variable that holds it, of one it is passed as."""
    held: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                is_pair = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts, strict=False) if is_pair else [(target, node.value)]
                held |= {t.id: m for t, v in pairs if isinstance(t, ast.Name) and (m := _module(v))}
    return {
        f"{module}.{node.attr}"
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and (module := _module(node.value) or held.get(getattr(node.value, "id", "")))
    }


def _passed(tree: ast.Module) -> set[str]:
    """What functions take of the modules of Hermes that they are given, in one file."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    given: dict[str, dict[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in functions:
            for parameter, value in zip(functions[node.func.id].args.args, node.args, strict=False):
                if module := _module(value):
                    given.setdefault(node.func.id, {})[parameter.arg] = module
    return {
        f"{given[name][node.value.id]}.{node.attr}"
        for name in given
        for node in ast.walk(functions[name])
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in given[name]
    }


def test_each_name_of_hermes_that_is_reached_for_stands_in_the_tables() -> None:
    known = {name.path for line in LINES for name in line.names}
    reached: set[str] = set()
    for path in sorted((ROOT / "hermes_nb").rglob("*.py")):
        tree = ast.parse(path.read_text())
        reached |= _passed(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                reached |= _reached(node)
    hers = {name for name in reached if not name.startswith("openai.")}
    assert len(hers) > 40
    assert sorted(name for name in hers if not any(path == name or path.startswith(f"{name}.") for path in known)) == []


@pytest.mark.hermes
def test_the_hermes_of_the_tests_lacks_none() -> None:
    ask = "from hermes_nb.engine.hermes.line import lines, private_name as p; import json; f = p.probe(*lines.installed());"
    said = subprocess.run(
        [sys.executable, "-c", ask + "print(json.dumps([f.version, f.missing, f.capabilities]))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(said.stdout.splitlines()[-1]) == [version("hermes-agent"), [], list(CAPABILITIES)]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter without a Hermes."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


@pytest.fixture
def ready_of(tmp_path: Path, bare: str) -> Callable[..., dict[str, Any]]:
    """`ready_of(line, version, without)`: what a worker says of a Hermes that lacks these."""

    def ready(line: Line, version: str, without: set[str]) -> dict[str, Any]:
        folder = make(tmp_path / "stand-in", line, version, without)
        worker = Worker(tmp_path / "w", python=bare, environment={"PYTHONPATH": str(folder)})
        try:
            return worker.wait_kind("ready", 10)
        finally:
            worker.close()

    return ready


def test_a_capability_whose_names_are_gone_is_not_told(ready_of: Callable[..., dict[str, Any]]) -> None:
    gone = {"run_agent.AIAgent.steer", "agent.usage_pricing.estimate_usage_cost"}
    told = ready_of(threaded.LINE, "0.19.0", gone)
    assert set(CAPABILITIES) - set(told["capabilities"]) == {"steer", "cost"}
    assert (set(told["missing"]), told["problem"]) == (gone, "")


# What newer releases have elsewhere: 0.21.3, read in its sources.
MOVED = {"tools.approval.set_current_session_key", "tools.approval.set_hermes_interactive_context"}


@pytest.mark.parametrize(
    ("line", "version", "gone"),
    [
        (threaded.LINE, "0.21.3", MOVED),
        (threaded.LINE, "0.19.0", {"run_agent.AIAgent.run_conversation"}),
        (coroutine.LINE, "0.20.4.1", {"run_agent.AIAgent.hard_interrupt"}),
    ],
)
def test_one_that_lacks_what_the_engine_leans_on_is_refused_by_name(
    ready_of: Callable[..., dict[str, Any]], line: Line, version: str, gone: set[str]
) -> None:
    told = ready_of(line, version, gone)
    assert told["capabilities"] == []
    assert set(told["missing"]) == gone
    for name in gone:
        assert name in told["problem"]
    assert f"{line.distribution} {version}" in told["problem"]


def test_what_was_measured_to_be_absent_is_not_missed(ready_of: Callable[..., dict[str, Any]]) -> None:
    told = ready_of(threaded.LINE, "0.18.2", {"tools.delegation_live_log.create_live_transcripts"})
    assert (told["missing"], told["capabilities"]) == ([], list(CAPABILITIES))


def test_an_interpreter_without_hermes_says_so(tmp_path: Path, bare: str) -> None:
    worker = Worker(tmp_path / "w", python=bare)
    told = worker.wait_kind("ready", 10)
    worker.close()
    assert told["capabilities"] == []
    assert "hermes-agent can't be imported" in told["problem"]
