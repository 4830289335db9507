"""A tool asks a person: by `input`, by `getpass`, at pdb's prompt. The cell asks it; nobody is waited for in vain."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import pytest

from tests.magics.conftest import Asked, called
from tests.magics.kernel import Cell, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

TOOL = """
@tool({options})
{define} {kind}_{name}(n: int = 2) -> str:
    "It {name}."
    {first}
    {body}
"""
KINDS = {"plain": "def", "awaiting": "async def", "threaded": "def"}
BODIES = {
    "asks": 'return "said " + input("who? ")',
    "hides": 'return "said " + getpass.getpass("key? ")',
    "limited": 'said = "said " + input("who? "); {sleep}(0.01); return said',
    "breaks": "x = n * 7; breakpoint()\n    x += 1\n    return f'x={x}'",
    "fails": "x = n * 7\n    return str(x / (n - 2))",
    "steps": "x = n * 7; pdb.set_trace()\n    x += 1\n    return f'x={x}'",
}
LIMIT_S = 0.25
FORMS = {
    "magic": "%%hermes run -s new -o answer\n{}",
    "bound": "answer = await bound.run({!r}, session_id=await bound.new_session()); answer",
}
WAYS = [("plain", "magic"), ("awaiting", "bound"), ("threaded", "magic")]


def tool_of(kind: str, name: str) -> str:
    """The source of a tool."""
    sleep = "await asyncio.sleep" if kind == "awaiting" else "time.sleep"
    options = [f"parallel={kind == 'threaded'}", *([f"timeout_s={LIMIT_S}"] if name == "limited" else [])]
    return TOOL.format(
        options=", ".join(options),
        define=KINDS[kind],
        kind=kind,
        name=name,
        first=f"{sleep}(0.05)",
        body=BODIES[name].replace("{sleep}", sleep),
    )


@pytest.fixture(scope="module")
def module_asker(module_kernel: Kernel) -> Kernel:
    module_kernel.ok("%colors nocolor\nimport asyncio, getpass, pdb, sys, time")
    names = [(kind, name) for kind in KINDS for name in BODIES]
    module_kernel.ok("".join(tool_of(*one) for one in names))
    module_kernel.ok(f"asker = Agent('asker', model=model, tools=[{', '.join('_'.join(one) for one in names)}])")
    module_kernel.ok("%hermes agent asker --default -o bound")
    return module_kernel


@pytest.fixture
def asker(module_asker: Kernel, model: Asked) -> Kernel:
    """The module's kernel: `asker` is bound, and calls the tool that the question names."""
    model.answer = called
    return module_asker


def answered(kernel: Kernel, cell: Cell, answers: Sequence[str], *, after_s: float = 0.0) -> list[str]:
    """Answer what a cell asks until it ends; the prompts."""
    prompts = []
    for answer in answers:
        prompts.append(kernel.asked())
        asked_s = time.monotonic()
        kernel.until(lambda asked_s=asked_s: time.monotonic() - asked_s >= after_s)
        kernel.client.input(answer)
    kernel.finish(cell)
    return prompts


@pytest.mark.parametrize(("kind", "form"), WAYS)
@pytest.mark.parametrize(("name", "question"), [("asks", "who? "), ("hides", "key? ")])
def test_a_tool_is_answered_in_the_cell(asker: Kernel, kind: str, form: str, name: str, question: str) -> None:
    cell = asker.start(FORMS[form].format(f"{kind}_{name}"), allow_stdin=True)
    assert answered(asker, cell, ["Ada"]) == [question]
    assert asker.value("answer.text") == "Got: said Ada"


@pytest.mark.parametrize("kind", KINDS)
def test_the_time_limit_stands_still_while_a_person_is_asked(asker: Kernel, kind: str) -> None:
    cell = asker.start(FORMS["magic"].format(f"{kind}_limited"), allow_stdin=True)
    answered(asker, cell, ["Ada"], after_s=2 * LIMIT_S)
    assert asker.value("answer.text") == "Got: said Ada"


SOME = [("plain", "asks"), ("awaiting", "hides"), ("threaded", "steps"), ("plain", "steps")]


@pytest.mark.parametrize(("kind", "name"), SOME)
def test_where_nobody_can_type_the_model_is_told(asker: Kernel, kind: str, name: str) -> None:
    asker.ok(FORMS["magic"].format(f"{kind}_{name}"))
    assert "this frontend does not support input requests" in asker.value("answer.text")


@pytest.mark.parametrize(("kind", "name"), SOME)
def test_a_background_turn_whose_cell_is_over_is_told_why(asker: Kernel, model: Asked, kind: str, name: str) -> None:
    asker.ok(f"%hermes run -s new --background -o later {kind}_{name}")
    asker.until(lambda: len(model.scripted.requests) == 2)  # while no cell runs
    asker.ok("result = await later.wait()")
    assert asker.value("result.tools[0].status") == "error"
    assert f"Tool '{kind}_{name}' asks by" in asker.value("result.text")
    assert asker.value("input.__qualname__") == "Kernel.raw_input"


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_instead_of_an_answer_ends_the_turn(asker: Kernel, kind: str) -> None:
    cell = asker.start(FORMS["magic"].format(f"{kind}_asks"), allow_stdin=True)
    asker.asked()
    asker.interrupt()
    assert asker.finish(cell).reply["ename"] == "KeyboardInterrupt"
    assert asker.value("answer.status") == "stopped"


@pytest.mark.parametrize(("kind", "form"), WAYS)
def test_pdb_goes_through_a_tool(asker: Kernel, kind: str, form: str) -> None:
    cell = asker.start(FORMS[form].format(f"{kind}_steps"), allow_stdin=True)
    steps = ["n"] * (2 if sys.version_info >= (3, 13) else 1)  # from 3.13 on it halts at the call, not after it
    commands = ["p x", *steps, "p x + 100", "c"]
    assert answered(asker, cell, commands) == ["ipdb> "] * len(commands)
    assert f"{kind}_steps()" in cell.out
    assert "\n14\n" in cell.out
    assert "\n115\n" in cell.out
    assert asker.value("[answer.text, sys.gettrace()]") == ["Got: x=15", None]


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_pdb_ends_the_tool_and_not_the_turn(asker: Kernel, kind: str) -> None:
    cell = asker.start(FORMS["magic"].format(f"{kind}_steps"), allow_stdin=True)
    answered(asker, cell, ["q"])
    assert cell.status == "ok"
    assert "BdbQuit" in asker.value("answer.text")
    assert asker.value("[answer.tools[0].status, sys.gettrace()]") == ["error", None]


@pytest.mark.parametrize("kind", KINDS)
def test_breakpoint_opens_pdb_in_a_tool(asker: Kernel, kind: str) -> None:
    cell = asker.start("before = sys.breakpointhook\n" + FORMS["bound"].format(f"{kind}_breaks"), allow_stdin=True)
    assert answered(asker, cell, ["p x", "c"]) == ["ipdb> "] * 2
    assert f"{kind}_breaks()" in cell.out
    assert asker.value("[answer.text, sys.breakpointhook is before]") == ["Got: x=15", True]


def test_breakpoint_is_ignored_where_nobody_can_type_as_in_the_rest_of_the_notebook(asker: Kernel) -> None:
    asker.ok(FORMS["magic"].format("plain_breaks"))
    assert asker.value("answer.text") == "Got: x=15"


def test_ipykernel_still_ignores_breakpoint_in_a_cell(asker: Kernel) -> None:
    """ipython/ipykernel#897: once it is mended, hermes_nb/host/execution/debugger.py needs no hook of its own."""
    cell = asker.finish(asker.start("def f():\n    breakpoint()\n    return 'went on'\nf()", allow_stdin=True))
    assert cell.text == "'went on'"


@pytest.mark.parametrize(("kind", "form"), WAYS)
def test_debug_enters_a_tool_that_failed(asker: Kernel, kind: str, form: str) -> None:
    asker.run("1 / 0")  # an earlier error of a cell
    asker.ok(FORMS[form].format(f"{kind}_fails"))
    cell = asker.start("%debug", allow_stdin=True)
    assert answered(asker, cell, ["p n, x", "up", "q"]) == ["ipdb> "] * 3
    assert f"{kind}_fails()" in cell.out
    assert "\n(2, 14)\n" in cell.out
    assert "Oldest frame" in cell.out


@pytest.mark.parametrize("name", ["asks", "steps"])
def test_debug_does_not_enter_what_is_no_error_of_a_tool(asker: Kernel, name: str) -> None:
    asker.run("int('x')")
    cell = asker.start(FORMS["magic"].format(f"plain_{name}"), allow_stdin=True)
    answered(asker, cell, ["q"])
    assert asker.value("sys.last_type.__name__") == "ValueError"
