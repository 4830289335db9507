"""A secret that `Flyte(secrets=)` declares is masked wherever a run tells something, whatever its variable is called."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.tools.secret import environment_masker
from tests.flyte.agents import REMOTE, ask, bind, opened
from tests.flyte.loopback import LoopbackPlane

pytestmark = [pytest.mark.flyte, pytest.mark.hermes]
PASSWORD = "s3cret"  # of the plane's secret `api-key`


@pytest.fixture(scope="module")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hermes]:
    with opened(tmp_path_factory.mktemp("state")) as hermes:
        yield hermes


def _leaky(remote: Any) -> Any:
    @tool(remote=remote)
    def dsn(how: str) -> str:
        """Tell."""
        print("connecting with", os.environ["DB_LOGIN"])
        if how == "raise":
            raise ValueError("refused " + os.environ["DB_LOGIN"])
        return "password " + os.environ["DB_LOGIN"]

    return dsn


@pytest.mark.parametrize("remote", [None, "inline"], ids=["child", "inline"])
async def test_it_is_masked_in_results_prints_errors_log_lines_and_the_report(
    plane: LoopbackPlane, hermes: Hermes, monkeypatch: pytest.MonkeyPatch, remote: Any
) -> None:
    steps = [Call("dsn", {"how": "return"}), Call("dsn", {"how": "raise"}), Say("done")]
    with ScriptedModel(steps) as model:
        secrets = {**REMOTE["secrets"], "DB_LOGIN": "api-key"}
        result = await ask(bind(hermes, model, _leaky(remote)), secrets=secrets)
        assert result.text == "done"
        said = str(result.events) + str(model.requests[-1].messages) + str(result.raw)
    assert "password [masked]" in said
    assert "refused [masked]" in said
    assert PASSWORD not in said


async def test_it_is_masked_in_a_local_run(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_LOGIN", "correct-horse")
    with ScriptedModel([Call("dsn", {"how": "return"}), Call("dsn", {"how": "raise"}), Say("done")]) as model:
        result = await ask(bind(hermes, model, _leaky(None)), mode="local", secrets=["DB_LOGIN"])
        said = str(result.events) + str(model.requests[-1].messages) + Path(result.raw["report"]).read_text()
    assert result.text == "done"
    assert "password [masked]" in said
    assert "correct-horse" not in said


def test_a_declared_secret_is_masked_though_its_name_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_NB_SECRETS", "DB_LOGIN,NOT_SET")
    monkeypatch.setenv("DB_LOGIN", "pw-1")

    assert environment_masker().text("postgres://app:pw-1@db") == "postgres://app:[masked]@db"
    monkeypatch.delenv("HERMES_NB_SECRETS")
    assert environment_masker().text("pw-1") == "pw-1"
