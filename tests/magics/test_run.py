"""`%hermes run` in a real kernel, against the real Hermes and a scripted model."""

from __future__ import annotations

import time
from importlib import metadata

import pytest
from _pytest.mark import ParameterSet

from hermes_nb.testing import Call, Fail, Hang, Say
from tests.magics.conftest import Asked
from tests.magics.kernel import Cell, Kernel
from tests.magics.test_transform import BODIES

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

STOP_S = 1.0


def timed(line: str) -> ParameterSet:
    """The line under `%%time`, which before IPython 9.4 shows the cell's error and swallows it."""
    is_old = tuple(map(int, metadata.version("ipython").split(".")[:2])) < (9, 4)
    return pytest.param(f"%%time\n{line}", marks=pytest.mark.skipif(is_old, reason="%%time of this IPython swallows errors"))


def test_the_answer_is_shown_and_bound_and_the_cell_has_no_value(kernel: Kernel) -> None:
    cell = kernel.ok("%%hermes run -a analyst -o answer\nWhich customers matter?")
    assert "You said: Which customers matter?" in cell.text
    assert cell.contents("execute_result") == []
    assert kernel.value("[type(answer).__name__, answer.status, answer.text]") == [
        "RunResult",
        "completed",
        "You said: Which customers matter?",
    ]
    assert kernel.value("_ is None or 'RunResult' not in type(_).__name__")


@pytest.mark.parametrize("body", [b for b in BODIES if "\ud800" not in b], ids=lambda body: repr(body[:12]))
def test_the_body_reaches_the_model_byte_for_byte(kernel: Kernel, model: Asked, body: str) -> None:
    kernel.ok(f"%%hermes run -s new -o answer\n{body}")
    assert kernel.value("next(e.data['prompt'] for e in answer.events if e.kind == 'turn.started')") == body
    assert model.prompts == [body]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%hermes run What's {x}, $y and which one?", "What's {x}, $y and which one?"),
        ('%hermes run "Which -a one?" -o answer', "Which -a one?"),
        ("%hermes run -- -a is an option", "-a is an option"),
        ("n = 3\n%hermes run --format {{n}} of {n}, {{ 'a' }}\n", None),
        ("n = 3\n%hermes run --format {{n}} of {n}", "3 of {n}"),
    ],
)
def test_a_question_on_the_line_reaches_the_model_as_typed(
    kernel: Kernel, model: Asked, source: str, expected: str | None
) -> None:
    cell = kernel.run(source)
    assert model.prompts == ([] if expected is None else [expected])
    assert (cell.status == "ok") == (expected is not None)


@pytest.mark.parametrize(
    "source",
    ["%%hermes run\n", "%%hermes run\n  \n", "%hermes run", "%hermes run -x hi", "%hermes run -a no hi", "%hermes rnu hi"],
)
def test_a_mistake_asks_nothing_and_ends_the_cell_without_traceback(kernel: Kernel, model: Asked, source: str) -> None:
    cell = kernel.run(source)
    assert (cell.status, cell.reply["ename"]) == ("error", "UsageError")
    assert cell.err.startswith("UsageError: ")
    assert len(cell.err.splitlines()) == 1
    assert cell.error is None
    assert model.prompts == []


@pytest.mark.parametrize(
    "source",
    [
        "%%time\n%hermes run hi",
        "for _ in range(1):\n    %hermes run hi",
        "def ask():\n    %hermes run hi\nask()",
        "%%capture captured\n%hermes run hi",
        "get_ipython().run_cell_magic('hermes', 'run', 'hi')",
        "get_ipython().run_line_magic('hermes', 'run hi')",
        "get_ipython().run_cell('%hermes run hi');",
        "get_ipython().run_cell('%%hermes run\\nhi');",
        "%time %hermes run hi",
        "if True:\n    with open('/dev/null'):\n        %hermes run hi",
        "async def ask():\n    %hermes run hi\nawait ask()",
    ],
)
def test_it_works_wherever_it_is_called(kernel: Kernel, model: Asked, source: str) -> None:
    for _ in range(2):
        cell = kernel.ok(source)
        if "captured" in source:
            cell = kernel.ok("captured.show()")
        assert "You said: hi" in cell.text
        assert "never awaited" not in cell.err
    # A cell that a cell runs comes with the newline IPython ends it with.
    assert [p.removesuffix("\n") if "run_cell(" in source else p for p in model.prompts] == ["hi", "hi"]


def test_a_tool_runs_in_the_cell_awaiting_or_blocking(kernel: Kernel, model: Asked) -> None:
    for source in ("%hermes run What is 2 + 3?", "%%time\n%hermes run What is 2 + 3?"):
        steps = iter([Call("add", {"a": 2, "b": 3}), Say("It is 5.")])
        model.answer = lambda request, steps=steps: next(steps)
        cell = kernel.ok(source)
        assert "adding 2 3" in cell.out
        assert "It is 5." in cell.text


def test_an_async_tool_is_refused_where_the_caller_blocks_its_loop(kernel: Kernel, model: Asked) -> None:
    kernel.ok(
        "@tool\nasync def look(name: str) -> str:\n    'Look.'\n    return name\n"
        "looker = Agent('looker', model=model, tools=[look])"
    )
    kernel.ok("%hermes agent looker")
    cell = kernel.run("def ask():\n    %hermes run -a looker hi\nask()")
    assert cell.reply["ename"] == "LoopBlockedError"
    assert len(cell.reply["traceback"]) == 1
    assert "look" in cell.reply["evalue"]
    assert model.prompts == []
    steps = iter([Call("look", {"name": "x"}), Say("Seen.")])
    model.answer = lambda request: next(steps)
    assert "Seen." in kernel.ok("%hermes run -a looker hi").text


def test_the_history_shows_what_was_typed(kernel: Kernel) -> None:
    source = "%%hermes run\nWhat's {this}?\n\nend"
    kernel.ok(source)
    assert kernel.value("[In[-2], _ih[-2], _i]") == [source] * 3


# -- how a turn ends the cell ----------------------------------------------------------------------------------------
def hang(model: Asked) -> Hang:
    """A model that stops in the middle of a sentence."""
    step = Hang("Once upon ", "a time.")
    model.answer = lambda request: step
    return step


def interrupt(kernel: Kernel, cell: Cell) -> float:
    """Interrupt a cell; seconds until it was idle."""
    began_s = time.monotonic()
    kernel.interrupt()
    kernel.finish(cell)
    return time.monotonic() - began_s


@pytest.mark.parametrize("source", ["%%hermes run -o answer\nTell me", timed("%hermes run -o answer Tell me")])
def test_an_interrupt_keeps_the_partial_answer_and_ends_the_cell(kernel: Kernel, model: Asked, source: str) -> None:
    hang(model)
    cell = kernel.start(source)
    kernel.until(lambda: "Once upon" in cell.text)
    took_s = interrupt(kernel, cell)
    assert took_s < STOP_S
    assert (cell.status, cell.reply["ename"]) == ("error", "KeyboardInterrupt")
    assert cell.error is not None
    assert len(cell.error["traceback"]) == 1
    assert "was stopped; what had arrived is kept" in cell.error["traceback"][0]
    assert "Once upon" in cell.text
    assert kernel.value("[answer.status, answer.text.strip()]") == ["stopped", "Once upon"]
    model.answer = None
    assert "You said: Still there?" in kernel.ok("%hermes run Still there?").text
    assert model.prompts[-1] == "Still there?"


def test_an_interrupt_before_the_first_byte_stops_too(kernel: Kernel, model: Asked) -> None:
    model.answer = lambda request: Say("late", first_byte_delay_s=60)
    cell = kernel.start("%hermes run -o answer Tell me")
    kernel.until(lambda: bool(model.prompts))
    assert interrupt(kernel, cell) < STOP_S
    assert cell.reply["ename"] == "KeyboardInterrupt"
    assert kernel.value("[answer.status, answer.text]") == ["stopped", ""]


@pytest.mark.parametrize("source", ["%hermes run -o answer Sleep", timed("%hermes run -o answer Sleep")])
def test_an_interrupt_reaches_a_sleeping_tool(kernel: Kernel, model: Asked, source: str) -> None:
    model.answer = lambda request: Call("sleepy", {"seconds": 60})
    kernel.ok("import time")
    cell = kernel.start(source)
    kernel.until(lambda: "sleepy" in cell.text)
    assert interrupt(kernel, cell) < STOP_S
    assert cell.reply["ename"] == "KeyboardInterrupt"
    assert kernel.value("answer.status") == "stopped"
    assert len(model.prompts) == 1


def test_a_stop_from_a_thread_ends_the_cell_as_an_interrupt_does(kernel: Kernel, model: Asked) -> None:
    hang(model)
    kernel.ok(
        "import threading\nfrom hermes_nb.magics import context\nhermes = context(get_ipython()).hermes\n"
        "def stop():\n    while not hermes.turns or hermes.turns[-1].is_done:\n        time.sleep(0.01)\n"
        "    hermes.turns[-1].stop()\nimport time\nthreading.Thread(target=stop).start()"
    )
    cell = kernel.run("%hermes run -o answer Tell me")
    assert cell.reply["ename"] == "KeyboardInterrupt"
    assert kernel.value("answer.status") == "stopped"


@pytest.mark.parametrize("source", ["%hermes run -o answer hi", timed("%hermes run -o answer hi")])
def test_a_failure_is_one_line_and_the_result_is_bound_before(kernel: Kernel, model: Asked, source: str) -> None:
    model.answer = lambda request: Fail(401, "Incorrect API key provided: {key}")
    kernel.ok("answer = None")
    cell = kernel.run(source)
    assert (cell.status, cell.reply["ename"]) == ("error", "TurnFailedError")
    assert cell.error is not None
    assert [line.startswith("TurnFailedError: Turn t-") for line in cell.error["traceback"]] == [True]
    assert kernel.value("answer.status") == "failed"
    assert "sk-scripted" not in str(cell.messages) + str(cell.reply)


def test_a_timeout_stops_the_turn_and_says_so(kernel: Kernel, model: Asked) -> None:
    hang(model)
    cell = kernel.run("%hermes run --timeout 0.5 -o answer hi")
    assert cell.reply["ename"] == "TurnTimeoutError"
    assert kernel.value("answer.status") == "timed_out"


# -- sessions --------------------------------------------------------------------------------------------------------
def conversation(model: Asked) -> list[str]:
    """The user messages of the last request."""
    return [str(m["content"]) for m in model.scripted.requests[-1].messages if m["role"] == "user"]


def test_runs_continue_the_session_and_a_rerun_says_so(kernel: Kernel, model: Asked) -> None:
    first = kernel.ok("%hermes run -s new -o answer one", cell_id="a")
    assert first.out == ""
    assert kernel.ok("%hermes run two", cell_id="b").out == ""
    again = kernel.ok("%hermes run two", cell_id="b")
    session_id = kernel.value("answer.session_id")
    assert again.out == f"Turn 3 of session {session_id}; --again replaces this cell's last turn instead.\n"
    assert conversation(model) == ["one", "two", "two"]


def test_a_rerun_in_a_new_session_has_nothing_to_say(kernel: Kernel) -> None:
    for _ in range(2):
        assert kernel.ok("%hermes run -s new one", cell_id="h").out == ""


def test_again_replaces_the_turn_the_cell_made_before(kernel: Kernel, model: Asked) -> None:
    kernel.ok("%hermes run -s new one", cell_id="c")
    kernel.ok("%hermes run --again two", cell_id="d")
    kernel.ok("%hermes run three", cell_id="e")
    cell = kernel.ok("%hermes run --again other", cell_id="d")
    assert "; it replaces turn t-" in cell.out
    assert conversation(model) == ["one", "three", "other"]


def test_again_knows_a_cell_by_the_id_that_colab_gives_it(kernel: Kernel, model: Asked) -> None:
    colab = {"colab": {"cell_id": "x1"}}
    kernel.ok("%hermes run -s new one")
    kernel.finish(kernel.start("%hermes run two", metadata=colab))
    cell = kernel.finish(kernel.start("%hermes run --again edited", metadata=colab, allow_stdin=True))
    assert "; it replaces turn t-" in cell.out
    assert conversation(model) == ["one", "edited"]
    assert len(cell.shown) == 1  # streamed in place, as in a notebook


def test_again_finds_its_turn_in_a_session_given_by_title(kernel: Kernel, model: Asked) -> None:
    kernel.ok("%hermes run -s new A titled session")
    for text in ("two", "other"):
        kernel.ok(f"%hermes run --again -s 'A titled session' {text}", cell_id="i")
    assert conversation(model) == ["A titled session", "other"]


def test_each_run_of_a_cell_has_its_own_turn_to_replace(kernel: Kernel, model: Asked) -> None:
    kernel.ok("%hermes run -s new zero", cell_id="f")
    source = "for x in 'ab':\n    %hermes run --again --format {{x}}"
    kernel.ok(source, cell_id="g")
    assert conversation(model) == ["zero", "a", "b"]
    kernel.ok(source, cell_id="g")
    assert conversation(model) == ["zero", "a", "b"]
    kernel.ok(source, cell_id="g")
    assert conversation(model) == ["zero", "a", "b"]


def test_a_session_is_found_by_id_start_and_title(kernel: Kernel, model: Asked) -> None:
    kernel.ok("%hermes run -s new -o answer A title of its own")
    session_id = kernel.value("answer.session_id")
    kernel.ok("%hermes run -s new elsewhere")
    for wanted in (session_id, session_id[:8], "'A title of its own'"):
        kernel.ok(f"%hermes run -s {wanted} -o answer more")
        assert kernel.value("answer.session_id") == session_id
    kernel.ok("%hermes run -o answer back")
    assert conversation(model) == ["elsewhere", "back"]
    assert session_id in kernel.ok("%hermes sessions").text


def test_an_unknown_session_is_an_error_not_a_new_one(kernel: Kernel, model: Asked) -> None:
    cell = kernel.run("%hermes run -s s-nope hi")
    assert "No session 's-nope'" in cell.err
    assert cell.reply["ename"] == "UsageError"
    assert "-s new" not in cell.err
    assert "A new one is session_id=await bound.new_session(), in a cell -s new." in kernel.run("%hermes run -s side hi").err
    assert model.prompts == []


def test_several_agents_need_a_name_or_a_default(kernel: Kernel, model: Asked) -> None:
    kernel.ok("from hermes_nb.magics import context\ncontext(get_ipython()).default_agent = None")
    kernel.ok("writer = Agent('writer', model=model)\n%hermes agent writer")
    cell = kernel.run("%hermes run hi")
    assert "Several agents are bound: analyst, " in cell.err
    assert model.prompts == []
    kernel.ok("%hermes agent analyst --default")
    kernel.ok("%hermes run -o answer hi")
    assert kernel.value("next(e.data['agent'] for e in answer.events if e.kind == 'turn.started')") == "analyst"


# -- options ---------------------------------------------------------------------------------------------------------
def test_with_puts_descriptions_before_the_question(kernel: Kernel, model: Asked) -> None:
    kernel.ok("import pandas as pd\ndf = pd.DataFrame({'city': ['Köln'], 'n': [3]})\nsecret = 5")
    kernel.ok("%%hermes run --with df,secret\nWhat is odd?\n")
    asked = model.prompts[0]
    assert asked.endswith("\n\nWhat is odd?\n")
    assert "df" in asked
    assert "city" in asked
    assert asked.index("df") < asked.index("secret") < asked.index("What is odd?")


def test_quiet_shows_nothing(kernel: Kernel) -> None:
    cell = kernel.ok("%hermes run --quiet -o answer hi")
    assert (cell.out, cell.err, cell.shown) == ("", "", [])
    assert kernel.value("answer.text") == "You said: hi"


def test_last_shows_and_binds_the_newest_result(kernel: Kernel) -> None:
    kernel.ok("%hermes run newest")
    assert "You said: newest" in kernel.ok("%hermes last").text
    assert kernel.ok("%hermes last -o kept").shown == []
    assert kernel.value("kept.text") == "You said: newest"


def test_last_is_the_newest_result_however_it_was_asked_for(kernel: Kernel) -> None:
    kernel.ok("%hermes agent analyst -o bound\n%hermes run by magic")
    kernel.ok("answer = await bound.run('awaited')")
    assert "You said: awaited" in kernel.ok("%hermes last").text
    kernel.ok("%hermes last -o kept")
    assert kernel.value("kept is answer")
    kernel.ok("%hermes run by magic again")
    assert "You said: by magic again" in kernel.ok("%hermes last").text


# -- background ------------------------------------------------------------------------------------------------------
def test_a_background_turn_leaves_the_kernel_free_and_shows_in_its_own_cell(kernel: Kernel, model: Asked) -> None:
    step = hang(model)
    cell = kernel.ok("%hermes run --background -o later Tell me")
    assert "runs in the background. %hermes stop t-" in cell.out
    assert kernel.value("type(later).__name__") == "Turn"
    step.release()
    kernel.ok("await later.wait();")
    assert kernel.value("[type(later).__name__, later.text]") == ["RunResult", "Once upon a time."]
    kernel.ok("kept = later\n%hermes last -o newest")
    assert kernel.value("newest is kept")
    kernel.until(lambda: "Once upon a time." in cell.text or "Once upon a time." in all_text(kernel))


def test_what_was_a_turn_can_be_waited_for_after_it_ended(kernel: Kernel) -> None:
    kernel.ok("%hermes run --background -o later hi")
    for _ in range(2):
        kernel.ok("r = await later.wait(); r = await later.get(); r = later.wait_blocking()")
    assert kernel.value("[later.is_done, type(later).__name__, r.text]") == [True, "RunResult", "You said: hi"]


def all_text(kernel: Kernel) -> str:
    return "\n".join(cell.text for cell in kernel._cells.values())


def test_stop_ends_background_turns_and_says_which(kernel: Kernel, model: Asked) -> None:
    hang(model)
    kernel.ok("%hermes run --background -s new -o one Tell me\n%hermes run --background -s new -o two Tell me")
    ids = kernel.value("[one.id, two.id]")
    kernel.until(lambda: len(model.prompts) == 2)
    assert kernel.ok(f"%hermes stop {ids[0]}").out == f"Stopped turn {ids[0]} of analyst.\n"
    assert kernel.value("[one.status, two.is_done]") == ["stopped", False]
    assert kernel.ok("%hermes stop").out == f"Stopped turn {ids[1]} of analyst.\n"
    assert kernel.ok("%hermes stop").out == "No turn is running.\n"
    model.answer = None
    kernel.ok("%hermes run hi")


def test_a_typed_answer_is_asked_for_once_more_and_bound_as_a_value(kernel: Kernel, model: Asked) -> None:
    kernel.ok("from dataclasses import dataclass\n@dataclass\nclass City:\n    name: str\n    people: int")
    model.answer = lambda request: Say(
        "Oslo."
        if "schema" in str(request.body["messages"][-1]["content"]) and len(model.prompts) == 1
        else '{"name": "Oslo", "people": 700000}'
    )
    kernel.ok("%%hermes run -s new -o answer --returns City\nA city?")
    assert kernel.value("[answer.value.name, answer.value.people]") == ["Oslo", 700000]
    assert len(model.prompts) == 2


def test_an_image_that_is_none_is_refused_before_anything_is_sent(kernel: Kernel, model: Asked) -> None:
    cell = kernel.run("figure = 3\n%hermes run --image figure What is it?")
    assert "figure is of type int, which is no image" in cell.err
    assert model.prompts == []


def test_await_of_a_background_turn_gives_its_result_running_or_ended(kernel: Kernel, model: Asked) -> None:
    kernel.ok("%hermes run --background --quiet -o bg hello")
    assert kernel.ok("r = await bg\nprint(r.text)").out == "You said: hello\n"
    assert kernel.ok("print((await bg).text, type(bg).__name__)").out == "You said: hello RunResult\n"


def test_an_assignment_gets_what_o_would(kernel: Kernel, model: Asked) -> None:
    kernel.ok("given = %hermes run -a analyst Hello there")
    assert kernel.ok("print(type(given).__name__, given.text)").out == "RunResult You said: Hello there\n"
    assert kernel.ok("%hermes run -a analyst Hello again").out.count("RunResult") == 0
    kernel.ok("going = %hermes run -a analyst --background And this")
    assert kernel.ok("print((await going).text)").out == "You said: And this\n"
