"""Tools of a module under IPython's own `%autoreload 2`: new code at once, new form from the next session on."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.testing import Call, Say, ScriptedModel, Step
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]
HEAD = "from hermes_nb import Agent, tool\n\ndef helper():\n    return 'h1'\n"
MARKED = "\n@tool\ndef marked(x: int) -> str:\n    'Old marked.'\n    return 'marked1 ' + helper()\n"
OPTED = "\n@tool(idempotent=True)\ndef opted(x: int) -> str:\n    'Old opted.'\n    return 'opted1 ' + helper()\n"
PLAIN = "\ndef plain(x: int) -> str:\n    'Old plain.'\n    return f'plain1 {x}'\n"
CLASS = """
class Shop:
    @tool
    def sell(self, n: int) -> str:
        'Old sell.'
        return f'sell1 {n}'

shop = Shop()
"""
AGENT = "\nowner = Agent('owner', tools=[marked])\n"
WHOLE = HEAD + MARKED + OPTED + PLAIN + CLASS + AGENT
IMPORT = """
%load_ext hermes_nb
%load_ext autoreload
%autoreload 2
from hermes_nb import Agent, Model
import stock
from stock import opted
a = Agent("a", model=Model("s", "custom", base_url={url!r}, api_key="sk-0123456789abcdef"),
          tools=[stock.marked, opted, stock.plain, stock.shop.sell])
"""


def step(request: ChatRequest) -> Step:
    """`NAME {json}` calls it, then says what came back."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Say(f"Got: {last['content']}")
    name, _, arguments = str(last["content"]).partition(" ")
    return Call(name, json.loads(arguments or "{}"))


class Book:
    """A notebook beside a module that is edited."""

    def __init__(self, kernel: Kernel, model: ScriptedModel) -> None:
        self.kernel, self.model = kernel, model
        self._days = itertools.count(1)
        self.source = ""

    def write(self, source: str) -> None:
        """Save the module; each time with a later date."""
        self.source = source
        path = self.kernel.folder / "stock.py"
        path.write_text(source)
        at_unix_s = 1_700_000_000 + next(self._days) * 60
        os.utime(path, (at_unix_s, at_unix_s))

    def edit(self, *changes: tuple[str, str]) -> None:
        source = self.source
        for old, new in changes:
            assert old in source
            source = source.replace(old, new)
        self.write(source)

    def ask(self, name: str, *, new: bool = False, **arguments: Any) -> str:
        """What the tool's call gave, as the model heard it."""
        self.kernel.ok(f"%hermes run -a a --quiet {'-s new' if new else ''} {name} {json.dumps(arguments)}")
        return str(self.model.requests[-1].messages[-1]["content"])

    def told(self, name: str) -> tuple[str, dict[str, Any]]:
        """Description and parameters of a tool, as the last request has them."""
        found = next(t for t in self.model.requests[-1].tools if t["name"] == name)
        return found["description"], found["parameters"]["properties"]


@pytest.fixture(scope="module")
def module_book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    with ScriptedModel(step) as model:
        kernel = Kernel(tmp_path_factory.mktemp("autoreload"))
        book = Book(kernel, model)
        book.write(WHOLE)
        kernel.ok(IMPORT.format(url=model.base_url))
        yield book
        kernel.close()


@pytest.fixture
def book(module_book: Book) -> Book:
    """The notebook, its module as it was at first and its agent told of that."""
    module_book.kernel.ok("%autoreload 2")
    module_book.write(WHOLE)
    module_book.kernel.ok("import importlib; importlib.reload(stock); from stock import opted")
    module_book.kernel.ok("a = Agent('a', model=a.model, tools=[stock.marked, opted, stock.plain, stock.shop.sell])")
    assert module_book.ask("marked", new=True, x=1) == "marked1 h1"
    return module_book


def test_an_edited_body_or_helper_runs_at_once(book: Book) -> None:
    book.edit(("marked1", "marked2"), ("opted1", "opted2"), ("plain1", "plain2"), ("sell1", "sell2"))
    assert book.ask("marked", x=1) == "marked2 h1"
    assert book.ask("opted", x=1) == "opted2 h1"
    assert book.ask("plain", x=1) == "plain2 1"
    assert book.ask("sell", n=1) == "sell2 1"
    assert book.kernel.ok("print(stock.marked(1), opted(1))").out == "marked2 h1 opted2 h1\n"
    book.edit(("h1", "h2"))
    assert book.ask("opted", x=1) == "opted2 h2"


def test_a_new_form_counts_from_the_next_session_on(book: Book) -> None:
    book.edit(("(x: int)", "(x: int, y: int = 2)"), ("Old", "New"))
    for name in ("marked", "opted", "plain"):
        book.ask(name, x=1)
        assert book.told(name) == (f"Old {name}.", {"x": {"type": "integer"}})
    book.ask("marked", new=True, x=1, y=3)
    for name in ("marked", "opted", "plain"):
        assert book.told(name) == (f"New {name}.", {"x": {"type": "integer"}, "y": {"type": "integer", "default": 2}})
    assert book.told("sell")[0] == "New sell."


def test_refresh_takes_a_plain_function_whose_parameters_changed(book: Book) -> None:
    book.edit(("def plain(x: int)", "def plain(x: int, z: int)"))
    assert "argument 'z' is missing" in book.ask("plain", x=1)
    assert "TypeError" not in str(book.model.requests[-1].messages)
    out = book.kernel.ok("%hermes tools refresh").out
    assert out == "From the next turn on the model is told the new form of: plain.\n"
    assert book.ask("plain", x=1, z=2) == "plain1 1"
    assert book.told("plain")[1] == {"x": {"type": "integer"}, "z": {"type": "integer"}}


def test_nothing_breaks_where_a_function_goes_or_its_decorator_does(book: Book) -> None:
    bare = OPTED.replace("@tool(idempotent=True)\n", "").replace("1 ", "2 ")
    book.write(HEAD + bare + "\n@tool" + PLAIN.replace("Old", "New") + CLASS)
    assert book.ask("marked", x=1) == "marked1 h1"
    assert book.ask("opted", x=1) == "opted2 h1"
    assert book.ask("plain", x=1) == "plain1 1"
    for line in ("%hermes tools refresh", "%hermes tools", "%hermes agent", "%hermes agent a"):
        book.kernel.ok(line)
    book.ask("plain", new=True, x=1)
    assert book.told("plain")[0] == "New plain."


def test_a_reload_by_hand_counts_too_and_an_approval_it_brings(book: Book) -> None:
    book.kernel.ok("%autoreload 0")
    book.edit(("@tool(idempotent=True)", "@tool(approval=True)"), ("marked1", "marked2"), ("plain1", "plain2"))
    book.kernel.ok("importlib.reload(stock)")
    assert book.ask("marked", x=1) == "marked2 h1"
    assert book.ask("plain", x=1) == "plain2 1"
    assert "opted1" not in book.ask("opted", x=1)


def test_an_agent_of_the_module_answers_with_the_new_tool(book: Book) -> None:
    book.kernel.ok("from stock import owner\nowner.model = a.model")
    book.kernel.ok('%hermes run -a owner --quiet marked {"x": 1}')
    book.edit(("marked1", "marked2"))
    book.kernel.ok('%hermes run -a owner --quiet marked {"x": 1}')
    assert book.model.requests[-1].messages[-1]["content"] == "marked2 h1"


def test_ipython_still_forgets_the_annotations_of_a_function_it_reloads(book: Book) -> None:
    """When this fails, `hermes_nb.tools.reload` is no longer needed."""
    book.kernel.ok("kept = stock.helper")
    book.edit(("def helper()", "def helper(q: int = 1)"))
    assert book.kernel.ok("print(kept.__code__.co_varnames, kept.__annotations__)").out == "('q',) {}\n"
