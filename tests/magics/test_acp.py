"""`--on acp:COMMAND`: another program answers, by the protocol, in a cell as any other."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import hermes_nb.magics
from hermes_nb.errors import UsageError
from hermes_nb.runtimes.acp import ACP

Run = Callable[[str], str]
STAND_IN = [sys.executable, str(Path(__file__).parents[1] / "runtimes" / "acp_stand_in.py")]


@pytest.mark.hermes
def test_a_question_is_answered_and_the_card_says_whose_model_it_is_and_what_can_not_be_had(
    run: Run, shell: InteractiveShell
) -> None:
    shell.user_ns["other"] = ACP(STAND_IN)
    run("from hermes_nb import Agent\nbrief = Agent('brief', 'Be brief.')")
    run("%hermes agent brief --on other")
    assert "Half and half of: Be brief. | Hello?" in run("%hermes run -a brief Hello?")
    card = run("%hermes agent brief")
    assert "its own (acp, stand-in 9.9)" in card
    assert "functions of the notebook" in card
    assert "offline model" not in card


@pytest.mark.hermes
def test_what_it_can_not_do_is_refused_by_name(run: Run, shell: InteractiveShell) -> None:
    shell.user_ns["other"] = ACP(STAND_IN)
    run("from hermes_nb import Agent, tool\n@tool\ndef one() -> int:\n    'One.'\n    return 1\n")
    run("handy = Agent('handy', tools=[one])")
    run("%hermes agent handy --on other")
    assert "can't do this: functions of the notebook" in run("%hermes run -a handy Hello?")


@pytest.mark.hermes
def test_it_calls_functions_of_the_notebook_on_the_main_thread(run: Run, shell: InteractiveShell) -> None:
    shell.user_ns["other"] = ACP([*STAND_IN, "1", "tools"])
    run("import threading\nwhere = []\nfrom hermes_nb import Agent, tool")
    run("@tool\ndef add(a: int, b: int) -> int:\n    'Add.'\n    where.append(threading.current_thread())\n    return a + b")
    run("handy = Agent('handy', tools=[add])")
    run("%hermes agent handy --on other")
    assert "ok 42" in run("%hermes run -a handy the notebook")
    assert shell.user_ns["where"] == [threading.main_thread()]


def test_the_command_stands_after_the_colon(shell: InteractiveShell) -> None:
    context = hermes_nb.magics.context(shell)
    found = context.runtime(f"acp:{shlex.join(STAND_IN)}")
    assert isinstance(found, ACP)
    assert found.command == STAND_IN
    assert context.runtime("acp").to_dict() == {"type": "acp", "command": ["hermes", "acp"]}
    with pytest.raises(UsageError, match="takes nothing after its name"):
        context.runtime("process:x")
