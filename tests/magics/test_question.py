"""Turns that ask: in the cell that waits, by `%hermes approve`, and where nobody can answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hermes_nb.testing import Call, Say
from tests.magics.conftest import Asked
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

CAREFUL = """
@tool(approval=True)
def erase(name: str) -> str:
    "Erase a file."
    print("erasing", name)
    return "erased " + name
%hermes agent careful --tools erase --model scripted --base-url {url} --default
"""


@pytest.fixture
def careful(kernel: Kernel, model: Asked) -> Iterator[Kernel]:
    """The kernel with an agent whose tool needs an approval; the model wants to use it once per question."""
    kernel.ok(CAREFUL.format(url=model.scripted.base_url))
    model.answer = lambda request: (
        Say(f"Got: {request.messages[-1]['content']}")
        if request.messages[-1]["role"] == "tool"
        else Call("erase", {"name": "a.txt"})
    )
    yield kernel
    kernel.ok("%hermes agent analyst --default")


@pytest.mark.parametrize("source", ["%hermes run -s new Erase", "%%time\n%hermes run -s new Erase"])
@pytest.mark.parametrize(("said", "is_allowed"), [("y", True), ("", False), ("no", False)])
def test_the_cell_asks_and_obeys(careful: Kernel, source: str, said: str, is_allowed: bool) -> None:
    cell = careful.start(source, allow_stdin=True)
    prompt = careful.asked()
    assert prompt.startswith("May the agent call erase? erase(")
    assert "a.txt" in prompt
    careful.client.input(said)
    careful.finish(cell)
    assert cell.status == "ok"
    assert ("erasing a.txt" in cell.out) == is_allowed
    assert ("Got: erased a.txt" in cell.text) == is_allowed


@pytest.mark.parametrize("source", ["%hermes run Erase", "def f():\n    %hermes run Erase\nf()"])
def test_an_interrupt_instead_of_an_answer_stops_the_turn(careful: Kernel, source: str) -> None:
    cell = careful.start(source, allow_stdin=True)
    careful.asked()
    careful.interrupt()
    careful.finish(cell)
    assert cell.reply["ename"] == "KeyboardInterrupt"
    assert "erasing" not in cell.out
    assert careful.ok("print(3)").out == "3\n"


def test_where_nobody_can_answer_it_is_denied_and_said(careful: Kernel) -> None:
    cell = careful.ok("%hermes run Erase")
    assert "Denied: May the agent call erase?" in cell.out
    assert "%hermes run --yes allows it." in cell.out
    assert "erasing" not in cell.out


def test_of_a_turn_that_goes_on_the_command_that_allows_is_resume(careful: Kernel) -> None:
    careful.ok("%hermes run --background -o waiting Erase")
    careful.ok("await waiting.wait(until_asked=True)\n%hermes stop")
    cell = careful.ok("%hermes resume")
    assert "Denied: May the agent call erase?" in cell.out
    assert "%hermes resume --yes allows it." in cell.out


def test_yes_allows_without_asking(careful: Kernel) -> None:
    cell = careful.ok("%hermes run --yes Erase")
    assert "erasing a.txt" in cell.out
    assert "Got: erased a.txt" in cell.text


def test_a_background_turn_is_answered_from_another_cell(careful: Kernel) -> None:
    assert "--yes answers for a cell that waits" in careful.run("%hermes run --background --yes Erase").err
    for options, status in (("", "ok"), ("--deny", "denied")):
        careful.ok("%hermes run -s new --background -o later Erase")
        careful.ok("await later.wait(until_asked=True);")
        request_id = careful.value("later.pending[0]['request_id']")
        assert f"{request_id}  careful asks: May the agent call erase?" in careful.ok("%hermes approve").out
        assert request_id in careful.complete("%hermes approve r-")["matches"]
        assert "This asks for permission." in careful.run(f"%hermes approve {request_id} --answer x").err
        careful.ok(f"%hermes approve {request_id[:6]} {options}")
        careful.ok("await later.wait();")
        assert careful.value("later.tools[0].status") == status
    assert careful.ok("%hermes approve").out == "Nothing is asked.\n"
    assert "No open request has the id 'r-x'." in careful.run("%hermes approve r-x").err


def test_turns_of_a_hermes_that_a_cell_made_are_answered_and_stopped_too(careful: Kernel) -> None:
    careful.ok("""
from hermes_nb import Hermes
from hermes_nb.magics import context
mine = Hermes.open_local(state="mine")
bound = mine.bind(context(get_ipython()).hermes.agent("careful").config)
""")
    said = careful.ok("result = await bound.run('Erase')").out
    request_id = careful.value("mine.turns[-1].pending[0]['request_id']")
    assert f"%hermes approve {request_id} (or --deny)" in said
    assert said == careful.value("result.error") + "\n"
    assert f"{request_id}  careful asks: May the agent call erase?" in careful.ok("%hermes approve").out
    careful.ok(f"%hermes approve {request_id}")
    careful.ok("result = await mine.turns[-1].wait()")
    assert careful.value("result.text") == "Got: erased a.txt"
    careful.ok("result = await bound.run('Erase again')")
    assert "Stopped turn" in careful.ok("%hermes stop").out
    assert careful.value("mine.turns[-1].status") == "stopped"
    careful.ok("mine.close()")
    assert careful.ok("%hermes stop").out == "No turn is running.\n"
