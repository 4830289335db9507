"""`%hermes eval` in a kernel: the page shows, the evaluation is in a variable, and what is wrong is said at once."""

from __future__ import annotations

import pytest

from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.testing import Hang, Say, Step
from tests.magics.conftest import Asked, prompt
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

SETUP = """
cases = [{"prompt": "good", "expected": "good"}, {"prompt": "bad", "expected": "else"}]
def is_in(case, result):
    return case.expected in result.text
"""


@pytest.fixture(autouse=True)
def _cases(kernel: Kernel) -> None:
    kernel.ok(SETUP)


def test_cases_are_asked_and_the_page_is_shown(kernel: Kernel, model: Asked) -> None:
    cell = kernel.ok("%hermes eval -a analyst --cases cases --scorers is_in -o quality")
    assert "2 of 2 rows" in str(cell.messages)
    assert "The worst first" in str(cell.messages)
    assert kernel.ok("print(quality.frame.is_in.tolist())").out == "[1.0, 0.0]\n"
    kernel.ok("%%hermes eval -a analyst --cases cases --scorers is_in -o other --quiet\nSay {{row.prompt}}")
    assert kernel.ok("print(other.frame.prompt.tolist())").out == "['Say good', 'Say bad']\n"


def test_turns_of_a_session_are_cases(kernel: Kernel, model: Asked) -> None:
    kernel.ok("%hermes run -a analyst -s new -o result Say something good")
    session_id = kernel.ok("print(result.session_id)").out.strip()
    kernel.ok(f"%hermes eval -a analyst --from-session {session_id} --scorers is_in -o again --quiet")
    assert (
        kernel.ok("print(again.frame.prompt.tolist(), again.frame.is_in.tolist())").out == "['Say something good'] [1.0]\n"
    )


def test_an_interrupt_leaves_what_was_answered(kernel: Kernel, model: Asked) -> None:
    def answer(request: ChatRequest) -> Step:
        return Hang() if prompt(request) == "bad" else Say("good")

    model.answer = answer
    n_before = len(model.scripted.requests)
    cell = kernel.start("%hermes eval -a analyst --cases cases --scorers is_in --parallel 1 -o part")
    model.scripted.wait_for_requests(n_before + 2, 60)
    kernel.interrupt()
    kernel.finish(cell)
    model.scripted.release()
    model.answer = None
    assert kernel.ok("print(part.frame.status.tolist())").out == "['completed', 'not_asked']\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%hermes eval -a analyst --scorers is_in", "Name the cases"),
        ("%hermes eval -a analyst --cases csaes --scorers is_in", "--cases csaes names no variable of this notebook."),
        ("%hermes eval -a analyst --cases cases", "needs a scorer"),
        ("%hermes eval -a analyst --cases cases --judge analyst", "needs a rubric"),
        ("%hermes eval -a analyst --cases cases --scorers is_on", "is_on"),
        ("def f():\n    %hermes eval -a analyst --cases cases --scorers is_in\nf()", "await evaluate"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_sent(kernel: Kernel, model: Asked, line: str, said: str) -> None:
    n_before = len(model.scripted.requests)
    cell = kernel.run(line)
    assert said in str([m["content"] for m in cell.messages])
    assert len(model.scripted.requests) == n_before
