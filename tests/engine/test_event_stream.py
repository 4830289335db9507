"""A streamed reply is read whatever form its endpoint gives it: as events, as one object, as an error, as a page."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterable
from typing import Any

import pytest

from hermes_nb.engine.hermes import event_stream
from hermes_nb.engine.hermes.chunk import Chunks, usage
from hermes_nb.offline_model.endpoint import Cut, Raw, Refusal
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}


def choice(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}], **more}


def sent(*values: Any) -> bytes:
    return b"".join(b"data: " + (v if isinstance(v, str) else json.dumps(v)).encode() + b"\n\n" for v in values)


def whole(message: Any, finish: str = "stop") -> Any:
    body = {"id": "1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": USAGE}
    return Refusal(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def heard(pieces: Iterable[bytes]) -> dict[str, Any]:
    """What is made of a stream: its text, its thoughts, its calls, why it ended, and an error."""
    found: dict[str, Any] = {"text": "", "thought": "", "calls": [], "finish": None}
    for event in event_stream.events(pieces, "text/event-stream"):
        value = event.json()
        if value is None:
            break
        if "error" in value:
            return {**found, "error": value["error"]["message"]}
        for made in value["choices"]:
            found["text"] += made["delta"].get("content") or ""
            found["thought"] += made["delta"].get("reasoning_content") or ""
            found["calls"] += [c["function"]["arguments"] for c in made["delta"].get("tool_calls") or ()]
            found["finish"] = made["finish_reason"] or found["finish"]
    return found


EVENTS = (
    b'\xef\xbb\xbfevent: message\r\nid: 3\r\ndata: {"choices": [{"delta":\r\ndata: {"content": "Z\xc3\xbcrich "}}]}\r\n\r\n'
    b': still here\r\n\r\nretry: 10\rdata:{"choices":[{"delta":{"content":"is \\ud83c"}}]}\r\r'
    b'data: 42\n\ndata: null\n\ndata: {"choices": null}\n\ndata: {"choices":[{"delta":null}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"\\udf89."}}, {"index": 1, "delta": {"content": "Another."}}]}\n\ndata: [DONE]'
)


def test_events_are_read_as_specified_wherever_the_connection_cuts_them() -> None:
    shuffled = random.Random(7)
    for n_cuts in (0, 1, 2, 5, 40, len(EVENTS) - 1):
        cuts = sorted(shuffled.sample(range(1, len(EVENTS)), n_cuts))
        pieces = [EVENTS[a:b] for a, b in itertools.pairwise([0, *cuts, len(EVENTS)])]
        assert heard(pieces) == {"text": "Zürich is 🎉.", "thought": "", "calls": [], "finish": "stop"}


@pytest.mark.parametrize(
    ("delta", "text", "thought"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, "a"]}, "a", "Hm."),
        ({"content": {"text": "a"}}, "a", ""),
        ({"content": 42}, "42", ""),
        ({"content": None, "refusal": "No."}, "No.", ""),
        ({"content": "a", "reasoning": {"text": "Hm."}}, "a", "Hm."),
        ({"content": "a", "reasoning_content": ["H", "m."]}, "a", "Hm."),
        ({"content": "a", "reasoning": "Hm.", "reasoning_content": "Hm."}, "a", "Hm."),
        ({"content": "a", "thinking": "Hm."}, "a", "Hm."),
        ({"content": "a", "reasoning_details": [{"text": "Hm."}, {"type": "reasoning.encrypted", "data": "z"}]}, "a", "Hm."),
        ({"content": "a \ud800 b"}, "a \ufffd b", ""),
        ("text", "", ""),
        ([], "", ""),
    ],
)
def test_words_and_thoughts_are_found_in_any_form(delta: Any, text: str, thought: str) -> None:
    found = heard([sent(choice(delta), choice(finish="stop"), "[DONE]")])
    assert (found["text"], found["thought"], found["finish"]) == (text, thought, "stop")


@pytest.mark.parametrize(
    "calls",
    [
        [{"index": 0, "id": "c", "function": {"name": "save", "arguments": {"text": "a"}}}],
        {"id": 7, "function": {"name": "save", "arguments": '{"text": "a"}'}},
        [{"id": {"x": 1}, "function": {"name": "save", "arguments": '{"text": "a"}'}}, None, 3],
    ],
    ids=["object", "one", "foreign"],
)
def test_a_call_is_found_in_any_form(calls: Any) -> None:
    found = heard([sent(choice({"tool_calls": calls}), "[DONE]")])
    assert (found["calls"], found["finish"]) == (['{"text": "a"}'], "tool_calls")


@pytest.mark.parametrize(
    "more", [{}, {"index": 0}, {"index": 0, "id": None}, {"index": 0, "id": ""}], ids=["bare", "index", "null", "empty"]
)
@pytest.mark.parametrize("arguments", ['{"text": "%s"}', {"text": "%s"}], ids=["text", "object"])
def test_whole_calls_without_ids_one_after_another_are_calls_of_their_own(more: dict[str, Any], arguments: Any) -> None:
    calls = [
        {**more, "function": {"name": "save", "arguments": json.loads(json.dumps(arguments).replace("%s", n))}} for n in "ab"
    ]
    chunks = Chunks()
    made = [chunks.tidy(choice({"tool_calls": [call]}))["choices"][0]["delta"]["tool_calls"][0] for call in calls]
    assert [(call["index"], call["function"]["arguments"]) for call in made] == [(0, '{"text": "a"}'), (1, '{"text": "b"}')]


def test_a_call_whose_name_comes_with_each_piece_is_one() -> None:
    chunks = Chunks()
    pieces = ['{"text"', ': "a"', "}", ""]
    calls = [
        {"index": 0, "id": "c" if i == 0 else None, "function": {"name": "save", "arguments": p}}
        for i, p in enumerate(pieces)
    ]
    made = [chunks.tidy(choice({"tool_calls": [call]}))["choices"][0]["delta"]["tool_calls"][0] for call in calls]
    assert {call["index"] for call in made} == {0}


def test_a_call_of_the_older_kind_is_a_call() -> None:
    found = heard([sent(choice({"function_call": {"name": "f", "arguments": "{}"}}), choice(finish="function_call"))])
    assert (found["calls"], found["finish"]) == (["{}"], "tool_calls")


def test_a_long_line_in_small_pieces_takes_no_seconds() -> None:
    line = sent(choice({"content": "x" * 2_000_000}), "[DONE]")
    started = time.process_time()
    found = heard(line[i : i + 20] for i in range(0, len(line), 20))
    assert len(found["text"]) == 2_000_000
    assert time.process_time() - started < 2


def test_a_stream_whose_tokens_were_said_is_over_though_its_connection_stays() -> None:
    def pieces() -> Iterable[bytes]:
        yield sent(choice({"content": "a"}), choice(finish="stop"), {"choices": [], "usage": USAGE})
        raise AssertionError("more was waited for")

    assert heard(pieces())["text"] == "a"


@pytest.mark.parametrize(
    "given",
    [
        {"prompt_tokens": -20, "completion_tokens": 10},
        {"prompt_tokens": 20, "completion_tokens": -1},
        {"prompt_tokens": 10**30, "completion_tokens": 10},
        {"prompt_tokens": "many", "completion_tokens": 10},
        {"prompt_tokens": float("nan"), "completion_tokens": 10},
        {"prompt_tokens": 20, "completion_tokens": True},
        [1, 2],
        "lots",
    ],
)
def test_figures_that_are_no_counts_are_unknown(given: Any) -> None:
    assert usage(given) is None


def test_details_of_tokens_that_exceed_their_sum_are_left_out() -> None:
    given = {**USAGE, "prompt_tokens_details": {"cached_tokens": 500}, "completion_tokens_details": {"reasoning_tokens": -4}}
    assert usage(given) == {**USAGE, "prompt_tokens_details": {}, "completion_tokens_details": {}}
    assert usage({"prompt_tokens": "20", "completion_tokens": 10.0}) == {"prompt_tokens": 20, "completion_tokens": 10}


# -- with Hermes -------------------------------------------------------------------------------------------------------

TOOLS = [spec("save", args=["text"])]


@pytest.fixture
def worker(shared: Worker, script: Script) -> Worker:
    shared.bind(script.url, agent_id="reader", tools=TOOLS)
    shared.tools["save"] = lambda text="": f"saved {text}"
    return shared


def run(worker: Worker, **keys: Any) -> dict[str, Any]:
    return worker.run("hi", agent_id="reader", tools=TOOLS, **keys)


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "save", "arguments": {"text": "a"}}}


@pytest.mark.hermes
@pytest.mark.parametrize(
    "reply",
    [
        [whole({"role": "assistant", "content": "Done."})],
        [whole({"role": "assistant", "content": [{"type": "text", "text": "Done."}]})],
        [Raw(sent(choice({"content": [{"type": "text", "text": "Done."}]}), choice(finish="stop"), "[DONE]"))],
        [Raw(sent(choice({"content": "Done."}), "[DONE]")), Cut()],
        [Raw(sent(choice({"content": "Done.", "reasoning": {"text": "Hm."}}), choice(finish="stop"), "[DONE]"))],
        [Raw(b"id: 3\n" + sent(choice({"content": "Done."})) + b": x\n\n" + sent(choice(finish="stop"), "[DONE]"))],
    ],
    ids=["whole", "whole-parts", "parts", "no-finish-reason", "thought-object", "comment-after-id"],
)
def test_an_answer_in_an_odd_form_is_the_answer_of_one_request(worker: Worker, script: Script, reply: list[Any]) -> None:
    script.in_turn(reply)
    done = run(worker)
    assert (done.get("status"), done["text"], len(script.requests)) == ("completed", "Done.", 1)


@pytest.mark.hermes
@pytest.mark.parametrize(
    "reply",
    [
        [whole({"role": "assistant", "content": None, "tool_calls": [CALL]}, "tool_calls")],
        [Raw(sent(choice({"tool_calls": [CALL]}), choice(finish="tool_calls"), "[DONE]"))],
        [Raw(sent(choice({"tool_calls": CALL | {"id": None}}), choice(finish="tool_calls"), "[DONE]"))],
        [Raw(sent(choice({"tool_calls": [CALL | {"id": {"a": 1}}]}), choice(finish="tool_calls"), "[DONE]"))],
    ],
    ids=["whole", "object", "no-list-no-id", "foreign-id"],
)
def test_the_result_of_a_call_in_an_odd_form_reaches_the_model(worker: Worker, script: Script, reply: list[Any]) -> None:
    script.in_turn(reply, ["Saved."])
    assert run(worker)["text"] == "Saved."
    said = next(m for m in script.requests[1].messages if m["role"] == "tool")
    assert said["content"] == "saved a"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "No credits left", "code": 402}}', "No credits left"),
        (b'{"error": "model is loading"}', "model is loading"),
        (b'{"error": {"reason": "busy"}}', '{"reason": "busy"}'),
        (b'{"detail": "Not for you"}', "Not for you"),
        (b"<html><script>x</script><h1>Sign in</h1></html>", "a web page in place of an answer: Sign in"),
        (b"[1, 2]", "a body of type text/event-stream in place of an answer: [1, 2]"),
        (b'event: error\ndata: {"message": "quota spent"}\n\n', "quota spent"),
    ],
)
def test_what_is_sent_in_place_of_an_answer_is_said(body: bytes, said: str) -> None:
    assert heard([body])["error"] == said


@pytest.mark.hermes
@pytest.mark.parametrize(
    ("body", "said", "hint"),
    [
        (b'{"error": {"message": "No credits left", "code": 402}}', ": No credits left", "Add credit"),
        (b"<html><h1>Sign in</h1></html>", " sent a web page in place of an answer: Sign in", "Correct base_url"),
    ],
    ids=["error", "page"],
)
def test_a_turn_without_an_answer_ends_with_what_was_sent(
    worker: Worker, script: Script, body: bytes, said: str, hint: str
) -> None:
    script.in_turn([Refusal(200, body, {})])
    done = run(worker)
    assert done["status"] == "failed"
    assert said in done["error"]
    assert "custom (127.0.0.1" in done["error"]
    assert hint in done["hint"]


@pytest.mark.hermes
@pytest.mark.parametrize(
    ("parts", "text"),
    [([Raw(sent(choice({"content": "Half "}))), Cut()], "Half Half Half Half"), ([Raw(sent(choice({"tool_calls": [
        CALL | {"function": {"name": "save", "arguments": '{"te'}}]}))), Cut()], "")],
    ids=["words", "call"],
)  # fmt: skip
def test_a_connection_that_ends_in_a_reply_is_no_output_limit(
    worker: Worker, script: Script, parts: list[Any], text: str
) -> None:
    script.in_turn(parts)
    done = run(worker)
    assert (done["status"], done["text"]) == ("failed", text)
    assert "limit" not in done["error"] + done["hint"]


@pytest.mark.hermes
@pytest.mark.parametrize(
    "bad",
    [
        [Raw(sent(choice({"content": "Half "}))), Cut()],
        [Raw(sent(choice({"content": ""}), choice(finish="stop"), "[DONE]"))],
        [Raw(sent(choice({"tool_calls": [CALL | {"function": {"name": "save", "arguments": "[1]"}}]}), "[DONE]"))],
    ],
    ids=["cut", "empty", "arguments"],
)  # fmt: skip
def test_a_turn_that_failed_for_its_last_replies_is_asked_for_them_anew_when_resumed(
    worker: Worker, script: Script, bad: list[Any]
) -> None:
    good = [Raw(sent(choice({"tool_calls": [CALL]}), choice(finish="tool_calls"), "[DONE]"))]
    script.in_turn(good, bad)
    failed = run(worker)
    assert failed["status"] == "failed"
    script.in_turn(["Saved."])
    again = run(worker, turn_id=failed["turn_id"], attempt=2)
    assert (again["status"], again["text"], len(script.requests)) == ("completed", "Saved.", 1)
    once_more = run(worker, turn_id=failed["turn_id"], attempt=3)
    assert (once_more["text"], len(script.requests)) == ("Saved.", 1)


@pytest.mark.hermes
def test_calls_at_the_output_limit_are_said(worker: Worker, script: Script) -> None:
    script.in_turn([Raw(sent(choice({"tool_calls": [CALL]}), choice(finish="length"), "[DONE]"))])
    done = run(worker)
    assert done["error"] == "The model reached its output limit while it called 'save', five times; nothing was run."


@pytest.mark.hermes
def test_a_redirection_is_named_once_and_not_followed(worker: Worker, script: Script) -> None:
    script.in_turn([Refusal(307, b"", {"Location": "http://elsewhere.example/v1/chat/completions"})])
    done = run(worker)
    assert len(script.requests) == 1
    assert "redirects to http://elsewhere.example/v1 (HTTP 307)" in done["error"]
    assert "http://elsewhere.example/v1 as base_url" in done["hint"]
