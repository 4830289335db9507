"""Which tools return a figure or an image, as their source says it: in an exported module the model would read a repr."""

from __future__ import annotations

import ast
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from hermes_nb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool

_PACKAGES = ("matplotlib.", "plotly.", "PIL.", "seaborn.", "altair.", "plotnine.", "bokeh.")
_CLASSES = frozenset({"Figure", "FigureWidget", "FigureBase", "Axes", "Image", "ImageFile", "Chart", "ggplot", "PairGrid"})
_CLASSES |= {"FacetGrid", "JointGrid", "ClusterGrid", "Grid", "LayerChart", "HConcatChart", "VConcatChart", "FacetChart"}
# Functions by the module that users call them of; `*` for all that are not named as what gives something else.
_MAKERS: Mapping[str, frozenset[str]] = {
    "matplotlib.pyplot": frozenset("figure subplots subplot gcf gca axes subplot_mosaic".split()),
    "PIL.Image": frozenset("new open fromarray frombytes frombuffer merge blend composite alpha_composite".split()),
    "plotly.express": frozenset("*"),
    "seaborn": frozenset("*"),
    "seaborn.objects": frozenset({"Plot"}),
    "altair": frozenset({"Chart", "layer", "hconcat", "vconcat"}),
}
_NO_FIGURE = (
    "get_",
    "set_",
    "load_",
    "color_palette",
    "despine",
    "defaults",
    "data",
    "colors",
    "hls",
    "reset_",
    "axes_style",
)
_GIVEN = frozenset({"get_figure"})  # methods that return a figure whatever they are of


def refuse_picture(function: types.FunctionType, tool: Tool, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """A figure or an image: in the notebook the model is shown it or told what is in it, in the module it reads an address.

    Raises:
        UsageError: What the function says it returns, or what it returns by its source, is one.
    """
    kind = _annotated(function) or next(_returned(node, inspect.getclosurevars(function)), "")
    if kind:
        raise UsageError(
            f"Tool {tool.name!r} returns a figure or an image ({kind}), which only hermes_nb describes to a model: in the"
            " module the model would read its repr. Return what is to be seen as text or figures (a dict, a table), or"
            " promote without --export."
        )


def _annotated(function: types.FunctionType) -> str:
    told = function.__annotations__.get("return")
    try:
        told = typing.get_type_hints(function).get("return", told)
    except Exception:  # noqa: BLE001 - a name in a text that nobody knows says nothing
        if isinstance(told, str):
            return told if told.rpartition(".")[2] in _CLASSES - {"Grid"} else ""
    return _kind(told)


def _kind(told: Any) -> str:
    """The class of pictures in an annotation, also within a list or a union; "" for none."""
    if isinstance(told, type) and not typing.get_args(told):
        return next(
            (told.__qualname__ for cls in told.__mro__ if cls.__name__ in _CLASSES and _is_of_package(cls)),
            "",
        )
    return next((kind for part in typing.get_args(told) if (kind := _kind(part))), "")


def _is_of_package(cls: type) -> bool:
    return f"{cls.__module__}.".startswith(_PACKAGES)


def _returned(node: ast.FunctionDef | ast.AsyncFunctionDef, known: inspect.ClosureVars) -> Iterator[str]:
    """What the function returns that is made by a library of figures, as it is written there."""
    names = {**known.globals, **known.nonlocals}
    made: dict[str, str] = {}
    parts = list(_own(node))
    for part in parts:
        if isinstance(part, ast.Import):
            for alias in part.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = _module(alias.name if alias.asname else top)
        elif isinstance(part, ast.ImportFrom) and part.module:
            names |= {a.asname or a.name: _member(part.module, a.name) for a in part.names}
    for part in parts:
        if isinstance(part, ast.Assign) and (kind := _made(part.value, names, made)):
            targets = [t for target in part.targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
            made |= {t.id: kind for t in targets if isinstance(t, ast.Name)}
    for part in parts:
        if isinstance(part, ast.Return) and part.value is not None:
            values = part.value.elts if isinstance(part.value, ast.List | ast.Tuple) else [part.value]
            yield from (kind for value in values if (kind := _made(value, names, made)))


def _made(value: ast.AST, names: Mapping[str, Any], made: Mapping[str, str]) -> str:
    if isinstance(value, ast.Name):
        return made.get(value.id, "")
    if isinstance(value, ast.Attribute) and value.attr == "figure":
        return _made(value.value, names, made)
    if not isinstance(value, ast.Call):
        return ""
    maker = value.func
    if isinstance(maker, ast.Attribute) and maker.attr in _GIVEN:
        return ast.unparse(maker)
    found, place = _found(maker, names)
    if isinstance(found, type):
        return _kind(found) and ast.unparse(maker)
    if not callable(found):
        return ""
    makers = _MAKERS.get(place) or _MAKERS.get(str(getattr(found, "__module__", "")), frozenset())
    name = str(getattr(found, "__name__", ""))
    is_maker = name in makers or ("*" in makers and not name.startswith(_NO_FIGURE))
    return ast.unparse(maker) if is_maker else ""


def _found(maker: ast.AST, names: Mapping[str, Any]) -> tuple[Any, str]:
    """What a dotted name stands for, and the module it is taken from."""
    if isinstance(maker, ast.Name):
        return names.get(maker.id), ""
    if isinstance(maker, ast.Attribute):
        owner, _ = _found(maker.value, names)
        if isinstance(owner, types.ModuleType):
            return _attribute(owner, maker.attr), owner.__name__
    return None, ""


def _module(name: str) -> Any:
    return sys.modules.get(name)


def _member(module: str, name: str) -> Any:
    owner = _module(module)
    found = None if owner is None else _attribute(owner, name)
    return _module(f"{module}.{name}") if found is None else found


def _attribute(owner: types.ModuleType, name: str) -> Any:
    """Of a module; those of figures may be read as they are (plotly finds its classes when they are asked for)."""
    return getattr(owner, name, None) if f"{owner.__name__}.".startswith(_PACKAGES) else vars(owner).get(name)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, functions and classes within left out."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from _own(child)
