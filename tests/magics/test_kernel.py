"""What holds around a turn in a real kernel: nothing of it changes, patches of asyncio are survived, all is undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from hermes_nb.testing import Call, Fail, Say
from tests.magics.conftest import SETUP, Asked
from tests.magics.kernel import PROJECT, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

STATE = """
def _state():
    import logging, os, signal, sys, threading, asyncio
    return [
        repr(sys.stdout), repr(sys.stderr), sorted(os.environ.items()), list(sys.path), repr(sys.excepthook),
        repr(sys.unraisablehook), repr(threading.excepthook),
        [repr(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)],
        repr(logging.getLogger().handlers), logging.getLogger().level, os.getcwd(),
        repr(asyncio.get_event_loop_policy()), repr(asyncio.run), repr(asyncio.tasks.Task),
    ]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with modules of the user's own."""
    for name in ("utils", "tools", "agent", "model", "store"):
        (tmp_path / f"{name}.py").write_text(f"WHOSE = 'the user, {name}'\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def own_kernel(folder: Path) -> Iterator[Kernel]:
    """A fresh kernel."""
    kernel = Kernel(folder)
    try:
        yield kernel
    finally:
        kernel.close()


def test_a_turn_changes_nothing_of_the_kernel(own_kernel: Kernel, model: Asked) -> None:
    kernel = own_kernel
    kernel.ok(STATE + "\n_before = _state()")
    kernel.ok(SETUP.format(url=model.scripted.base_url))
    kernel.ok("_loaded = _state()")
    for n, source in enumerate(("%hermes run 1 + 2?", "%%hermes run\nOnce more", "%%time\n%hermes run Blocking?")):
        steps = iter([Call("add", {"a": n, "b": 2}), Say("Done.")])
        model.answer = lambda request, steps=steps: next(steps)
        assert "Done." in kernel.ok(source).text
    found = kernel.value("[a == b for a, b in zip(_before, _state())]")
    assert found == [True] * len(found), kernel.value("[x for x in zip(_before, _state()) if x[0] != x[1]]")
    assert kernel.value("[n for n in ('run_agent', 'hermes_cli') if n in __import__('sys').modules]") == []
    whose = [f"the user, {name}" for name in ("utils", "tools", "agent", "model", "store")]
    assert kernel.value("[__import__(n).WHOSE for n in ('utils', 'tools', 'agent', 'model', 'store')]") == whose


@pytest.mark.parametrize("package", ["nest_asyncio", "nest_asyncio2"])
@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
def test_a_notebook_that_patched_asyncio_works(own_kernel: Kernel, model: Asked, package: str, is_first: bool) -> None:
    kernel = own_kernel
    patch, setup = f"import {package}\n{package}.apply()", SETUP.format(url=model.scripted.base_url)
    for source in (patch, setup) if is_first else (setup, patch):
        kernel.ok(source)
    sources = ("%hermes run {}", "%%hermes run -o a\n{}", "%%time\n%hermes run {}", "def f():\n    %hermes run {}\nf()")
    for source in sources:
        for question in ("one", "two"):
            steps = iter([Call("add", {"a": 2, "b": 3}), Say(f"It is 5, {question}.")])
            model.answer = lambda request, steps=steps: next(steps)
            cell = kernel.ok(source.format(question))
            assert "adding 2 3" in cell.out
            assert f"It is 5, {question}." in cell.text
    assert kernel.ok("async def g():\n    return 3\nprint(await g())").out == "3\n"


def test_reload_ends_the_workers_and_works_again(own_kernel: Kernel, model: Asked) -> None:
    kernel = own_kernel
    kernel.ok("%env HERMES_NB_TEMPLATE=0")  # a forked worker is no child of its kernel
    kernel.ok(SETUP.format(url=model.scripted.base_url))
    kernel.ok("%hermes run hi")
    pid = kernel.value("__import__('os').getpid()")
    assert len(psutil.Process(pid).children()) == 1
    kernel.ok("%reload_ext hermes_nb")
    assert psutil.Process(pid).children() == []
    kernel.ok("%load_ext hermes_nb")
    assert "You said: again" in kernel.ok("%hermes run again").text
    kernel.ok("%unload_ext hermes_nb")
    assert psutil.Process(pid).children() == []
    assert "Line magic function `%hermes` not found" in kernel.run("%hermes run hi").err


def test_a_newcomer_gets_an_agent_and_hears_which_model_answers(own_kernel: Kernel) -> None:
    kernel = own_kernel
    kernel.ok("%load_ext hermes_nb")
    cell = kernel.ok("%hermes run What can you do?")
    assert "No model key was found: the embedded offline model answers." in cell.out
    assert "offline" in cell.text
    assert "No model key" not in kernel.ok("%hermes run And now?").out
    assert "hermes" in kernel.ok("%hermes agent").text


def test_a_question_in_the_cell_that_loads_the_extension_is_not_lost_unsaid(own_kernel: Kernel) -> None:
    cell = own_kernel.run("%load_ext hermes_nb\n%hermes run Who are you?")
    assert "takes '%hermes run Who are you?' for a wish to see help. Put it into the next cell." in cell.out


def test_a_key_of_the_environment_is_named_with_its_host_before_anything_is_asked(own_kernel: Kernel) -> None:
    kernel = own_kernel
    kernel.ok("import os\nos.environ['OPENROUTER_API_KEY'] = 'sk-or-0123456789abcdef'\n%load_ext hermes_nb")
    cell = kernel.ok("%hermes agent helper --instructions x")
    assert "openrouter.ai" in cell.text
    assert "OPENROUTER_API_KEY" in cell.text
    assert "sk-or-" not in str(cell.messages)


def test_binding_again_tells_what_changed(kernel: Kernel) -> None:
    assert "changed" not in kernel.ok("a = Agent('changing', model=model, tools=[add])\n%hermes agent a").text
    assert "changed  nothing since it was last bound" in kernel.ok("%hermes agent a").text
    kernel.ok("a.instructions = 'other'\na.tools = [sleepy]\na.max_turns = 3")
    text = kernel.ok("%hermes agent a").text
    assert "instructions; tool sleepy added; tool add removed; max_turns none -> 3" in text
    assert "model x" not in text
    assert "model scripted (custom, 127.0.0.1) -> hermes-nb-offline" in kernel.ok("%hermes agent a --provider offline").text


def test_an_agent_is_made_of_options_and_a_body(kernel: Kernel, model: Asked) -> None:
    url = model.scripted.base_url
    options = f"--model scripted --base-url {url} --tools add,sleepy --max-turns 5 -o bound"
    cell = kernel.ok(f"%%hermes agent made {options}\nBe brief.\nBe kind.")
    assert "Agent made" in cell.text
    assert "text/html" in cell.shown[0]
    assert kernel.value("[bound.config.instructions, bound.config.max_turns, [t.name for t in bound.tools]]") == [
        "Be brief.\nBe kind.",
        5,
        ["add", "sleepy"],
    ]
    kernel.ok("%hermes run -a made hi")
    assert "Be brief.\nBe kind." in str(model.scripted.requests[-1].messages[0]["content"])
    kernel.ok(f"%hermes agent spelled --model custom:scripted --base-url {url} -o spelled")
    assert kernel.value("[spelled.model.id, spelled.model.provider]") == ["scripted", "custom"]


def test_tools_are_attached_and_detached_between_turns(kernel: Kernel, model: Asked) -> None:
    def offered() -> list[str]:
        names = [tool["name"] for tool in model.scripted.requests[-1].tools]
        return [name for name in names if name in ("add", "sleepy")]

    kernel.ok("bare = Agent('bare', model=model)\n%hermes agent bare")
    kernel.ok("%hermes run -a bare one")
    assert offered() == []
    assert "sleepy" in kernel.ok("%hermes tools attach add sleepy -a bare").text
    kernel.ok("%hermes run -a bare two")
    assert offered() == ["add", "sleepy"]
    assert "Agent bare has add already." in kernel.run("%hermes tools attach add -a bare").err
    kernel.ok("%hermes tools detach add -a bare")
    kernel.ok("%hermes run -a bare three")
    assert offered() == ["sleepy"]
    assert "Attached: sleepy." in kernel.run("%hermes tools detach add -a bare").err
    kernel.ok("%hermes tools detach sleepy -a bare")
    kernel.ok("%hermes tools attach add, sleepy -a bare")
    kernel.ok("%hermes tools detach add,sleepy -a bare")
    kernel.ok("%hermes run -a bare four")
    assert offered() == []
    assert "process" in kernel.ok("%hermes doctor").text


def test_completion_reaches_a_front_end(kernel: Kernel) -> None:
    for source, start, expected in (
        ("%hermes ru", 8, ["run", "runtimes"]),
        ("%%hermes run -a an", 16, ["analyst"]),
        ("x = 1\n%hermes run --ti", 18, ["--timeout"]),
        ("%hermes agent x --tools add,sl", 28, ["sleepy"]),
    ):
        reply = kernel.complete(source)
        assert (reply["matches"], reply["cursor_start"], reply["cursor_end"]) == (expected, start, len(source))
    kernel.ok("%hermes run -o answer hi")
    session_id = kernel.value("answer.session_id")
    assert session_id in kernel.complete("%hermes run -s s-")["matches"]


# -- Run All ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("%hermes run fail", "TurnFailedError"),
        ("%%hermes run\nfail", "TurnFailedError"),
        ("%hermes run stop", "KeyboardInterrupt"),
        ("%%hermes run\n", "UsageError"),
        ("%hermes run --nope hi", "UsageError"),
    ],
)
def test_run_all_stops_where_a_turn_did_not_complete(
    folder: Path, model: Asked, monkeypatch: pytest.MonkeyPatch, source: str, name: str
) -> None:
    def answer(request: object) -> Call | Fail | Say:
        last = model.prompts[-1]
        return Fail(400, "That can't be answered.") if last == "fail" else Call("halt") if last == "stop" else Say("Fine.")

    model.answer = answer
    halt = (
        "@tool\ndef halt() -> str:\n    'Stop the turn.'\n    from hermes_nb.magics import context\n"
        "    context(get_ipython()).hermes.turns[-1].stop()\n    return 'stopping'\n"
        "%hermes agent analyst --tools halt"
    )
    sources = [SETUP.format(url=model.scripted.base_url), halt, "%hermes run hi", source, "print('never')"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("IPYTHONDIR", str(folder / ".ipython"))
    with pytest.raises(CellExecutionError) as caught:
        NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    assert caught.value.ename == name
    assert "Fine." in json.dumps(notebook.cells[2].outputs)
    assert notebook.cells[3].execution_count == 4
    assert notebook.cells[4].execution_count is None
    errors = [output for output in notebook.cells[3].outputs if output["output_type"] == "error"]
    assert all(len(error["traceback"]) == 1 for error in errors)


def test_a_tool_that_clears_the_cell_does_not_take_the_answer_with_it(
    folder: Path, model: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter([Call("progress"), Say("It is done.")])
    model.answer = lambda request: next(steps)
    progress = (
        "from IPython.display import HTML, clear_output, display\n@tool\ndef progress() -> str:\n    'Work.'\n"
        "    print('working')\n    for n in range(3):\n        clear_output(wait=n != 1)\n"
        "        display(HTML(f'<b>step {n}</b>'))\n    return 'worked'\n%hermes agent analyst --tools progress"
    )
    sources = [SETUP.format(url=model.scripted.base_url), progress, "%hermes run hi"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("IPYTHONDIR", str(folder / ".ipython"))
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    shown = [output["data"].get("text/html", "") for output in notebook.cells[-1].outputs if "data" in output]
    assert sum("It is done." in html for html in shown) == 1
    assert sum("step 2" in html for html in shown) == 1
    assert not any("step 0" in html or "step 1" in html for html in shown)
