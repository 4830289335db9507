"""Rows about signatures, names, docstrings, kinds of callables and notebook variables."""

import functools
import math
import typing as t

from . import conformance_pep563 as pep563
from .conformance import Row, only, prop, says, seen

ROWS: list[Row] = []


def row(name, *facts, calls=(), refused=(), **options):
    """Add the decorated callable to the table."""

    def add(function):
        ROWS.append(Row(name, lambda: function, facts, tuple(calls), tuple(refused), **options))
        return function

    return add


def made(name, *facts, calls=(), refused=(), **options):
    """Add the callable the decorated function makes."""

    def add(factory):
        ROWS.append(Row(name, factory, facts, tuple(calls), tuple(refused), **options))
        return factory

    return add


# --- kinds of parameters -------------------------------------------------------------------------------------------


@row("keyword-only", only("a", "b"), prop("b", "integer", default=2), calls=[({"a": 1, "b": 3}, (1, 3)), ({"a": 1}, (1, 2))])
def f(*, a: int, b: int = 2): seen(a, b)


@row("positional-only", only("a", "b"), prop("a", "integer", required=True), calls=[({"a": 1, "b": "x"}, (1, "x"))], refused=[{"b": "x"}])
def f(a: int, b: str, /): seen(a, b)


@row("positional-only with a default skipped", calls=[({"a": 1, "c": 3}, (1, 2, 3)), ({"a": 1}, (1, 2, 9))])
def f(a: int, b: int = 2, c: int = 9, /): seen(a, b, c)


@row("all kinds at once", only("a", "b", "c"), calls=[({"a": 1, "b": 2, "c": 3}, (1, 2, 3))])
def f(a: int, /, b: int, *, c: int): seen(a, b, c)


@row("*args is refused", error=True)
def f(*numbers: int): seen(numbers)


@row("**kwargs without a type is hidden", only("a"), calls=[({"a": 1}, (1, {}))], refused=[{"a": 1, "x": 2}])
def f(a: int, **rest): seen(a, rest)


@row("unknown argument", calls=[({"a": 1}, 1)], refused=[{"a": 1, "b": 2}])
def f(a: int): seen(a)


@row("order of the signature", only("z", "a", "m"))
def f(z: int, a: int, m: int): seen(z, a, m)


# --- names ---------------------------------------------------------------------------------------------------------


@row("parameter named schema", only("schema"), prop("schema", "string"), calls=[({"schema": "a"}, "a")], refused=[{}])
def f(schema: str): seen(schema)


@row("parameter named json", only("json"), prop("json", "string", default="x"), calls=[({"json": "a"}, "a"), ({}, "x")])
def f(json: str = "x"): seen(json)


@row("parameter named model_config", only("model_config"), calls=[({"model_config": "a"}, "a")])
def f(model_config: str): seen(model_config)


@row("parameter named self_", only("self_"), calls=[({"self_": 1}, 1)])
def f(self_: int): seen(self_)


@row("parameter with a leading underscore", only("_private", "n"), calls=[({"_private": 1, "n": 2}, (1, 2)), ({"n": 2}, (0, 2))])
def f(_private: int = 0, n: int = 1): seen(_private, n)


@row("parameters named like methods of a model", only("copy", "dict", "validate", "model_dump"),
     calls=[({"copy": 1, "dict": 2, "validate": 3, "model_dump": 4}, (1, 2, 3, 4))])
def f(copy: int, dict: int, validate: int, model_dump: int): seen(copy, dict, validate, model_dump)


@row("parameter named like a type", only("list", "int"), calls=[({"list": [1], "int": 2}, ([1], 2))])
def f(list: list[int], int: int): seen(list, int)


# --- docstrings ----------------------------------------------------------------------------------------------------


@row("Google docstring", prop("n", description="How many."), prop("region", description="Where to look, across two lines."),
     says("Largest customers.", without=("Args", "How many", "Returns", "Raises", "ValueError")))
def f(n: int, region: str):
    """Largest customers.

    Args:
        n: How many.
        region (str): Where to look,
            across two lines.

    Returns:
        Their names.

    Raises:
        ValueError: n is negative.
    """


@row("NumPy docstring", prop("n", description="How many."), prop("a", description="Both."), prop("b", description="Both."),
     says("Largest customers.", without=("Parameters", "----", "How many", "Returns")))
def f(n: int, a: str, b: str):
    """Largest customers.

    Parameters
    ----------
    n : int, optional
        How many.
    a, b : str
        Both.

    Returns
    -------
    list of str
        Their names.
    """


@row("Sphinx docstring", prop("n", description="How many, on two lines."), prop("region", description="Where."),
     says("Largest customers.", without=(":param", "How many", ":return", "Their")))
def f(n: int, region: str):
    """Largest customers.

    :param n: How many,
        on two lines.
    :type n: int
    :param str region: Where.
    :returns: Their names.
    :raises ValueError: n is negative.
    """


@row("docstring that opens with Args:", prop("n", description="How many."), says(without=("Args", "How many")))
def f(n: int):
    """Args:
        n: How many.
    """  # fmt: skip


@row("no blank line above the sections", prop("n", description="How many."), says("Largest.", without=("Args", "Returns", "Names")))
def f(n: int):
    """Largest.
    Args:
        n: How many.
    Returns:
        Names.
    """


@row("Keyword Args:", prop("n", description="How many."), prop("k", description="Which."), says("Largest.", without=("Keyword", "Which")))
def f(n: int, *, k: int):
    """Largest.

    Args:
        n: How many.

    Keyword Args:
        k: Which.
    """


@row("Other Parameters", prop("n", description="How many."), prop("k", description="Which."), says("Largest.", without=("Other", "Which")))
def f(n: int, k: int = 1):
    """Largest.

    Parameters
    ----------
    n : int
        How many.

    Other Parameters
    ----------------
    k : int
        Which.
    """


@row("Parameters: in Google style", prop("n", description="How many."), says("Largest.", without=("Parameters", "How many")))
def f(n: int):
    """Largest.

    Parameters:
        n (int): How many.
    """


@row("Arguments:", prop("n", description="How many."), says("Largest.", without=("Arguments",)))
def f(n: int):
    """Largest.

    Arguments:
        n: How many.
    """


@row("mixed indentation", prop("a", description="First."), prop("b", description="Second."), prop("c", description="Third."))
def f(a: int, b: int, c: int):
    """Largest.

    Args:
      a: First.
         b: Second.
     c: Third.
    """


@row("items that are not indented", prop("a", description="First."), prop("b", description="Second."), says("Largest.", "Also this.", without=("First",)))
def f(a: int, b: int):
    """Largest.

    Args:
    a: First.
    b: Second.

    Also this.
    """


@row("text after the sections", prop("n", description="How many."), says("Largest.", "Also this.", without=("How many",)))
def f(n: int):
    """Largest.

    Args:
        n: How many.

    Also this.
    """


@row("a colon in an item's text", prop("n", description="How many: 3 is plenty."), prop("m", description="Ratio 1:2."))
def f(n: int, m: str):
    """Largest.

    Args:
        n: How many: 3 is plenty.
        m (str, optional): Ratio 1:2.
    """


@row("a described parameter that does not exist", only("n"), prop("n", description="How many."))
def f(n: int):
    """Largest.

    Args:
        n: How many.
        ghost: Not there.
    """


@row("no docstring", only("n"), says())
def f(n: int): seen(n)


@row("Annotated beats the docstring", prop("n", description="From the annotation."), lambda v: "docstring" not in str(v.properties))
def f(n: t.Annotated[int, "From the annotation."]):
    """Largest.

    Args:
        n: From the docstring.
    """


@row("an ordinary colon is no section", says("Largest: by revenue.", "Mind this: it is slow."))
def f(n: int):
    """Largest: by revenue.

    Mind this: it is slow.
    """


# --- kinds of callables --------------------------------------------------------------------------------------------


@made("partial: bound positional hidden", only("b"), calls=[({"b": 2}, (1, 2))], refused=[{"a": 1, "b": 2}])
def _():
    def f(a: int, b: int): seen(a, b)

    return functools.partial(f, 1)


@made("partial: bound keyword out of the model's hands or defaulted", prop("a", "integer", required=True),
      lambda v: "b" not in v.schema.get("required", ()), calls=[({"a": 1}, (1, 7))])
def _():
    def f(a: int, b: int): seen(a, b)

    return functools.partial(f, b=7)


class Shop:
    """A shop."""

    def __init__(self, name: str) -> None:
        self.name = name

    def best(self, n: int = 3):
        """Best customers."""
        seen(self.name, n)

    @classmethod
    def create(cls, n: int):
        """A new one."""
        seen(cls.__name__, n)

    @staticmethod
    def count(n: int):
        """How many."""
        seen(n)

    def __call__(self, n: int):
        """Ask the shop."""
        seen(self.name, n)


@made("bound method", only("n"), says("Best customers."), calls=[({"n": 1}, ("corner", 1)), ({}, ("corner", 3))])
def _(): return Shop("corner").best


@made("class method", only("n"), says("A new one."), calls=[({"n": 1}, ("Shop", 1))])
def _(): return Shop.create


@made("static method", only("n"), calls=[({"n": 1}, 1)])
def _(): return Shop.count


@made("callable object", only("n"), says("Ask the shop."), calls=[({"n": 1}, ("corner", 1))])
def _(): return Shop("corner")


@made("builtin with a signature", lambda v: len(v.properties) == 1 and v.schema["required"] == list(v.properties))
def _(): return math.sqrt


@row("coroutine function", only("n"), prop("n", "integer"), calls=[({"n": 1}, 1)])
async def f(n: int): seen(n)


@made("wrapper with functools.wraps", only("n"), prop("n", "integer", default=3), says("Inner."), calls=[({"n": 1}, ("wrapped", 1))])
def _():
    def inner(n: int = 3):
        """Inner."""
        seen("wrapped", n)

    @functools.wraps(inner)
    def wrapper(*args, **kwargs): return inner(*args, **kwargs)

    return wrapper


@made("lambda with a name", lambda v: list(v.properties) == ["n"], calls=[({"n": 1}, 1)], options={"name": "probe"})
def _(): return lambda n: seen(n)


# --- string annotations --------------------------------------------------------------------------------------------


@made("PEP 563", prop("n", "integer", default=3), prop("p", "object"), calls=[({"p": {"x": 1}}, (3, pep563.Place(1)))], refused=[{"p": {"x": "a"}}])
def _(): return pep563.plain


@made("PEP 563: class local to a function", prop("p", "object", required=True), lambda v: list(v.main(v.properties["p"])["properties"]) == ["x"],
      calls=[({"p": {"x": 1}}, "Local(x=1)")], refused=[{"p": {"x": "a"}}], options={"wrap": pep563.with_local_class})
def _(): return pep563.with_local_class(lambda function: function)


@made("PEP 563: Annotated", prop("n", "integer", description="how many", minimum=1), calls=[({"n": 2}, 2)], refused=[{"n": 0}])
def _(): return pep563.annotated


@row("string annotation", prop("n", "integer"), prop("v", "array", items={"type": "integer"}), calls=[({"n": 1, "v": [2]}, (1, [2]))])
def f(n: "int", v: "list[int]"): seen(n, v)


@row("an annotation that does not exist", error=True)
def f(n: "Nowhere"): seen(n)  # noqa: F821


@row("an annotation that is no type", error=True)
def f(n: 3): seen(n)


@row("the return annotation does not matter", only("n"), calls=[({"n": 1}, 1)])
def f(n: int) -> "Nowhere": seen(n)  # noqa: F821


# --- notebook variables --------------------------------------------------------------------------------------------


class Model:
    """Something JSON can't carry."""


MODEL = Model()


def _frames():
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2]})
    return {"sales": frame, "prices": frame["a"], "grid": np.zeros((2, 2)), "n": 3}


def _variable(name, kind, variable, wrong):
    def factory():
        import numpy as np
        import pandas as pd

        annotation = {"DataFrame": pd.DataFrame, "Series": pd.Series, "ndarray": np.ndarray}[kind]

        def f(v): seen(type(v).__name__)

        f.__annotations__["v"] = annotation
        return f

    facts = (prop("v", "string", required=True, description=kind),)
    ROWS.append(
        Row(name, factory, facts, (({"v": variable}, kind),), ({"v": wrong}, {"v": "nothing"}, {"v": 3}), namespace=_frames())
    )


_variable("pandas.DataFrame by name", "DataFrame", "sales", "prices")
_variable("pandas.Series by name", "Series", "prices", "sales")
_variable("numpy.ndarray by name", "ndarray", "grid", "sales")


@row("a class of the notebook by name", prop("m", "string", required=True, description="Model"), calls=[({"m": "fit"}, MODEL)],
     refused=[{"m": "other"}, {"m": "absent"}], namespace={"fit": MODEL, "other": 3})
def f(m: Model): seen(m)


@row("an optional variable", prop("m", "string", required=False, nullable=True, default=None),
     calls=[({"m": "fit"}, MODEL), ({}, None), ({"m": None}, None)], refused=[{"m": "absent"}], namespace={"fit": MODEL})
def f(m: Model | None = None): seen(m)


@row("a list of variables", prop("m", "array"), calls=[({"m": ["fit", "fit"]}, [MODEL, MODEL])], refused=[{"m": ["absent"]}], namespace={"fit": MODEL})
def f(m: list[Model]): seen(m)


@row("a variable or a list", calls=[({"m": "fit"}, MODEL), ({"m": [1]}, [1])], namespace={"fit": MODEL})
def f(m: Model | list[int]): seen(m)


@row("a function of the notebook by name", prop("key", "string"), calls=[({"key": "len"}, len)], refused=[{"key": "fit"}], namespace={"fit": MODEL, "len": len})
def f(key: t.Callable[[str], int]): seen(key)
