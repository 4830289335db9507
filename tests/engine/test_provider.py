"""Which endpoint a model's provider leads to; no request is sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes
KEY = "sk-test-0123456789abcdefghij"


@pytest.mark.parametrize(
    ("provider", "model", "host"),
    [
        ("openrouter", "x/y", "openrouter.ai"),
        ("openai-api", "gpt-5", "api.openai.com"),
        ("gemini", "gemini-2.5-pro", "generativelanguage.googleapis.com"),
        ("deepseek", "deepseek-chat", "api.deepseek.com"),
    ],
)
def test_a_provider_of_hermes_is_found_by_name_with_the_key_given(
    shared: Worker, script: Script, provider: str, model: str, host: str
) -> None:
    given = {"id": model, "provider": provider, "base_url": None, "api_key": KEY}
    answer = shared.bind(script.url, agent_id="prov", model=given)
    assert answer["kind"] == "bound", answer
    assert (answer["host"], answer["model"]["provider"], answer["model"]["id"]) == (host, provider, model)
    assert KEY not in str(answer)


def test_the_embedded_model_answers_on_this_machine(shared: Worker, script: Script) -> None:
    tools = [spec("count_rows", "Number of rows of a table.", args=["table"])]
    shared.tools["count_rows"] = lambda table: 42
    model: dict[str, Any] = {"id": "hermes-nb-offline", "provider": "offline", "base_url": None, "api_key": None}
    answer = shared.bind("", agent_id="off", model=model, tools=tools)
    assert (answer["kind"], answer["host"], answer["model"]["provider"]) == ("bound", "this machine", "offline")
    done = shared.run("count_rows(table='sales')", agent_id="off", tools=tools, session_id="off")
    assert done["status"] == "completed"
    assert "42" in done["text"]
    started = shared.events(done["turn_id"])[0]["data"]
    assert (started["provider"], started["host"]) == ("offline", "this machine")
    assert shared.events(done["turn_id"], "model.started")[0]["data"]["provider"] == "offline"


def test_a_custom_endpoint_gets_its_key_and_path(shared: Worker, script: Script) -> None:
    model = {"id": "other", "provider": "custom", "base_url": script.url, "api_key": KEY}
    shared.bind(script.url, agent_id="cust", model=model)
    shared.run("x", agent_id="cust")
    request = script.requests[-1]
    assert (request.bearer, request.body["model"], request.path) == (KEY, "other", "/v1/chat/completions")


def test_an_agent_bound_again_is_the_new_one(shared: Worker, script: Script) -> None:
    for name in ("one", "two"):
        model = {"id": name, "provider": "custom", "base_url": script.url, "api_key": None}
        shared.bind(script.url, agent_id="again", model=model)
        shared.run("x", agent_id="again")
        assert script.requests[-1].body["model"] == name
    shared.send("unbind", agent_id="again")
    assert shared.run("x", agent_id="again")["error_type"] == "WorkerError"


def test_a_turn_may_start_before_its_agent_is_bound(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="early", is_awaited=False)
    assert shared.run("x", agent_id="early")["status"] == "completed"
