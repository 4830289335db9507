"""What a tool's function takes with it from the notebook: variables, modules, and where in the notebook it stands."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import linecache
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hermes_nb import _syntax
from hermes_nb.flyte.promotion.finding import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool

CACHED = type(functools.lru_cache(len))  # what `lru_cache` and `cache` make of a function
# How a class body looks up a name: in itself, then in its module.
_LOOKS = ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


@dataclass(frozen=True)
class Taken:
    """What one tool takes along.

    Attributes:
        variables: Values of the notebook by name, functions, classes and modules left out.
        users: For each variable, the function that uses it, and its line.
        imports: Top-level modules that the bodies import when they run.
        written: Variables of the notebook that a body binds anew (`global`), by name: the function that does.
        functions: The tool's function and those of the notebook that it uses.
    """

    variables: dict[str, Any] = field(default_factory=dict)
    users: dict[str, types.FunctionType] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    written: dict[str, types.FunctionType] = field(default_factory=dict)
    functions: list[types.FunctionType] = field(default_factory=list)


def taken_by(tool: Tool) -> Taken:
    """What a tool takes along: followed through the functions and classes of the notebook that it uses."""
    taken = Taken()
    todo = list(functions_in(tool.function))
    for name, value in _of_object(tool.function) if todo else ():
        taken.variables.setdefault(name, value)
        taken.users.setdefault(name, _first(tool.function) or todo[0])
    seen: set[int] = set()
    while todo:
        function = todo.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        taken.functions.append(function)
        taken.imports.update(_imports(function.__code__))
        taken.written.update(dict.fromkeys(_written_names(function.__code__), function))
        for name, value in [*used_by(function), *_defaults(function)]:
            if isinstance(value, type) and is_of_notebook(value):
                for attribute, held_value in _attributes(value):
                    taken.variables.setdefault(attribute, held_value)
                    taken.users.setdefault(attribute, function)
            found = list(functions_in(value)) if is_of_notebook(value) else []
            if found:
                todo += found
            elif not isinstance(value, types.ModuleType | type) and not (callable(value) and is_by_name(value)):
                taken.variables.setdefault(name, value)
                taken.users.setdefault(name, function)
    return taken


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Defaults of a function's parameters, by name."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    yield from zip(reversed(names), reversed(function.__defaults__ or ()), strict=False)
    yield from (function.__kwdefaults__ or {}).items()


def _of_object(function: Any) -> Iterator[tuple[str, Any]]:
    """What a callable holds: what a partial was given, by parameter; attributes of an object, as `Class.name`."""
    if isinstance(function, functools.partial):
        inner = _first(function.func)
        names = inner.__code__.co_varnames[isinstance(function.func, types.MethodType) :] if inner else ()
        yield from zip(names, function.args, strict=False)
        yield from function.keywords.items()
        yield from _of_object(function.func)
        return
    owner = function.__self__ if isinstance(function, types.MethodType) else function
    if not isinstance(owner, types.FunctionType | type | types.ModuleType) and is_of_notebook(type(owner)):
        for name, value in dict(held(owner, "__dict__") or {}).items():
            yield f"{type(owner).__name__}.{name}", value


def _first(function: Any) -> types.FunctionType | None:
    """The function that is called, for its place and its parameters."""
    found = list(functions_in(function))
    return next((f for f in found if f.__name__ == "__call__"), found[0] if found else None)


def _attributes(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class of the notebook and those above it hold besides functions, as `Class.name`."""
    for own in cls.__mro__:
        for name, value in list(vars(own).items()) if is_of_notebook(own) else ():
            if not name.startswith("__") and not callable(value) and not hasattr(type(value), "__get__"):
                yield f"{own.__name__}.{name}", value


def site_of(function: Any, tool: str = "") -> Site:
    """Where a function of a tool stands; without a place where nobody knows."""
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    code = code or getattr(_first(function), "__code__", None)
    if code is None:
        return Site(tool)
    number, line = cell_number(code.co_filename), int(code.co_firstlineno)
    name = code.co_filename.rpartition("/")[2]
    file = f"cell {number}" if number is not None else "a cell" if _is_cell(code.co_filename) else name
    return Site(tool, f"{file}, line {line}", number, line)


def cell_number(file_name: str) -> int | None:
    """The execution count of the cell that a file name of ipykernel's stands for; None when it is no cell's."""
    for compiler in _compilers():
        number = getattr(compiler, "_filename_map", {}).get(file_name)
        if number is not None:
            return int(number)
    return None


def _compilers() -> Iterator[Any]:
    """The compiler of the running shell, found without importing IPython."""
    shell_module = sys.modules.get("IPython.core.interactiveshell")
    shell = getattr(getattr(shell_module, "InteractiveShell", None), "_instance", None)
    if shell is not None:
        yield shell.compile


def _is_cell(file_name: str) -> bool:
    return file_name.startswith("<") or "ipykernel_" in file_name or file_name in linecache.cache


def functions_in(value: Any) -> Iterator[types.FunctionType]:
    """The functions behind a callable or in a class."""
    value = held(value, "function") or value  # a Tool
    while callable(inner := held(value, "func")):  # partial, task
        value = inner
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        yield value
        wrapped = held(value, "__wrapped__")
        if wrapped is not None:
            yield from functions_in(wrapped)
    elif isinstance(value, type):
        for member in (m for cls in value.__mro__ if is_of_notebook(cls) for m in list(vars(cls).values())):
            parts = [held(member, name) for name in ("__func__", "fget", "fset", "fdel", "func")]
            for part in (member, *parts):  # a method; of a class, a property, a cached property
                if isinstance(part, types.FunctionType):
                    yield part
            if isinstance(member, CACHED):
                yield from functions_in(member.__wrapped__)
    elif isinstance(value, CACHED):
        yield from functions_in(value.__wrapped__)
    elif callable(value) and is_of_notebook(type(value)):
        yield from functions_in(type(value))


def class_source(cls: type, user: types.FunctionType) -> str | None:
    """The source of a class of the notebook, which `inspect` finds in files alone; None when no cell has it.

    Args:
        cls: The class.
        user: A function that uses it; its own cell is looked at before all others, the newest first.
    """
    own = [f.__code__.co_filename for f in functions_in(cls)]
    cells = [name for name in reversed(list(linecache.cache)) if _is_cell(name)]
    for file in dict.fromkeys([*own, user.__code__.co_filename, *cells]):
        text = "".join(linecache.getlines(file))
        try:
            body = _syntax.parse(text).body
        except SyntaxError:  # a cell with magics
            continue
        for node in reversed(body):
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    return None


def used_by(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Names of the notebook that a function reads, with their values now."""
    for name in read_names(function.__code__):
        if name in function.__globals__ and not is_shells_builtin(name, function.__globals__[name]):
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue


def read_names(code: types.CodeType) -> Iterator[str]:
    """Names that code looks up in its module, in order; those that a class body binds itself are its own."""
    bound = {"__name__"}  # a class body reads it for itself
    for instruction in dis.get_instructions(code):
        name = str(instruction.argval)
        if instruction.opname == "STORE_NAME":
            bound.add(name)
        elif instruction.opname == "LOAD_GLOBAL" or (instruction.opname in _LOOKS and name not in bound):
            yield name
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from read_names(constant)


def _written_names(code: types.CodeType) -> Iterator[str]:
    """Names of its module that code binds anew."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_GLOBAL":
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _written_names(constant)


def shells_builtin(value: Any) -> str | None:
    """The name of the built-in that IPython's own function or object stands for; None when it is no such thing."""
    if isinstance(value, types.FunctionType):
        own = value.__name__
        return own if own == "open" and is_shells_builtin(own, value) else None
    return "exit" if type(value).__module__ in ("IPython.core.autocall", "ipykernel.zmqshell") and callable(value) else None


def is_shells_builtin(name: str, value: Any) -> bool:
    """Whether it is IPython's own `open`, `exit` or `quit`, which it puts among the user's names in a built-in's place."""
    if name not in ("open", "exit", "quit") or not hasattr(builtins, name):
        return False
    names = held(value, "__globals__") if isinstance(value, types.FunctionType) else None
    home = names.get("__name__") if isinstance(names, dict) else type(value).__module__
    return str(home).partition(".")[0] in ("IPython", "ipykernel")


def _imports(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and instruction.argval:
            yield str(instruction.argval).partition(".")[0]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imports(constant)


def is_of_notebook(value: Any) -> bool:
    """Whether cloudpickle would take it by value."""
    value = held(value, "function") or value
    value = held(value, "func") or value
    return held(value, "__module__") in ("__main__", None) or "<locals>" in str(held(value, "__qualname__") or "")


def held(value: Any, name: str) -> Any:
    """An attribute that an object really has; None where it has none.

    Notebooks hold objects that make up any attribute they are asked for (clients of remote procedures, mocks), and such as
    fail when they are asked (proxies of what is not there yet).
    """
    if isinstance(value, types.MethodType) and name != "__func__":
        value = value.__func__  # whose attributes a bound method passes on
    try:
        inspect.getattr_static(value, name)
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - anything may be raised by what an object does when it is asked
        return None


def name_of(value: Any) -> str:
    """Its `__name__`; "" where it has none that is a text."""
    try:
        name = value.__name__
    except Exception:  # noqa: BLE001 - as above
        return ""
    return name if isinstance(name, str) else ""


def is_by_name(value: Any) -> bool:
    """Whether it is a function that its module has by that name; an object that can merely be called is none."""
    module, name = held(value, "__module__"), held(value, "__qualname__")
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return False
    at: Any = sys.modules.get(module)
    for part in name.split("."):
        at = held(at, part)
    return at is value
