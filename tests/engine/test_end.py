"""The end of a turn is told from our own log: what happened, to which thing, and what to do; never asked again in vain."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_nb.engine.hermes import outcome, reply
from hermes_nb.offline_model.endpoint import Finish, Reasoning, Refusal, RequestedCall
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes


@pytest.fixture
def worker(shared: Worker, script: Script) -> Worker:
    shared.bind(script.url, agent_id="saver", tools=TOOLS)
    shared.tools["save"] = lambda text="": f"saved {text}"
    shared.tools["now"] = lambda: "noon"
    return shared


TOOLS = [spec("save", args=["text"]), spec("now")]


def run(worker: Worker, **keys: Any) -> dict[str, Any]:
    return worker.run("hi", agent_id="saver", tools=TOOLS, **keys)


@pytest.mark.parametrize("finish", ["tool_calls", "length", "stop"])
@pytest.mark.parametrize(
    "arguments", ['{"text": hello"', "{'text': 'a' b}", '["a", "b"]', "text=hello"], ids=["cut", "unquoted", "array", "bare"]
)
def test_arguments_that_are_no_json_are_said_to_be(worker: Worker, script: Script, arguments: str, finish: str) -> None:
    script.in_turn([RequestedCall("c1", "save", arguments), Finish(finish)])
    done = run(worker)
    assert (done["status"], len(script.requests)) == ("failed", 5)
    assert done["error"] == f"The model wrote arguments of 'save' that are no JSON object, five times: {arguments}"
    assert "truncated" not in done["error"] + done["hint"]
    calls = worker.events(done["turn_id"], "tool.completed")
    assert {c["data"]["status"] for c in calls} == {"skipped"}
    last = calls[-1]["data"]
    assert "asked again" not in last.get("error", "") + last["result"]


def test_arguments_that_are_no_json_once_are_asked_for_again(worker: Worker, script: Script) -> None:
    script.in_turn(
        [RequestedCall("c1", "save", '{"text": hello"')], [RequestedCall("c2", "save", '{"text": "a"}')], ["Saved."]
    )
    done = run(worker)
    assert (done["status"], done["text"]) == ("completed", "Saved.")
    assert "asked again" in worker.events(done["turn_id"], "tool.completed")[0]["data"]["error"]


@pytest.mark.parametrize(
    "arguments",
    [json.dumps(json.dumps({"text": "a"})), json.dumps(json.dumps(json.dumps({"text": "a"}))), '{"text": "a"}'],
)
def test_arguments_that_are_encoded_once_more_are_decoded(worker: Worker, script: Script, arguments: str) -> None:
    script.in_turn([RequestedCall("c1", "save", arguments)], ["Saved."])
    done = run(worker)
    assert (done["text"], len(script.requests)) == ("Saved.", 2)
    assert worker.events(done["turn_id"], "tool.completed")[0]["data"]["result"] == "saved a"
    assert "messages" not in worker.events(done["turn_id"])[-1]["data"]


@pytest.mark.parametrize("arguments", ["null", '""', '"null"', "", '"{}"'])
def test_no_arguments_is_an_empty_object_however_it_is_written(worker: Worker, script: Script, arguments: str) -> None:
    script.in_turn([RequestedCall("c1", "now", arguments)], ["Noon."])
    done = run(worker)
    assert (done["text"], len(script.requests)) == ("Noon.", 2)
    assert worker.events(done["turn_id"], "tool.completed")[0]["data"]["result"] == "noon"


@pytest.mark.parametrize("arguments", ["7", "[1]", '"text"', "true", "{not json"])
def test_what_means_no_object_stays_as_it_was_written(arguments: str) -> None:
    assert reply.mended(arguments) == arguments


def refuse(worker: Worker) -> None:
    class ToolArgumentError(Exception):
        pass

    def save(text: str = "") -> str:
        raise ToolArgumentError(f"text: 'x' is required, not {text!r}")

    worker.tools["save"] = save


def test_a_call_that_is_refused_five_times_ends_the_turn(worker: Worker, script: Script) -> None:
    refuse(worker)
    n = iter(range(1000))
    script.in_turn([])
    script.answer = lambda request: [RequestedCall(f"c{next(n)}", "save", '{"text":"1"}')]
    done = run(worker)
    assert (done["status"], len(script.requests)) == ("failed", 5)
    why = "text: 'x' is required, not '1'"
    assert done["error"] == f"The model repeated the same call of 'save' five times, refused each time: {why}"
    assert "another model" in done["hint"]


def test_calls_that_are_refused_for_different_arguments_go_on(worker: Worker, script: Script) -> None:
    refuse(worker)
    script.in_turn(*([RequestedCall(f"c{i}", "save", f'{{"text":"{i}"}}')] for i in range(7)), ["I give up."])
    done = run(worker)
    assert (done["status"], done["text"]) == ("completed", "I give up.")


def test_an_unknown_tool_beside_a_good_call_is_bounded(worker: Worker, script: Script) -> None:
    n = iter(range(1000))
    script.in_turn([])
    script.answer = lambda request: [
        RequestedCall(f"c{next(n)}", "now", "{}"),
        RequestedCall(f"c{next(n)}", "nowhere", '{"a": 1}'),
    ]
    done = run(worker)
    assert (done["status"], len(script.requests)) == ("failed", 5)
    assert "same call of 'nowhere' five times" in done["error"]


def test_an_unknown_tool_is_named(worker: Worker, script: Script) -> None:
    n = iter(range(1000))
    script.in_turn([])
    script.answer = lambda request: [RequestedCall(f"c{next(n)}", "nowhere", f'{{"a": {next(n)}}}')]
    done = run(worker)
    assert (done["status"], len(script.requests)) == ("failed", 3)
    assert done["error"] == "The model called a tool 'nowhere' that it was not given, three times."


@pytest.mark.parametrize(
    ("parts", "said", "text"),
    [
        (["The customers are Ada and"], "ended the answer; what had arrived is kept.", "The customers are Ada and"),
        (["I can't help with that."], "ended the answer; what had arrived is kept.", "I can't help with that."),
        ([], "let no answer through.", ""),
    ],
)
def test_a_content_filter_is_said_to_be_one(worker: Worker, script: Script, parts: list[Any], said: str, text: str) -> None:
    script.in_turn([*parts, Finish("content_filter")])
    done = run(worker)
    assert (done["status"], done["text"], len(script.requests)) == ("failed", text, 1)
    assert done["error"] == f"The provider's content filter {said}"
    assert done["hint"] == "Ask otherwise, or use another model."


def test_a_request_that_a_content_filter_refuses_is_said(worker: Worker, script: Script) -> None:
    body = {"error": {"message": "The response was filtered by the content management policy.", "code": "content_filter"}}
    script.in_turn([Refusal(400, body)])
    done = run(worker)
    assert done["error"].startswith("The provider's content filter refused the request: The response was filtered")
    assert "Ask otherwise" in done["hint"]


def test_an_answer_that_stays_cut_says_so_and_keeps_all_parts(worker: Worker, script: Script) -> None:
    script.in_turn(*([f"{n} ", Finish("length")] for n in ("one", "two", "three", "four")))
    done = run(worker)
    assert (done["status"], done["text"]) == ("failed", "one two three four")
    assert done["error"] == "The answer was cut off at the model's output limit; what had arrived is kept, 4 parts joined."
    assert "max_tokens" in done["hint"]


def test_thoughts_that_use_up_the_limit_are_said(worker: Worker, script: Script) -> None:
    for thought in (Reasoning("Let me think"), "<think>Let me think"):
        script.in_turn([thought, Finish("length")])
        done = run(worker)
        assert (done["status"], done["text"]) == ("failed", "")
        assert done["error"] == "The model gave no answer: it used up its output limit on its thoughts."
        assert len(script.requests) <= 3


OVERFLOW = {
    "openai": {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"},
    "llama.cpp": {"message": "the request exceeds the available context size, try increasing it", "code": 400},
    "anthropic": {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
}


@pytest.mark.parametrize("name", OVERFLOW)
@pytest.mark.parametrize("n_prior", [0, 3])
def test_a_conversation_that_is_too_long_says_what_to_do(worker: Worker, script: Script, name: str, n_prior: int) -> None:
    script.in_turn([Refusal(400, {"error": OVERFLOW[name]})])
    history = [
        m
        for i in range(n_prior)
        for m in ({"role": "user", "content": f"question {i}"}, {"role": "assistant", "content": f"answer {i}"})
    ]
    done = run(worker, history=history)
    assert done["status"] == "failed"
    assert done["error"].startswith("The conversation is too long for the model (scripted, HTTP 400): ")
    for way in ("-s new", "%hermes fork --at", "tools return less"):
        assert way in done["hint"]
    assert not [
        e
        for e in worker.events(done["turn_id"], "context.compressed")
        if e["data"]["n_messages_before"] == e["data"]["n_messages_after"]
    ]


@pytest.mark.parametrize("n_tools", [1, 3])
def test_a_conversation_that_could_not_be_shortened_is_not_said_to_be(worker: Worker, script: Script, n_tools: int) -> None:
    worker.tools["save"] = lambda text="": "x" * 20_000
    calls = [[RequestedCall(f"c{i}", "save", f'{{"text":"{i}"}}')] for i in range(n_tools)]
    script.in_turn(*calls, [Refusal(400, {"error": OVERFLOW["openai"]})])
    done = run(worker)
    assert done["error"].startswith("The conversation is too long")
    for event in worker.events(done["turn_id"], "context.compressed"):
        assert event["data"]["n_messages_after"] < event["data"]["n_messages_before"]


@pytest.mark.parametrize("retry_after", ["3600", "200"])
def test_a_long_wait_ends_the_turn_and_says_so(worker: Worker, script: Script, retry_after: str) -> None:
    script.in_turn([Refusal(429, {"error": {"message": "quota is used up"}}, headers={"retry-after": retry_after})])
    started = time.monotonic()
    done = run(worker)
    assert time.monotonic() - started < 30
    assert (done["status"], len(script.requests)) == ("failed", 1)
    span = {"3600": "60 min", "200": "3 min"}[retry_after]
    assert f"(HTTP 429) and is to be asked again in {span} only: quota is used up" in done["error"]
    assert f"--timeout {int(retry_after) + 60}" in done["hint"]
    failed = worker.events(done["turn_id"], "model.failed")[0]["data"]
    assert "quota is used up" in failed["error"]


@pytest.mark.parametrize(("days", "span"), [(0.5, "12.0 h"), (7, "7 days"), (30_000, "more than a year")])
def test_a_date_that_is_far_off_ends_the_turn(worker: Worker, script: Script, days: float, span: str) -> None:
    at = formatdate(time.time() + days * 86_400 + 30, usegmt=True)
    script.in_turn([Refusal(429, {"error": {"message": "quota is used up"}}, headers={"retry-after": at})])
    done = run(worker)
    assert (done["status"], len(script.requests)) == ("failed", 1)
    assert f"is to be asked again in {span} only" in done["error"]
    assert ("--timeout" in done["hint"]) is (days < 1)


@pytest.mark.parametrize("given", ["inf", "1e400", "999999999999999999999999", "Wed, 21 Oct 9999 07:28:00 GMT"])
def test_a_wait_without_end_ends_the_turn(worker: Worker, script: Script, given: str) -> None:
    script.in_turn([Refusal(429, {"error": {"message": "quota is used up"}}, headers={"retry-after": given})])
    done = run(worker, timeout_s=60)
    assert (done["status"], len(script.requests)) == ("failed", 1)
    assert "quota is used up" in done["error"]


@pytest.mark.parametrize("given", ["-5", "nan", "soon", "3, 7", "", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_wait_that_is_none_is_not_waited_for(given: str) -> None:
    error = RuntimeError("slow down")
    error.response = SimpleNamespace(headers={"retry-after": given})  # type: ignore[attr-defined]
    assert not outcome.retry_after_s(error)


def test_a_long_wait_of_a_delegated_agent_ends_the_turn(worker: Worker, script: Script) -> None:
    worker.bind(script.url, agent_id="boss", toolsets=["delegation"])
    refusal = Refusal(429, {"error": {"message": "quota is used up"}}, headers={"retry-after": "3600"})
    script.in_turn([RequestedCall("c", "delegate_task", '{"goal": "Explain."}')], [refusal])
    done = worker.run("x", agent_id="boss")
    assert (done["status"], len(script.requests)) == ("failed", 2)
    assert "is to be asked again in 60 min only: quota is used up" in done["error"]


def test_a_long_wait_is_waited_for_within_a_longer_time_limit(worker: Worker, script: Script) -> None:
    script.in_turn([Refusal(429, {"error": {"message": "slow down"}}, headers={"retry-after": "300"})])
    turn_id = worker.start("hi", agent_id="saver", tools=TOOLS, timeout_s=400)
    assert worker.wait_event("model.retried", turn_id)["data"]["wait_s"] == 300.0
    worker.send("turn.stop", turn_id=turn_id, reason="user")
    assert worker.done(turn_id)["status"] == "stopped"
