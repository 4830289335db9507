"""A notebook's folder of before the engines had environments goes on: nothing of it is lost, nothing is paid twice.

`old_notebook.tar.gz` is what commit 3fd8283 wrote for an agent `solver` with a tool `add`: a session of two turns, and one
turn whose worker was killed after the model's first step and the tool's result.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import hermes_nb.magics
from hermes_nb.testing import Say, ScriptedModel

pytestmark = pytest.mark.hermes
WHOLE, CUT = "s-032f684308", "t-3c49a976c2"
Run = Callable[[str], str]
AGENT = """
from hermes_nb import Agent, tool
calls = []

@tool
def add(n: int) -> int:
    "Add one."
    calls.append(n)
    return n + 1

solver = Agent("solver", instructions="Be brief.", model=model, tools=[add])
"""


@pytest.fixture
def old(tmp_path: Path, run: Run, shell: InteractiveShell) -> Run:
    """`run`, in the folder of the old notebook."""
    with tarfile.open(Path(__file__).with_name("old_notebook.tar.gz")) as packed:
        packed.extractall(tmp_path, filter="data")
    return run


def test_its_sessions_are_listed_and_its_timeline_is_shown(old: Run) -> None:
    listed = old("%hermes sessions")
    assert "What is one and one?" in listed
    assert "What is 41 and one?" in listed
    shown = old(f"%hermes timeline {WHOLE} --as text")
    for said in ("It is 2.", "As I said: 2.", "add"):
        assert said in shown


def test_a_session_of_it_goes_on_and_the_model_hears_what_was_said(old: Run, shell: InteractiveShell) -> None:
    with ScriptedModel([Say("Three turns by now.")]) as model:
        shell.user_ns["model"] = model.model
        old(AGENT)
        assert "Three turns by now." in old(f"%hermes run -a solver -s {WHOLE} How many turns?")
        said = [(m["role"], str(m.get("content") or "")) for m in model.requests[0].messages if m["role"] != "system"]
    assert said == [
        ("user", "What is one and one?"),
        ("assistant", ""),
        ("tool", "2"),
        ("assistant", "It is 2."),
        ("user", "And again?"),
        ("assistant", "As I said: 2."),
        ("user", "How many turns?"),
    ]


def test_a_turn_that_was_cut_off_goes_on_and_pays_for_nothing_again(old: Run, shell: InteractiveShell) -> None:
    with ScriptedModel([Say("It is 42.")]) as model:
        shell.user_ns["model"] = model.model
        old(AGENT)
        assert "It is 42." in old(f"%hermes resume {CUT}")
        assert len(model.requests) == 1
        assert shell.user_ns["calls"] == []
        result = hermes_nb.magics.context(shell).hermes.turns[-1].result
    assert result is not None
    assert [e.data.get("replayed") for e in result.events if e.kind == "tool.completed"] == [True]
