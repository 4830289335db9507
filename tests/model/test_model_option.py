from __future__ import annotations

import pickle
from typing import Any

import pytest

from hermes_nb.model.agent import Model
from hermes_nb.model.model_option import OPTIONS, SAMPLING, applied, unsaid

ALL = {"temperature": 0.2, "top_p": 0.9, "stop": ("END", "DONE"), "seed": 7}


def test_a_model_tells_the_options_that_are_set() -> None:
    model = Model("m", "openai", temperature=0, stop="END", prompt_cache=False, reasoning_effort="low")
    assert model.options == {"temperature": 0, "stop": ("END",), "prompt_cache": False, "reasoning_effort": "low"}
    assert Model("m", "openai").options == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"temperature": 2.1}, "Model 'm': temperature must be a number from 0 to 2, not 2.1."),
        ({"temperature": True}, "temperature must be a number from 0 to 2, not True."),
        ({"temperature": float("nan")}, "temperature must be a number from 0 to 2, not nan."),
        ({"top_p": -0.1}, "top_p must be a number from 0 to 1, not -0.1."),
        ({"seed": 1.5}, "seed must be a whole number, not 1.5."),
        ({"seed": True}, "seed must be a whole number, not True."),
        ({"stop": []}, r"stop must be a text or a list of 1 to 4 texts, not \[\]."),
        ({"stop": ["a"] * 5}, "stop must be a text or a list of 1 to 4 texts"),
        ({"stop": [""]}, "stop must be a text or a list of 1 to 4 texts"),
        ({"stop": 3}, "stop must be a text or a list of 1 to 4 texts, not 3."),
        ({"reasoning_effort": "huge"}, "reasoning_effort must be one of 'none', 'minimal', 'low', .*, not 'huge'."),
        ({"prompt_cache": True}, "prompt_cache must be one of '5m', '1h', False, not True."),
        ({"prompt_cache": 0}, "prompt_cache must be one of '5m', '1h', False, not 0."),
        ({"fallbacks": Model("b", "openai")}, "fallbacks takes a list of Models"),
        ({"fallbacks": ["gpt-5"]}, "fallbacks takes a list of Models"),
        ({"fallbacks": [Model.offline()]}, "the fallback 'hermes-nb-offline' is the embedded model"),
        ({"fallbacks": [Model("m", "openai-api")]}, "the fallback 'm' is the same model of the same provider"),
        ({"fallbacks": [Model("b", "groq", seed=1)]}, r"the fallback 'b' has options of its own \(seed\)"),
        ({"fallbacks": [Model("b", "groq", fallbacks=[Model("c", "groq")])]}, "the fallback 'b' has fallbacks of its own"),
    ],
)
def test_a_value_that_can_t_be_is_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Model("m", "openai", **options)


@pytest.mark.parametrize("options", [{"temperature": 0}, {"fallbacks": [Model("b", "openai")]}])
def test_the_embedded_model_takes_none(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"the embedded model has no {next(iter(options))}"):
        Model("hermes-nb-offline", "offline", **options)


def test_options_and_fallbacks_survive_a_pickle_without_their_keys() -> None:
    model = Model("m", "openai", api_key="sk-0123456789", seed=3, fallbacks=[Model("b", "groq", api_key="gsk-0123456789")])
    again = pickle.loads(pickle.dumps(model))
    assert (again.options, [m.id for m in again.fallbacks]) == ({"seed": 3}, ["b"])
    assert again.api_key is None
    assert b"0123456789" not in pickle.dumps(model)


@pytest.mark.parametrize(
    ("protocol", "sent"),
    [
        ("chat_completions", {"temperature": 0.2, "top_p": 0.9, "stop": ["END", "DONE"], "seed": 7}),
        ("anthropic_messages", {"temperature": 0.2, "top_p": 0.9, "stop_sequences": ["END", "DONE"]}),
        ("codex_responses", {"temperature": 0.2}),
        ("bedrock_converse", {}),
    ],
)
def test_each_protocol_says_them_in_its_words_and_refuses_the_rest(protocol: str, sent: dict[str, Any]) -> None:
    assert applied({"model": "m"}, protocol, ALL) == {"model": "m", **sent}
    for name in SAMPLING:
        said = unsaid("p", protocol, {name: ALL[name]})
        is_sent = len(applied({}, protocol, {name: ALL[name]})) == 1
        assert (said is None) == is_sent
        assert is_sent or str(said).startswith(f"{name}={ALL[name]!r} can't be sent to provider 'p': ")


def test_a_client_that_drops_one_is_no_client_for_it() -> None:
    assert "seed=7 can't be sent to provider 'gemini'" in str(unsaid("gemini", "chat_completions", {"seed": 7}))
    assert unsaid("gemini", "chat_completions", {"temperature": 0.2}) is None


def test_every_option_is_a_field_of_a_model() -> None:
    assert set(OPTIONS) <= set(Model.__dataclass_fields__)
