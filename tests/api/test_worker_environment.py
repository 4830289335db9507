"""Variables that change after the worker has started: the next turn has them, and says so in one line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes_nb import Agent, Hermes, Model, _settings
from hermes_nb._settings import PROXY_VARIABLES, WORKER_VARIABLES
from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.runtimes.process import Process
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.turns.result import RunResult

pytestmark = pytest.mark.hermes


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXY_VARIABLES, "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "TZ"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def hermes(tmp_path: Path) -> AsyncIterator[Hermes]:
    async with Hermes.local(state=tmp_path / "state") as made:
        yield made


def said(result: RunResult) -> list[str]:
    return [str(e.data["message"]) for e in result.events if e.kind == "warning" and e.data["code"] == "environment"]


async def bound_to(hermes: Hermes, model: ScriptedModel, **options: object) -> BoundAgent:
    instance = await hermes.create_instance("demo", agents=[Agent("a", model=model.model, **options)])  # type: ignore[arg-type]
    return instance.agent("a")


@pytest.mark.parametrize(("name", "value"), [("HTTPS_PROXY", "http://127.0.0.1:9"), ("TZ", "Asia/Tokyo"), ("LC_TIME", "C")])
async def test_a_variable_that_changed_leads_to_a_new_worker_that_has_it(
    hermes: Hermes, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModel([Say("one"), Say("two"), Say("three")]) as model:
        bound = await bound_to(hermes, model)
        assert not said(await bound.run("1", show=False))
        pid, session = bound.instance.worker.pid, bound.session_id
        monkeypatch.setenv(name, value)
        second = await bound.run("2", show=False)
        assert (second.status, second.text) == ("completed", "two")
        (text,) = said(second)
        assert name in text
        assert "a new worker was started" in text
        assert bound.instance.worker.pid != pid
        assert (bound.session_id, second.session_id) == (session, session)
        new = bound.instance.worker.pid
        if sys.platform == "linux":
            environment = Path(f"/proc/{new}/environ").read_bytes().decode().split("\0")
            assert f"{name}={value}" in environment
        assert not said(await bound.run("3", show=False))
        assert bound.instance.worker.pid == new
        messages = json.dumps(model.requests[-1].body["messages"])
        assert "one" in messages
        assert "two" in messages


async def test_a_variable_that_the_worker_does_not_get_changes_nothing(
    hermes: Hermes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "MY_SETTING" not in WORKER_VARIABLES
    with ScriptedModel([Say("one"), Say("two")]) as model:
        bound = await bound_to(hermes, model)
        await bound.run("1", show=False)
        pid = bound.instance.worker.pid
        monkeypatch.setenv("MY_SETTING", "x")
        assert not said(await bound.run("2", show=False))
        assert bound.instance.worker.pid == pid


async def test_a_running_turn_keeps_its_worker(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    other: list[RunResult] = []

    async def ask_another() -> str:
        """Ask another agent."""
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        helper = bound.instance.bind(Agent("helper", model=model.model))
        other.append(await helper.run("inner", show=False))
        return "asked"

    def answer(request: object) -> object:
        text = str(request.body["messages"][-1].get("content"))  # type: ignore[attr-defined]
        return Call("ask_another") if text == "outer" else Say("done")

    with ScriptedModel(answer) as model:
        bound = await bound_to(hermes, model, tools=[ask_another])
        first = await bound.run("outer", show=False)
        assert (first.status, first.text) == ("completed", "done")
        assert other[0].status == "completed"
        (text,) = said(other[0])
        assert "TZ changed while a turn runs" in text
        pid = bound.instance.worker.pid
        assert (await bound.run("after", show=False)).status == "completed"
        assert bound.instance.worker.pid not in (None, pid)


async def test_turns_that_begin_together_have_it_all(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(lambda request: Say("done")) as model:
        agents = [Agent(name, model=model.model) for name in ("a", "b", "c")]
        instance = await hermes.create_instance("demo", agents=agents)
        await instance.agent("a").run("1", show=False)
        pid = instance.worker.pid
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        results = await asyncio.gather(*(instance.agent(agent.name).run("2", show=False) for agent in agents))
        assert [r.status for r in results] == ["completed"] * 3
        new = instance.worker.pid
        assert new not in (None, pid)
        assert [text for r in results for text in said(r)] == [
            "TZ changed: a new worker was started with it. Sessions go on."
        ]
        await instance.agent("a").run("3", show=False)
        assert instance.worker.pid == new


async def test_a_variable_of_the_runtime_that_is_changed_counts_too(tmp_path: Path) -> None:
    runtime = Process(options={"environment": {"MY_SETTING": "old"}})
    with ScriptedModel([Say("one"), Say("two")]) as model:
        async with Hermes.local(state=tmp_path / "state", runtime=runtime) as hermes:
            bound = await bound_to(hermes, model)
            await bound.run("1", show=False)
            runtime.options["environment"]["MY_SETTING"] = "new"
            (text,) = said(await bound.run("2", show=False))
            assert "MY_SETTING changed" in text


async def test_a_model_that_the_environment_names_later_answers_from_then_on(
    hermes: Hermes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HERMES_NB_MODEL", *_settings.KEY_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    with ScriptedModel([Say("one"), Say("two"), Say("three")]) as model:
        bound = (await hermes.create_instance("demo", agents=[Agent("a")])).agent("a")
        assert (await bound.run("hi", show=False)).model == "hermes-nb-offline"
        monkeypatch.setenv("HERMES_NB_MODEL", f"custom:scripted@{model.model.base_url}")
        result = await bound.run("hi", show=False)
        assert result.text == "one"
        assert "The model is scripted (custom) now, as the environment says" in str(result.events)
        monkeypatch.setenv("HERMES_NB_MODEL", "opnai:gpt-5")
        result = await bound.run("hi", show=False)
        assert result.text == "two"
        said = str(result.events)
        assert "HERMES_NB_MODEL: There is no provider 'opnai'. Did you mean 'openai'?" in said
        assert "Until then scripted (custom) answers as before." in said
        monkeypatch.delenv("HERMES_NB_MODEL")
        assert (await bound.run("hi", show=False)).model == "scripted"
        monkeypatch.setenv("HERMES_NB_MODEL", "offline")
        assert (await bound.run("hi", show=False)).model == "hermes-nb-offline"


async def test_a_key_that_cannot_be_sent_or_is_gone_leaves_the_one_of_before(
    hermes: Hermes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModel(lambda request: Say("yes")) as model:
        monkeypatch.setenv("GROQ_API_KEY", "sk-right-0123456789")
        agent = Agent("a", model=Model("m", "groq", model.model.base_url))
        bound = (await hermes.create_instance("demo", agents=[agent])).agent("a")
        monkeypatch.setenv("GROQ_API_KEY", "sk-ключ-0123456789")
        result = await bound.run("1", show=False)
        assert "The key in GROQ_API_KEY can't be sent" in str(result.events)
        assert "ключ" not in str(result.events)
        monkeypatch.delenv("GROQ_API_KEY")
        result = await bound.run("2", show=False)
        assert not [e for e in result.events if e.kind == "warning"]
        assert {r.bearer for r in model.requests} == {"sk-right-0123456789"}


async def test_a_key_that_is_corrected_in_the_environment_is_sent(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel([Say("one"), Say("two")]) as model:
        monkeypatch.setenv("GROQ_API_KEY", "sk-wrong-0123456789")
        agent = Agent("a", model=Model("m", "groq", model.model.base_url))
        bound = (await hermes.create_instance("demo", agents=[agent])).agent("a")
        await bound.run("1", show=False)
        os.environ["GROQ_API_KEY"] = " sk-right-0123456789\n"
        result = await bound.run("2", show=False)
        assert [r.bearer for r in model.requests] == ["sk-wrong-0123456789", "sk-right-0123456789"]
        assert any("key of" in str(e.data.get("message")) for e in result.events if e.kind == "warning")
        assert "sk-right" not in str(result.events)
