from __future__ import annotations

import pytest

from hermes_nb import _api_key, _settings
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.turns.model_choice import choose

KEY = "sk-abcdefgh12345678"
CLINGING = [
    f"{KEY}\n",
    f"  {KEY}  ",
    f"{KEY}\r\n",
    f"\ufeff{KEY}",
    "sk-\u200babcdefgh12345678",
    f"Bearer {KEY}",
    f"bearer  {KEY}\n",
    f'"{KEY}"',
    f"'{KEY}'\n",
    f"Authorization: Bearer {KEY}",
    f'"Bearer {KEY}"',
    f"\u201c{KEY}\u201d",
    f"\u00a0{KEY}",
]


@pytest.mark.parametrize("given", CLINGING)
def test_what_clings_to_a_key_is_removed(given: str) -> None:
    model = Model("m", "custom", base_url="http://127.0.0.1:1/v1", api_key=given)
    assert model.api_key == KEY


@pytest.mark.parametrize("given", CLINGING)
@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "GROQ_API_KEY"])
def test_also_from_the_environment(given: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, given)
    provider = "openai" if variable.startswith("OPENAI") else "groq"
    assert choose(Agent("a", model=Model("m", provider))).model.api_key == KEY


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("sk-ключ-12345678", "character 4 of 16 is CYRILLIC SMALL LETTER KA"),
        ("sk-abc\ndef12345", "character 7 of 15 is a line end"),
        ("sk-abc def12345", "character 7 of 15 is white space"),
        ("sk-abc\x00def1234", "character 7 of 14 is U+0000"),
    ],
)
def test_a_key_that_no_header_holds_is_refused_and_not_shown(given: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError) as refused:
        Model("m", "openai", api_key=given)
    assert said in str(refused.value)
    assert "12345" not in str(refused.value)
    assert "def" not in str(refused.value)
    if "\x00" not in given:
        monkeypatch.setenv("MISTRAL_API_KEY", given)
        with pytest.raises(UsageError, match="The key in MISTRAL_API_KEY can't be sent"):
            choose(Agent("a", model="mistral:m"))


def test_a_key_is_left_as_it_is() -> None:
    for key in (KEY, "a", "", "AIza_-x=", "bearer", "key with"[:3]):
        assert _api_key.clean(key) == key


def test_a_private_key_with_lines_is_no_key_for_requests() -> None:
    assert _api_key.is_variable("X_API_KEY")
    assert _api_key.is_variable("HF_TOKEN")
    assert not _api_key.is_variable("SSH_PRIVATE_KEY")


def test_secrets_are_known_as_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f'"Bearer {KEY}"\n')
    assert _settings.secrets()["OPENAI_API_KEY"] == KEY
