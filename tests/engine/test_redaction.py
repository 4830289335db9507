"""Hermes's redaction replaces what it did, and its time grows with the text."""

from __future__ import annotations

import importlib
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hermes_nb.engine.hermes import redaction
from tests.engine.conftest import Script
from tests.engine.rig import Worker

pytestmark = pytest.mark.hermes

REPLACED = ("_CFG_DOTTED_RE", "_TELEGRAM_RE")
N = 20_000
PIECES = (
    *(
        "token",
        "api key",
        "api_key",
        "api.key",
        "api ",
        "key",
        "auth",
        "PASSWORD",
        "a",
        "B",
        "1",
        "bot",
        "12345678",
        "a" * 30,
    ),
    *(".", "-", "_", "=", "==", "'", '"', "&", " ", "\n", "/", ":", "пароль", "\u017fecret", "\u212aey"),
)
LONG = {
    "DNA": "ACGT",
    "hex": "0123456789abcdef",
    "digits": "0123456789",
    "base64": "ABCDabcd0123-_",
    "numbers": ("1.",),
    "versions": ("10.2.",),
    "dots": ".",
    "dashes": "-",
    "lines": ("key: value\n",),
    "keys": ("a.token='",),
    "secrets": ("token.",),
    "prose": ("some words of prose ",),
    "JSON": ('{"a": "b", "c": 12.5},',),
}


@pytest.fixture
def redact() -> Iterator[Any]:
    """The module, put right."""
    module: Any = importlib.import_module("agent.redact")
    before = {name: getattr(module, name) for name in REPLACED}
    redaction.make_linear(module)
    yield module
    for name, pattern in before.items():
        setattr(module, name, pattern)


def _long(pieces: Any) -> str:
    chosen = random.Random(1)
    text = "".join(chosen.choice(pieces) for _ in range(N)) if isinstance(pieces, str) else pieces[0] * (N // len(pieces[0]))
    return f"{text}\nresult_id='abc', offset=3: \"x\" {text}=' and {text}"


def _cpu_s(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


@pytest.mark.parametrize("name", LONG)
def test_long_words_take_no_more_than_a_second_of_cpu(redact: Any, name: str) -> None:
    assert _cpu_s(lambda: redact.redact_sensitive_text(_long(LONG[name]))) < (3 if name == "secrets" else 1)


def test_what_is_replaced_stays_the_same() -> None:
    module: Any = importlib.import_module("agent.redact")
    before = [getattr(module, name) for name in REPLACED]
    try:
        redaction.make_linear(module)
        after = [getattr(module, name) for name in REPLACED]
    finally:
        for name, pattern in zip(REPLACED, before, strict=True):
            setattr(module, name, pattern)

    def marked(match: re.Match[str]) -> str:
        return f"{match[1] or ''}={match[2]}<{match[3]}>"

    chosen, n_replaced = random.Random(2), 0
    for _ in range(60_000):
        text = "".join(chosen.choices(PIECES, k=chosen.randint(1, 14)))
        old, new = ([p.sub(marked, text) for p in patterns] for patterns in (before, after))
        assert old == new, text
        n_replaced += old != [text, text]
    assert n_replaced > 500


def test_secrets_in_settings_are_masked_as_before(redact: Any) -> None:
    told = (
        "spring.datasource.password=hunter2-hunter2-hunter2 my.api key='abcdefghijklmnopqrstuvwx' bot123456789:" + "a" * 35
    )
    masked = redact.redact_sensitive_text(told)
    assert "hunter2-hunter2" not in masked
    assert "abcdefghijklmnop" not in masked
    assert masked.endswith("bot123456789:***")


def test_an_answer_without_a_space_takes_no_seconds(script: Script, shared: Worker) -> None:
    shared.bind(script.url, agent_id="long")
    text = _long(LONG["hex"])
    script.in_turn([text])
    shared.run("warm up", agent_id="long")
    began_s = time.monotonic()
    assert shared.run("quote it", agent_id="long")["text"] == text
    assert time.monotonic() - began_s < 5
