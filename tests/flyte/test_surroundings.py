"""What a tool finds here and not there is told before it is sent: files, environment variables, modules as they are here."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.flyte.promotion.finding import Finding
from hermes_nb.flyte.promotion.preflight import checked
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.model.agent import Agent, Model
from tests.flyte.test_load_check import in_notebook

CODES = ("local-file", "local-variable", "module-changed", "module-gone")
HELPERS = """
import functools
VALUE = 'FILE'
FOUND = {}
N = 0
class Shop:
    fee = 1
    def price(self):
        return 1
@functools.cache
def rate(x):
    return x
def load():
    'L'
    return VALUE
"""
TOOL = "import helpers\ndef tool() -> str:\n    'D'\n    return helpers.load()"


@pytest.fixture(scope="module")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hermes]:
    hermes = Hermes.open_local(state=tmp_path_factory.mktemp("state"))
    yield hermes
    hermes.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("helpers", None)


def found(hermes: Hermes, source: str, **options: Any) -> list[Finding]:
    tool = in_notebook(source)["tool"]
    plan = checked(
        hermes.bind(Agent("around", model=Model("m", "custom", "https://m.example/v1"), tools=[tool])), Flyte(**options)
    )
    return [f for f in plan.findings if f.code in CODES]


@pytest.mark.parametrize(
    ("source", "file"),
    [
        ("def tool() -> str:\n    'D'\n    return open('cities.csv').read()", "cities.csv"),
        (
            "def read(p='cities.csv'):\n    return open(p).read()\ndef tool() -> str:\n    'D'\n    return read()",
            "cities.csv",
        ),
        ("PATH = 'cities.csv'\ndef tool() -> str:\n    'D'\n    return open(PATH).read()", "cities.csv"),
        (
            "import pathlib\nP = pathlib.Path('cities.csv')\ndef tool() -> str:\n    'D'\n    return P.read_text()",
            "cities.csv",
        ),
        ("from pathlib import Path\ndef tool() -> str:\n    'D'\n    return (Path('data') / 'a.txt').read_text()", "a.txt"),
        ("def tool(n: int) -> str:\n    'D'\n    return open(f'data/{n}.txt').read()", "data/"),
        ("def tool() -> str:\n    'D'\n    return open('no-such.csv').read() or 'A list. Of cities.'", ""),
        ("def tool() -> str:\n    'cities.csv is not read.'\n    return 'data'", ""),
    ],
)
def test_files_beside_the_notebook_are_noted(hermes: Hermes, folder: Path, source: str, file: str) -> None:
    (folder / "cities.csv").write_text("x")
    (folder / "data").mkdir()
    (folder / "data" / "a.txt").write_text("x")
    notes = found(hermes, source)
    assert [(f.code, f.is_fatal, f.site.tool) for f in notes] == ([("local-file", False, "tool")] if file else [])
    assert not file or repr(file) in notes[0].text


def test_files_that_a_module_reads_are_noted(hermes: Hermes, folder: Path) -> None:
    (folder / "cities.csv").write_text("x")
    (folder / "helpers.py").write_text("def load():\n    return open('cities.csv').read()\n")
    assert [f.site.text for f in found(hermes, TOOL)] == ["Module helpers.py"]


def test_a_local_run_has_this_folder_and_these_variables(
    hermes: Hermes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "cities.csv").write_text("x")
    monkeypatch.setenv("MY_REGION", "eu")
    source = "import os\ndef tool() -> str:\n    'D'\n    return open('cities.csv').read() + os.environ['MY_REGION']"
    assert not found(hermes, source, mode="local")
    assert {f.code for f in found(hermes, source)} == {"local-file", "local-variable"}


def test_variables_that_are_set_here_alone_are_noted_with_what_passes_them(
    hermes: Hermes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MY_REGION", "MY_API_KEY", "GIVEN", "STORED"):
        monkeypatch.setenv(name, "eu")
    monkeypatch.delenv("NOT_SET", raising=False)
    source = (
        "import os\nfrom os import getenv\nNAME = 'MY_API_KEY'\ndef tool() -> list:\n    'D'\n"
        "    return [os.environ['MY_REGION'], getenv(NAME), os.getenv('HOME'), getenv('NOT_SET')]"
        " + [getenv('GIVEN'), getenv('STORED')]"
    )
    notes = found(hermes, source, env_vars={"GIVEN": "1"}, secrets={"STORED": "stored"})
    assert {f.variable: f.cure for f in notes} == {
        "MY_REGION": "Pass Flyte(env_vars={'MY_REGION': '...'}).",
        "MY_API_KEY": "Pass Flyte(secrets={'MY_API_KEY': 'its-name'}).",
    }
    assert not found(hermes, "def tool() -> str:\n    'D'\n    return 'MY_REGION'")


def edited(old: str, new: str) -> Callable[[Any, Path], None]:
    def edit(module: Any, file: Path) -> None:
        file.write_text(file.read_text().replace(old, new))

    return edit


def moved(module: Any, file: Path) -> None:
    file.write_text("# A line more.\n\n" + file.read_text())


def put(name: str, value: Any) -> Callable[[Any, Path], None]:
    return lambda module, file: setattr(module, name, value)


def filled(module: Any, file: Path) -> None:
    module.FOUND["a"] = module.rate(1)
    module.N = 5


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (edited("return VALUE", "return VALUE + '!'"), "load"),
        (edited("VALUE = 'FILE'", "VALUE = 'NEW'"), "VALUE"),
        (edited("return x", "return 2 * x"), "rate"),
        (edited("return 1", "return 2"), "Shop"),
        (edited("def load", "def )load"), "syntax error"),
        (put("VALUE", "PATCHED"), "VALUE"),
        (put("load", lambda: "PATCHED"), "load"),
        (put("load", len), "load"),
        (filled, ""),
        (moved, ""),
    ],
)
def test_a_module_that_is_not_as_its_file_is_noted(
    hermes: Hermes, folder: Path, change: Callable[[Any, Path], None], names: str
) -> None:
    file = folder / "helpers.py"
    file.write_text(HELPERS)
    change(importlib.import_module("helpers"), file)
    notes = found(hermes, TOOL)
    assert [(f.code, f.is_fatal) for f in notes] == ([("module-changed", False)] if names else [])
    assert not names or names in notes[0].text


def test_a_module_whose_file_is_gone_stops(hermes: Hermes, folder: Path) -> None:
    file = folder / "helpers.py"
    file.write_text(HELPERS)
    importlib.import_module("helpers")
    file.unlink()
    (one,) = found(hermes, TOOL)
    assert (one.code, one.is_fatal) == ("module-gone", True)
    assert "'helpers'" in one.text
