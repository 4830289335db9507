"""Tools live in a notebook: their cells are run again, they ask, they run side by side, they show what they draw."""

from __future__ import annotations

import json
import re

import pytest

from hermes_nb.testing import Call, Say
from tests.magics.conftest import Asked
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

LOOK = "@tool\ndef look({parameters}) -> str:\n    'Look.'\n    return {value!r}\n"


@pytest.fixture
def looker(kernel: Kernel) -> Kernel:
    """The kernel with an agent whose tool is `look`."""
    kernel.ok(LOOK.format(parameters="", value="first"))
    kernel.ok("looker = Agent('looker', model=model, tools=[look])\n%hermes agent looker")
    return kernel


def looks(model: Asked) -> None:
    """The model looks once per question and tells what it saw."""
    model.answer = lambda request: (
        Say(f"Saw {request.messages[-1]['content']}") if request.messages[-1]["role"] == "tool" else Call("look")
    )


def parameters(model: Asked) -> list[str]:
    """Those of `look` in the last request."""
    tool = next(tool for tool in model.scripted.requests[-1].tools if tool["name"] == "look")
    return list(tool["parameters"]["properties"])


# -- a cell is run again ---------------------------------------------------------------------------------------------
def test_a_defining_cell_that_is_run_again_replaces_the_tool_at_once(looker: Kernel, model: Asked) -> None:
    looks(model)
    assert "Saw first" in looker.ok("%hermes run -a looker -s new Look").text
    looker.ok(LOOK.format(parameters="", value="second"))
    cell = looker.ok("%hermes run -a looker Look")
    assert "Saw second" in cell.text
    assert "redefined" not in cell.text


def test_a_turn_that_runs_meets_the_new_body(looker: Kernel, model: Asked) -> None:
    looker.ok(LOOK.format(parameters="", value="old"))
    looker.ok(
        "import threading\ngate = threading.Event()\n@tool(parallel=True)\ndef hold() -> str:\n    'Hold.'\n"
        "    gate.wait(30)\n    return ''\n%hermes tools attach hold -a looker"
    )
    queue = iter([Call("hold"), Call("look"), Say("done")])
    model.answer = lambda request: next(queue)
    looker.ok("%hermes run -a looker -s new --background -o later Look")
    looker.ok(LOOK.format(parameters="", value="new"))
    looker.ok("gate.set(); await later.wait();")
    assert looker.value("[t.content for t in later.tools]") == ["", "new"]
    looker.ok("%hermes tools detach hold -a looker")


def test_a_session_keeps_its_schema_until_it_is_refreshed(looker: Kernel, model: Asked) -> None:
    looks(model)
    assert looker.ok("%hermes tools refresh -a looker").out == "No tool has a new form.\n"
    looker.ok("%hermes run -a looker -s new Look")
    before = parameters(model)
    looker.ok(LOOK.format(parameters=f"where_{len(before)}: str = ''", value="third"))
    cell = looker.ok("%hermes run -a looker Look")
    assert "Tool look was redefined, and what the model is told of it changed." in cell.text
    assert "%hermes tools refresh" in cell.text
    assert parameters(model) == before
    assert "Saw third" in cell.text  # the body at once
    assert "redefined" not in looker.ok("%hermes run -a looker Look").text  # said once
    assert "goes on with an earlier form of: look." in looker.ok("%hermes tools -a looker").out
    looker.ok("%hermes run -a looker -s new Look")
    assert parameters(model) == [f"where_{len(before)}"]
    looker.ok(LOOK.format(parameters="why: str = ''", value="fourth"))
    told = looker.ok("%hermes tools refresh look -a looker").out
    assert told == "From the next turn on the model is told the new form of: look.\n"
    cell = looker.ok("%hermes run -a looker Look")
    assert "Tool look was redefined: from this turn on the model is told of its new form." in cell.out
    assert parameters(model) == ["why"]
    assert "goes on with" not in looker.ok("%hermes tools -a looker").out
    assert "Agent 'looker' has no tool 'nothing'. It has: look." in looker.run("%hermes tools refresh nothing -a looker").err


def test_an_agent_that_is_bound_again_takes_new_schemas_and_says_so(looker: Kernel, model: Asked) -> None:
    looks(model)
    looker.ok("%hermes run -a looker -s new Look")
    looker.ok(LOOK.format(parameters="bound: str = ''", value="bound"))
    card = looker.ok("looker = Agent('looker', model=model, tools=[look])\n%hermes agent looker")
    assert "tool look redefined" in str(card.shown)
    cell = looker.ok("%hermes run -a looker Look")
    assert "from this turn on the model is told of its new form" in cell.out
    assert parameters(model) == ["bound"]


def test_a_second_function_of_a_name_is_an_error(looker: Kernel) -> None:
    looker.ok("import types\nother = types.ModuleType('other')\nexec(\"def look():\\n    'Look.'\", vars(other))")
    cell = looker.run("twin = other.look\n%hermes tools attach twin -a looker")
    assert cell.status == "error"
    assert "Two functions are named 'look' in one agent" in str(cell.reply)
    cell = looker.run("both = Agent('both', model=model, tools=[look, other.look])\n%hermes agent both")
    assert "Two functions are named 'look' in one agent" in str(cell.reply)


def test_a_name_that_hermes_owns_is_refused_where_it_is_defined(kernel: Kernel) -> None:
    cell = kernel.run("@tool\ndef read_file(path: str) -> str:\n    'Read.'\n    return ''")
    assert cell.reply["ename"] == "ToolNameError"
    assert "my_read_file" in cell.reply["evalue"]


# -- side by side ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("head", ["@tool\nasync def nap", "@tool(parallel=True)\ndef nap"], ids=["async", "threads"])
def test_four_calls_of_a_second_take_less_than_one_and_a_half(kernel: Kernel, model: Asked, head: str) -> None:
    body = "await asyncio.sleep(1)" if "async" in head else "time.sleep(1)"
    kernel.ok(f"import asyncio, time\n{head}(n: int) -> int:\n    'Nap.'\n    {body}\n    return n")
    kernel.ok("napper = Agent('napper', model=model, tools=[nap])\n%hermes agent napper")
    kernel.ok("%hermes run -a napper -s new warm up")
    steps = iter([[Call("nap", {"n": n}) for n in (3, 1, 2, 0)], Say("done")])
    model.answer = lambda request: next(steps)
    kernel.ok("%hermes run -a napper -o answer Nap")
    assert kernel.value("[s.status for s in answer.spans if s.kind == 'tool']") == ["ok"] * 4
    begun, ended = kernel.value(
        "[min(s.start_unix_s for s in answer.spans if s.kind == 'tool'),"
        " max(s.end_unix_s for s in answer.spans if s.kind == 'tool')]"
    )
    assert ended - begun < 1.5
    given = [m["content"] for m in model.scripted.requests[-1].messages if m["role"] == "tool"]
    assert given == ["3", "1", "2", "0"]


# -- questions -------------------------------------------------------------------------------------------------------
def test_the_agent_s_question_is_asked_in_the_cell(kernel: Kernel, model: Asked) -> None:
    kernel.ok("asker = Agent('asker', model=model, toolsets=['clarify'])\n%hermes agent asker")
    for said, heard in (("2", "blue"), ("something else", "something else")):
        steps = iter([Call("clarify", {"question": "Which colour?", "choices": ["red", "blue"]}), Say("Thanks.")])
        model.answer = lambda request, steps=steps: next(steps)
        cell = kernel.start("%hermes run -a asker -s new -o answer Paint it", allow_stdin=True)
        prompt = kernel.asked()
        assert "Which colour?" in prompt
        assert "2. blue" in prompt
        kernel.client.input(said)
        kernel.finish(cell)
        assert "Thanks." in cell.text
        assert json.loads(model.scripted.requests[-1].messages[-1]["content"])["user_response"] == heard
        found = kernel.value("[[e.kind, e.data.get('answer')] for e in answer.events if e.kind.startswith('clarify')]")
        assert found == [["clarify.requested", None], ["clarify.responded", heard]]


def test_a_command_of_hermes_runs_only_when_the_cell_allows_it(kernel: Kernel, model: Asked) -> None:
    victim = kernel.folder / "victim"
    victim.mkdir()
    kernel.ok("shell = Agent('shell', model=model, toolsets=['terminal'])\n%hermes agent shell")

    def wants() -> None:
        steps = iter([Call("terminal", {"command": f"rm -rf {victim}"}), Say("Done.")])
        model.answer = lambda request: next(steps)

    wants()
    cell = kernel.ok("%hermes run -a shell -s new -o answer Clean up")  # nobody can answer
    assert "Denied: Run this command on your machine?" in cell.out
    assert "%hermes run --yes allows it." in cell.out
    assert kernel.value("answer.tools[0].status") == "denied"
    assert victim.exists()
    wants()
    cell = kernel.start("%hermes run -a shell Clean up", allow_stdin=True)
    assert f"terminal(rm -rf {victim})" in kernel.asked()
    kernel.client.input("n")
    kernel.finish(cell)
    assert victim.exists()
    wants()
    kernel.ok("%hermes run -a shell --yes Clean up")
    assert not victim.exists()


# -- what a tool gives -----------------------------------------------------------------------------------------------
def test_a_plot_of_a_tool_is_shown_and_described(kernel: Kernel, model: Asked) -> None:
    kernel.ok(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\n@tool\ndef draw() -> object:\n    'Draw.'\n"
        "    figure, axes = plt.subplots()\n    axes.plot([1, 2], label='sales'); axes.set_title('Sales of May')\n"
        "    return figure\npainter = Agent('painter', model=model, tools=[draw])\n%hermes agent painter"
    )
    steps = iter([Call("draw"), Say("Drawn.")])
    model.answer = lambda request: next(steps)
    cell = kernel.ok("%hermes run -a painter -s new -o answer Draw")
    assert sum("image/png" in data for data in cell.shown) == 1
    assert "Sales of May" in str(model.scripted.requests[-1].messages[-1]["content"])
    assert kernel.value("type(answer.tools[0].value).__name__") == "Figure"


def test_a_figure_of_the_notebook_is_sent_with_the_question(kernel: Kernel, model: Asked) -> None:
    kernel.ok("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nplt.close(fig)")
    cell = kernel.run("%hermes run -s new -o answer --image fig What is it?")
    assert cell.status == "ok"
    content = model.scripted.requests[-1].messages[-1]["content"]
    assert "What is it?" in str(content)
    assert "image/png" in str(content)


def test_a_cut_result_is_read_on_and_variables_are_listed(kernel: Kernel, model: Asked) -> None:
    kernel.ok(
        "import pandas as pd\nsales = pd.DataFrame({'n': range(3)})\n"
        "@tool(max_result_chars=300)\ndef long(df: pd.DataFrame) -> str:\n    'Long.'\n"
        "    return 'x' * 5000 + f'{len(df)} END'\n"
        "reader = Agent('reader', model=model, tools=[long])\n%hermes agent reader"
    )
    seen: list[str] = []

    def answer(request: object) -> Call | Say:
        last = model.scripted.requests[-1].messages[-1]
        if last["role"] != "tool":
            return Call("list_variables", {"type": "DataFrame"})
        seen.append(str(last["content"]))
        if len(seen) == 1:
            return Call("long", {"df": "sales"})
        if len(seen) == 2:
            found = re.search(r"result_id\W+([\w-]+)", seen[1])
            return Call("more", {"result_id": found[1] if found else "", "offset": -50})
        return Say("Read.")

    model.answer = answer
    kernel.ok("%hermes run -a reader -s new -o answer Read")
    assert "sales" in seen[0]
    assert len(seen[1]) <= 400
    assert "3 END" in seen[2]
    assert kernel.value("len(answer.tools[1].value)") == 5005
