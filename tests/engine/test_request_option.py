"""Options of a model: in the request, in the event of the call, or refused when the agent is bound."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_nb.offline_model.endpoint import Refusal
from tests.engine.conftest import Script
from tests.engine.rig import Worker

pytestmark = pytest.mark.hermes
KEY = "sk-test-0123456789abcdefghij"
ALL = {"temperature": 0.2, "top_p": 0.9, "stop": ["END"], "seed": 7, "reasoning_effort": "high"}


def model(script: Script, **keys: Any) -> dict[str, Any]:
    return {"id": "scripted", "provider": "custom", "base_url": script.url, "api_key": KEY, **keys}


def test_they_are_in_the_request_and_in_the_event(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="opt", model=model(script, options=ALL))
    done = shared.run("x", agent_id="opt", session_id="opt")
    body = script.requests[-1].body
    assert {name: body.get(name) for name in ALL} == ALL
    assert shared.events(done["turn_id"], "model.started")[0]["data"]["options"] == ALL


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_each_effort_is_sent(shared: Worker, script: Script, effort: str) -> None:
    shared.bind(script.url, agent_id="effort", model=model(script, options={"reasoning_effort": effort}))
    shared.run("x", agent_id="effort", session_id=effort)
    assert script.requests[-1].body["reasoning_effort"] == effort


def test_an_agent_without_options_sends_none(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="plain", model=model(script))
    done = shared.run("x", agent_id="plain", session_id="plain")
    assert not set(ALL) & set(script.requests[-1].body)
    assert "options" not in shared.events(done["turn_id"], "model.started")[0]["data"]


@pytest.mark.parametrize(
    ("provider", "name", "options", "said"),
    [
        ("openai-api", "gpt-5", {"top_p": 0.5}, "top_p=0.5 can't be sent to provider 'openai-api': OpenAI's responses has"),
        ("openai-api", "gpt-5", {"stop": ["x"]}, "stop=['x'] can't be sent"),
        ("openai-api", "gpt-5", {"seed": 1}, "seed=1 can't be sent"),
        ("gemini", "gemini-2.5-pro", {"seed": 1}, "seed=1 can't be sent to provider 'gemini'"),
        ("custom", "scripted", {"prompt_cache": "1h"}, "prompt_cache='1h' can't be sent to provider 'custom'"),
        ("openrouter", "meta-llama/llama-3", {"reasoning_effort": "low"}, "reasoning_effort='low' can't be sent"),
    ],
)
def test_what_a_provider_has_no_word_for_is_refused(
    shared: Worker, script: Script, provider: str, name: str, options: dict[str, Any], said: str
) -> None:
    base_url = script.url if provider == "custom" else None
    given = {"id": name, "provider": provider, "base_url": base_url, "api_key": KEY, "options": options}
    answer = shared.bind(script.url, agent_id="refused", model=given)
    assert (answer["kind"], answer.get("error_type")) == ("bind.failed", "UsageError"), answer
    assert answer["error"].startswith(f"Model {name!r}: ")
    assert said in answer["error"]


@pytest.mark.parametrize(
    ("provider", "name", "options"),
    [
        ("openai-api", "gpt-5", {"reasoning_effort": "low", "temperature": 1}),
        ("gemini", "gemini-2.5-pro", {"reasoning_effort": "low", "temperature": 0.1, "top_p": 0.5, "stop": ["x"]}),
        ("openrouter", "anthropic/claude-sonnet-4.5", {"prompt_cache": "1h", "reasoning_effort": "low"}),
        ("deepseek", "deepseek-chat", {"temperature": 0.1, "seed": 4}),
        ("custom", "scripted", {"prompt_cache": False}),
    ],
)
def test_what_a_provider_has_a_word_for_is_taken(
    shared: Worker, script: Script, provider: str, name: str, options: dict[str, Any]
) -> None:
    base_url = script.url if provider == "custom" else None
    given = {"id": name, "provider": provider, "base_url": base_url, "api_key": KEY, "options": options}
    answer = shared.bind(script.url, agent_id="taken", model=given)
    assert answer["kind"] == "bound", answer


def test_a_fallback_answers_with_the_options_and_under_its_own_name(shared: Worker, script: Script) -> None:
    other = {"id": "second", "provider": "custom", "base_url": script.url, "api_key": "sk-other-0123456789abcdef"}
    shared.bind(
        script.url,
        agent_id="fall",
        model=model(script, options={"temperature": 0.3}, fallbacks=[other]),
        config={"agent": {"api_max_retries": 1}},
    )

    def answer(request: Any) -> list[Any]:
        return ["From the second."] if request.body["model"] == "second" else [Refusal(500, "down")]

    script.answer = answer
    done = shared.run("x", agent_id="fall", session_id="fall", timeout_s=None)
    assert (done["status"], done["text"]) == ("completed", "From the second.")
    last = script.requests[-1]
    assert (last.body["model"], last.bearer, last.body["temperature"]) == ("second", other["api_key"], 0.3)
    ended = shared.events(done["turn_id"], "model.completed")[0]["data"]
    assert (ended["model"], ended["provider"]) == ("second", "custom")
    (said,) = [e["data"]["message"] for e in shared.events(done["turn_id"], "warning") if e["data"]["code"] == "fallback"]
    assert said == "scripted (custom) did not answer; second (custom) is asked instead."
    assert other["api_key"] not in str(shared.messages)
