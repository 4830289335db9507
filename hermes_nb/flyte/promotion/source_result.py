"""What a tool returns, as a task of Flyte has to say it: a task without a return type may return nothing."""

from __future__ import annotations

import ast
import collections.abc
import inspect
import io
import tokenize
import types
import typing
from collections.abc import Iterator

from hermes_nb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool

_ITERATORS = (collections.abc.Iterator, collections.abc.Generator, collections.abc.AsyncIterator)
_SAID = " -> typing.Any"


def refuse_iterator(function: types.FunctionType, tool: Tool) -> None:
    """A generator, and what says that it returns an iterator: no task returns one, and the model would read its address."""
    told = inspect.get_annotations(function).get("return")
    if inspect.isgeneratorfunction(function) or _is_iterator(told):
        raise UsageError(
            f"Tool {tool.name!r} returns an iterator, and a task of Flyte returns a value. Collect what it yields in a list"
            " and return that, or promote without --export."
        )


def is_unsaid(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function returns something and does not say of which type."""
    return node.returns is None and any(
        isinstance(part, ast.Return)
        and part.value is not None
        and not (isinstance(part.value, ast.Constant) and part.value.value is None)
        for statement in node.body
        for part in _own(statement)
    )


def said(text: str) -> str:
    """The source of a function that says it returns anything."""
    depth, lines = 0, text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if token.string == ":" and not depth:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column] + _SAID + lines[row - 1][column:]
                break
    return "\n".join(lines)


def _is_iterator(said: object) -> bool:
    if isinstance(said, str):
        return said.partition("[")[0].rpartition(".")[2] in ("Iterator", "Generator", "AsyncIterator")
    return (typing.get_origin(said) or said) in _ITERATORS


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and what is in it, functions and classes within left out."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _own(child)
