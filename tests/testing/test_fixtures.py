import os
import subprocess
import sys
from pathlib import Path

import openai
import pytest

from hermes_nb.testing import ScriptedModel
from hermes_nb.testing.fixtures import scripted_model

__all__ = ["scripted_model"]


def ask(url):
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0, timeout=10) as client:
        reply = client.chat.completions.create(model="toy", messages=[{"role": "user", "content": "Hi"}])
    return reply.choices[0].message.content


@pytest.fixture
def url_that_must_be_closed():
    """Set up before `scripted_model`, hence looked at after it."""
    urls = []
    yield urls
    with pytest.raises(openai.APIConnectionError):
        ask(urls[0])


def test_the_fixture_starts_scripted_models_and_closes_them(url_that_must_be_closed, scripted_model):
    scripted = scripted_model(["Hello."], model="toy")
    assert isinstance(scripted, ScriptedModel)
    assert ask(scripted.base_url) == "Hello."
    url_that_must_be_closed.append(scripted.base_url)


RECORDED = """
from hermes_nb import Agent, tool

pytest_plugins = ["hermes_nb.testing.fixtures"]
N_CALLS = []

@tool
def capital_of(country: str) -> str:
    "The capital of a country."
    N_CALLS.append(country)
    return "Paris"

async def test_it(hermes_recording):
    bound = hermes_recording.bind(Agent("guide", model="offline", tools=[capital_of]))
    result = await bound.run("PROMPT")
    assert result.status == "completed", result.error
    assert "Paris" in result.text
    assert bool(N_CALLS) == RECORDS
"""


def _pytest(folder: Path, prompt: str, **environment: str) -> subprocess.CompletedProcess[str]:
    source = RECORDED.replace("PROMPT", prompt).replace("RECORDS", str("HERMES_NB_RECORD" in environment))
    (folder / "test_mine.py").write_text(source)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "HERMES"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "test_mine.py"],
        cwd=folder,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.hermes
def test_a_users_test_runs_from_its_recording(tmp_path: Path) -> None:
    prompt = "What is the capital of the country France?"
    missing = _pytest(tmp_path, prompt)
    assert "HERMES_NB_RECORD=1 to make it" in missing.stdout
    recorded = _pytest(tmp_path, prompt, HERMES_NB_RECORD="1")
    assert recorded.returncode == 0, recorded.stdout
    assert (tmp_path / "recordings" / "test_mine.test_it.jsonl").exists()
    replayed = _pytest(tmp_path, prompt)
    assert replayed.returncode == 0, replayed.stdout
    other = _pytest(tmp_path, "What is the capital of the country Spain?")
    assert other.returncode == 1
    assert "has no answer to this request" in other.stdout
