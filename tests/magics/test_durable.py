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
