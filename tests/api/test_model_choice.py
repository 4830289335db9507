from __future__ import annotations

import importlib.util
import pickle
import sys
from types import ModuleType

import pytest

from hermes_nb import _settings
from hermes_nb.errors import ModelAuthError, UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.turns.model_choice import choose


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*_settings.KEY_VARIABLES, "HERMES_NB_MODEL"]:
        monkeypatch.delenv(name, raising=False)


def test_nothing_named_and_no_key_gives_the_offline_model_and_says_so() -> None:
    choice = choose(Agent("a"))
    assert choice.model == Model.offline()
    assert choice.notice is not None
    assert "offline" in choice.notice


def test_in_colab_it_says_how_a_key_comes_out_of_the_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "userdata" not in str(choose(Agent("a")).notice)
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    assert "os.environ['OPENROUTER_API_KEY'] = userdata.get('OPENROUTER_API_KEY')" in str(choose(Agent("a")).notice)


def test_found_key_names_provider_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-0123456789abcdef")
    choice = choose(Agent("a"))
    assert choice.model.provider == "openrouter"
    assert choice.notice is not None
    assert "openrouter.ai" in choice.notice
    assert "OPENROUTER_API_KEY" in choice.notice
    assert "0123456789abcdef" not in choice.notice + repr(choice)


def test_environment_model_wins_over_a_found_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-0123456789abcdef")
    monkeypatch.setenv("HERMES_NB_MODEL", "offline")
    assert choose(Agent("a")).model == Model.offline()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("offline", Model.offline()),
        ("openrouter:qwen/qwen3:free", Model("qwen/qwen3:free", "openrouter", api_key="sk-or-v1-0123456789abcdef")),
        ("custom:llama3@http://127.0.0.1:11434/v1", Model("llama3", "custom", "http://127.0.0.1:11434/v1", "no-key")),
    ],
)
def test_model_text(text: str, wanted: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-0123456789abcdef")
    monkeypatch.setenv("HERMES_NB_MODEL", text)
    assert choose(Agent("a")).model == wanted
    monkeypatch.delenv("HERMES_NB_MODEL")
    assert choose(Agent("a", model=text)).model == wanted


def test_model_without_provider_names_the_cure() -> None:
    with pytest.raises(UsageError, match="provider:model"):
        choose(Agent("a", model="gpt-5"))


def test_provider_without_its_key_names_the_variable() -> None:
    with pytest.raises(ModelAuthError, match="ANTHROPIC_API_KEY"):
        choose(Agent("a", model="claude-sonnet-5", provider="anthropic"))


def test_key_is_in_no_repr_and_no_pickle() -> None:
    model = Model("m", "custom", "http://127.0.0.1:1/v1", "sk-very-secret-0123456789")
    assert "very-secret" not in repr(model) + repr(Agent("a", model=model))
    assert b"very-secret" not in pickle.dumps(model)
    assert "very-secret" not in str(Agent("a", model=model).profile())


@pytest.mark.parametrize(
    ("provider", "variable", "wanted"),
    [
        ("openai", "OPENAI_API_KEY", ("openai-api", None)),
        ("google", "GOOGLE_API_KEY", ("gemini", None)),
        ("claude", "ANTHROPIC_API_KEY", ("anthropic", None)),
        ("grok", "XAI_API_KEY", ("xai", None)),
        ("groq", "GROQ_API_KEY", ("custom", "https://api.groq.com/openai/v1")),
    ],
)
def test_a_provider_by_its_usual_name_is_asked_with_its_own_key(
    provider: str, variable: str, wanted: tuple[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-0123456789abcdef"
    monkeypatch.setenv(variable, key)
    by_text = [Agent("a", model=f"{provider}:m"), Agent("a", model="m", provider=provider)]
    for agent in [Agent("a", model=Model("m", provider)), *by_text]:
        assert choose(agent).model == Model("m", *wanted, key)
    monkeypatch.setenv("HERMES_NB_MODEL", f"{provider}:m")
    assert choose(Agent("a")).model == Model("m", *wanted, key)


def test_a_server_of_this_machine_needs_no_key() -> None:
    assert choose(Agent("a", model="ollama:llama3:8b")).model == Model(
        "llama3:8b", "custom", "http://localhost:11434/v1", "no-key"
    )
    assert choose(Agent("a", model="llama.cpp:q")).model.base_url == "http://localhost:8080/v1"
    assert choose(Agent("a", model=Model("m", "vllm", "http://gpu:9000/v1"))).model.base_url == "http://gpu:9000/v1"


@pytest.mark.parametrize("provider", ["xai", "groq", "openai"])
def test_a_missing_key_is_named_by_its_variable(provider: str) -> None:
    with pytest.raises(ModelAuthError, match=f"Set {provider.upper()}_API_KEY"):
        choose(Agent("a", model=Model("m", provider)))


@pytest.mark.parametrize("is_there", [False, True])
def test_a_missing_package_of_a_provider_is_named_when_the_agent_is_bound(
    is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    spec = found("json") if is_there else None
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: spec if name == "anthropic" else found(name, *more))
    notice = choose(Agent("a", model=Model("m", "anthropic", api_key="sk-0123456789abcdef"))).notice or ""
    assert ("%pip install 'anthropic" in notice) is not is_there
    assert choose(Agent("a", model=Model("m", "openrouter", api_key="sk-0123456789abcdef"))).notice is None
