"""Each tool is read in an interpreter that has nothing of the notebook, before anything is uploaded."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.flyte.adapter import run_agent
from hermes_nb.flyte.promotion.bundle import dumps
from hermes_nb.flyte.promotion.export import export
from hermes_nb.flyte.promotion.finding import Finding
from hermes_nb.flyte.promotion.load_check import LoadCheck
from hermes_nb.flyte.promotion.preflight import checked
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.model.agent import Agent, Model
from tests.flyte.travel_cells import CALLABLES, HELD

READ = "import pickle, sys; print(pickle.load(sys.stdin.buffer)(int(sys.argv[1])))"
CACHED = """
import functools
BASE = 1
@functools.lru_cache(maxsize=7)
def fib(n):
    return BASE if n < 2 else fib(n - 1) + fib(n - 2)
class Sum:
    @functools.cache
    def of(self, n):
        return fib(n) + 1
@functools.cache
def tool(n: int) -> int:
    "D"
    return Sum().of(n) + fib.cache_parameters()["maxsize"]
"""
BY_NAME = """
import numpy as np
plus = np.frompyfunc(lambda a, b: a + b, 2, 1)
def tool(n: int) -> int:
    "D"
    return plus(n, 1)
"""


@pytest.fixture(scope="module")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hermes]:
    hermes = Hermes.open_local(state=tmp_path_factory.mktemp("state"))
    yield hermes
    hermes.close()


def in_notebook(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<ipython-input-3-abc>", "exec", dont_inherit=True), names)
    return names


def found(hermes: Hermes, *tools: Any) -> list[Finding]:
    plan = checked(hermes.bind(Agent("load", model=Model("m", "custom", "https://m.example/v1"), tools=tools)), Flyte())
    with LoadCheck() as check:
        return [*plan.findings, *check.findings(plan)]


def elsewhere(value: Any, argument: int) -> str:
    """What the function answers in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", READ, str(argument)], input=dumps(value), capture_output=True, check=False)
    return done.stdout.decode().strip() or done.stderr.decode()


def test_cached_functions_travel_with_their_size_and_an_empty_cache(hermes: Hermes) -> None:
    names = in_notebook(CACHED)
    names["tool"](3)
    assert elsewhere(names["tool"], 5) == str(8 + 1 + 7)
    assert not [f for f in found(hermes, names["tool"]) if f.is_fatal and f.code != "no-secret"]


@pytest.mark.parametrize("what", CALLABLES)
def test_whatever_can_be_called_travels(hermes: Hermes, what: str) -> None:
    names = in_notebook(CALLABLES[what])
    tool = names["tool"]
    assert elsewhere(tool, 4) == "4"
    if what != "of a built-in":  # which is no tool: it says nothing of its parameter
        assert not [f for f in found(hermes, tool) if f.is_fatal and f.code != "no-secret"]


@pytest.mark.parametrize("variable", HELD)
def test_what_can_not_leave_is_named_wherever_it_is_held(hermes: Hermes, variable: str) -> None:
    (one,) = [f for f in found(hermes, in_notebook(HELD[variable])["tool"]) if f.code == "unpicklable"]
    assert one.variable == variable
    assert one.site.text
    assert "a _thread.lock" in one.text
    assert (variable != "c") or "(c.l['a'][0])" in one.text


def test_a_cached_function_of_a_module_stays_a_name() -> None:
    import fnmatch

    assert pickle.loads(dumps(fnmatch._compile_pattern)) is fnmatch._compile_pattern  # type: ignore[attr-defined]


def test_what_travels_by_a_name_that_nobody_has_there_is_found(hermes: Hermes) -> None:
    pytest.importorskip("numpy")
    codes = {f.code: f for f in found(hermes, in_notebook(BY_NAME)["tool"])}
    assert {"unreadable", "unpicklable"} & codes.keys()


def test_a_tool_that_ends_the_interpreter_is_named(hermes: Hermes) -> None:
    names = in_notebook(
        "class Bomb:\n    pass\nbomb = Bomb()\ndef tool(n: int) -> int:\n    'D'\n    return n if bomb else 0"
    )

    def reduced(self: object) -> Any:
        import os

        return os._exit, (3,)

    names["Bomb"].__reduce__ = reduced
    (one,) = [f for f in found(hermes, names["tool"]) if f.code == "unreadable"]
    assert "ended the interpreter" in one.text
    assert one.site.tool == "tool"


def test_ipythons_open_is_the_built_in_there() -> None:
    interactiveshell = pytest.importorskip("IPython.core.interactiveshell")
    names = in_notebook("def tool(n):\n    return open is __import__('builtins').open")
    names["open"] = interactiveshell._modified_open
    assert elsewhere(names["tool"], 1) == "True"


NOTEBOOK_IN_A_SUBFOLDER = {"lib/shared.py": "def vat(x):\n    return x * 2\n", "lib/deep/more.py": "N = 1\n"}


def test_packages_without_an_init_file_travel(hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, text in NOTEBOOK_IN_A_SUBFOLDER.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("lib", "lib.shared", "lib.deep", "lib.deep.more"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    names = in_notebook(
        "from lib.shared import vat\nimport lib.deep.more as more\n"
        "def tool(n: int) -> int:\n    'D'\n    return vat(n) + more.N"
    )
    assert not {f.code for f in found(hermes, names["tool"])} & {"missing-module", "unreadable"}
    for name in ("lib", "lib.shared", "lib.deep", "lib.deep.more"):
        sys.modules.pop(name, None)


def test_a_tool_that_asks_a_bound_agent_hears_what_works_instead(hermes: Hermes) -> None:
    names = in_notebook("def tool() -> str:\n    'D'\n    return friend.run_sync('?').text")
    names["friend"] = hermes.bind(Agent("friend", model=Model("m", "custom", "https://m.example/v1")))
    (one,) = [f for f in found(hermes, names["tool"]) if f.code == "unpicklable"]
    assert one.variable == "friend"
    assert "Promote the other agent by itself" in one.cure


def test_no_module_is_written_where_one_is_missing(hermes: Hermes, tmp_path: Path) -> None:
    names = in_notebook("def tool() -> str:\n    'D'\n    import not_there_at_all\n    return 'x'")
    plan = checked(
        hermes.bind(Agent("gone", model=Model("m", "custom", "https://m.example/v1"), tools=[names["tool"]])), Flyte()
    )
    with pytest.raises(UsageError, match="not_there_at_all"):
        export(plan, tmp_path / "out.py")
    assert not (tmp_path / "out.py").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [({}, "Provide `model=`"), ({"agent": 1, "tools": [len]}, "Pass either"), ({"agent": 1, "max_x": 1}, "agent_kwargs")],
)
async def test_refusals_contain_the_words_of_the_adapters_own(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        await run_agent("hi", **given)
