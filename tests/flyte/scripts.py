"""Scripts for the scripted model that hold over crashes, and readers of what a run left."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.testing import Call, Say, ScriptedModel

TWO_CITIES = [Call("get_weather", {"city": "Paris"}), Call("get_weather", {"city": "Rome"}), Say("Both sunny.")]


def by_turn(steps: Sequence[Any]) -> Callable[[ChatRequest], Any]:
    """The step for how far the conversation is, not for how often was asked: a killed agent meets the same script again."""

    def step(request: ChatRequest) -> Any:
        return steps[min(n_replies(request), len(steps) - 1)]

    return step


def n_replies(request: ChatRequest) -> int:
    """How many replies the model had given since the last user message."""
    messages = request.body["messages"]
    last_user = max(i for i, m in enumerate(messages) if m["role"] == "user")
    return sum(m["role"] == "assistant" for m in messages[last_user:])


def asked(model: ScriptedModel) -> list[int]:
    """For each request that reached the model, how far the turn was."""
    return [n_replies(r) for r in model.requests]


def body_text(report: str) -> str:
    """The words of a Flyte report."""
    body = report.split('id="flyte-frame-container">')[1].split("<script>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))
