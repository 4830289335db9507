"""Trajectories, compared with what hermes-agent makes of the same messages."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_nb.model.trajectory import TrajectoryLimit, compressed, of_messages

TOOLS = [
    {"name": "add", "description": "Add.", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    {"name": "größe", "description": "", "parameters": {}},
]


def call(number: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def conversation(seed: int) -> list[dict[str, Any]]:
    """Messages as a run leaves them, with all that the form treats in its own way."""
    pick = random.Random(seed)
    texts = ["plain", "  spaced \n", "{not json", '{"a": 1}', "[1, 2]", "ünïcode 漢字", "<think>\nthought\n</think>\nsaid"]
    texts += ["<REASONING_SCRATCHPAD>x</REASONING_SCRATCHPAD> y", "long " * 900]
    found: list[dict[str, Any]] = []
    for _ in range(pick.randint(1, 6)):
        found.append({"role": "user", "content": pick.choice(texts)})
        for _ in range(pick.randint(0, 3)):
            calls = [call(i, pick.choice(["add", "größe"]), '{"a": 1}') for i in range(pick.randint(1, 3))]
            said: dict[str, Any] = {"role": "assistant", "content": pick.choice(["", None, *texts]), "tool_calls": calls}
            if pick.random() < 0.5:
                said["reasoning"] = pick.choice(["because", "  "])
            found.append(said)
            found += [{"role": "tool", "tool_call_id": c["id"], "content": pick.choice(texts)} for c in calls]
        found.append({"role": "assistant", "content": pick.choice(texts), "reasoning": pick.choice([None, "hm"])})
    return found


@pytest.mark.hermes
@pytest.mark.parametrize("seed", range(60))
def test_a_trajectory_is_what_hermes_makes_of_the_same_messages(seed: int) -> None:
    helpers = pytest.importorskip("agent.agent_runtime_helpers")
    prompt = pytest.importorskip("agent.system_prompt")
    messages = conversation(seed)
    agent = SimpleNamespace(tools=[{"type": "function", "function": tool} for tool in TOOLS])
    agent._format_tools_for_system_message = lambda: prompt.format_tools_for_system_message(agent)
    theirs = helpers.convert_to_trajectory_format(agent, messages, messages[0]["content"], True)
    assert of_messages(messages, TOOLS) == theirs


@pytest.mark.hermes
@pytest.mark.parametrize("target", [50, 400, 1_500, 100_000])
@pytest.mark.parametrize("seed", range(30))
def test_it_is_shortened_as_hermes_shortens_it(seed: int, target: int) -> None:
    theirs = pytest.importorskip("trajectory_compressor")
    turns = of_messages([m for n in range(4) for m in conversation(seed + 100 * n)], TOOLS)
    compressor = object.__new__(theirs.TrajectoryCompressor)
    compressor.config = theirs.CompressionConfig(target_max_tokens=target, summary_target_tokens=20)
    compressor.count_tokens = lambda text: len(text) // 4
    seen: list[str] = []
    compressor._generate_summary = lambda text, metrics: seen.append(text) or "[CONTEXT SUMMARY]: short"
    expected, _ = compressor.compress_trajectory([dict(turn) for turn in turns])
    ours: list[str] = []
    found = compressed(
        turns,
        count_tokens=lambda text: len(text) // 4,
        summarize=lambda text: ours.append(text) or "short",  # type: ignore[func-returns-value]
        limit=TrajectoryLimit(target, summary_tokens=20),
    )
    assert (found, ours) == (expected, seen)
    assert bool(ours) or target != 400  # some of them are shortened


def test_pictures_are_named_and_nothing_gives_nothing() -> None:
    picture = [{"type": "text", "text": "See"}, {"type": "image", "data": "AAAA"}]
    assert of_messages([{"role": "user", "content": picture}], [])[1] == {"from": "human", "value": "See\n[screenshot]"}
    assert of_messages([], TOOLS) == []


def test_a_call_is_never_parted_from_its_result() -> None:
    for seed in range(40):
        turns = of_messages([m for n in range(4) for m in conversation(seed + 100 * n)], TOOLS)
        for target in (10, 100, 1_000):
            short = compressed(turns, count_tokens=len, summarize=lambda _: "s", limit=TrajectoryLimit(target))
            before = ["gpt" if "<tool_call>" in turn["value"] else turn["from"] for turn in short]
            assert all(before[i - 1] == "gpt" for i, role in enumerate(before) if role == "tool"), json.dumps(before)
