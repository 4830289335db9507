"""`hermes_nb._syntax` beside other threads that parse; and whether Python still needs it."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from hermes_nb import _syntax

# Two threads parse while garbage is collected whose finalisers are Python code: there threads may be switched.
MEETING = """
import ast, sys, threading
from hermes_nb import _syntax

class Garbage:
    def __init__(self):
        self.me = self
    def __del__(self):
        sum(range(50))

source = "x = [" + ",".join(f"f({i}, a={i})" for i in range(300)) + "]"
errors = []
def parse(parse, depth, n):
    if depth:
        return parse_at(parse, depth - 1, n)
    for _ in range(n):
        Garbage()
        try:
            assert len(parse(source).body[0].value.elts) == 300
        except SystemError as error:
            errors.append(error)
parse_at = parse
threads = [threading.Thread(target=parse, args=(%s, depth, 200)) for depth in (5, 40)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(errors))
"""


def met(parse: str) -> int:
    ran = subprocess.run([sys.executable, "-c", MEETING % parse], capture_output=True, text=True, check=True, timeout=120)
    return int(ran.stdout)


def test_ours_do_not_break_each_other() -> None:
    assert met("_syntax.parse") == 0


@pytest.mark.skipif(
    (3, 11, 9) <= sys.version_info < (3, 12) or sys.version_info >= (3, 12, 3), reason="this Python is mended"
)
def test_python_still_needs_it() -> None:
    assert met("ast.parse") > 0, "hermes_nb/_syntax.py is no longer needed here"


def test_it_is_read_again_when_another_thread_s_met_it() -> None:
    n_left = [3]

    def read() -> ast.Module:
        n_left[0] -= 1
        if n_left[0] > 0:
            raise SystemError("AST constructor recursion depth mismatch (before=36, after=136)")
        return ast.parse("x = 1")

    assert isinstance(_syntax.undisturbed(read), ast.Module)
    with pytest.raises(SyntaxError):
        _syntax.parse("x = ")
