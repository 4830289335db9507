"""Which tool takes the place of which when a cell is run again."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_nb.errors import ToolDefinitionError
from hermes_nb.tools.decorator import Tool, as_tool
from hermes_nb.tools.redefinition import redefined, renewed

ADD = "def add(a: int) -> int:\n    'Add.'\n    return a + {n}\n"


class Notebook(dict[str, Any]):
    """Variables; `run` runs a cell."""

    def run(self, source: str) -> None:
        exec("from __future__ import annotations\nfrom hermes_nb.tools.decorator import tool\n" + source, self)


@pytest.fixture
def notebook() -> Notebook:
    return Notebook(__name__="__main__")


def test_a_plain_function_that_is_defined_again_takes_its_place(notebook: Notebook) -> None:
    notebook.run(ADD.format(n=1))
    old = as_tool(notebook["add"])
    assert redefined(old, notebook) is None
    notebook.run(ADD.format(n=2))
    new = redefined(old, notebook)
    assert new is not None
    assert (new.name, new(1), old(1)) == ("add", 3, 2)
    assert redefined(new, notebook) is None


@pytest.mark.parametrize("head", ["@tool", "@tool(name='plus', approval=True)"])
def test_a_decorated_function_that_is_defined_again_takes_its_place(notebook: Notebook, head: str) -> None:
    notebook.run(f"{head}\n{ADD.format(n=1)}")
    old = notebook["add"]
    notebook.run(f"{head}\n{ADD.format(n=2)}")
    assert redefined(old, notebook) is notebook["add"]


def test_an_approval_is_not_lost_where_the_decorator_is(notebook: Notebook) -> None:
    notebook.run(f"@tool(name='plus', approval=True, timeout_s=3)\n{ADD.format(n=1)}")
    old = notebook["add"]
    notebook.run(ADD.format(n=2))
    new = redefined(old, notebook)
    assert new is not None
    assert (new(1), new.name, new.approval, new.timeout_s) == (3, "plus", True, 3)


def test_a_tool_with_a_variable_of_its_own_waits_for_that_cell(notebook: Notebook) -> None:
    notebook.run(f"{ADD.format(n=1)}\nplus = tool(add, name='plus')")
    old = notebook["plus"]
    notebook.run(ADD.format(n=2))
    assert redefined(old, notebook) is None
    notebook.run("plus = tool(add, name='plus')")
    assert redefined(old, notebook) is notebook["plus"]


@pytest.mark.parametrize(
    "source",
    [
        "del add",
        "add = 3",
        "add = None",
        "@tool(name='other')\ndef add(a: int) -> int:\n    'Add.'\n    return 0",
        "from operator import add",
        "class add:\n    pass",
        "def outer():\n    def add(a: int) -> int:\n        'Add.'\n        return 0\n    return add\nadd = outer()",
        "add.__module__ = 'another'\n",
    ],
)
def test_something_else_of_that_name_does_not(notebook: Notebook, source: str) -> None:
    notebook.run(f"@tool\n{ADD.format(n=1)}")
    old = notebook["add"]
    notebook.run(source)
    assert redefined(old, notebook) is None


def test_functions_without_a_name_of_their_own_stay_what_they_were(notebook: Notebook) -> None:
    make = "def make(n):\n    def f(a: int) -> int:\n        'F.'\n        return n\n    return f\n"
    notebook.run(f"f = lambda a: a\n{make}g = make(1)")
    for old in (Tool.from_function(notebook["f"], name="f", description="F."), as_tool(notebook["g"])):
        notebook.run("f = lambda a: 0\ng = make(2)\nf2 = g")
        assert redefined(old, notebook) is None


def test_a_function_with_other_parameters_takes_its_place_too(notebook: Notebook) -> None:
    notebook.run(f"@tool\n{ADD.format(n=1)}")
    tools = [notebook["add"]]
    notebook.run(f"@tool\n{ADD.format(n=3).replace('a: int', 'a: int, b: int = 0')}")
    tools, said = renewed(tools, notebook)
    assert said == []
    assert list(tools[0].parameters["properties"]) == ["a", "b"]


def test_what_can_not_be_a_tool_is_named_and_the_one_before_kept(notebook: Notebook) -> None:
    notebook.run(ADD.format(n=1))
    old = as_tool(notebook["add"])
    notebook.run("def add(*args):\n    'Add.'\n    return 0")
    with pytest.raises(ToolDefinitionError):
        redefined(old, notebook)
    tools, said = renewed([old], notebook)
    assert tools == [old]
    assert said[0].startswith("Tool add was redefined, but can't be a tool: ")
    assert said[0].endswith("The one before is kept.")
