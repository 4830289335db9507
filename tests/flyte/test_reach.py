"""The way to the control plane, as the preflight of a fresh process finds it: endpoint, project, credentials."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.flyte.loopback import LoopbackPlane

SCRIPT = Path(__file__).with_name("reach_script.py")
CONFIG = """
admin: {{endpoint: "dns:///{endpoint}", insecure: true}}
task: {{org: {org}, project: {project}, domain: {domain}}}
"""


def look(folder: Path, config: str = "", **options: Any) -> dict[str, Any]:
    folder.mkdir()
    if config:
        (folder / ".flyte").mkdir()
        (folder / ".flyte" / "config.yaml").write_text(config)
    environment = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "DO_NOT_TRACK": "1",
        "HERMES_HOME": str(folder / "hermes"),
        "PYTHONPATH": str(SCRIPT.parents[2]),
    }
    command = [sys.executable, str(SCRIPT), json.dumps(options)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{folder.name}: {done.stderr[-3000:]}"
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def found(plane: LoopbackPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """What each case finds; two at a time, each in a process of its own."""
    root = tmp_path_factory.mktemp("reach")
    there = {"endpoint": plane.endpoint, "project": plane.project, "domain": plane.domain, "org": plane.org}
    with socket.create_server(("127.0.0.1", 0)) as deaf, LoopbackPlane() as locked:
        closed = socket.create_server(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
        closed.close()
        locked.refusal = "unauthenticated"
        cases: dict[str, dict[str, Any]] = {
            "no config": {},
            "config file": {"config": CONFIG.format(**there)},
            "options": there,
            "config file, project of the options": {"config": CONFIG.format(**there), "project": "no-such-project"},
            "no project": {"endpoint": plane.endpoint, "org": plane.org},
            "domain": {**there, "domain": "moon"},
            "nobody listens": {**there, "endpoint": nobody},
            "nobody answers": {**there, "endpoint": f"127.0.0.1:{deaf.getsockname()[1]}"},
            "expired": {**there, "endpoint": locked.endpoint},
        }
        with ThreadPoolExecutor(2) as pool:
            told = pool.map(lambda case: look(root / case[0].replace(" ", "-"), **case[1]), cases.items())
            yield dict(zip(cases, told, strict=True))


@pytest.mark.parametrize("name", ["config file", "options"])
def test_a_control_plane_that_is_there_leaves_nothing_to_say(found: dict[str, Any], name: str) -> None:
    assert found[name]["findings"] == []
    assert found[name]["undisturbed"] is True


@pytest.mark.parametrize(
    ("name", "code", "words", "cure"),
    [
        ("no config", "endpoint", "Nothing says where Flyte is", "~/.flyte/config.yaml"),
        ("config file, project of the options", "project", "'no-such-project' was not found", "Choose one that is there"),
        ("no project", "project", "project", "Flyte(project=..., domain=...)"),
        ("domain", "project", "has no domain 'moon'", "development"),
        ("nobody listens", "endpoint", "127.0.0.1:", "Check the endpoint"),
        ("nobody answers", "endpoint", "did not answer within", "Check the endpoint"),
        ("expired", "credentials", "unauthenticated", "sign in again"),
    ],
)
def test_what_is_wrong_is_one_finding_with_its_cure(
    found: dict[str, Any], name: str, code: str, words: str, cure: str
) -> None:
    (finding,) = found[name]["findings"]
    assert (finding["code"], finding["severity"]) == (code, "stops")
    assert words in finding["text"]
    assert cure in finding["text"] + finding["cure"]
