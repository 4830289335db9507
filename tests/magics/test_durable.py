"""`%hermes resume`, `fork`, `sessions` in a real kernel, also one that was killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from hermes_nb.testing import Call, Hang, Say
from tests.magics.conftest import SETUP, Asked
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]


def test_a_killed_kernels_turn_goes_on_in_the_next(tmp_path: Path, model: Asked) -> None:
    hang = Hang()
    steps = iter([Call("add", {"a": 1, "b": 2}), hang])
    model.answer = lambda request: next(steps)
    first = Kernel(tmp_path)
    try:
        first.ok(SETUP.format(url=model.scripted.base_url))
        first.start("%hermes run What is 1 + 2?")
        assert hang.wait_reached()
        os.kill(first.manager.provisioner.pid, signal.SIGKILL)
    finally:
        first.close()
    assert len(model.scripted.requests) == 2
    model.answer = lambda request: Say("It is 3.")
    second = Kernel(tmp_path)
    try:
        second.ok(SETUP.format(url=model.scripted.base_url))
        assert "analyst" in second.ok("%hermes sessions").text
        cell = second.ok("%hermes resume -o answer")
        assert "attempt 2" in cell.out
        assert "adding" not in cell.out  # the recorded result of the tool was taken
        assert second.value("[answer.text, answer.status]") == ["It is 3.", "completed"]
        assert len(model.scripted.requests) == 3
        again = second.run("%hermes resume")
        assert "No unfinished turn" in again.err
        assert "was cut off" not in second.ok("%hermes run And now?").out
    finally:
        second.close()


def test_sessions_are_a_tree_and_can_be_found_renamed_carried_and_deleted(kernel: Kernel, tmp_path: Path) -> None:
    kernel.ok("%hermes run -s new -o first Tell me of zebras")
    kernel.ok("%hermes run Of gnus too")
    session = kernel.value("first.session_id")
    said = kernel.ok("%hermes fork --at " + kernel.value("first.turn_id") + " --title 'Another way'").out
    fork = said.split()[1]
    assert f"is a fork of {session}" in said
    kernel.ok("%hermes run -o other Rather of lions")
    assert kernel.value("other.session_id") == fork
    lines = kernel.ok("%hermes sessions").text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(session))
    assert lines[at + 1].startswith(fork)
    assert "└─ Another way" in lines[at + 1]
    assert "20 / 10" in lines[at + 1]
    assert "[zebras]" in kernel.ok("%hermes sessions --search zebras").text
    assert "Nothing is found" in kernel.ok("%hermes sessions --search okapis").out
    kernel.ok(f"%hermes sessions {session} --rename 'Savannah animals'")
    assert "Savannah animals" in kernel.ok("%hermes sessions").text
    assert "lose their history" in kernel.run(f"%hermes sessions --delete {session}").err
    file = tmp_path / "talks.jsonl"
    assert "2 sessions written" in kernel.ok(f"%hermes sessions {fork} --export {file}").out
    assert "0 events were new" in kernel.ok(f"%hermes sessions --import {file}").out
    kernel.ok(f"%hermes sessions --delete {fork}")
    kernel.ok(f"%hermes sessions --delete {session}")
    assert session not in kernel.ok("%hermes sessions").text
    assert "2 sessions read" in kernel.ok(f"%hermes sessions --import {file}").out
    assert "└─ Another way" in kernel.ok("%hermes sessions").text
    answer = kernel.ok(f"%hermes run -s {fork} And of hyenas").text
    assert "You said: And of hyenas" in answer


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("%hermes resume t-nothing", "No session 't-nothing'"),
        ("%hermes resume --yes --background", "--yes answers for a cell that waits"),
        ("%hermes fork s-nothing", "No session 's-nothing'"),
        ("%hermes sessions s-nothing", "What about session s-nothing?"),
        ("%hermes sessions --rename x", "--rename needs the session"),
        ("%hermes sessions --search a --delete b", "exclude each other"),
        ("%hermes sessions --import nowhere.jsonl", "can't be read"),
    ],
)
def test_a_mistake_is_said_in_one_line(kernel: Kernel, source: str, message: str) -> None:
    cell = kernel.run(source)
    assert cell.status == "error"
    assert message in cell.err
    assert "Traceback" not in cell.err


CELLS = (
    "%hermes run -o one What is 1 + 2?",
    "%%hermes run -o two\nAnd once more?",
)


def test_a_notebook_reruns_from_its_recording_without_key_and_network(tmp_path: Path, model: Asked) -> None:
    steps = iter([Call("add", {"a": 1, "b": 2}), Say("It is 3."), Say("Still 3.")])
    model.answer = lambda request: next(steps)
    first = Kernel(tmp_path)
    try:
        first.ok(SETUP.format(url=model.scripted.base_url))
        first.ok(CELLS[0])
        assert "1 turn so far" in first.ok("%hermes record talk.jsonl").out
        first.ok(CELLS[1])
        assert "Recording into" in first.ok("%hermes record").out
        assert "talk.jsonl" in first.ok("%hermes record --stop").out
        texts = first.value("[one.text, two.text]")
    finally:
        first.close()
    n_requests = len(model.scripted.requests)
    (tmp_path / "again").mkdir()
    environment = {"HERMES_NB_REPLAY": str(tmp_path / "talk.jsonl")}
    second = Kernel(tmp_path / "again", environment)
    try:
        second.ok(SETUP.format(url="http://127.0.0.1:9/v1"))
        said = [second.ok(cell) for cell in CELLS]
        assert "Answers come from the recording" in said[0].out
        assert "adding" not in said[0].out
        assert second.value("[one.text, two.text]") == texts == ["It is 3.", "Still 3."]
        missed = second.run("%hermes run Something new")
        assert missed.status == "error"
        assert "holds no step of this turn" in str(missed.error)
        assert "TurnReplayError" in str(missed.error)
        live = second.run(f"%hermes run --replay {tmp_path / 'talk.jsonl'} --live --timeout 20 Something else")
        assert live.status == "error"  # nobody is at that address
        assert "No model answers at 127.0.0.1:9" in str(live.error)
    finally:
        second.close()
    assert len(model.scripted.requests) == n_requests


def test_budget_and_usage_are_seen_in_cells(kernel: Kernel, model: Asked) -> None:
    kernel.ok("%hermes run -s new -o first Hello")
    cell = kernel.run("%hermes run --max-tokens 1 -o spent Hello again")
    assert cell.status == "ok"  # one call is allowed: it oversteps by that call
    kernel.ok("%hermes run Once more")
    table = kernel.ok("%hermes usage " + kernel.value("first.session_id")).text
    assert "3 turns" in table
    assert "60" in table
    refused = kernel.run("%hermes run --max-cost 1 Hello")
    assert "TurnBudgetError" in str(refused.error)
    assert "max_tokens" in str(refused.error)
