"""What travels is enough where this package is not installed."""

from __future__ import annotations

import gzip
import pickle
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hermes_nb
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import MissingPackageError
from hermes_nb.flyte.promotion import bundle
from hermes_nb.flyte.promotion.plan import plan_of
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.flyte.task.definition import tool_function
from hermes_nb.model.agent import Agent, Model
from hermes_nb.tools.decorator import tool

IMPORT = """
import importlib, sys, zipfile
archive = sys.argv[1]
sys.path.insert(0, archive)
names = [n.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for n in zipfile.ZipFile(archive).namelist()]
for name in names:
    if name.startswith("hermes_nb.offline_model"):
        module = importlib.import_module(name)
        assert archive in module.__file__, module.__file__
        print(name)
"""


def imported(tmp_path: Path, *, with_offline: bool) -> set[str]:
    """The endpoint and what there is of the embedded model, imported from a turn's zip in an interpreter of its own."""
    archive = tmp_path / "turn.zip"
    archive.write_bytes(bundle.source_zip(of_turn=True, with_offline=with_offline))
    done = subprocess.run([sys.executable, "-I", "-c", IMPORT, str(archive)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_embedded_model_travels_whole_with_an_agent_that_uses_it(tmp_path: Path) -> None:
    found = imported(tmp_path, with_offline=True)
    assert {"hermes_nb.offline_model", "hermes_nb.offline_model.served", "hermes_nb.offline_model.endpoint"} <= found


def test_it_stays_at_home_otherwise_but_for_the_server_that_every_turn_has(tmp_path: Path) -> None:
    room = "hermes_nb.offline_model"
    assert imported(tmp_path, with_offline=False) == {room, f"{room}.endpoint", f"{room}.endpoint_form"}


@pytest.mark.parametrize("of_turn", [False, True])
def test_the_zip_alone_imports_what_a_task_begins_with(tmp_path: Path, of_turn: bool) -> None:
    archive = tmp_path / "code.zip"
    archive.write_bytes(bundle.source_zip(of_turn=of_turn))
    names = [
        "hermes_nb.flyte.task.call",
        "hermes_nb.flyte.promotion.bundle",
        *(["hermes_nb.flyte.task.task_body", "hermes_nb.engine.driver"] if of_turn else []),
    ]
    code = (
        "import sys, importlib; sys.path.insert(0, sys.argv[1])\n"
        f"for n in {names}: print(importlib.import_module(n).__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(archive)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert all(line.startswith(str(archive)) for line in done.stdout.split())


@pytest.mark.parametrize("room", [r for r in (*bundle.TOOL_ROOMS, *bundle.TURN_ROOMS) if r])
def test_every_module_of_a_room_travels(room: str) -> None:
    root = Path(hermes_nb.__file__).parent
    archive = bundle.source_zip(of_turn=True, with_offline=True)
    modules = [path.relative_to(root.parent).as_posix() for path in (root / room).rglob("*.py")]
    assert modules
    assert not [module for module in modules if module.encode() not in archive]


def test_without_the_extra_no_tool_and_no_value_is_to_blame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    cure = r"cloudpickle is not installed; .*%pip install 'hermes-nb\[flyte\]'"
    with pytest.raises(MissingPackageError, match=cure):
        bundle.pickled(2)
    with closing(Hermes.open_local(state=tmp_path)) as hermes:
        bound = hermes.bind(Agent("a", model=Model("m", "custom", "https://models.example/v1"), tools=[double]))
        with pytest.raises(MissingPackageError, match=cure):
            plan_of(bound, Flyte(mode="local"))


def test_modules_that_a_pickle_names_are_found_without_reading_it_as_what_it_is() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    source = """
import collections, dataclasses, enum, json, xml.dom.minidom as dom
from fractions import Fraction as F
class Kind(enum.Enum):
    A = F(1, 2)
class Table(collections.OrderedDict):
    pass
class Bag(set):
    pass
class Rows(list):
    pass
@dataclasses.dataclass
class Row:
    kind: Kind
    parts: tuple
    def text(self):
        return json.dumps(str(self.kind)) + dom.__name__
values = [Row(Kind.A, (1,)), Table(a=F(1)), Bag([F(2)]), Rows([F(3)]), {Kind.A: {F(1), 2}}, collections.Counter("ab")]
def f(x):
    return x, values
"""
    exec(source, names)
    data = bundle.dumps(names["f"])
    assert {"enum", "collections", "fractions", "json", "xml"} <= bundle.named_modules(data)
    assert bundle.named_modules(bundle.dumps([1, {"fractions": "Fraction"}])) == set()


def test_what_a_task_holds_costs_the_sdk_little() -> None:
    """The SDK compresses each task by level 9, twice."""
    data = pickle.dumps([{"n": n, "text": str(n) * 3} for n in range(200_000)])
    function = tool_function(bundle.source_zip(of_turn=False), "d", "f", data, 0)

    def seconds(held: Any) -> float:
        began = time.process_time()
        gzip.compress(bundle.dumps(held), 9)
        return time.process_time() - began

    assert seconds(function) < seconds(data) / 3
