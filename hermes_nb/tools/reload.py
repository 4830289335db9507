"""What IPython's `%autoreload` leaves behind, put right.

IPython 9.18 (`extensions/deduperreload`) puts new code, defaults and docstring into the old function and forgets its
annotations: a new parameter has no type. tests/magics/test_autoreload.py fails when this is no longer needed.
"""

from __future__ import annotations

import ast
import types
from pathlib import Path

from hermes_nb._syntax import parse


def reannotate(function: types.FunctionType) -> None:
    """Give a function of a module the annotations that its file has, where parameters are without theirs.

    Nothing is done where the file does not hold the function as it runs.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = function.__annotations__
    if set(known) - {"return"} == set(names) or not code.co_filename.endswith(".py"):
        return
    found = _definition(code.co_filename, function.__qualname__)
    if found is None or [a.arg for a in (*found.args.posonlyargs, *found.args.args, *found.args.kwonlyargs)] != list(names):
        return
    annotations = {a.arg: a.annotation for a in ast.walk(found.args) if isinstance(a, ast.arg) and a.annotation is not None}
    if found.returns is not None:
        annotations["return"] = found.returns
    if code.co_flags & _AS_TEXT:
        function.__annotations__ = {name: ast.unparse(node) for name, node in annotations.items()}
        return
    try:
        function.__annotations__ = {
            name: eval(compile(ast.Expression(node), code.co_filename, "eval"), function.__globals__)
            for name, node in annotations.items()
        }
    except Exception:  # noqa: BLE001 - an annotation may be any expression; the function stays as it was reloaded
        return


_AS_TEXT = 0x1000000  # `from __future__ import annotations`


def _definition(path: str, qualname: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    try:
        body: list[ast.stmt] = parse(Path(path).read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError):
        return None
    *outer, last = qualname.split(".")
    for name in outer:
        body = next((n.body for n in body if isinstance(n, ast.ClassDef) and n.name == name), [])
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return next((n for n in reversed(body) if isinstance(n, kinds) and n.name == last), None)
