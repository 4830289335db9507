"""Cells that an export writes out, and cells that it has to refuse."""

WORKS = {
    "words of a Literal that are variables": (
        1,
        """import threading
from typing import Annotated, Literal as L
unit = threading.Lock()
per = object()
def t(x: int, to: L['unit', 'C'] = 'unit', of: "Annotated[int, 'per']" = 1) -> int:
    'D'
    return x
""",
    ),
    "fields named like variables": (
        1,
        """import dataclasses, threading
df = threading.Lock()
n = object()
SIZE = 0
@dataclasses.dataclass
class Row:
    df: int
    n: "int" = SIZE
    def total(self, df=None):
        n = self.df
        return n + self.n
def t(x: int) -> int:
    'D'
    return Row(x).total()
""",
    ),
    "a class within a function": (
        3,
        """import threading
unit = threading.Lock()
K = 1
def t(x: int) -> int:
    'D'
    class C:
        unit = 1
        both = unit + K
    return C.both + x
""",
    ),
    "words of a default and a decorator": (
        1,
        """import threading
word = threading.Lock()
def named(what):
    return lambda f: f
@named("word")
def helper(x, w="word", f=lambda word: word):
    return f(x)
def t(x: int) -> int:
    'D'
    return helper(x)
""",
    ),
    "a logger": (
        1,
        """import logging
log = logging.getLogger("shop.prices")
def t(x: int) -> int:
    'D'
    log.debug("asked")
    return x if log is logging.getLogger("shop.prices") else 0
""",
    ),
    "IPython's own open": (
        0,
        """import os
from IPython.core import interactiveshell
open = interactiveshell._modified_open
def t(x: int) -> int:
    'D'
    with open(os.devnull) as file:
        return len(file.read())
""",
    ),
    "a function with letters of its own, and a generator of contexts": (
        4,
        """import contextlib
@contextlib.contextmanager
def größe(straße):
    yield straße + 1
def t(x: int) -> int:
    'D'
    with größe(x) as y:
        return y + sum(iter([1, 1]))
""",
    ),
    "a second name of a function": (
        2,
        """def plus(x):
    return x + 1
add = plus
def t(x: int) -> int:
    'D'
    return add(x)
""",
    ),
    "a second name of a class": (
        1,
        """class Box:
    def __init__(self, x):
        self.x = x
B = Box
def t(x: int) -> int:
    'D'
    return B(x).x
""",
    ),
    "a decorated tool": (
        2,
        """import functools
def twice(f):
    @functools.wraps(f)
    def inner(*a, **k):
        return 2 * f(*a, **k)
    return inner
@twice
def t(x: int) -> int:
    'D'
    return x
""",
    ),
    "a decorator with arguments over lines": (
        3,
        """import functools
def times(n, *more):
    def outer(f):
        @functools.wraps(f)
        def inner(*a, **k):
            return n * f(*a, **k)
        return inner
    return outer
N = 3
@times(
    N,
    4,
)
def t(x: int) -> int:
    'D'
    return x
""",
    ),
    "a cached tool": (
        1,
        """import functools
@functools.lru_cache(maxsize=3)
def t(x: int) -> int:
    'D'
    return x
""",
    ),
    "a cached function": (
        2,
        """from functools import cache
@cache
def plus(x):
    return x + 1
def t(x: int) -> int:
    'D'
    return plus(x)
""",
    ),
    "this package's decorator below another": (
        1,
        """from hermes_nb import tool
@tool(parallel=True)
def t(x: int) -> int:
    'D'
    return x
""",
    ),
    "modules in packages": (
        1,
        """import concurrent.futures
import xml.etree.ElementTree as E
import xml.dom.minidom
def t(x: int) -> int:
    'D'
    assert xml.dom.minidom and E.fromstring and concurrent.futures.Future
    return x
""",
    ),
    "annotations that are text": (
        1,
        """from dataclasses import dataclass, field
@dataclass
class Inner:
    n: int
@dataclass
class Outer:
    i: 'Inner'
    more: 'list[Inner]' = field(default_factory=list)
def t(x: 'int', o: 'Outer | None' = None) -> 'int':
    'D'
    return x
""",
    ),
    "annotations that are text by a future": (
        1,
        """from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Node:
    n: int
    next: Node | None = None
def t(x: int, node: Node | None = None) -> int:
    'D'
    return x
""",
    ),
    "functions that call each other": (
        1,
        """def a(n):
    return b(n - 1) if n else 1
def b(n):
    return a(n - 1) if n else 1
def t(x: int) -> int:
    'D'
    return a(x)
""",
    ),
    "a second name of a lambda": (
        2,
        """import os.path
plus = lambda x: len(os.path.join("", "a")) + x
add = plus
def t(x: int) -> int:
    'D'
    return add(x)
""",
    ),
    "values that are made": (
        "1a 1.5 2020-01-01",
        """import re
import datetime as dt
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from uuid import UUID
WORD = re.compile("A+", re.IGNORECASE | re.MULTILINE)
RAW = re.compile(b"a")
WHERE = Path("data/x.csv")
FIRST = dt.date(2020, 1, 1)
AT = dt.datetime(2020, 1, 1, 3, tzinfo=dt.timezone.utc)
STEP = dt.timedelta(hours=2)
PRICE = Decimal("1.50")
HALF = Fraction(1, 2)
ID = UUID(int=5)
def t(x: int) -> str:
    'D'
    assert RAW.match(b"a") and WHERE.name == "x.csv" and AT - STEP < AT and HALF * 2 == 1 and ID.int == 5
    return f"{x}{WORD.match('a')[0]} {PRICE.normalize()} {FIRST}"
""",
    ),
    "the logger of all": (
        1,
        """import logging
log = logging.getLogger()
def t(x: int) -> int:
    'D'
    return x if log is logging.getLogger() else 0
""",
    ),
    "a result whose type is not said": (
        [1, None],
        """def t(x: int, f=lambda y: [y,
        None]):  # : a colon
    'D'
    def inner():
        return 1
    return f(x)
""",
    ),
    "nothing for a result": (
        None,
        """def t(x: int):
    'D'
    def inner():
        return x
    if x:
        return
    return None
""",
    ),
}  # the cell's `t` answers so to 1

REFUSED = {
    "two of one factory": (
        ["a", "b"],
        "'n', which is something else",
        """def make(n):
    def f(x: int) -> int:
        'D'
        return x * n
    f.__name__ = f'f{n}'
    return f
a, b = make(2), make(3)
""",
    ),
    "two functions of one name": (
        ["a", "b"],
        "both made of a function named 'f'",
        """def make(n):
    def f(x: int) -> int:
        'D'
        return x
    return f
from hermes_nb import tool
a, b = tool(make(2), name='a'), tool(make(3), name='b')
""",
    ),
    "a name of the module's own": (
        ["t"],
        "named 'env'",
        """env = {'a': 1}
def t(x: int) -> int:
    'D'
    return env['a']
""",
    ),
    "a tool that calls a tool": (
        ["t", "b"],
        "uses tool 'b'",
        """from hermes_nb import tool
@tool(idempotent=True)
def b(x: int) -> int:
    'D'
    return x
def t(x: int) -> int:
    'D'
    return b(x)
""",
    ),
    "a tool that calls itself": (
        ["t"],
        "uses itself",
        """def t(x: int) -> int:
    'D'
    return t(x - 1) if x else 0
""",
    ),
    "a method": (
        ["m"],
        "is a method",
        """class A:
    def get(self, x: int) -> int:
        'D'
        return x
m = A().get
""",
    ),
    "a partial": (
        ["p"],
        "is a partial",
        """import functools
from hermes_nb import tool
def f(a: int, x: int) -> int:
    'D'
    return x
p = tool(functools.partial(f, 3), name='p')
""",
    ),
    "what is wrapped elsewhere": (
        ["t"],
        "is wrapped by something",
        """import functools
def f(x: int) -> int:
    'D'
    return x
g = functools.cache(f)
def t(x: int) -> int:
    'D'
    return g(x)
""",
    ),
    "kept state": (
        ["t"],
        "changes variable 'n'",
        """def make():
    n = 0
    def t(x: int) -> int:
        'D'
        nonlocal n
        n += x
        return n
    return t
t = make()
""",
    ),
    "an image of a tool's own": (
        ["t"],
        "remote={'image'",
        """from hermes_nb import tool
@tool(remote={'image': 'x:py3.11'})
def t(x: int) -> int:
    'D'
    return x
""",
    ),
    "a lambda in a table": (
        ["t"],
        "stands within a larger expression",
        """TABLE = {"a": lambda x: x}
a = TABLE["a"]
def t(x: int) -> int:
    'D'
    return a(x)
""",
    ),
    "two lambdas on a line": (
        ["t"],
        "stands within a larger expression",
        """f, g = lambda x: x, lambda x: x + 1
def t(x: int) -> int:
    'D'
    return g(x)
""",
    ),
    "a function with a name of the module's own": (
        ["env"],
        "a function named 'env'",
        """def env(x: int) -> int:
    'D'
    return x
""",
    ),
    "an object": (
        ["t"],
        "'lock' .lock., which can't be written as source. Make it inside the function",
        """import threading
lock = threading.Lock()
def t(x: int) -> int:
    'D'
    with lock:
        return x
""",
    ),
    "a long list": (
        ["t"],
        "'rows' .list, 6,288,890 characters., which can't be written as source. Read it inside the function",
        """rows = list(range(800_000))
def t(x: int) -> int:
    'D'
    return rows[x]
""",
    ),
    "a generator": (
        ["t"],
        "returns an iterator",
        """def t(x: int):
    'D'
    yield x
""",
    ),
    "an iterator": (
        ["t"],
        "returns an iterator",
        """from collections.abc import Iterator
def t(x: int) -> Iterator[int]:
    'D'
    return iter([x])
""",
    ),
    "an iterator that is text": (
        ["t"],
        "returns an iterator",
        """import typing
def t(x: int) -> 'typing.Iterator[int]':
    'D'
    return iter([x])
""",
    ),
}  # which of its names are tools, what is said
