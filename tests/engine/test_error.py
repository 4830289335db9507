"""What can go wrong with a model: the thing and the cure are named, waits are seen, keys are not."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hermes_nb.offline_model.endpoint import Cut, Raw, Refusal, RequestedCall, Usage
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes


@pytest.fixture
def worker(shared: Worker, script: Script) -> Worker:
    shared.bind(script.url, agent_id="unlucky")
    return shared


def run(worker: Worker, **keys: Any) -> dict[str, Any]:
    return worker.run("hi", agent_id="unlucky", **keys)


def test_429_then_success_shows_the_wait(worker: Worker, script: Script) -> None:
    script.in_turn([Refusal(429, {"error": {"message": "slow down"}}, headers={"retry-after": "1"})], ["Fine."])
    done = run(worker)
    assert done["text"] == "Fine."
    assert worker.kinds(done["turn_id"]) == [
        "turn.started",
        "model.started",
        "model.retried",
        "model.completed",
        "turn.completed",
    ]
    retried = worker.events(done["turn_id"], "model.retried")[0]
    assert retried["data"] == {
        "reason": "slow down",
        "status_code": 429,
        "wait_s": 1.0,
        "n_retry": 1,
        "n_retries_max": 3,
    }
    assert retried["span_id"] == worker.events(done["turn_id"], "model.completed")[0]["span_id"]


@pytest.mark.parametrize(
    ("status", "error_type", "said", "cure"),
    [
        (401, "ModelAuthError", "custom (127.0.0.1:", "api_key="),
        (403, "ModelAuthError", "refused the key (HTTP 403)", "api_key="),
        (404, "ModelError", "knows no model 'scripted'", "base_url"),
        (400, "ModelError", "refused the request (HTTP 400)", ""),
    ],
)
def test_a_refusal_names_provider_and_cure(
    worker: Worker, script: Script, status: int, error_type: str, said: str, cure: str
) -> None:
    script.in_turn([Refusal(status, {"error": {"message": "because"}})])
    done = run(worker)
    assert (done["status"], done["error_type"], done["text"]) == ("failed", error_type, "")
    assert said in done["error"]
    assert "because" in done["error"]
    assert cure in done["hint"]
    assert worker.kinds(done["turn_id"])[-2:] == ["model.failed", "turn.failed"]
    assert worker.events(done["turn_id"], "model.failed")[0]["data"]["status_code"] == status
    assert worker.events(done["turn_id"])[-1]["data"]["code"] == str(status)


def test_429_for_good_is_said_after_bounded_retries(worker: Worker, script: Script) -> None:
    script.in_turn([Refusal(429, {"error": {"message": "slow down"}}, headers={"retry-after": "1"})])
    done = run(worker)
    assert (done["status"], done["error_type"]) == ("failed", "ModelError")
    assert "also after retries" in done["error"]
    assert len(worker.events(done["turn_id"], "model.retried")) == 2
    assert len(script.requests) == 3


def test_a_port_where_nobody_listens_is_said_within_ten_seconds(worker: Worker) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    worker.bind(f"http://127.0.0.1:{port}/v1", agent_id="nowhere")
    started = time.monotonic()
    done = worker.run("hi", agent_id="nowhere")
    assert time.monotonic() - started < 8
    assert done["error_type"] == "ModelUnreachableError"
    assert f"127.0.0.1:{port}" in done["error"]
    assert "base_url" in done["hint"]
    assert worker.events(done["turn_id"], "model.retried")[0]["data"]["wait_s"] > 0


@contextmanager
def swallowing_port() -> Iterator[int]:
    """A port whose queue is full: connections to it hang, as to an address that drops packets."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        waiting = []
        try:
            for _ in range(4):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex(server.getsockname())
                waiting.append(client)
            yield server.getsockname()[1]
        finally:
            for client in waiting:
                client.close()


def test_an_address_that_swallows_packets_is_said_within_ten_seconds(worker: Worker) -> None:
    with swallowing_port() as port:
        worker.bind(f"http://127.0.0.1:{port}/v1", agent_id="blackhole")
        started = time.monotonic()
        done = worker.run("hi", agent_id="blackhole")
        assert time.monotonic() - started < 9
    assert (done["status"], done["error_type"]) == ("failed", "ModelUnreachableError")
    assert f"127.0.0.1:{port}" in done["error"]


@pytest.mark.parametrize("bad", [[Raw(b'data: {"nope\n\n')], [Cut()]], ids=["malformed", "dropped"])
def test_a_broken_reply_is_asked_again_and_seen(worker: Worker, script: Script, bad: list[Any]) -> None:
    script.in_turn(bad, ["Fine."])
    done = run(worker)
    assert done["text"] == "Fine."
    assert len(worker.events(done["turn_id"], "model.retried")) == 1
    assert len(script.requests) == 2


def test_a_malformed_reply_for_good_is_said(worker: Worker, script: Script) -> None:
    script.in_turn([Raw(b'data: {"nope\n\n')])
    done = run(worker, timeout_s=25)
    assert (done["status"], done["error_type"]) == ("failed", "ModelError")
    assert "can't be read" in done["error"]


def test_a_turn_after_a_bad_reply_is_not_answered_from_the_journal(worker: Worker, script: Script) -> None:
    script.in_turn([""], ["Second."])
    assert run(worker)["text"] == "Second."
    script.in_turn(["Third."])
    assert run(worker)["text"] == "Third."
    assert len(script.requests) == 1


def test_an_answer_cut_in_the_middle_is_continued(worker: Worker, script: Script) -> None:
    script.in_turn(["Hello wor", Cut()], ["ld."])
    done = run(worker)
    assert done["text"] == "Hello world."


def test_an_answer_that_stays_empty_is_a_failure(worker: Worker, script: Script) -> None:
    script.in_turn([""])
    done = run(worker)
    assert (done["status"], done["error"]) == ("failed", "The model gave no answer.")
    assert done["text"] == ""


def test_max_turns_ends_with_a_recorded_summary(shared: Worker, script: Script) -> None:
    tools = [spec("step", args=["x"])]
    shared.bind(script.url, agent_id="limited", tools=tools, max_turns=2)
    shared.tools["step"] = lambda x: x
    usage = Usage({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
    steps = [[RequestedCall(n, "step", f'{{"x":"{n}"}}'), usage] for n in ("1", "2")]
    script.in_turn(*steps, ["In short.", usage])
    done = shared.run("go", agent_id="limited", tools=tools)
    assert (done["status"], done["text"], done["n_model_calls"]) == ("max_turns", "In short.", 3)
    assert done["usage"] == {"input_tokens": 30, "output_tokens": 15}  # the summary's among them
    last = shared.events(done["turn_id"])[-1]
    assert (last["kind"], last["data"]["status"]) == ("turn.completed", "max_turns")
    assert shared.events(done["turn_id"], "model.completed")[-1]["data"]["text"] == "In short."
    script.in_turn(["Paid again."])
    again = shared.run("go", agent_id="limited", tools=tools, turn_id=done["turn_id"], attempt=2)
    assert (again["status"], again["text"], len(script.requests)) == ("max_turns", "In short.", 0)


@pytest.mark.parametrize(
    "last",
    [
        [Refusal(500, b"boom", {})],
        [Refusal(200, b'{"error": {"message": "No credits"}}', {"Content-Type": "application/json"})],
        [Refusal(200, b"<html>x</html>", {"Content-Type": "text/html"})],
        [Refusal(200, b'{"choices": [{"message": {"content": null}}]}', {"Content-Type": "application/json"})],
    ],
    ids=["refused", "error", "page", "empty"],
)  # fmt: skip
def test_a_summary_that_failed_is_no_answer(shared: Worker, script: Script, last: list[Any]) -> None:
    tools = [spec("step", args=["x"])]
    shared.bind(script.url, agent_id="limited", tools=tools, max_turns=1)
    shared.tools["step"] = lambda x: x
    script.in_turn([RequestedCall("1", "step", '{"x":"1"}')], last)
    done = shared.run("go", agent_id="limited", tools=tools)
    assert (done["status"], done["text"]) == ("max_turns", "")


@pytest.mark.parametrize(
    ("agent", "error_type", "said"),
    [
        ({"toolsets": ["terminal", "nope"]}, "UnknownNameError", "no toolset 'nope'. Known: browser,"),
        ({"tools": [spec("terminal")]}, "ToolNameError", "'terminal' of its own"),
        ({"tools": [spec("todo")]}, "ToolNameError", "'todo' of its own"),
        ({"model": {"id": "m", "provider": "nonsense"}}, "ModelError", "no provider 'nonsense'."),
        ({"model": {"id": "m", "provider": "opnrouter"}}, "ModelError", "'opnrouter'. Did you mean 'openrouter'?"),
        ({"model": {"id": "m", "provider": "openrouter"}}, "ModelAuthError", "No key for provider 'openrouter'"),
        ({"model": {"id": "m", "provider": "custom"}}, "UsageError", "without a base_url"),
    ],
)
def test_an_agent_that_cannot_be_bound_is_refused_by_name(
    shared: Worker, script: Script, agent: dict[str, Any], error_type: str, said: str
) -> None:
    answer = shared.bind(script.url, agent_id="wrong", **agent)
    assert (answer["kind"], answer["error_type"]) == ("bind.failed", error_type)
    assert said in answer["error"]
    done = shared.run("hi", agent_id="wrong")
    assert (done["status"], done["error_type"]) == ("failed", error_type)
    assert shared.kinds(done["turn_id"]) == ["turn.started", "turn.failed"]


def test_a_missing_key_names_its_variable(shared: Worker, script: Script) -> None:
    answer = shared.bind(script.url, agent_id="keyless", model={"id": "m", "provider": "openrouter"})
    assert "OPENROUTER_API_KEY" in answer["hint"]


def test_a_turn_of_an_agent_nobody_bound_fails(shared: Worker) -> None:
    done = shared.run("hi", agent_id="stranger")
    assert (done["status"], done["error_type"]) == ("failed", "WorkerError")
    assert "'stranger'" in done["error"]
