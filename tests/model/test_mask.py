from __future__ import annotations

import base64
import time

import pytest

from hermes_nb.model.mask import MASK, Masker, StreamMask

KEY = "sk-proj-Ab3dEf6hIj9lMn2pQr5t"


@pytest.mark.parametrize(
    "text",
    [
        f"the key is {KEY}.",
        "begins Ab3dEf6hI and ends",
        "middle 6hIj9lMn of it",
        f"Incorrect API key provided: {KEY[:11]}*************{KEY[-4:]}.",
        f"Bearer {KEY[:12]}...{KEY[-4:]}",
        f"ends in ****{KEY[-4:]}",
        f'{{"Authorization": "Bearer {KEY}"}}',
    ],
)
def test_whole_keys_pieces_and_shortened_forms_are_masked(text: str) -> None:
    masked = Masker([KEY]).text(text)
    assert MASK in masked
    assert not any(KEY[i : i + 6] in masked for i in range(8, len(KEY) - 5))
    assert KEY[-4:] not in masked


@pytest.mark.parametrize("text", ["sk-... is what keys look like", "sk-proj- keys", "**bold** and so on...", "Ab3dEf", ""])
def test_text_that_gives_nothing_away_stays_the_same_object(text: str) -> None:
    assert Masker([KEY]).text(text) is text


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
@pytest.mark.parametrize("key", [KEY, "hf_Ab3dEf6hIj9l", "pa??w~rd", "ключ-секрет", KEY + "x?~>" * 20])
@pytest.mark.parametrize("around", ["%s", "Bearer %s", "user:%s", "u:%s", '{"key": "%s", "n": 1}', "%s and more", "ab%s\n"])
def test_base64_of_a_key_alone_or_within_a_text_is_masked(key, encode, around) -> None:
    encoded = encode((around % key).encode()).decode()
    masked = Masker([key]).text(f"Authorization: Basic {encoded} is not known")
    left = masked.removeprefix("Authorization: Basic ").removesuffix(" is not known")
    assert MASK in left
    for piece in left.split(MASK):  # no alignment of what is left gives two characters of the key
        letters = "".join(piece.split()).rstrip("=").replace("-", "+").replace("_", "/")
        for n in range(4):
            text = "A" * n + letters
            plain = base64.b64decode(text + "A" * (-len(text) % 4)).decode("latin-1")
            raw = key.encode().decode("latin-1")
            assert not any(raw[i : i + 5] in plain for i in range(len(raw) - 4)), plain


def test_base64_that_holds_no_key_stays_the_same_object() -> None:
    text = base64.b64encode(bytes(range(256)) * 50).decode()
    assert Masker([KEY]).text(text) is text


@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_a_stream_never_shows_the_base64_of_a_key(size: int) -> None:
    encoded = base64.b64encode(f"user:{KEY}".encode()).decode()
    stream = StreamMask(Masker([KEY]))
    text = f"Basic {encoded} end"
    shown = "".join([*(stream.feed(text[i : i + size]) for i in range(0, len(text), size)), stream.end()])
    assert MASK in shown
    assert not any(encoded[i : i + 6] in shown for i in range(8, len(encoded) - 6))


def test_words_that_local_servers_take_as_a_key_are_left_alone() -> None:
    assert Masker(["ollama", "not-needed", "", "x"]).text("ollama is not-needed") == "ollama is not-needed"


def test_keys_and_values_of_data_are_masked() -> None:
    data = {"a": [f"x {KEY}", 1, None, {KEY: True}]}
    assert Masker([KEY]).data(data) == {"a": [f"x {MASK}", 1, None, {MASK: True}]}


def test_secrets_can_be_added_and_longer_ones_win() -> None:
    masker = Masker()
    masker.add("abcdefgh12", None, "abcdefgh12345678")
    assert masker.values == ("abcdefgh12345678", "abcdefgh12")
    assert masker.text("abcdefgh12345678!") == f"{MASK}!"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 100])
def test_a_stream_never_shows_a_key_however_it_is_cut(size: int) -> None:
    text = f"Here: {KEY}, and again {KEY} end sk"
    stream = StreamMask(Masker([KEY]))
    shown = [stream.feed(text[i : i + size]) for i in range(0, len(text), size)] + [stream.end()]
    assert "".join(shown) == f"Here: {MASK}, and again {MASK} end sk"


def test_a_stream_without_secrets_holds_nothing_back() -> None:
    stream = StreamMask(Masker())
    assert (stream.feed("abc"), stream.end()) == ("abc", "")


def test_long_run_of_word_characters_before_dots_costs_linear_time() -> None:
    masker = Masker(["sk-test-0123456789abcdef"])
    began_s = time.perf_counter()
    masker.text("x" * 200_000 + " ...")
    assert time.perf_counter() - began_s < 1.0  # it was minutes


def test_a_text_that_held_no_secret_is_searched_again_for_a_later_one() -> None:
    masker, text = Masker(["quite-another-word"]), "It says later-secret-value."
    assert masker.text(text) is text
    masker.add("later-secret-value")
    assert masker.text(text) == "It says [masked]."


def test_a_secret_that_is_added_during_a_search_is_found_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    masker, text = Masker(["quite-another-word"]), "It says later-secret-value."
    searched = Masker._searched

    def slowly(self: Masker, text: str) -> str:
        found = searched(self, text)
        self.add("later-secret-value")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Masker, "_searched", slowly)
        assert masker.text(text) is text
    assert masker.text(text) == "It says [masked]."


def test_texts_without_a_secret_are_known_again_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_nb.model.mask._MOST_CLEAN", 10)
    masker, n_searched = Masker(["quite-another-word"]), 0
    searched = Masker._searched

    def counted(self: Masker, text: str) -> str:
        nonlocal n_searched
        n_searched += 1
        return searched(self, text)

    monkeypatch.setattr(Masker, "_searched", counted)
    for _ in range(3):
        masker.data([f"message {n}" for n in range(5)])
    assert n_searched == 5
    masker.data([f"other {n}" for n in range(100)])
    assert len(masker._clean) <= 10
