"""The shop window: what `import hermes_nb` offers, and what it does not do."""

from __future__ import annotations

import ast
import importlib
import inspect
import pydoc
from pathlib import Path

import jedi
import pytest

import hermes_nb
from hermes_nb._window import EXPORTS


def test_every_export_is_there_and_documented() -> None:
    for name in hermes_nb.__all__:
        value = getattr(hermes_nb, name)
        assert name == "__version__" or inspect.getdoc(value)


def test_the_export_table_names_what_editors_see() -> None:
    """Type checkers and editors read the stub, Python reads the table: they must agree."""
    tree = ast.parse(Path(hermes_nb.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {
        alias.name: node.module.removeprefix("hermes_nb.")
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hermes_nb.")
        for alias in node.names
    }
    (listed,) = (ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign))
    table = {name: module for module, names in EXPORTS.items() for name in names}
    assert imported == {**table, "__version__": "_version"}
    assert sorted([*table, "__version__"]) == sorted(hermes_nb.__all__) == sorted(listed)


def completions(code: str) -> set[str]:
    """What an editor offers at the end of some code that did not run."""
    return {c.name for c in jedi.Script(code).complete() if not c.name.startswith("_")}


def test_an_editor_sees_every_public_name_before_anything_ran() -> None:
    assert {n for n in hermes_nb.__all__ if not n.startswith("_")} <= completions("import hermes_nb\nhermes_nb.")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from hermes_nb import Hermes\nHermes.", {"local", "open_local"}),
        (
            "from hermes_nb import Agent, Hermes\nbound = Hermes.open_local().bind(Agent('a'))\nbound.",
            {"run", "start", "fork", "model"},
        ),
        ("from hermes_nb import Agent\nAgent('a').", {"name", "instructions", "tools", "profile"}),
        (
            "from hermes_nb import Hermes\nr = Hermes.open_local().agent('a').run_sync('Hi')\nr.",
            {"text", "status", "frame", "usage"},
        ),
    ],
    ids=["Hermes", "bound", "Agent", "result"],
)
def test_an_editor_completes_what_is_made_of_them(code: str, names: set[str]) -> None:
    assert names <= completions(code)


def test_a_turn_offers_what_people_call() -> None:
    """The wiring stays out of sight."""
    offered = {name for name in dir(hermes_nb.Turn) if not name.startswith("_")}
    assert len(offered) <= 27, sorted(offered)


def test_dir_lists_exports_before_they_are_used() -> None:
    assert set(hermes_nb.__all__) <= set(dir(importlib.reload(hermes_nb)))


def test_an_unknown_name_is_an_attribute_error_that_lists_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'agnet'\. It has: Agent, "):
        hermes_nb.agnet  # noqa: B018
    with pytest.raises(ImportError):
        from hermes_nb import nothing_of_that_name  # type: ignore[attr-defined] # noqa: F401


def test_help_leads_a_newcomer_on() -> None:
    text = pydoc.plain(pydoc.render_doc(hermes_nb))
    head = text[: text.index("PACKAGE CONTENTS")]
    steps = ("%load_ext hermes_nb", "from hermes_nb import", "%hermes agent", "%hermes run", "%hermes help", "help(Agent)")
    for step in steps:
        assert step in head


def test_the_window_stays_small() -> None:
    for path in (Path(hermes_nb.__file__), Path(hermes_nb.__file__).parent / "magics" / "__init__.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 80
