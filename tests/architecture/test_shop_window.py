"""What is public is listed, can be had, and is documented; nothing else is public."""

import ast
import inspect
import re

import pytest

import hermes_nb

from . import source


def test_the_window_is_not_empty() -> None:
    assert {"Agent", "Hermes", "Model", "tool"} <= set(hermes_nb.__all__)


@pytest.mark.parametrize("name", getattr(hermes_nb, "__all__", ()))
def test_what_is_shown_can_be_had_and_is_documented(name: str) -> None:
    shown = getattr(hermes_nb, name)
    if not name.startswith("__"):
        assert inspect.getdoc(shown), f"{name} has no docstring"
        assert name in dir(hermes_nb)


def test_what_is_not_shown_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = hermes_nb.no_such_thing


def public(node: ast.AST) -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Public classes, functions and methods below a module or class."""
    found = []
    for child in getattr(node, "body", ()):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        if isinstance(child, kinds) and not child.name.startswith("_"):
            found.append((child.name, child))
            if isinstance(child, ast.ClassDef):
                found += [(f"{child.name}.{name}", inner) for name, inner in public(child)]
    return found


MODULES = [p for p in source.modules() if not any(part.startswith("_") and part != "__init__.py" for part in p.parts)]


@pytest.mark.parametrize("path", MODULES, ids=source.dotted)
def test_public_docstrings_keep_their_form(path: "source.Path") -> None:
    faults = [] if ast.get_docstring(source.tree(path)) else ["the module has none"]
    for name, node in public(source.tree(path)):
        text = ast.get_docstring(node)
        overloaded = any(getattr(d, "id", "") in {"overload", "override"} for d in node.decorator_list)
        setter = any(getattr(d, "attr", "") in {"setter", "deleter"} for d in node.decorator_list)
        if overloaded or setter:
            continue
        if not text:
            faults.append(f"{name} has none")
            continue
        # The first line may wrap: its sentence ends where the first paragraph does, or before.
        if not re.search(r"[.!?:;)`]$", text.partition("\n\n")[0].rstrip()):
            faults.append(f"{name}: the first paragraph is no sentence")
        if not isinstance(node, ast.ClassDef):
            a = node.args
            known = {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if arg}
            described = set(re.findall(r"^    \*{0,2}(\w+):", section(text, "Args"), re.MULTILINE))
            faults += [f"{name}: no parameter {extra!r}" for extra in sorted(described - known)]
    assert faults == []


def section(text: str, title: str) -> str:
    """The body of one Google section, "" without it."""
    found = re.search(rf"^{title}:\n((?:[ ]{{4}}.*\n?|\n)*)", text, re.MULTILINE)
    return found[1] if found else ""
