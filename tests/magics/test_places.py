"""`%hermes runtimes` and `%hermes instances`: what there is, what it lacks, what an earlier kernel left."""

from __future__ import annotations

import ast
import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from hermes_nb.api.hermes import Hermes
from hermes_nb.model.agent import Agent
from hermes_nb.testing import ScriptedModel

Run = Callable[[str], str]


def rows(told: str) -> list[str]:
    """The lines of the table that a shell without a front end prints as a bundle, without its head."""
    text: str = ast.literal_eval(told.strip().splitlines()[-1])["text/plain"]
    return [" ".join(line.split()) for line in text.splitlines()[1:]]


def test_runtimes_are_listed_with_what_they_are(run: Run, shell: InteractiveShell) -> None:
    run("from hermes_nb.flyte import Flyte\nmine = Flyte(mode='local', retries=1)")
    told = rows(run("%hermes runtimes"))
    kinds = [line.split()[:2] for line in told if not line.startswith("docker ")]  # which not every machine has
    assert kinds == [["acp", "yes"], ["flyte", "yes"], ["process", "yes"], ["mine", "yes"]]
    assert "retries=1" in told[-1]


def test_a_package_that_is_missing_is_named_with_its_cure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "flyte" else real(name, *more))
    (line,) = [line for line in rows(run("%hermes runtimes")) if "pip install 'hermes-nb[flyte]'" in line]
    assert line.split()[:2] == ["flyte", "no"]


def test_a_machine_without_containers_is_told_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **more: None if name in ("docker", "podman") else real(name, **more))
    (line,) = [line for line in rows(run("%hermes runtimes")) if "neither docker nor podman" in line]
    assert line.split()[:2] == ["docker", "no"]


def test_an_engine_that_is_not_there_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_NB_ENGINE", "/nowhere/python")
    (line,) = [line for line in rows(run("%hermes runtimes")) if "/nowhere/python" in line]
    assert line.split()[:2] == ["process", "no"]


def test_instances_are_listed_open_ones_first(run: Run, shell: InteractiveShell, tmp_path: Path) -> None:
    assert run("%hermes instances") == "No instances. %hermes agent NAME makes one.\n"
    with ScriptedModel(["Hi."]) as model:
        shell.user_ns["model"] = model.model
        run("from hermes_nb import Agent\na = Agent('a', model=model)\n%hermes agent a\n%hermes run -a a Hello")
        assert rows(run("%hermes instances")) == ["default process a open; its worker answers"]


async def test_what_an_earlier_kernel_left_is_listed(run: Run, shell: InteractiveShell, tmp_path: Path) -> None:
    with ScriptedModel(["Hi."]) as model:
        earlier = Hermes.open_local(state=tmp_path / ".hermes-nb")
        await earlier.create_instance("lab", agents=[Agent("keeper", model=model.model)])
        await earlier.aclose()
    (tmp_path / ".hermes-nb" / "instances" / "odd").mkdir()
    broken = tmp_path / ".hermes-nb" / "instances" / "torn"
    broken.mkdir()
    (broken / "instance.json").write_text("{", encoding="utf-8")
    assert rows(run("%hermes instances")) == [
        "lab process keeper left by an earlier kernel, or open in another",
        "odd left without a record",
        "torn its record can't be read",
    ]
