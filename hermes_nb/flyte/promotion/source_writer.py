"""What the tools of an exported module take along, as source: imports, and definitions of the notebook.

Each name stands for one thing in a module, while each function of a notebook may have its own (closures, modules): two
that differ are an error, as is everything else whose source would mean something else there.
"""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import inspect
import logging
import pprint
import sys
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hermes_nb import _syntax
from hermes_nb.errors import UsageError
from hermes_nb.flyte.promotion import source_result as results
from hermes_nb.flyte.promotion.dependency_scan import (
    class_source,
    held,
    is_of_notebook,
    is_shells_builtin,
    name_of,
    read_names,
    used_by,
)
from hermes_nb.flyte.promotion.source_picture import refuse_picture
from hermes_nb.flyte.promotion.source_value import written
from hermes_nb.flyte.promotion.spec import how

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool

LITERAL_CHARS = 2_000  # a variable longer than this is not written out
RESERVED = frozenset({"env", "tool", "run_agent", "flyte", "os"})  # names that the module has for itself
_OURS = ("hermes_nb", "flyte", "flyteplugins")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Parts:
    """Imports and definitions that the tools use, each once, what is needed before what needs it.

    Args:
        tools: All tools of the agent.

    Attributes:
        imports: Lines of imports.
        definitions: Lines of the definitions.
        are_annotations_text: Whether a cell says `from __future__ import annotations`.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.imports: set[str] = set()
        self.definitions: list[str] = []
        self.are_annotations_text = False
        self._seen: dict[str, Any] = {}
        self._sources: dict[str, str] = {}
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            name = main_function(tool).__name__
            if name in RESERVED:
                raise UsageError(
                    f"Tool {tool.name!r} is made of a function named {name!r}, which the module has for itself. Rename it."
                )
            if name in self._tools:
                raise UsageError(
                    f"Tools {self._tools[name].name!r} and {tool.name!r} are both made of a function named {name!r}, and a"
                    " module has one thing of a name. Write a function for each."
                )
            self._tools[name] = tool

    @property
    def names(self) -> set[str]:
        """What is defined or imported by name."""
        return set(self._seen)

    def take(self, tool: Tool) -> None:
        """Gather what a tool uses."""
        function = main_function(tool)
        self._used(function, tool)

    def lines_of(self, tool: Tool) -> list[str]:
        """The tool's function as source, with the user's own decorators alone."""
        function = main_function(tool)
        node, text = _definition(function, tool)
        lines = text.splitlines()
        own = [lines[d.lineno - 1 : d.end_lineno] for d in _foreign(node, function)]
        body = lines[node.lineno - 1 :]
        results.refuse_iterator(function, tool)
        refuse_picture(function, tool, node)
        if how(tool) != "inline" and results.is_unsaid(node):
            self._name("typing", typing, function, tool)
            body = results.said("\n".join(body)).splitlines()
        return [*(line for part in own for line in part), *body]

    def _used(self, function: types.FunctionType, tool: Tool) -> None:
        """Everything that a function of the notebook names: in its body, signature and decorators."""
        self.are_annotations_text |= bool(function.__code__.co_flags & __future__.annotations.compiler_flag)
        _refuse_kept_state(function, tool)
        node, _ = _definition(function, tool)
        self._submodules(node, function.__globals__)
        for name, value in [*used_by(function), *_in_signature(node, function, tool)]:
            self._name(name, value, function, tool)

    def _name(self, name: str, value: Any, user: types.FunctionType, tool: Tool) -> None:
        """One name and what it stands for."""
        if name in self._seen:
            if not _is_same(self._seen[name], value):
                raise UsageError(
                    f"Tool {tool.name!r} uses {name!r}, which is something else for another tool or function of this agent,"
                    " and a module has one thing of a name. Rename one of them, or promote without --export."
                )
            return
        if (owner := self._tools.get(name)) is not None or (owner := self._tool_of(value)) is not None:
            what = "itself" if owner is tool else f"tool {owner.name!r}"
            raise UsageError(
                f"Tool {tool.name!r} uses {what} ({name!r}), and in the module a tool is a task of Flyte, which can't be"
                " called as the function was. Put what they share into a function that is no tool."
            )
        if name in RESERVED and not (isinstance(value, types.ModuleType) and value.__name__ == name):
            raise UsageError(
                f"Tool {tool.name!r} uses something named {name!r}, which the module has for itself. Give it another name."
            )
        self._seen[name] = value
        self._one(name, value, user, tool)

    def _tool_of(self, value: Any) -> Tool | None:
        inner = _within(value)
        return next((t for t in self._tools.values() if inner is t.function or (inner is t.remote is not None)), None)

    def _one(self, name: str, value: Any, user: types.FunctionType, tool: Tool) -> None:
        module = sys.modules.get(held(value, "__module__") or "")
        own = name_of(value)
        function = _plain(value)
        if isinstance(value, types.ModuleType):
            self.imports.add(f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else ""))
        elif isinstance(value, type) and is_of_notebook(value):
            self._defined(name, value.__name__, value, lambda: self._class(value, user, tool), user, tool)
        elif function is not None and is_of_notebook(function):
            if function.__name__ == "<lambda>":
                own, text = _named_lambda(function, tool)
                self._defined(name, own, value, lambda: self._lambda(function, text, tool), user, tool)
            else:
                self._defined(name, function.__name__, value, lambda: self._function(value, function, tool), user, tool)
        elif callable(value) and module is not None and module.__name__ != "__main__" and held(module, own) is value:
            if module.__name__ != "builtins" or name != own:
                self.imports.add(f"from {module.__name__} import {own}" + (f" as {name}" if name != own else ""))
        elif isinstance(value, logging.Logger) and logging.getLogger(value.name) is value:
            self.imports.add("import logging")
            self.definitions += [f"{name} = logging.getLogger({'' if value is logging.root else repr(value.name)})", ""]
        elif (made := written(value)) is not None:
            module, text = made
            self._name(module.__name__, module, user, tool)
            self.definitions += [f"{name} = {text}", ""]
        else:
            self.definitions += [f"{name} = {_literal(name, value, tool)}", ""]

    def _defined(self, name: str, own: str, value: Any, define: Any, user: types.FunctionType, tool: Tool) -> None:
        """A definition under its own name; a second name of it is a line of its own."""
        if name == own:
            define()
            return
        self._name(own, value, user, tool)
        self.definitions += [f"{name} = {own}", ""]

    def _function(self, value: Any, function: types.FunctionType, tool: Tool) -> None:
        _refuse_wrapped(value, function, tool)
        self._used(function, tool)
        node, text = _definition(function, tool)
        lines = text.splitlines()
        own = [line for d in _foreign(node, function) for line in lines[d.lineno - 1 : d.end_lineno]]
        self.definitions += [*own, *lines[node.lineno - 1 :], ""]

    def _lambda(self, function: types.FunctionType, text: str, tool: Tool) -> None:
        _refuse_kept_state(function, tool)
        for name, value in used_by(function):
            self._name(name, value, function, tool)
        self._submodules(_syntax.parse(text), function.__globals__)
        self.definitions += [text, ""]

    def _class(self, cls: type, user: types.FunctionType, tool: Tool) -> None:
        """A class of the notebook: what its body names comes before it."""
        text = class_source(cls, user)
        if text is None:
            raise UsageError(f"The source of class {cls.__name__!r}, used by tool {tool.name!r}, can't be found.")
        tree = _syntax.parse(text)
        self._submodules(tree, user.__globals__)
        for name in dict.fromkeys(_in_class(tree, user.__globals__)):
            if (value := user.__globals__.get(name)) is cls or is_shells_builtin(name, value):
                continue
            if name in user.__globals__ and name != cls.__name__:
                self._name(name, user.__globals__[name], user, tool)
        self.definitions += [text, ""]

    def _submodules(self, tree: ast.AST, names: dict[str, Any]) -> None:
        """Modules within packages that are reached through the package's name: `import a.b` binds `a` alone."""
        for node in ast.walk(tree):
            path = _dotted(node)
            value = names.get(path[0]) if path else None
            for part in path[1:]:
                if not isinstance(value, types.ModuleType):
                    break
                inner = sys.modules.get(f"{value.__name__}.{part}")
                if inner is None or held(value, part) is not inner or inner.__name__ != f"{value.__name__}.{part}":
                    break
                self.imports.add(f"import {inner.__name__}")
                value = inner


def main_function(tool: Tool) -> types.FunctionType:
    """The function that is written out for a tool.

    Raises:
        UsageError: It is none that could stand alone: a method, a partial, an object.
    """
    value = tool.remote.func if how(tool) == "task" else tool.function
    function = _plain(value)
    if function is None or function.__name__ == "<lambda>":
        kind = "a lambda" if function is not None else f"a {type(value).__name__}"
        raise UsageError(
            f"Tool {tool.name!r} is {kind}, which can't stand in a module by itself. Write a function that calls it."
        )
    _refuse_wrapped(value, function, tool)
    return function


def is_literal(value: Any) -> bool:
    """Whether its repr is source for the same value."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return False


def _within(value: Any) -> Any:
    """What a tool runs; anything else as it is."""
    return (held(value, "function") or value) if type(value).__module__.startswith("hermes_nb.") else value


def _plain(value: Any) -> types.FunctionType | None:
    """The function of a definition, below its decorators; None for anything else."""
    value = _within(value)
    for _ in range(100):
        inner = held(value, "__wrapped__")
        if inner is None:
            break
        value = inner
    return value if isinstance(value, types.FunctionType) else None


def _refuse_wrapped(value: Any, function: types.FunctionType, tool: Tool) -> None:
    """What wraps a function without standing above it as a decorator would be lost."""
    if _within(value) is not function and not _foreign(_definition(function, tool)[0], function):
        raise UsageError(
            f"Function {function.__name__!r}, used by tool {tool.name!r}, is wrapped by something that does not stand above"
            " it as a decorator, and would be written without it. Write @... above the function."
        )


def _refuse_kept_state(function: types.FunctionType, tool: Tool) -> None:
    """A variable of an enclosing function that is changed would be a local one in a module."""
    free = set(function.__code__.co_freevars)
    steps = dis.get_instructions(function.__code__)
    changed = [step.argval for step in steps if step.opname == "STORE_DEREF" and step.argval in free]
    if changed:
        raise UsageError(
            f"Function {function.__name__!r}, used by tool {tool.name!r}, changes variable {changed[0]!r} of the function"
            " around it, which a module has no place for. Promote without --export."
        )


def _definition(function: types.FunctionType, tool: Tool) -> tuple[_Definition, str]:
    """The definition's syntax and text, decorators included."""
    text = _source(function, tool)
    try:
        node = _syntax.parse(text).body[0]
    except (SyntaxError, IndexError):
        node = ast.Pass()
    if not isinstance(node, _Definition):
        raise UsageError(f"The source of {function.__name__!r}, used by tool {tool.name!r}, can't be read by itself.")
    return node, text


def _named_lambda(function: types.FunctionType, tool: Tool) -> tuple[str, str]:
    """The name that a lambda was given where it stands, and that line; one within a larger expression has none."""
    text = _source(function, tool)
    try:
        (node,) = _syntax.parse(text).body
    except (SyntaxError, ValueError):
        node = ast.Pass()
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and len(node.targets) == 1:
        (target,) = node.targets
        if isinstance(target, ast.Name):
            return target.id, text
    raise UsageError(
        f"A lambda that tool {tool.name!r} uses stands within a larger expression and can't be written by itself. Write a"
        " function with a name."
    )


def _foreign(node: _Definition, function: types.FunctionType) -> list[ast.expr]:
    """The decorators that are not this package's or Flyte's own, with the lines of their `@`."""
    return [d for d in node.decorator_list if not _is_ours(d, function)]


def _is_ours(decorator: ast.expr, function: types.FunctionType) -> bool:
    path = _dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
    if path == ["staticmethod"]:  # of a class, which a module's function is not in
        return True
    value = function.__globals__.get(path[0]) if path else None
    for part in path[1:]:
        value = held(value, part)
    name = str(held(value, "__module__") or "").partition(".")[0]
    return name in _OURS


def _dotted(node: ast.AST) -> list[str]:
    """The names of `a.b.c`; [] for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def _in_signature(node: _Definition, function: types.FunctionType, tool: Tool) -> Iterator[tuple[str, Any]]:
    """Names of the notebook in annotations, defaults and decorators, with their values now."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    annotations = [*(a.annotation for a in every if a is not None), node.returns, *_annotations(node.body)]
    read = [*arguments.defaults, *arguments.kw_defaults, *_foreign(node, function)]
    names = [n for part in annotations if part is not None for n in _of_annotation(part, function.__globals__)]
    names += [n for part in read if part is not None for n in _of_expression(part)]
    for name in dict.fromkeys(names):
        if name in function.__globals__ and not is_shells_builtin(name, function.__globals__[name]):
            yield name, function.__globals__[name]


def _in_class(tree: ast.Module, names: Mapping[str, Any]) -> Iterator[str]:
    """Names of the notebook that a class needs: what its code looks up, and what its annotations say."""
    bare = _Bare().visit(copy.deepcopy(tree))
    yield from read_names(compile(ast.fix_missing_locations(bare), "<class>", "exec", dont_inherit=True))
    for annotation in _annotations(tree.body):
        yield from _of_annotation(annotation, names)


class _Bare(ast.NodeTransformer):
    """Syntax without its annotations."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _annotations(body: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """All annotations within some statements."""
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, _Definition) and node.returns is not None:
            yield node.returns


def _of_expression(node: ast.expr) -> Iterator[str]:
    """Names that an expression looks up in its module."""
    yield from read_names(compile(ast.Expression(node), "<expression>", "eval", dont_inherit=True))


def _of_annotation(node: ast.AST, names: Mapping[str, Any]) -> Iterator[str]:
    """Names in an annotation, also where it or a part of it is text; words of `Literal` and `Annotated` are words."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            inner = _syntax.parse(node.value.strip())
        except (SyntaxError, ValueError):  # no annotation: words
            return
        for statement in inner.body:
            if isinstance(statement, ast.Expr):
                yield from _of_annotation(statement.value, names)
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Call):
        yield from _of_expression(node)
    elif isinstance(node, ast.Subscript) and (form := _form(node.value, names)):
        yield from _of_annotation(node.value, names)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if form == "Annotated":
            yield from _of_annotation(parts[0], names)
            parts = parts[1:]
        for part in parts:
            yield from _of_expression(part)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _of_annotation(child, names)


def _form(node: ast.expr, names: Mapping[str, Any]) -> str:
    """`Literal` or `Annotated` where an annotation names one of them, by whatever name; else ""."""
    path = _dotted(node)
    value = names.get(path[0]) if path else None
    for part in path[1:]:
        value = held(value, part)
    return "Literal" if value is typing.Literal else "Annotated" if value is typing.Annotated else ""


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    return type(one) is type(other) and is_literal(one) and is_literal(other) and bool(one == other)


def _literal(name: str, value: Any, tool: Tool) -> str:
    n_characters = len(repr(value))
    if n_characters > LITERAL_CHARS or not is_literal(value):
        size = f", {n_characters:,} characters" if n_characters > LITERAL_CHARS else ""
        cure = (
            "Read it inside the function, from a file or a bucket"
            if size
            else "Make it inside the function, or read it there"
        )
        raise UsageError(
            f"Tool {tool.name!r} uses variable {name!r} ({type(value).__name__}{size}), which can't be written as source."
            f" {cure}, or promote without --export."
        )
    return pprint.pformat(value, width=110, sort_dicts=False)


def _source(value: Any, tool: Tool) -> str:
    try:
        return textwrap.dedent(inspect.getsource(value)).rstrip()
    except (OSError, TypeError) as exc:
        name = name_of(value) or value
        raise UsageError(f"The source of {name!r}, used by tool {tool.name!r}, can't be found.") from exc
