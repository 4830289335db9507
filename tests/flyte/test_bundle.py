"""What travels is enough where this package is not installed."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hermes_nb.errors import MissingPackageError
from hermes_nb.flyte import bundle
from hermes_nb.flyte.plan import plan_of
from hermes_nb.flyte.runtime import Flyte
from hermes_nb.model.agent import Agent, Model
from hermes_nb.sessions.hermes import Hermes
from hermes_nb.tools.decorator import tool

IMPORT = """
import importlib, sys, zipfile
archive = sys.argv[1]
sys.path.insert(0, archive)
names = [n.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for n in zipfile.ZipFile(archive).namelist()]
for name in names:
    if name == "hermes_nb.engine.endpoint" or name.startswith("hermes_nb.engine.offline"):
        module = importlib.import_module(name)
        assert archive in module.__file__, module.__file__
        print(name)
"""


def imported(tmp_path: Path, *, with_offline: bool) -> set[str]:
    """The endpoint and what there is of the embedded model, imported from a turn's zip in an interpreter of its own."""
    archive = tmp_path / "turn.zip"
    archive.write_bytes(bundle.source_zip(of_turn=True, with_offline=with_offline))
    done = subprocess.run(
        [sys.executable, "-I", "-c", IMPORT, str(archive)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_embedded_model_travels_whole_with_an_agent_that_uses_it(tmp_path: Path) -> None:
    found = imported(tmp_path, with_offline=True)
    assert {"hermes_nb.engine.offline", "hermes_nb.engine.offline.served", "hermes_nb.engine.endpoint"} <= found


def test_it_stays_at_home_otherwise(tmp_path: Path) -> None:
    assert imported(tmp_path, with_offline=False) == {"hermes_nb.engine.endpoint"}


@pytest.mark.parametrize("room", [r for r in (*bundle.TOOL_ROOMS, *bundle.TURN_ROOMS) if r])
def test_every_module_of_a_room_travels(room: str) -> None:
    root = Path(bundle.__file__).parents[1]
    archive = bundle.source_zip(of_turn=True, with_offline=True)
    for path in (root / room).rglob("*.py"):
        assert f"hermes_nb/{path.relative_to(root).as_posix()}".encode() in archive


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
