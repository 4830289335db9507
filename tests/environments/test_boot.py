"""The engine travels over the pipe to an interpreter that has a Hermes and no hermes_nb, and leaves nothing there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_nb import Hermes, Process, tool
from hermes_nb.environments import boot, creation, discovery, lockfile, source
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Call, Say, ScriptedModel

ENTERED = 'main = importlib.import_module(told["entry"]).main'


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but hermes-agent in it; its interpreter."""
    root = tmp_path_factory.mktemp("engines")
    locked = lockfile.locked()
    return creation.create(locked, discovery.base_for(locked), root).path


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel([Call("double", '{"n": 21}'), Say("It is 42.")]) as model:
        yield model


@tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


async def test_a_turn_with_a_notebooks_tool_runs_in_it(engine: Path, model: ScriptedModel, tmp_path: Path) -> None:
    before = sorted(engine.parents[1].rglob("*hermes_nb*"))
    async with Hermes.local(runtime=Process(str(engine)), state=tmp_path / "state") as hermes:
        instance = await hermes.create_instance("demo", agents=[Agent("a", model=model.model, tools=[double])])
        result = await instance.agent("a").run("Double 21.", show=False)
        worker = instance.worker
    assert (result.status, result.text) == ("completed", "It is 42.")
    assert worker.engine["source"] == "runtime"
    assert worker.versions["hermes_agent"] == lockfile.DEFAULT
    assert sorted(engine.parents[1].rglob("*hermes_nb*")) == before == []
    assert list((tmp_path / "state").rglob("*.py")) == []


def test_the_same_source_is_the_same_archive() -> None:
    source.archive.cache_clear()
    first = source.archive()
    source.archive.cache_clear()
    assert source.archive() == first


def test_it_holds_the_engine_and_nothing_of_the_kernels_side() -> None:
    places = [place for place, _ in source.files()]
    rooms = {place.partition("/")[0] for place in places if "/" in place}
    assert rooms == {"model", "engine", "offline_model"}


def started(python: Path | str, sent: bytes, tmp_path: Path) -> subprocess.CompletedProcess[bytes]:
    places = ["--home", str(tmp_path / "home"), "--journal", str(tmp_path / "journal.db"), "--producer", "w-1"]
    return subprocess.run(
        [str(python), "-P", "-c", boot.BOOT, *places], input=sent, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize("is_compiled", [True, False])
def test_it_starts_with_and_without_compiled_modules(engine: Path, tmp_path: Path, is_compiled: bool) -> None:
    python = sys.version_info[:2] if is_compiled else (3, 99)
    places = ["--home", str(tmp_path / "home"), "--journal", str(tmp_path / "journal.db"), "--producer", "w-1"]
    command = [str(engine), "-P", "-c", boot.BOOT, *places]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(boot.preamble(python=(python[0], python[1])))
        worker.stdin.flush()
        assert json.loads(worker.stdout.readline())["kind"] == "ready"  # it has imported Hermes by then
        worker.stdin.write(b'{"v":1,"kind":"shutdown"}\n')
        worker.stdin.close()
        assert worker.wait(30) == 0


def test_an_archive_that_was_damaged_is_not_run(tmp_path: Path) -> None:
    sent = bytearray(boot.preamble(python=(3, 99)))
    sent[len(sent) // 2] ^= 1
    said = started(sys.executable, bytes(sent), tmp_path)
    assert said.returncode == 1
    assert b"damaged on its way" in said.stderr
    assert said.stdout == b""


def test_half_an_archive_ends_it(tmp_path: Path) -> None:
    said = started(sys.executable, boot.preamble(python=(3, 99))[:-100], tmp_path)
    assert (said.returncode, said.stdout) == (3, b"")


def test_what_is_printed_cannot_reach_the_wire(tmp_path: Path) -> None:
    probe = boot.BOOT.replace(ENTERED, "print('noise'); os.system('echo more noise')\n    main = print")
    said = subprocess.run(
        [sys.executable, "-P", "-c", probe, "x"],
        input=boot.preamble(python=(3, 99)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert said.stdout == b""
    assert b"more noise" in said.stderr


def test_a_traceback_shows_the_engines_lines() -> None:
    fails = """from hermes_nb.engine.wire import decode
    import traceback
    try: decode(b"{}")
    except ValueError: traceback.print_exc()
    main = print"""
    probe = boot.BOOT.replace(ENTERED, fails)
    command = [sys.executable, "-P", "-c", probe]
    said = subprocess.run(command, input=boot.preamble(python=(3, 99)), capture_output=True, timeout=60, check=False)
    assert b'raise ValueError(f"Not a message of the wire' in said.stderr, said.stderr.decode()
