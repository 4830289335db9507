import asyncio
import copy
import dataclasses
import enum
import functools
import inspect
import pickle
import pydoc
import subprocess
import sys
import typing

import pydantic
import pytest

from hermes_nb.errors import ToolArgumentError, ToolDefinitionError, ToolNameError
from hermes_nb.tools.decorator import Tool, as_tool, tool

from . import pickled


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@tool
def top_customers(n: int = 3, colour: Colour = Colour.RED) -> list[int]:
    """Customers with the highest revenue.

    Args:
        n: How many.
    """
    return [n] * n


@tool
async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    @tool
    def best(self, n: int = 3) -> str:
        """Best customers."""
        return f"{self.name} {n}"

    @tool
    @classmethod
    def made(cls, n: int) -> str:
        return f"{cls.__name__} {n}"

    @classmethod
    @tool
    def made_too(cls, n: int) -> str:
        return f"{cls.__name__} {n}"

    @tool
    @staticmethod
    def count(n: int) -> int:
        return n

    @staticmethod
    @tool
    def count_too(n: int) -> int:
        return n


def run_elsewhere(pickle_bytes: bytes, expression: str) -> str:
    """What an expression about the unpickled `t` prints in a fresh process."""
    code = f"import pickle; t = pickle.loads({pickle_bytes!r}); print(({expression}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- three ways to make one ---


def test_bare_parametrised_and_direct_calls_give_the_same_tool():
    def probe(n: int) -> int:
        """Probe."""
        return n

    made = [tool(probe), tool()(probe), Tool.from_function(probe), as_tool(probe)]
    assert all(type(t) is Tool and t.definition() == made[0].definition() for t in made)


def test_options_are_kept():
    def asks(arguments: dict) -> bool:
        return arguments["n"] > 3

    @tool(
        name="other",
        description="Else.",
        approval=asks,
        parallel=True,
        idempotent=True,
        timeout_s=3.0,
        max_result_chars=9,
        remote="r",
    )
    def anything(n: int) -> None:
        """Documented."""

    assert (anything.name, anything.description, anything.approval) == ("other", "Else.", asks)
    assert (anything.parallel, anything.idempotent, anything.timeout_s) == (True, True, 3.0)
    assert (anything.max_result_chars, anything.remote) == (9, "r")


def test_a_tool_is_not_wrapped_twice_and_takes_new_options():
    assert tool(top_customers) is top_customers is as_tool(top_customers)
    other = tool(top_customers, name="other", timeout_s=1.0)
    assert (other.name, other.timeout_s, other.function) == ("other", 1.0, top_customers.function)
    assert top_customers.timeout_s is None


def test_a_tool_replaced_by_dataclasses_keeps_its_schema():
    assert dataclasses.replace(top_customers, name="other").parameters == top_customers.parameters


def test_a_tool_of_four_fields_takes_a_model_of_the_user():
    class Arguments(pydantic.BaseModel):
        n: int = 2
        text: str = pydantic.Field(description="what to say")

        @pydantic.model_validator(mode="after")
        def short(self) -> "Arguments":
            if self.n > 5:
                raise ValueError("too many")
            return self

    made = Tool(lambda n, text: text * n, "repeat", "Repeats.", Arguments)
    assert made.definition()["parameters"]["required"] == ["text"]
    assert made.build('{"text": "a"}') == ((), {"n": 2, "text": "a"})
    with pytest.raises(ToolArgumentError, match="too many"):
        made.build({"n": 6, "text": "a"})


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="retries"):
        tool(retries=3)


def test_the_signature_of_tool_is_told():
    assert list(inspect.signature(tool).parameters) == [
        *(
            "func",
            "name",
            "description",
            "approval",
            "parallel",
            "idempotent",
            "timeout_s",
            "max_result_chars",
            "remote",
        )
    ]


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"timeout_s": -1.0}, {"max_result_chars": 0}])
def test_an_option_that_can_not_be_meant_is_refused(options):
    with pytest.raises(ToolDefinitionError, match=f"Tool 'top_customers': {next(iter(options))} must be"):
        tool(top_customers, **options)


@pytest.mark.parametrize("thing", [3, "name", None, [top_customers]])
def test_what_is_not_callable_is_refused(thing):
    with pytest.raises(ToolDefinitionError, match="callable"):
        as_tool(thing)


def test_an_async_generator_is_refused():
    async def stream(n: int):
        yield n

    with pytest.raises(ToolDefinitionError, match="async generator"):
        tool(stream)


def test_a_callable_without_a_signature_is_refused():
    with pytest.raises(ToolDefinitionError, match="Wrap it in a function"):
        tool(max)


# --- it behaves as the function ---


def test_a_tool_is_called_as_its_function():
    assert top_customers(2) == top_customers(n=2) == [2, 2]
    assert inspect.signature(top_customers) == inspect.signature(top_customers.function)


def test_the_attributes_of_wraps_are_there():
    assert top_customers.__wrapped__ is top_customers.function
    assert top_customers.__name__ == top_customers.__qualname__ == "top_customers"
    assert top_customers.__module__ == __name__
    assert top_customers.__doc__ == top_customers.function.__doc__
    assert typing.get_type_hints(top_customers)["n"] is int


def test_attributes_of_the_function_are_reachable_and_do_not_replace_the_tools():
    def probe() -> None: ...

    probe.name = "other"
    probe.colour = "red"
    made = tool(probe)
    assert (made.name, made.colour) == ("probe", "red")
    with pytest.raises(AttributeError):
        made.absent  # noqa: B018


def test_help_reads_as_for_the_function():
    text = pydoc.plain(pydoc.render_doc(top_customers))
    assert "top_customers(" in text
    assert "n: int = 3" in text
    assert "Customers with the highest revenue." in text
    assert "class Tool" not in text


def test_repr_is_one_line():
    assert repr(top_customers).startswith("<Tool top_customers(n: int = 3, ")


def test_a_tool_is_hashable_and_equal_to_itself_only():
    assert {top_customers: 1}[top_customers] == 1
    assert tool(top_customers, name="other") != top_customers


async def test_a_coroutine_function_is_awaited():
    assert later.is_async
    assert inspect.iscoroutinefunction(later)
    assert await later(3) == 4
    assert await later.invoke({"n": 3}) == 4
    assert not top_customers.is_async
    assert await top_customers.invoke('{"n": 1}') == [1]


def test_partials_methods_and_wrappers_of_coroutine_functions_are_async():
    class Caller:
        async def __call__(self, n: int) -> int:
            return n

    @functools.wraps(later.function)
    def wrapper(*args, **kwargs):
        return later.function(*args, **kwargs)

    made = [tool(c, name="probe") for c in (functools.partial(later.function), Caller(), Caller().__call__, wrapper)]
    assert all(t.is_async for t in made)


def test_getsource_shows_the_function():
    assert "def top_customers" in inspect.getsource(top_customers)


# --- methods ---


def test_a_method_binds_to_its_instance():
    shop = Shop("corner")
    assert shop.best() == Shop.best(shop) == "corner 3"
    assert list(shop.best.parameters["properties"]) == ["n"]
    assert shop.best.description == "Best customers."
    args, kwargs = shop.best.build({"n": 1})
    assert shop.best.function(*args, **kwargs) == "corner 1"
    assert str(inspect.signature(shop.best)) == "(n: int = 3) -> str"


def test_an_unbound_method_is_no_tool():
    with pytest.raises(ToolDefinitionError, match=r"Shop\(\.\.\.\)\.best"):
        as_tool(Shop.best)


def test_class_and_static_methods_work_in_either_order():
    for made in (Shop.made, Shop.made_too, Shop("a").made, Shop("a").made_too):
        assert as_tool(made)(2) == "Shop 2"
        assert list(as_tool(made).parameters["properties"]) == ["n"]
    for made in (Shop.count, Shop.count_too, Shop("a").count, Shop("a").count_too):
        assert as_tool(made)(2) == 2
        assert as_tool(made).build({"n": 1}) == ((), {"n": 1})


def test_a_tool_that_is_no_method_does_not_bind():
    class Box:
        look = top_customers

    assert Box().look is top_customers


# --- pickling ---


def test_a_tool_of_a_module_pickles_by_name():
    assert pickle.loads(pickle.dumps(pickled.at)) is pickled.at


def test_a_tool_that_its_name_does_not_find_pickles_by_value():
    again = pickle.loads(pickle.dumps(pickled.direct))
    assert again is not pickled.direct
    assert again.definition() == pickled.direct.definition()
    assert again(3) == 3


def test_a_bound_method_pickles_with_its_instance():
    again = pickle.loads(pickle.dumps(Shop("corner").best))
    assert again(2) == "corner 2"


def test_copies_are_the_tool_as_for_functions():
    assert copy.deepcopy([top_customers]) == [top_customers]
    assert copy.copy(top_customers).definition() == top_customers.definition()


def test_cloudpickle_takes_an_importable_tool_by_name():
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(pickled.at)) is pickled.at


def test_cloudpickle_takes_a_module_by_value_where_it_is_told_to():
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(pickled)
    try:
        data = cloudpickle.dumps(pickled.at)
    finally:
        cloudpickle.unregister_pickle_by_value(pickled)
    expression = "t.name, t.timeout_s, t(**t.build({'place': {'x': 1}})[1]), t.parameters['required']"
    assert run_elsewhere(data, expression) == "('at', 2.0, (1, 3), ['place'])"


NOTEBOOK = """
from __future__ import annotations
import cloudpickle, dataclasses, enum, pathlib, sys, typing
import pydantic
from hermes_nb.tools.decorator import tool

class Colour(enum.Enum):
    RED = "red"

class Shape(enum.Enum):
    POINT = (0, 0)

@dataclasses.dataclass
class Place:
    x: int
    colour: Colour = Colour.RED
    tags: list[str] = dataclasses.field(default_factory=list)

class Query(pydantic.BaseModel):
    place: Place
    next: Query | None = None

class Engine:
    pass

def make():
    @dataclasses.dataclass
    class Local:
        x: int
    factor = 5

    @tool
    def scaled(p: Local, q: Query | None = None, engine: Engine | None = None, s: Shape = Shape.POINT,
               where: pathlib.Path = pathlib.Path("."), raw: bytes = b"", f: typing.Literal[Colour.RED] = Colour.RED):
        return [p.x * factor, q and q.next.place.colour.name, type(engine).__name__, s.name, str(where), raw, f.name]
    return scaled

made = make()
made.build({"p": {"x": 2}})
sys.stdout.buffer.write(cloudpickle.dumps(made))
"""


def test_cloudpickle_carries_a_tool_of_a_notebook_with_its_classes():
    pytest.importorskip("cloudpickle")
    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    arguments = {
        "p": {"x": 2},
        "q": {"place": {"x": 1}, "next": {"place": {"x": 2, "colour": "red", "tags": ["a"]}}},
        "engine": "made",
        "s": "POINT",
        "where": "a/b",
        "raw": "aGk=",
        "f": "red",
    }
    expression = f"t(**t.build({arguments!r}, {{'made': t.variable_parameters['engine']()}})[1])"
    assert run_elsewhere(done.stdout, expression) == "[10, 'RED', 'Engine', 'POINT', 'a/b', b'hi', 'RED']"
    assert (
        run_elsewhere(done.stdout, "t(**t.build({'p': {'x': 2}})[1])") == "[10, None, 'NoneType', 'POINT', '.', b'', 'RED']"
    )
    with pytest.raises(AssertionError, match=r"argument 'p\.x' got \[\], wanted a valid integer"):
        run_elsewhere(done.stdout, "t.build({'p': {'x': []}})")
    assert run_elsewhere(done.stdout, "t.parameters['required']") == "['p']"


def test_a_pickled_tool_keeps_the_schema_it_was_made_with():
    made = tool(pickled.plain, name="kept")
    made._compiled = dataclasses.replace(made._compiled, parameters={"type": "object", "properties": {}, "x": 1})
    assert pickle.loads(pickle.dumps(made)).parameters["x"] == 1


# --- Flyte tasks ---


class Task:
    """As a task of the Flyte SDK looks: a dataclass around `func`, called as that, with a signature of its own."""

    native_interface = object()
    name = "env.double"

    def __init__(self, func):
        self.func = func
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.func(*args, **kwargs)


def double(n: int) -> int:
    """Twice the number."""
    return 2 * n


async def double_later(n: int) -> int:
    return 2 * n


def test_a_task_is_a_tool_with_the_signature_of_its_function():
    task = Task(double)
    made = as_tool(task)
    assert (made.name, made.description, made.function, made.remote) == ("double", "Twice the number.", task, task)
    assert made.parameters["properties"] == {"n": {"type": "integer"}}
    assert (made(3), task.calls) == (6, 1)
    assert str(inspect.signature(made)) == "(n: int) -> int"


def test_a_task_of_a_coroutine_function_is_async():
    assert as_tool(Task(double_later)).is_async


def test_the_wrapper_an_adapter_puts_around_a_task_is_seen_through():
    def wrapper(**kwargs):
        return "not this one"

    wrapper.__wrapped_task__ = Task(double)
    assert as_tool(wrapper)(n=3) == 6
    assert tool(wrapper, remote="other").remote == "other"


# --- what the worker gets ---


def test_definition_is_name_description_and_parameters():
    assert top_customers.definition() == {
        "name": "top_customers",
        "description": "Customers with the highest revenue.",
        "parameters": {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "description": "How many.", "default": 3},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            },
            "additionalProperties": False,
        },
    }


def test_the_definition_is_a_copy():
    top_customers.definition()["parameters"]["properties"].clear()
    assert top_customers.parameters["properties"]


def test_spec_carries_what_the_worker_needs():
    made = tool(later, approval=lambda arguments: True, idempotent=True, timeout_s=2.0, max_result_chars=10)
    spec = made.spec()
    assert (spec.name, spec.is_async, spec.parallel, spec.idempotent) == ("later", True, False, True)
    assert (spec.needs_approval, spec.timeout_s, spec.max_result_chars) == (True, 2.0, 10)
    assert spec.parameters == made.parameters


def test_a_name_hermes_owns_is_refused():
    def read_file(path: str) -> str: ...

    with pytest.raises(ToolNameError, match="my_read_file"):
        tool(read_file)
    assert tool(read_file, name="read_table").name == "read_table"
