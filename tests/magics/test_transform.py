from __future__ import annotations

import ast
import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from hermes_nb.magics import _subcommand
from hermes_nb.magics._transform import awaiting, misread


def waits(line: str) -> bool:
    return line.startswith("run")


def rewritten(source: str) -> str:
    text = awaiting(source, waits)
    assert text is not None
    return text


def test_the_call_of_a_cell_is_awaited_under_the_second_name() -> None:
    source = "get_ipython().run_cell_magic('hermes', 'run -a x', 'a {b} $c\\n')\n"
    assert rewritten(source) == "await get_ipython().run_cell_magic('_hermes', 'run -a x', 'a {b} $c\\n')\n"


@pytest.mark.parametrize(
    "source",
    [
        "for i in range(2):\n    {0}\n",
        "if x:\n    pass\nelse:\n    {0}\n",
        "with x:\n    try:\n        pass\n    except E:\n        {0}\n    finally:\n        {0}\n",
        "while x: {0}\n",
        "match x:\n    case 1:\n        {0}\n",
        "x = {0}\n",
        "é = 'ü'; {0}; y = '漢'\n",
        "s = '''\x0c\u2028\x85'''\r\n{0}\n",
    ],
)
def test_calls_at_the_top_level_are_awaited_wherever_they_stand(source: str) -> None:
    call = "get_ipython().run_line_magic('hermes', 'run hi')"
    name = "_hermes_value" if source.startswith("x =") else "_hermes"
    assert rewritten(source.format(call)) == source.format(f"await {call.replace('hermes', name)}")


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    get_ipython().run_line_magic('hermes', 'run hi')\n",
        "async def f():\n    get_ipython().run_line_magic('hermes', 'run hi')\n",
        "class A:\n    get_ipython().run_line_magic('hermes', 'run hi')\n",
        "f = lambda: get_ipython().run_line_magic('hermes', 'run hi')\n",
        "print(get_ipython().run_line_magic('hermes', 'run hi'))\n",
        "get_ipython().run_line_magic('hermes', 'help')\n",
        "get_ipython().run_line_magic('time', 'run hi')\n",
        "get_ipython().run_line_magic('hermes', 'run hi'\n",
        "ip.run_line_magic('hermes', 'run hi')\n",
    ],
)
def test_other_calls_stay_as_they_are(source: str) -> None:
    assert awaiting(source, waits) is None


def test_waiting_is_known_by_the_sub_command() -> None:
    waiting = [name for name in _subcommand.names() if _subcommand.waits(name)]
    assert waiting == ["eval", "map", "promote", "resume", "run", "serve", "stop"]


BODIES = [
    "plain",
    "two\nlines",
    "{braces} {{double}} $x ${y} %z %%time !ls ?",
    """'single' "double" '''triple''' \"\"\"more\"\"\" it's""",
    "back\\slash \\n \\\\ C:\\temp \\",
    "ünïcödé 漢字 🙂 \u2028 \x0c \x1c end",
    "trailing newlines\n\n\n",
    "\n\n  leading blank lines",
    "\ttabs\t",
    ">>> print(1)\n... more\nIn [3]: x\n   ...: y",
    "    indented\n  less",
    "carriage\r\nreturn\rlone",
    "trailing spaces   \n   ",
    "\ud800 lone surrogate",
    "%%hermes run\nnested",
    "x" * 100_000,
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
@pytest.mark.parametrize("head", ["%%hermes run", "\n \n%%hermes  run", "  %%hermes run  ", "%%hermes\trun"])
def test_the_body_is_the_one_of_the_cell(shell: InteractiveShell, head: str, body: str) -> None:
    call = next(n for n in ast.walk(ast.parse(shell.transform_cell(f"{head}\n{body}"))) if isinstance(n, ast.Call))
    name, line, given = [a.value for a in call.args if isinstance(a, ast.Constant)]
    assert (name, line) == ("_hermes", "run")
    assert given == (body if body.endswith("\n") else f"{body}\n")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("%hermes run Which one?", "run Which one?"),
        ("%hermes run Which one??", "run Which one??"),
        ("if x:\n    %hermes run What's \"this?", "run What's \"this?"),
        ("%hermes run f(?\ny = 1", "run f(?"),
        ("%hermes run {x} $y !ls %z", "run {x} $y !ls %z"),
    ],
)
def test_a_question_mark_is_part_of_the_question(shell: InteractiveShell, source: str, line: str) -> None:
    assert f"get_ipython().run_line_magic('_hermes', {line!r})" in shell.transform_cell(source)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("%load_ext hermes_nb\n%hermes run Which one?", ["%hermes run Which one?"]),
        ("%reload_ext hermes_nb\nx = 1\n  %hermes  run a??\n%hermes agent x", ["%hermes  run a??"]),
        ("%load_ext hermes_nb\n%hermes?\n%hermes run Say it.", []),
        ("%hermes run Which one?\n%load_ext hermes_nb", []),
        ("%load_ext other\n%hermes run Which one?", []),
    ],
)
def test_questions_that_ipython_read_before_the_extension_was_loaded_are_found(source: str, lines: list[str]) -> None:
    assert misread(source) == lines


@pytest.mark.parametrize("source", ["%hermes?", "x = '''\n%hermes run a?\n'''", "1 % hermes"])
def test_what_is_no_question_is_left_to_ipython(shell: InteractiveShell, source: str) -> None:
    assert "hermes'," not in shell.transform_cell(source)


@pytest.mark.parametrize("source", ["%%hermes?", "%%hermes_other run\nx", "x = '''\n%%hermes run\n'''"])
def test_cells_that_only_look_like_it_are_left_alone(shell: InteractiveShell, source: str) -> None:
    assert "hermes'," not in shell.transform_cell(source)


def test_a_terminal_still_sees_a_cell_magic_when_it_asks_for_completeness(shell: InteractiveShell) -> None:
    assert shell.check_complete("%%hermes run")[0] == "incomplete"


async def as_kernel(shell: InteractiveShell, source: str) -> Any:
    """Run a cell as ipykernel's `do_execute` does."""
    transformed = shell.transform_cell(source)
    if not shell.should_run_async(source, transformed_cell=transformed):
        return shell.run_cell(source, store_history=True)
    result = None
    try:
        result = await shell.run_cell_async(source, store_history=True, transformed_cell=transformed)
    finally:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
    return result


@pytest.fixture
def calls(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """How `run` was called, and with which body; it does nothing else."""
    from hermes_nb.magics.subcommands import run

    found: list[tuple[str, str | None]] = []

    def blocking(context: Any, options: Any, cell: str | None) -> None:
        found.append(("blocking", options.text if cell is None else cell))

    async def awaited(context: Any, options: Any, cell: str | None) -> None:
        await asyncio.sleep(0)
        found.append(("awaited", options.text if cell is None else cell))

    monkeypatch.setattr(run, "run", blocking)
    monkeypatch.setattr(run, "run_awaiting", awaited)
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%hermes run hi", [("awaited", "hi")]),
        ("%%hermes run\nhi", [("awaited", "hi")]),
        ("%%hermes run\nhi\n", [("awaited", "hi\n")]),
        ("for i in range(2):\n    %hermes run hi", [("awaited", "hi")] * 2),
        ("def f():\n    %hermes run hi\nf()", [("blocking", "hi")]),
        ("%%time\n%hermes run hi", [("blocking", "hi")]),
        ("%%capture\n%hermes run hi", [("blocking", "hi")]),
        ("%%capture\n%%hermes run\nhi", [("blocking", "hi")]),
        ("%time %hermes run hi", [("blocking", "hi")]),
        ("get_ipython().run_cell('%hermes run hi')", [("blocking", "hi")]),
        ("get_ipython().run_cell('%%hermes run\\nhi', silent=True)", [("blocking", "hi\n")]),
        ("ip = get_ipython()\nip.run_cell_magic('hermes', 'run', 'hi\\n')", [("blocking", "hi\n")]),
        ("%hermes run one\n%hermes run two", [("awaited", "one"), ("awaited", "two")]),
    ],
)
async def test_a_cell_awaits_where_it_can_and_blocks_elsewhere(
    shell: InteractiveShell, calls: list[tuple[str, str | None]], source: str, expected: list[tuple[str, str]]
) -> None:
    result = await as_kernel(shell, source)
    assert result.success
    assert result.result is None
    assert calls == expected


async def test_a_callback_on_the_loop_blocks(shell: InteractiveShell, calls: list[tuple[str, str | None]]) -> None:
    done = asyncio.Event()

    def callback() -> None:
        shell.run_cell("%hermes run hi")
        done.set()

    asyncio.get_running_loop().call_soon(callback)
    await done.wait()
    assert calls == [("blocking", "hi")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%hermes run hi", "awaited"),
        ("%%hermes run\nhi", "awaited"),
        ("def f():\n    %hermes run hi\nf()", "blocking"),
        ("%%time\n%hermes run hi", "blocking"),
        ("%%capture\n%hermes run hi", "blocking"),
    ],
)
def test_a_terminal_awaits_on_the_loop_it_starts_for_a_cell(
    run: Callable[[str], str], calls: list[tuple[str, str | None]], source: str, expected: str
) -> None:
    run(source)
    assert calls == [(expected, "hi")]


@pytest.mark.parametrize("runner", ["off", "trio"])
def test_a_shell_that_awaits_nothing_or_otherwise_blocks(
    shell: InteractiveShell, run: Callable[[str], str], calls: list[tuple[str, str | None]], runner: str
) -> None:
    before = shell.autoawait, shell.loop_runner
    shell.autoawait = runner != "off"
    shell.loop_runner = shell.loop_runner_map["sync" if runner == "off" else runner][0]
    try:
        run("%hermes run hi")
    finally:
        shell.autoawait, shell.loop_runner = before
    assert calls == [("blocking", "hi")]


def test_another_thread_blocks(shell: InteractiveShell, calls: list[tuple[str, str | None]]) -> None:
    thread = threading.Thread(target=shell.run_cell, args=["%hermes run hi"])
    thread.start()
    thread.join()
    assert calls == [("blocking", "hi")]


@pytest.mark.parametrize("source", ["%%hermes run -a x\nWhat's {this}?\n\nend", "x = 1\n%hermes run hi"])
async def test_the_history_shows_what_was_typed(
    shell: InteractiveShell, calls: list[tuple[str, str | None]], source: str
) -> None:
    await as_kernel(shell, source)
    assert shell.user_ns["In"][-1] == shell.user_ns["_ih"][-1] == source


async def test_a_foreign_magic_of_that_name_is_not_rewritten(shell: InteractiveShell) -> None:
    heard = []
    shell.register_magic_function(lambda line, cell=None: heard.append((line, cell)), "line_cell", "hermes")
    await as_kernel(shell, "%%hermes run\nhi")
    assert heard == [("run", "hi\n")]
