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
