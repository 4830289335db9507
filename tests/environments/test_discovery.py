"""Which interpreter is taken, in which order, and what is said where there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_nb.environments import catalog, creation, discovery, lockfile
from hermes_nb.environments.interpreter import Interpreter, own
from hermes_nb.errors import EngineError, UsageError, WorkerStartError

Make = Callable[..., Path]


@pytest.fixture
def bare(engines: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A kernel without a Hermes, and an empty PATH; the folder on the PATH."""
    here = own()
    monkeypatch.setattr(discovery, "own", lambda: Interpreter(here.path, here.python))
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    return programs


@pytest.fixture
def make_ours(engines: Path, make_interpreter: Make) -> Callable[[], Path]:
    """`make()`: an environment that counts as one of ours; its interpreter."""

    def make() -> Path:
        locked = lockfile.locked()
        folder = creation.folder_of(locked, own().python, engines)
        python = make_interpreter(version=locked.version, folder=folder)
        (folder / creation.MARK).write_text(json.dumps({"version": locked.version}))
        return python

    return make


def on_path(programs: Path, python: Path) -> None:
    script = programs / "hermes"
    script.write_text(f"#!{python}\n")
    script.chmod(0o755)


def found() -> tuple[str, Path] | None:
    engine = discovery.find()
    return None if engine is None else (engine.source, engine.interpreter.path)


def test_the_order(
    bare: Path, make_interpreter: Make, make_ours: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found() is None
    users = make_interpreter("users")
    on_path(bare, users)
    assert found() == ("path", users)
    ours = make_ours()
    assert found() == ("environment", ours)
    here = own()
    monkeypatch.setattr(discovery, "own", lambda: here)
    assert found() == ("kernel", here.path)
    chosen = make_interpreter("chosen")
    discovery.choose(str(chosen))
    assert found() == ("choice", chosen)
    named = make_interpreter("named")
    monkeypatch.setenv("HERMES_NB_ENGINE", str(named))
    assert found() == ("variable", named)
    engine = discovery.find(str(users))
    assert engine is not None
    assert (engine.source, engine.interpreter.path) == ("runtime", users)


def test_a_choice_is_forgotten(engines: Path, make_interpreter: Make) -> None:
    discovery.choose(str(make_interpreter()))
    discovery.choose(None)
    assert discovery.chosen() is None


def test_an_interpreter_without_a_hermes_is_no_choice(engines: Path, make_interpreter: Make) -> None:
    with pytest.raises(WorkerStartError, match="has no Hermes"):
        discovery.choose(str(make_interpreter(version=None)))
    assert discovery.chosen() is None


@pytest.mark.parametrize("version", ["0.23.1", "0.17.4"])
def test_a_hermes_that_was_not_measured_is_passed_over(bare: Path, make_interpreter: Make, version: str) -> None:
    on_path(bare, make_interpreter(version=version))
    assert found() is None
    assert "not measured" in dict(discovery.survey())["hermes on the PATH"]


def test_a_version_names_an_environment(bare: Path, make_ours: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    ours = make_ours()
    for name in ("0.19.0", "hermes-agent==0.19.0", "hermes-agent-0.19.0"):
        monkeypatch.setenv("HERMES_NB_ENGINE", name)
        assert found() == ("variable", ours)
    monkeypatch.setenv("HERMES_NB_ENGINE", "0.7.7")
    with pytest.raises(UsageError, match=r"no locked list for Hermes '0\.7\.7'.*hermes-agent-0\.19\.0"):
        discovery.find()


def test_one_that_may_not_be_made_says_what_to_do(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_NB_ENGINE_INSTALL", "0")
    with pytest.raises(EngineError, match=r"HERMES_NB_ENGINE_INSTALL=0 forbids.*HERMES_NB_ENGINE=/path/to/python"):
        discovery.find_or_create()


def test_a_kernel_that_is_too_new_says_which_python_is_needed(engines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "own", lambda: Interpreter(Path("/python3.14"), (3, 14, 1)))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineError, match=r"needs Python 3\.11, 3\.12, 3\.13; this kernel has 3\.14\.1"):
        discovery.base_for(lockfile.locked())


def test_what_is_half_made_is_none_of_ours(bare: Path, make_ours: Callable[[], Path]) -> None:
    python = make_ours()
    (python.parents[1] / creation.MARK).unlink()
    assert found() is None
    (one,) = catalog.environments()
    assert not one.is_whole


def test_removing_leaves_nothing_and_lists_what_there_is(engines: Path, make_ours: Callable[[], Path]) -> None:
    name = make_ours().parents[1].name
    with pytest.raises(UsageError, match=f"No engine environment named 'nope'. Known: {name}"):
        catalog.remove("nope")
    assert catalog.remove(name).size_bytes > 0
    assert catalog.environments() == []


def test_every_place_is_told(bare: Path) -> None:
    told = dict(discovery.survey())
    assert list(told) == [
        "HERMES_NB_ENGINE",
        "%hermes engine use",
        "kernel",
        "environments",
        "hermes on the PATH",
        "taken",
    ]
    assert told["taken"] == "none yet: one is made when it is first needed"
