"""Options of a Model reach the endpoint by whatever name its provider is called, and the span."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.model.agent_code import agent_code
from hermes_nb.testing import Fail, ScriptedModel

pytestmark = pytest.mark.hermes
OPTIONS = {"temperature": 0.4, "top_p": 0.8, "stop": ["END"], "seed": 11, "reasoning_effort": "low"}
SENT = {"temperature": 0.4, "top_p": 0.8, "stop": ["END"], "seed": 11, "reasoning_effort": "low"}


@pytest.mark.parametrize("provider", ["custom", "ollama", "vllm", "lmstudio", "groq", "mistral"])
async def test_a_provider_by_name_is_sent_them(hermes: Hermes, provider: str) -> None:
    with ScriptedModel(["Hello."]) as scripted:
        model = Model("m", provider, scripted.model.base_url, "sk-0123456789abcdef", **OPTIONS)
        bound = hermes.bind(Agent(f"by-{provider}", model=model))
        result = await bound.run("hi")
    assert {name: scripted.requests[0].body.get(name) for name in SENT} == SENT
    (span,) = [s for s in result.spans if s.kind == "model"]
    assert span.options == OPTIONS
    from hermes_nb.views.otlp import render

    told = json.dumps(render(result.events))
    assert all(
        name in told for name in ("gen_ai.request.temperature", "gen_ai.request.stop_sequences", "gen_ai.request.seed")
    )


@pytest.mark.parametrize(
    ("provider", "host"),
    [("openai", "api.openai.com"), ("google", "generativelanguage.googleapis.com"), ("groq", "api.groq.com")],
)
async def test_a_common_name_leads_to_its_provider(hermes: Hermes, provider: str, host: str) -> None:
    instance = await hermes.create_instance(f"names-{provider}")
    bound = await instance.add_agent(Agent("a", model=Model("some-model", provider, api_key="sk-0123456789abcdef")))
    assert host in str(await hermes.io.awaited(bound.worker.bound(bound.agent_id)))
    await instance.delete()


async def test_an_option_without_a_word_is_refused_and_names_the_agent_s_model(hermes: Hermes) -> None:
    instance = await hermes.create_instance("refusing")
    with pytest.raises(UsageError, match=r"Model 'gpt-5': top_p=0\.5 can't be sent to provider 'openai-api'"):
        await instance.add_agent(Agent("a", model=Model("gpt-5", "openai", api_key="sk-0123456789abcdef", top_p=0.5)))
    await instance.delete()


async def test_a_fallback_answers_and_its_key_is_shown_nowhere(hermes: Hermes) -> None:
    key = "sk-fallback-0123456789abcdef"
    with ScriptedModel([Fail(500, "down")] * 9) as first, ScriptedModel(["From the second."]) as second:
        other = Model("second", "custom", second.model.base_url, key)
        model = Model("first", "custom", first.model.base_url, "sk-0123456789abcdef", fallbacks=[other])
        bound = hermes.bind(Agent("two", model=model, config={"agent": {"api_max_retries": 1}}))
        result = await bound.run("hi")
    assert result.text == "From the second."
    assert second.requests[0].bearer == key
    (span,) = [s for s in result.spans if s.kind == "model"]
    assert span.model == "second"
    said = [e.data["message"] for e in result.events if e.kind == "warning"]
    assert said == ["first (custom) did not answer; second (custom) is asked instead."]
    assert key not in str(result.events) + repr(model)


async def test_options_stay_with_an_instance_and_a_changed_one_is_told(tmp_path: Path) -> None:
    async with Hermes.local(state=tmp_path / "state", cleanup=False) as hermes:
        instance = await hermes.create_instance("kept")
        model = Model(
            "m", "custom", "http://127.0.0.1:9/v1", seed=5, stop=["x"], fallbacks=[Model("b", "groq", api_key="k" * 20)]
        )
        await instance.add_agent(Agent("a", model=model))
    async with Hermes.local(state=tmp_path / "state") as hermes:
        again = await hermes.open_instance("kept")
        declared: Any = again.agents.get("a") or again.unbound["a"]
        kept = declared.config.model if hasattr(declared, "config") else declared.told["declaration"]["model"]
        assert "k" * 20 not in str(kept)
        assert (kept.options if isinstance(kept, Model) else {k: kept[k] for k in ("seed", "stop")}) in (
            {"seed": 5, "stop": ("x",)},
            {"seed": 5, "stop": ["x"]},
        )


def test_code_of_an_agent_says_them() -> None:
    model = Model("m", "openai", temperature=0.1, stop=["END"], fallbacks=[Model("b", "groq")])
    written = agent_code(Agent("a", model=model), "a", name_of=lambda value: None, key_variable=lambda model: None)
    made: dict[str, Any] = {}
    exec(written.replace("%hermes agent a", ""), made)
    assert made["a"].model == model
