"""`%hermes agent` beyond the card: its code, where its turns run, and the form where there is no notebook."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from IPython.core.interactiveshell import InteractiveShell

import hermes_nb.magics

Run = Callable[[str], str]
SETUP = """
from hermes_nb import Agent, tool
@tool
def top(n: int = 3) -> int:
    "Top."
    return n
analyst = Agent("analyst", "Be brief.", "offline", tools=[top])
"""


def next_input(shell: InteractiveShell) -> str:
    text = shell.rl_next_input or ""
    shell.rl_next_input = None
    return str(text)


def test_the_code_of_an_agent_comes_into_the_next_cell(run: Run, shell: InteractiveShell) -> None:
    assert run(SETUP) == ""
    assert run("%hermes agent analyst --code") == ""
    code = next_input(shell)
    assert code.splitlines()[-1] == "%hermes agent analyst"
    before = shell.user_ns["analyst"]
    assert "Agent analyst" in run(code)
    assert shell.user_ns["analyst"] == before
    assert shell.user_ns["analyst"] is not before


def test_a_tool_without_a_variable_can_not_be_written(run: Run) -> None:
    run(SETUP + "analyst = Agent('analyst', tools=[tool(lambda: 1, name='one')])")
    assert "in no variable" in run("%hermes agent analyst --code")


def test_where_an_agents_turns_run_is_kept_until_it_is_changed(run: Run, shell: InteractiveShell) -> None:
    run(SETUP)
    context = hermes_nb.magics.context(shell)
    assert "runtime  flyte:local" in run("%hermes agent analyst --on flyte:local")
    assert context.runs_on("analyst") == "flyte:local"
    assert "runtime  flyte:local" in run("%hermes agent analyst")
    assert "--on flyte:local" in (run("%hermes agent analyst --code") or next_input(shell))
    out = run("%hermes agent analyst --on process")
    assert "runtime flyte:local -> process" in out
    assert context.runs_on("analyst") is None
    assert "No runtime named 'nowhere'" in run("%hermes agent analyst --on nowhere")


def test_a_form_takes_no_other_options_and_needs_a_notebook(run: Run) -> None:
    run(SETUP)
    assert "fields of the form" in run("%hermes agent analyst --ui --model x")
    assert "no agent was made with this form" in run("%hermes agent --ui")
    assert "fields of its form" in run("%hermes promote analyst --ui --yes")
    assert "nothing was submitted from here" in run("%hermes promote analyst --ui")


def test_the_card_names_a_tool_that_tells_the_model_nothing(run: Run) -> None:
    run("from hermes_nb import Agent\ndef mute(a: int) -> int:\n    return a\nquiet = Agent('quiet', tools=[mute])")
    assert "mute (no docstring to tell the model what it does)" in run("%hermes agent quiet")


@pytest.mark.parametrize("name", ["ipywidgets", "anywidget"])
def test_without_widgets_the_card_is_as_it_was(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_nb.widgets import promote

    find = promote.importlib.util.find_spec
    monkeypatch.setattr(promote.importlib.util, "find_spec", lambda wanted: None if wanted == name else find(wanted))
    run(SETUP)
    assert "Agent analyst" in run("%hermes agent analyst")
