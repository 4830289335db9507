"""`%hermes map` in a kernel: a frame comes out, the cell can be interrupted, and what is wrong is said at once."""

from __future__ import annotations

import pytest

from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.testing import Fail, Hang, Say, Step
from tests.magics.conftest import Asked, prompt
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]


@pytest.fixture(autouse=True)
def _rows(kernel: Kernel) -> None:
    kernel.ok('import pandas as pd\ndf = pd.DataFrame({"text": ["good", None, "bad"], "n": [1, 2, 3]}, index=list("abc"))')


def test_the_body_is_asked_of_each_row_and_the_frame_is_there(kernel: Kernel, model: Asked) -> None:
    def answer(request: ChatRequest) -> Step:
        return Fail(400, "Not that one.") if "bad" in prompt(request) else Say(prompt(request).upper())

    model.answer = answer
    cell = kernel.ok("%%hermes map -a analyst --over df -o out\nMood of {{row.text}}?")
    assert "out: a frame of 3 rows." in cell.out
    assert "3 of 3 rows · 1 empty · 1 without an answer" in str(cell.messages)
    assert kernel.ok("print(out.status.tolist(), out.index.tolist())").out == (
        "['completed', 'missing', 'failed'] ['a', 'b', 'c']\n"
    )
    assert kernel.ok("print(out.answer.tolist()[0], '|', out.error.tolist()[2])").out.startswith("MOOD OF GOOD? | ")


def test_a_column_is_asked_value_by_value_and_kept_under_a_checkpoint(kernel: Kernel, model: Asked) -> None:
    line = "%hermes map -a analyst --over df.text --checkpoint kept -o out --quiet"
    kernel.ok(line)
    n_before = len(model.scripted.requests)
    assert kernel.ok(line + "\nprint(out.answer.tolist()[0], out.n_tries.tolist())").out == "You said: good [0, 0, 0]\n"
    assert len(model.scripted.requests) == n_before


def test_an_interrupt_ends_the_cell_and_leaves_what_was_answered(kernel: Kernel, model: Asked) -> None:
    model.answer = lambda request: Hang() if prompt(request) == "bad" else Say("fine")
    n_before = len(model.scripted.requests)
    cell = kernel.start("%hermes map -a analyst --over df.text --parallel 1 -o part")
    model.scripted.wait_for_requests(n_before + 2, 60)
    kernel.interrupt()
    kernel.finish(cell)
    model.scripted.release()
    model.answer = None
    assert kernel.ok("print(part.status.tolist())").out == "['completed', 'missing', 'not_asked']\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%hermes map -a analyst --over dff", "--over dff names no variable of this notebook. Did you mean 'df'?"),
        ("%hermes map -a analyst --over df.txt", "--over df.txt can't be looked up"),
        ("%hermes map -a analyst", "--over"),
        ("%hermes map -a analyst --over df", "Columns: text, n."),
        ("%hermes map -a analyst --over df --paralel 3", "Unknown option --paralel. Did you mean"),
        ("def f():\n    %hermes map -a analyst --over df.text\nf()", "await bound.map"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_sent(kernel: Kernel, model: Asked, line: str, said: str) -> None:
    n_before = len(model.scripted.requests)
    cell = kernel.run(line)
    assert said in str([m["content"] for m in cell.messages])
    assert len(model.scripted.requests) == n_before
