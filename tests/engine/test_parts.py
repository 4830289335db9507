"""The small parts that need no Hermes: reach, tally, questions, outcome, config."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from types import SimpleNamespace as Space
from typing import Any

import pytest

from hermes_nb.engine.accounting.usage import UsageCounter
from hermes_nb.engine.durability.delta_batcher import DeltaPump
from hermes_nb.engine.durability.event_writer import EventWriter
from hermes_nb.engine.durability.journal import Journal, JournalError
from hermes_nb.engine.durability.recorder import Recorder
from hermes_nb.engine.hermes import outcome, reply, verdict
from hermes_nb.engine.hermes.bootstrap import merged, secrets_in
from hermes_nb.engine.hermes.human_input import HumanInput
from hermes_nb.engine.hermes.reachability import Reachability
from hermes_nb.engine.hermes.reply import is_object
from hermes_nb.engine.tool_executor import same_arguments, spread_duplicates
from hermes_nb.model.mask import Masker

MODEL = outcome.ModelIdentity("gpt", "openai-api", "https://api.openai.com/v1")


@pytest.fixture
def sent() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def recorder(sent: list[dict[str, Any]], tmp_path: Path) -> Recorder:
    outbox = EventWriter("w", Journal(tmp_path / "j", "w"), lambda kind, **keys: sent.append(keys["event"]), Masker())
    return Recorder(outbox, DeltaPump(), session_id="s", turn_id="t", attempt=1)


# -- reach ------------------------------------------------------------------------------------------------------------


def test_an_address_that_answers_is_not_tried_twice() -> None:
    reach = Reachability(patience_s=5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        silent: list[str] = []
        end = reach.watch(url, silent.append)
        assert end.__self__.wait(5)  # type: ignore[attr-defined]
        server.settimeout(5)
        server.accept()[0].close()
        server.settimeout(0.2)
        for _ in range(3):
            reach.watch(url, silent.append)()
        with pytest.raises(TimeoutError):
            server.accept()
    assert silent == []


def test_silence_is_told_once_and_an_ended_watch_tells_nothing() -> None:
    reach = Reachability(patience_s=0.05)
    told = threading.Event()
    reach.watch("http://127.0.0.1:9/v1", lambda text: told.set())  # refused: not the probe's business to say
    assert told.wait(2)
    quiet: list[str] = []
    reach.watch("http://127.0.0.1:9/v1", quiet.append)()
    assert quiet == []


def test_nothing_is_tried_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    silent: list[str] = []
    n_before = threading.active_count()
    Reachability(patience_s=0.01).watch("https://example.org/v1", silent.append)
    assert threading.active_count() == n_before


# -- tally ------------------------------------------------------------------------------------------------------------


def test_a_cost_that_is_not_whole_is_not_given() -> None:
    tally = UsageCounter()
    tally.count_model_call({"input_tokens": 1, "output_tokens": 1}, 0.5)
    assert tally.totals() == {"usage": {"input_tokens": 1, "output_tokens": 1}, "cost_usd": 0.5}
    tally.count_model_call(None, None)
    assert tally.totals() == {"usage": {"input_tokens": 1, "output_tokens": 1}}


def test_work_that_was_delegated_counts_for_who_delegated() -> None:
    whole = UsageCounter()
    part = UsageCounter(whole)
    part.count_model_call({"input_tokens": 2}, 0.25)
    part.count_tool_call()
    part.count_helper({"usage": {"input_tokens": 3}, "cost_usd": 0.25})
    assert whole.totals() == part.totals() == {"usage": {"input_tokens": 5}, "cost_usd": 0.5}
    assert (whole.n_model_calls, whole.n_tool_calls) == (1, 1)


# -- questions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("once", "once"),
        ("yes", "once"),
        (True, "once"),
        ("session", "once"),
        ("always", "once"),
        ("deny", "deny"),
        (False, "deny"),
        ("", "deny"),
        (None, "deny"),
        ({"x": 1}, "deny"),
    ],
)
def test_only_a_clear_yes_approves(recorder: Recorder, sent: list[dict[str, Any]], answer: Any, result: str) -> None:
    questions = HumanInput(recorder)
    got: list[str] = []
    asking = threading.Thread(target=lambda: got.append(questions.approve("rm -rf /", "dangerous", allow_permanent=True)))
    asking.start()
    while not sent:
        threading.Event().wait(0.005)
    questions.answer("nobody asked", "once")
    questions.answer(sent[0]["data"]["request_id"], answer)
    asking.join(5)
    assert got == [result]
    assert [e["kind"] for e in sent] == ["approval.requested", "approval.responded"]


def test_when_nobody_can_answer_nothing_is_approved(recorder: Recorder) -> None:
    questions = HumanInput(recorder)
    questions.close()
    assert questions.approve("rm -rf /", "dangerous") == "deny"
    assert questions.clarify("Which?", ["a"]) == "The user gave no answer."


# -- outcome ----------------------------------------------------------------------------------------------------------


class Status(Exception):
    def __init__(self, status: int, text: str = "because") -> None:
        super().__init__(text)
        self.status_code = status


@pytest.mark.parametrize(
    ("error", "error_type", "said", "hint"),
    [
        (Status(401), "ModelAuthError", "openai-api (api.openai.com:443) refused the key", "Set OPENAI_API_KEY"),
        (Status(404), "ModelError", "no model 'gpt'", "id"),
        (Status(402), "ModelError", "because", "credit"),
        (Status(529), "ModelError", "failed (HTTP 529)", "again"),
        ("HTTP 503: overloaded", "ModelError", "failed (HTTP 503)", "again"),
        (outcome.Unreachable("refused"), "ModelUnreachableError", "api.openai.com:443", "base_url"),
        (JournalError("disk full"), "StoreError", "disk full", "unrecorded"),
        (KeyError("x"), "KeyError", "x", ""),
        (verdict.GivenUp(verdict.EMPTY), "ModelError", "no answer", "Ask"),
    ],
)
def test_failures_name_the_thing_and_the_cure(recorder: Recorder, error: Any, error_type: str, said: str, hint: str) -> None:
    end = outcome.failed(error, recorder, MODEL)
    assert (end.status, end.error_type) == ("failed", error_type)
    assert said in end.error
    assert hint in end.hint


def test_an_interrupted_result_that_also_says_completed_is_a_stop(recorder: Recorder) -> None:
    result = {"interrupted": True, "completed": True, "final_response": "Operation interrupted: waiting for model"}
    end = outcome.of_result(result, recorder, MODEL, stop_reason="user")
    assert (end.status, end.text, end.reason) == ("stopped", "", "user")


def test_a_stop_that_came_after_the_answer_changes_nothing(recorder: Recorder) -> None:
    result = {"completed": True, "final_response": " Hi. ", "turn_exit_reason": "text_response(finish_reason=stop)"}
    end = outcome.of_result(result, recorder, MODEL, stop_reason="user")
    assert (end.status, end.text) == ("completed", "Hi.")


# -- replies and arguments --------------------------------------------------------------------------------------------


def test_a_response_survives_the_journal() -> None:
    call = Space(id="c", type="function", extra_content={"sig": [1]}, function=Space(name="f", arguments='{"x": 1}'))
    message = Space(role="assistant", content=None, tool_calls=[call], reasoning_content="r")
    choice = Space(index=0, message=message, finish_reason="tool_calls")
    response = Space(id="x", model="m", choices=[choice], usage=None)
    again = reply.rebuild(json.loads(json.dumps(reply.plain(response))))
    assert again == response


def test_an_sdk_s_response_survives_the_journal_though_it_is_not_valid() -> None:
    from openai.types.chat import ChatCompletion

    choice = {"index": 0, "finish_reason": "odd", "message": {"role": "assistant", "content": "Hi."}}
    body = {"id": "x", "model": "m", "usage": {"prompt_tokens": 1}, "choices": [choice]}
    response = ChatCompletion.construct(**body)
    again = reply.rebuild(json.loads(json.dumps(reply.plain(response))))
    assert type(again) is ChatCompletion
    assert again.choices[0].message.content == "Hi."
    assert again.usage.prompt_tokens == 1


def test_identical_calls_are_told_apart_by_spaces_alone() -> None:
    calls = [Space(function=Space(name=n, arguments=a)) for n, a in [("f", "{}"), ("f", "{}"), ("g", "{}"), ("f", "{}")]]
    spread_duplicates(calls)
    assert [c.function.arguments for c in calls] == ["{}", "{} ", "{}", "{}  "]


def test_arguments_are_compared_by_meaning() -> None:
    assert same_arguments('{"a": 1, "b": 2}', {"b": 2, "a": 1})
    assert not same_arguments('{"a": 1}', '{"a": "1"}')
    assert same_arguments("{broken", "{broken")
    assert is_object("{}")
    assert not is_object("[]")
    assert not is_object("{")


# -- config -----------------------------------------------------------------------------------------------------------


def test_configs_merge_mapping_by_mapping() -> None:
    base = {"a": {"b": 1, "c": {"d": 2}}, "x": [1]}
    assert merged(base, {"a": {"c": {"e": 3}}, "x": [2]}) == {"a": {"b": 1, "c": {"d": 2, "e": 3}}, "x": [2]}
    assert base == {"a": {"b": 1, "c": {"d": 2}}, "x": [1]}


def test_secrets_in_a_config_are_found() -> None:
    config = {"auxiliary": {"vision": {"api_key": "k1", "model": "m"}}, "list": [{"access_token": "k2"}], "n": 1}
    assert secrets_in(config) == ["k1", "k2"]


def test_a_python_that_hermes_does_not_support_is_named(monkeypatch):
    from hermes_nb.engine.hermes import bootstrap

    assert "%hermes engine install" in bootstrap._cure()
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 14, 0, "final", 0))
    monkeypatch.setattr(bootstrap.sys, "version", "3.14.0 (main)")
    said = bootstrap._cure()
    assert said.startswith("hermes-agent 0.19 supports Python 3.11 to 3.13, and this is 3.14.0. %hermes engine install")
