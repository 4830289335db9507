"""The answer is the model's: as it wrote it, in the log, on the screen, and in what is sent next."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hermes_nb.engine.hermes.thought import ThoughtStream, split
from hermes_nb.offline_model.endpoint import Finish, Reasoning, RequestedCall, Usage
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

# Replies in which tags are words: nothing of them may get lost.
WORDS = {
    "quoted": "Use the `<think>` tag and close it with `</think>` to mark thoughts.",
    "example": "An example:\n```xml\n<reasoning>\nfirst\n</reasoning>\n<think>open\n```\nThat is all.",
    "own line": "Two tags:\n<think>\na plan\n</think>\nand the rest.",
    "calls": 'Write <tool_call>{"name": "x"}</tool_call> or <function name="f">1</function>.',
    "scratchpad": "The tag <REASONING_SCRATCHPAD> is opened by some models.",
    "memory": "It is put into <memory-context>like this</memory-context>, I think.",
    "orphan": "A stray </think> is no thought.",
    "entity": "a < b and <th> in a table",
}
# Replies that a thought leads: (reply, thought, answer).
LED = {
    "closed": ("<think>secret plan</think>\n\nThe answer is 4.", "secret plan", "The answer is 4."),
    "other name": ("\n<Thinking>\nsecret plan\n</Thinking>The answer is 4.", "secret plan", "The answer is 4."),
    "twice": ("<think>secret</think> <think>plan</think>The answer is 4.", "secret plan", "The answer is 4."),
    "channel": ("<|channel>thought\nsecret plan<channel|>The answer is 4.", "secret plan", "The answer is 4."),
    "then words": ("<think>secret plan</think>Write `<think>x</think>`.", "secret plan", "Write `<think>x</think>`."),
    "brackets": ("[THINK]secret plan[/THINK]The answer is 4.", "secret plan", "The answer is 4."),
}


@pytest.mark.parametrize("n_chars", [1, 2, 7, 1000])
@pytest.mark.parametrize("text", [*WORDS.values(), *(led[0] for led in LED.values()), "<think>open", "<thi", "", "  x "])
def test_a_reply_in_pieces_is_told_apart_as_the_whole_is(text: str, n_chars: int) -> None:
    stream = ThoughtStream()
    parts = [stream.feed(text[i : i + n_chars]) for i in range(0, len(text), n_chars)] + [stream.end()]
    assert ("".join(p[0] for p in parts).strip(), "".join(p[1] for p in parts)) == split(text)


def test_a_thought_with_letters_that_grow_when_made_small_is_told_apart() -> None:
    assert split("<think>İİİ ẞ</think>Fine.") == ("İİİ ẞ", "Fine.")


@pytest.fixture
def worker(shared: Worker, script: Script) -> Worker:
    shared.bind(script.url, agent_id="writer")
    return shared


def letters(text: str) -> list[str]:
    return [*text, Usage({"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10})]  # type: ignore[list-item]


@pytest.mark.hermes
@pytest.mark.parametrize("name", WORDS)
def test_words_about_tags_are_the_answer(worker: Worker, script: Script, name: str) -> None:
    script.in_turn(letters(WORDS[name]))
    done = worker.run("hi", agent_id="writer")
    assert (done["status"], done["text"]) == ("completed", WORDS[name])
    assert worker.text_streamed(done["turn_id"]) == WORDS[name]
    assert not worker.events(done["turn_id"], "reasoning.delta")
    last = worker.events(done["turn_id"])[-1]
    assert "messages" not in last["data"]  # what the events tell is what Hermes would send again
    assert len(script.requests) == 1


@pytest.mark.hermes
@pytest.mark.parametrize("name", LED)
def test_a_thought_that_leads_is_reasoning_also_while_it_streams(worker: Worker, script: Script, name: str) -> None:
    reply, thought, answer = LED[name]
    script.in_turn(letters(reply))
    done = worker.run("hi", agent_id="writer")
    turn_id = done["turn_id"]
    assert (done["status"], done["text"], worker.text_streamed(turn_id)) == ("completed", answer, answer)
    streamed = "".join(e["data"]["text"] for e in worker.events(turn_id, "reasoning.delta"))
    said = worker.events(turn_id, "model.completed")[0]["data"]
    assert ["".join(t.split()) for t in (streamed, said["reasoning"])] == ["".join(thought.split())] * 2
    assert said["text"] == answer
    assert "messages" not in worker.events(turn_id)[-1]["data"]


@pytest.mark.hermes
def test_words_about_tags_before_a_call_are_sent_back_as_written(shared: Worker, script: Script) -> None:
    tools = [spec("step", args=["x"])]
    shared.bind(script.url, agent_id="stepper", tools=tools)
    shared.tools["step"] = lambda x: x
    text = "I write <think>a</think> and call."
    script.in_turn([text, RequestedCall("c1", "step", '{"x":"1"}')], [WORDS["quoted"]])
    done = shared.run("go", agent_id="stepper", tools=tools)
    sent = [m for m in script.requests[1].messages if m["role"] == "assistant"]
    assert sent[0]["content"] == text
    assert done["text"] == WORDS["quoted"]
    assert "messages" not in shared.events(done["turn_id"])[-1]["data"]
    script.in_turn(["Paid again."])
    again = shared.run("go", agent_id="stepper", tools=tools, turn_id=done["turn_id"], attempt=2)
    assert (again["text"], len(script.requests)) == (WORDS["quoted"], 0)


@pytest.mark.hermes
def test_the_summary_at_the_limit_is_as_written(shared: Worker, script: Script) -> None:
    tools = [spec("step", args=["x"])]
    shared.bind(script.url, agent_id="short", tools=tools, max_turns=1)
    shared.tools["step"] = lambda x: x
    script.in_turn([RequestedCall("c1", "step", '{"x":"1"}')], [WORDS["quoted"]])
    done = shared.run("go", agent_id="short", tools=tools)
    assert (done["status"], done["text"]) == ("max_turns", WORDS["quoted"])
    told = shared.events(done["turn_id"])[-1]["data"].get("messages")
    assert told is None or told[-1]["content"] == WORDS["quoted"]


@pytest.mark.hermes
def test_the_answer_of_a_delegated_agent_is_as_written(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="boss", toolsets=["delegation"])
    call = RequestedCall("c", "delegate_task", json.dumps({"goal": "Explain."}))
    script.in_turn([call], [f"<think>secret plan</think>{WORDS['quoted']}"], [WORDS["own line"]])
    done = shared.run("x", agent_id="boss")
    assert done["text"] == WORDS["own line"]
    ended = shared.events(done["turn_id"], "agent.completed")[0]["data"]
    assert (ended["text"], ended["status"]) == (WORDS["quoted"], "completed")
    assert WORDS["quoted"] in json.loads(script.requests[2].messages[-1]["content"])["results"][0]["summary"]


@pytest.mark.hermes
def test_an_answer_in_parts_keeps_its_words(worker: Worker, script: Script) -> None:
    script.in_turn(["Use `<think>` and ", Finish("length")], ["`</think>` only."])
    done = worker.run("hi", agent_id="writer")
    assert (done["status"], done["text"]) == ("completed", "Use `<think>` and `</think>` only.")


EMPTY = {
    "closed": ["<think>only a plan</think>"],
    "open": ["<think>only a plan"],
    "channel": ["<|channel>thought\nonly a plan<channel|>"],
    "channel of its own": [Reasoning("only a plan")],
    "blank": ["  \n "],
    "nothing": [""],
}


@pytest.mark.hermes
@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("after_tool", [False, True], ids=["at once", "after a tool"])
def test_a_reply_without_words_is_a_failure_after_three(shared: Worker, script: Script, name: str, after_tool: bool) -> None:
    tools = [spec("step", args=["x"])]
    shared.bind(script.url, agent_id="mute", tools=tools)
    shared.tools["step"] = lambda x: x
    first: list[Any] = [[RequestedCall("c1", "step", '{"x":"1"}')]] if after_tool else []
    script.in_turn(*first, EMPTY[name])
    done = shared.run("go", agent_id="mute", tools=tools)
    thoughts = ", only thoughts" if "plan" in str(EMPTY[name]) else ""
    assert (done["status"], done["error"], done["text"]) == ("failed", f"The model gave no answer{thoughts}.", "")
    assert done["hint"] == "Ask again, or ask otherwise."
    assert len(script.requests) == len(first) + 3
    assert shared.text_streamed(done["turn_id"]).strip() == ""
