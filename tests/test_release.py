"""What is released: wheel and sdist as scripts/release.py builds them, tried in clean environments."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.release, pytest.mark.hermes]


def script(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / "scripts" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look themselves up
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


release = script("release")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("release")


@pytest.fixture(scope="module")
def built(folder: Path) -> Iterator[tuple[Path, Path]]:
    try:
        yield release.build(folder)
    except subprocess.CalledProcessError as exc:
        pytest.skip(f"NOT TESTED: no package index can be reached, so nothing was built ({exc})")


def test_contents_size_and_version(built: tuple[Path, Path]) -> None:
    assert release.faults(*built) == []


def test_what_is_wrong_is_found(built: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "MOST_BYTES", 1000)
    assert "bytes, 1,000 or more" in release.faults(*built)[0]


def test_twine_has_nothing_to_say(built: tuple[Path, Path], folder: Path) -> None:
    assert release.twine_check(folder, *built) == ""


@pytest.mark.parametrize("extra", release.EXTRAS, ids=lambda extra: extra or "no extras")
def test_the_wheel_works_in_a_clean_environment(extra: str, built: tuple[Path, Path], folder: Path) -> None:
    assert release.smoke(built[0], extra, folder) == "ok"


def test_the_pins_of_binder_are_what_the_package_asks_for() -> None:
    from packaging.requirements import Requirement

    lines = (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==([\w.]+)", "\n".join(lines), re.MULTILINE))
    assert lines[-1] == "--editable ."
    assert all(re.match(r"[\w.\[\],-]+==[\w.+]+( ?;.*)?$", line) for line in lines[:-1] if not line.startswith("#"))
    project = release.tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for line in (*project["dependencies"], *extras["widgets"], *extras["lab"], *extras["hermes"], "matplotlib>=3.8"):
        wanted = Requirement(line)
        if wanted.name != "hermes-nb" and (wanted.marker is None or wanted.marker.evaluate({"python_version": "3.11"})):
            assert wanted.specifier.contains(pins[wanted.name]), f"binder pins {wanted.name} {pins[wanted.name]}: {line}"
    assert {p.name for p in (ROOT / "binder").iterdir()} == {"requirements.txt", "runtime.txt"}  # no Node, no key


def test_binder_can_read_it(tmp_path: Path) -> None:
    binder = script("binder")
    try:
        told = binder.dockerfile(tmp_path)
    except subprocess.CalledProcessError as exc:
        pytest.skip(f"NOT TESTED: repo2docker could not be installed or run ({exc})")
    assert 'pip install --no-cache-dir -r "binder/requirements.txt"' in told
    assert "nodejs" not in told.split("Copy stuff")[1]


def test_binder_s_steps_give_a_lab_that_runs_the_first_notebook_in_less_than_a_gigabyte(tmp_path: Path) -> None:
    binder = script("binder")
    try:
        python = binder.install(tmp_path)
    except subprocess.CalledProcessError as exc:
        pytest.skip(f"NOT TESTED: Binder's packages could not be installed ({exc})")
    assert 100_000_000 < binder.peak_bytes(tmp_path, python) < binder.MOST_BYTES
