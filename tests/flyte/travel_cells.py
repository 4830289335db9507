"""Cells whose tools can be called in each way, and cells whose tools hold what can't leave; each tool is `tool`."""

CALLABLES = {
    "of a built-in": """import functools
tool = functools.lru_cache(abs)
""",
    "of a lambda": """import functools
f = functools.lru_cache(lambda n: n)
def tool(n: int) -> int:
    'D'
    return f(n)
""",
    "of a partial": """import functools
f = functools.cache(functools.partial(int.__add__, 0))
def tool(n: int) -> int:
    'D'
    return f(n)
""",
    "a cached property": """import functools
class A:
    @functools.cached_property
    def p(self):
        'P.'
        return 0
a = A()
def tool(n: int) -> int:
    'D'
    assert A.p.__doc__ == 'P.'
    return a.p + n + vars(a)['p']
""",
    "one of several by type": """import functools
@functools.singledispatch
def f(n):
    return 0
@f.register
def _(n: int):
    return n
f('')
def tool(n: int) -> int:
    'D'
    return f(n) + f('')
""",
    "a partial": """import functools
def f(a: int, n: int) -> int:
    'D'
    return a + n
tool = functools.partial(f, 0)
""",
    "a decorated function": """import functools
def d(f):
    @functools.wraps(f)
    def g(*a):
        return f(*a)
    return g
@d
def tool(n: int) -> int:
    'D'
    return n
""",
    "decorated by a class": """class D:
    def __init__(self, f):
        self.f = f
    def __call__(self, *a):
        return self.f(*a)
@D
def f(n):
    return n
def tool(n: int) -> int:
    'D'
    return f(n)
""",
    "an object": """class C:
    'D'
    def __call__(self, n: int) -> int:
        return n
tool = C()
""",
    "a method": """class C:
    def get(self, n: int) -> int:
        'D'
        return n
tool = C().get
""",
    "a method of the class": """class C:
    @classmethod
    def get(cls, n: int) -> int:
        'D'
        return n
tool = C.get
""",
}

HELD = {
    "l": """import threading, functools
def f(l, n: int) -> int:
    'D'
    return n
tool = functools.partial(f, threading.Lock())
""",
    "k": """import threading, functools
def f(n: int, *, k) -> int:
    'D'
    return n
tool = functools.partial(f, k=threading.Lock())
""",
    "C.l": """import threading
class C:
    'D'
    def __init__(self):
        self.l = threading.Lock()
    def __call__(self, n: int) -> int:
        return n
tool = C()
""",
    "D.l": """import threading
class D:
    def __init__(self):
        self.l = threading.Lock()
    def get(self, n: int) -> int:
        'D'
        return n
tool = D().get
""",
    "c": """import threading
class C:
    def __init__(self):
        self.l = {'a': [threading.Lock()]}
c = C()
def tool(n: int) -> int:
    'D'
    return n if c else 0
""",
}
