from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_nb.tools.toolset import OTHERS, REFUSED, TOOLSETS, unknown


def test_each_says_what_it_touches():
    names = [t.name for t in TOOLSETS]
    assert len(set(names)) == len(names)
    assert all(t.touches.endswith(".") and len(t.touches) > 20 for t in TOOLSETS)
    assert {t.name for t in TOOLSETS if t.is_strong} == {"file", "terminal", "code_execution", "browser"}


@pytest.mark.hermes
def test_hermes_has_each_of_them(tmp_path: Path) -> None:
    code = "import json, toolsets; print('NAMES', json.dumps(sorted(toolsets.get_toolset_names())))"
    environment = {"HERMES_HOME": str(tmp_path / "hermes"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("NAMES "))
    assert {t.name for t in TOOLSETS} <= set(json.loads(line.removeprefix("NAMES "))), done.stderr


@pytest.mark.hermes
def test_hermes_has_no_others(tmp_path: Path) -> None:
    code = "import json, toolsets; print('NAMES', json.dumps(sorted(toolsets.get_toolset_names())))"
    environment = {"HERMES_HOME": str(tmp_path / "hermes"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("NAMES "))
    names = set(json.loads(line.removeprefix("NAMES ")))
    assert {t.name for t in TOOLSETS} | OTHERS | REFUSED.keys() - {"all"} == names, done.stderr


@pytest.mark.parametrize(
    ("name", "meant"), [("webb", "web"), ("files", "file"), ("shell", "terminal"), ("delegatoin", "delegation")]
)
def test_an_unknown_one_is_named_with_its_neighbour(name: str, meant: str) -> None:
    assert f"Hermes has no toolset {name!r}. Did you mean {meant!r}?" in str(unknown(["web", name]))


def test_those_of_hermes_are_known() -> None:
    assert unknown([t.name for t in TOOLSETS]) is None
    assert unknown(OTHERS) is None


@pytest.mark.parametrize("name", [*sorted(REFUSED), "*"])
def test_one_that_can_t_work_here_is_refused_with_its_reason(name: str) -> None:
    said = unknown(["web", name])
    assert said is not None
    assert said.startswith(f"The toolset {name!r} can't be had here: it ")
    assert said.endswith(".")
