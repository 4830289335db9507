from __future__ import annotations

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
