from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_nb import _provider
from hermes_nb.model.agent import Agent, Model


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("openai", ("openai-api", None)),
        ("OpenAI", ("openai-api", None)),
        ("google", ("gemini", None)),
        ("claude", ("anthropic", None)),
        ("anthropic", ("anthropic", None)),
        ("ollama", ("custom", "http://localhost:11434/v1")),
        ("vllm", ("custom", "http://localhost:8000/v1")),
        ("lm_studio", ("custom", "http://localhost:1234/v1")),
        ("llama.cpp", ("custom", "http://localhost:8080/v1")),
        ("groq", ("custom", "https://api.groq.com/openai/v1")),
        ("mistral", ("custom", "https://api.mistral.ai/v1")),
        ("together", ("custom", "https://api.together.xyz/v1")),
        ("custom", ("custom", None)),
        ("offline", ("offline", None)),
    ],
)
def test_what_people_call_a_provider_is_found(name: str, wanted: tuple[str, str | None]) -> None:
    assert _provider.resolve(name) == wanted


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("opnai", "Did you mean 'openai'?"),
        ("anthropics", "Did you mean 'anthropic'?"),
        ("olama", "Did you mean 'ollama'?"),
        ("azur", "Did you mean 'azure'?"),
        ("azure", "https://RESOURCE.openai.azure.com/openai/v1"),
        ("nothing-like-it", "Known: alibaba, "),
        ("nothing-like-it", "'custom' with base_url="),
    ],
)
def test_an_unknown_provider_is_refused_where_it_is_written(name: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        Model("m", name)
    assert said in str(refused.value)
    assert name in str(refused.value)
    with pytest.raises(ValueError, match=name):
        Agent("a", provider=name)


def test_azure_is_not_taken_for_a_neighbour() -> None:
    with pytest.raises(LookupError) as refused:
        _provider.resolve("azure")
    assert "arcee" not in str(refused.value)


def test_the_key_of_an_endpoint_is_in_its_variable() -> None:
    assert _provider.key_variables("groq") == ("GROQ_API_KEY",)
    assert _provider.key_variables("custom", "https://api.groq.com/openai/v1/") == ("GROQ_API_KEY",)
    assert _provider.key_variables("openai") == ("OPENAI_API_KEY",)
    assert _provider.key_variables("ollama") == ()
    assert _provider.key_variables("custom", "http://127.0.0.1:1/v1") == ()


@pytest.mark.hermes
def test_the_tables_are_those_of_hermes(tmp_path: Path) -> None:
    """Fails when a hermes-agent has other providers, variables or spellings than the tables say."""
    code = (
        "import json\n"
        "from hermes_cli.auth import PROVIDER_REGISTRY as known\n"
        "from providers import list_providers\n"
        "spelt = {a: p.name for p in list_providers() for a in p.aliases}\n"
        "print('TABLE', json.dumps([{n: p.api_key_env_vars for n, p in known.items()}, spelt]))"
    )
    environment = {"HERMES_HOME": str(tmp_path / "hermes"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("TABLE "))
    known, spelt = json.loads(line.removeprefix("TABLE "))
    ours = set(_provider.PROVIDERS) - {"openrouter", "vertex"}  # which Hermes resolves by code of their own
    assert ours == {n for n in known if n not in spelt} - {"lmstudio"}, done.stderr  # ours is an endpoint
    for name in ours:
        assert set(_provider.PROVIDERS[name]) == set(known[name]), name
    for alias, name in spelt.items():
        if name != "custom" and alias != "azure":  # which has no address of its own
            assert _provider.resolve(alias)[0] == name, alias
