from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from hermes_nb.engine.durability.fingerprint import fingerprint, with_date, with_prompts

SYSTEM = """You are Hermes.

Host: Linux ({release})
User home directory: {home}
Current working directory: {cwd}
{toolchain}
Active Hermes profile: default. Other profiles (if any) live under {hermes_home}/profiles/<name>/.

Conversation started: {day}
Model: {model}
Provider: {provider}

Answer from the data."""


FACTS = {
    "release": "6.1.0",
    "home": "/u/ann",
    "cwd": "/u/ann/work",
    "hermes_home": "/u/ann/.hermes",
    "toolchain": "",
    "day": "Sunday, November 29, 2026",
    "model": "m",
    "provider": "custom",
}


def request(facts: Mapping[str, str] = MappingProxyType({}), **more: Any) -> dict[str, Any]:
    system = SYSTEM.format(**{**FACTS, **facts})
    return {
        "model": "m",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "timeout": 3,
    } | more


@pytest.mark.parametrize(
    "other",
    [
        request({"release": "5.15.0-microsoft"}),
        request({"home": "/root"}),
        request({"cwd": "/srv/x"}),
        request({"hermes_home": "/tmp/elsewhere/home"}),
        request({"toolchain": "\nPython toolchain: python3=3.12, pip→missing, PEP 668=yes.\n"}),
        request({"day": "Monday, November 30, 2026"}),
        request({"provider": "offline", "model": "x"}),
        request(timeout=9),
        request(stream=True),
        {k: request()[k] for k in reversed(request())},
    ],
)
def test_facts_of_host_and_day_do_not_matter(other: dict[str, Any]) -> None:
    assert fingerprint(other) == fingerprint(request())


@pytest.mark.parametrize(
    "other",
    [
        request(model="other"),
        request(tools=[]),
        request(messages=[*request()["messages"][:1], {"role": "user", "content": "hi!"}]),
        request(messages=[{"role": "system", "content": SYSTEM + "Be rude."}, *request()["messages"][1:]]),
        request(temperature=0),
        request(messages=[*request()["messages"], {"role": "user", "content": "Host: x"}]),
    ],
)
def test_what_the_model_reads_matters(other: dict[str, Any]) -> None:
    assert fingerprint(other) != fingerprint(request())


@pytest.mark.parametrize(
    "body",
    [
        lambda system: {"messages": [{"role": "system", "content": system}, {"role": "user", "content": "hi"}]},
        lambda system: {"system": system, "messages": [{"role": "user", "content": "hi"}]},
        lambda system: {"system": [{"type": "text", "text": system, "cache_control": {}}], "messages": []},
        lambda system: {"instructions": system, "input": [{"role": "user", "content": "hi"}]},
    ],
)
def test_the_sent_date_becomes_the_first_day_and_nothing_else_changes(body: Any) -> None:
    today, first = "Sunday, November 29, 2026", "Thursday, January 15, 2026"
    sent = SYSTEM.format(**{**FACTS, "day": today}) + f"\nConversation started: {today}"
    want = SYSTEM.format(**{**FACTS, "day": first}) + f"\nConversation started: {today}"
    assert with_date(body(sent), first) == body(want)


def test_a_user_who_writes_of_a_conversation_is_left_alone() -> None:
    body = {"messages": [{"role": "user", "content": "Conversation started: Sunday, November 29, 2026"}]}
    assert with_date(body, "Thursday, January 15, 2026") == body


def test_prompts_are_sent_as_they_were_typed() -> None:
    prompts = ["  first\n", "again", "again\n", "plain"]
    messages = [{"role": "user", "content": p.strip()} for p in prompts]
    sent = with_prompts({"messages": [{"role": "system", "content": "again"}, *messages]}, prompts)
    assert [m["content"] for m in sent["messages"]] == ["again", *prompts]
    request = {"messages": messages}
    assert with_prompts(request, ["first"]) is request
