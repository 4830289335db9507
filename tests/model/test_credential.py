"""A key and an address with credentials print masked, wherever they are printed; what is sent is whole."""

import copy
import dataclasses
import json
import pickle

import pytest

from hermes_nb.model.agent import Agent, Model
from hermes_nb.model.agent_code import agent_code
from hermes_nb.model.credential import Address, Secret, hide, revealed, shown
from hermes_nb.model.mask import Masker

KEY = "sk-scripted-0123456789abcdef"
URL = "https://ada:hunter2@example.org/v1?api_key=s3cr3t&api-version=2024-06-01#tail"


def test_a_key_is_masked_in_everything_that_prints_a_model() -> None:
    model = Model("m", "custom", URL, KEY)
    printed = [
        model,
        model.api_key,
        vars(model),
        dataclasses.asdict(model),
        dataclasses.astuple(model),
        Agent("a", model=model),
        f"{model.api_key:>40}",
        format(model.api_key),
        f"{model.base_url}",
        str(model.base_url),
        model.host,
        Agent("a", model=model).profile(),
        json.dumps(model.base_url),
        pickle.dumps(model),
        copy.deepcopy(vars(model)),
    ]
    for value in printed:
        for part in (KEY, "hunter2", "s3cr3t", "#tail"):
            assert part not in f"{value!s} {value!r}"
    with pytest.raises(TypeError):
        json.dumps(dataclasses.asdict(model))
    assert str(model.base_url) == "https://[masked]@example.org/v1?api_key=[masked]&api-version=2024-06-01#[masked]"


def test_what_is_sent_is_whole_and_copies_keep_it() -> None:
    model = Model("m", "custom", URL, KEY)
    for same in (model, copy.copy(model), copy.deepcopy(model), dataclasses.replace(model, id="m")):
        assert (revealed(same.api_key), revealed(same.base_url)) == (KEY, URL)
        assert same == model
        assert hash(same) == hash(model)
    assert model.api_key == KEY
    assert model.base_url == URL
    assert model != dataclasses.replace(model, api_key=KEY + "0")
    assert model != dataclasses.replace(model, base_url=URL.replace("hunter2", "hunter3"))


def test_a_pickle_holds_neither_and_can_be_loaded() -> None:
    loaded = pickle.loads(pickle.dumps(Model("m", "custom", URL, KEY)))

    assert loaded.api_key is None
    assert str(loaded.base_url) == shown(URL)
    assert not pickle.loads(pickle.dumps(Secret(KEY)))
    assert type(pickle.loads(pickle.dumps(Address(URL)))) is str


def test_a_secret_of_pydantic_is_taken_as_the_key_within() -> None:
    class SecretStr:
        def get_secret_value(self) -> str:
            return KEY

    assert revealed(Model("m", "openai-api", api_key=SecretStr()).api_key) == KEY  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:8000/v1", None),
        ("https://api.example.org/openai/deployments/gpt-4o-mini-2024-07-18?api-version=2024-06-01", None),
        ("https://example.org/" + "6f1c2b3a-1111-2222-3333-444455556666/v1", None),
        ("https://token@example.org/v1", "https://[masked]@example.org/v1"),
        ("https://ada:p@ss@example.org/v1", "https://[masked]@example.org/v1"),
        ("https://example.org/v1?key=abc", "https://example.org/v1?key=[masked]"),
        ("https://example.org?key=abc", "https://example.org?key=[masked]"),
        ("https://example.org/v1;token=abc/x", "https://example.org/v1;token=[masked]/x"),
        ("https://example.org/" + "9fK2hunter2hunter81xQ/v1", "https://example.org/[masked]/v1"),
        ("https://example.org/sk-" + "abcdefgh12345678ABCD/v1", "https://example.org/[masked]/v1"),
        ("https://example.org/v1#secret", "https://example.org/v1#[masked]"),
    ],
)
def test_credentials_of_an_address_are_masked_and_nothing_else(url: str, said: str | None) -> None:
    assert shown(url) == (said or url)
    assert type(Model("m", "custom", url).base_url) is (str if said is None else Address)


def test_a_mask_knows_the_credentials_of_an_address_short_ones_where_they_stand() -> None:
    masker = Masker()
    hide(masker, "http://u:pw@example.org:81/v1?key=abc&token=correct-horse")

    assert masker.text("GET http://u:pw@example.org:81/v1/models?key=abc") == (
        "GET http://[masked]@example.org:81/v1/models?key=[masked]"
    )
    assert masker.text("it was correct-horse, abc and pw") == "it was [masked], abc and pw"
    hide(masker, "https://ada:s3cr3tPassw0rd@h/v1")
    assert "YWRhOnMzY3IzdFBhc3N3MHJk" not in masker.text("Basic YWRhOnMzY3IzdFBhc3N3MHJk")


def test_code_names_a_variable_where_the_address_holds_credentials() -> None:
    code = agent_code(Agent("a", model=Model("m", "custom", URL)), "a", name_of=lambda value: None)

    assert 'Model("m", "custom", os.environ["HERMES_NB_MODEL_URL"])' in code
    assert code.startswith("import os\n")
