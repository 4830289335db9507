from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_nb.tools.toolset import TOOLSETS


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
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=150, check=False, env=environment,
        cwd=tmp_path,
    )  # fmt: skip
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("NAMES "))
    assert {t.name for t in TOOLSETS} <= set(json.loads(line.removeprefix("NAMES "))), done.stderr
