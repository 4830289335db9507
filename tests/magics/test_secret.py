"""A key is nowhere: not in what a kernel sends, not in any file, whoever echoes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_nb.testing import Call, Fail, Say
from tests.magics.conftest import SETUP, Asked
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

KEY = "sk-scripted-0123456789abcdef"  # of SETUP's model
OTHER = "sk-or-v1-fedcba9876543210fedcba9876543210"  # of the environment

LEAKY = """
import os
@tool
def returns() -> str:
    "Return the keys."
    return f"{model.api_key.get_secret_value()} {os.environ['OPENROUTER_API_KEY']}"

@tool
def prints() -> str:
    "Print the keys."
    print(returns.function())
    return "printed"

@tool
def raises() -> str:
    "Raise the keys."
    raise ValueError(returns.function())
"""


@pytest.fixture
def own(tmp_path: Path, model: Asked) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path, {"OPENROUTER_API_KEY": OTHER})
    try:
        kernel.ok(SETUP.format(url=model.scripted.base_url))
        kernel.ok(LEAKY)
        yield kernel
    finally:
        kernel.close()


def _pieces(key: str) -> list[str]:
    """What gives a key away: 8 characters of it in a row, its prefix aside."""
    return [key[i : i + 8] for i in range(len(key) - 10, len(key) - 7)] + [key[10:18], key[12:20]]


def test_a_key_is_nowhere(own: Kernel, model: Asked) -> None:
    kernel = own
    kernel.ok("leaky = Agent('leaky', model=model, tools=[returns, raises, prints])\n%hermes agent leaky")
    kernel.ok("%hermes agent leaky\n%hermes agent\nprint(model, repr(model), leaky)\nmodel\n")
    steps = iter(
        [
            Call("returns"),
            Call("raises"),
            Say(f"The key is {KEY}."),
            Fail(401, "Incorrect API key provided: {key}"),
            Fail(500, "{key}"),
            Fail(500, "{key}"),
            Fail(500, "{key}"),
            Fail(500, "{key}"),
        ]
    )
    model.answer = lambda request: next(steps)
    kernel.ok("%hermes run -a leaky -o answer go")
    for question in ("again", "and again"):
        kernel.run(f"%hermes run -a leaky -o failed {question}")
    kernel.run("failed.raise_for_status()")
    kernel.run("answer\n")
    kernel.ok("print(repr(answer), answer.raw, answer.events, answer.frame().to_string())\nanswer.figure();")
    kernel.ok("%hermes doctor\n%hermes sessions\n%hermes last")
    kernel.ok("import pickle, copy\nprint(pickle.dumps(model), copy.copy(answer))")
    kernel.run("%hermes run -a nobody hi")
    given = "".join(str(m["content"]) for r in model.scripted.requests for m in r.messages if m["role"] == "tool")
    assert "masked" in given
    for key in (KEY, OTHER):
        for piece in _pieces(key):
            assert piece not in given
            for cell in kernel._cells.values():
                assert piece not in str([m["content"] for m in cell.messages if m["msg_type"] != "execute_input"])
                assert piece not in str(cell.reply)
            for path in kernel.folder.rglob("*"):
                if path.is_file() and ".ipython" not in path.parts:
                    assert piece.encode() not in path.read_bytes(), path


def test_what_a_tool_prints_of_a_key_stays_in_the_cell_that_prints_it(own: Kernel, model: Asked) -> None:
    kernel = own
    kernel.ok("leaky = Agent('leaky', model=model, tools=[prints])\n%hermes agent leaky")
    steps = iter([Call("prints"), Say("Printed.")])
    model.answer = lambda request: next(steps)
    cell = kernel.ok("%hermes run -a leaky -o answer go")
    assert KEY in cell.out  # the user's own print, as in any cell
    kernel.ok("%unload_ext hermes_nb")
    for piece in _pieces(KEY) + _pieces(OTHER):
        for path in kernel.folder.rglob("*"):
            if path.is_file() and ".ipython" not in path.parts:
                assert piece.encode() not in path.read_bytes(), path
