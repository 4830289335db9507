"""Reading source text into `ast` objects where other threads may do so at the same moment.

Before Python 3.11.9 and 3.12.3 two such readings that meet break each other: SystemError, "AST constructor recursion depth
mismatch" (https://github.com/python/cpython/issues/106905). It takes a garbage collection that runs Python code, so it is
seen in large processes. tests/architecture/test_syntax.py tells when no supported Python has it any longer.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_N_TRIES = 20
_LOCK = threading.RLock()


def undisturbed(read: Callable[[], T]) -> T:
    """What `read` returns: our own readings one at a time, and again where somebody else's has met it.

    Args:
        read: Has no effect but its result.
    """
    with _LOCK:
        for _ in range(_N_TRIES - 1):
            try:
                return read()
            except SystemError:
                continue
        return read()


def parse(source: str) -> ast.Module:
    """`ast.parse(source)`.

    Raises:
        SyntaxError: It is none of Python's.
    """
    return undisturbed(lambda: ast.parse(source))
