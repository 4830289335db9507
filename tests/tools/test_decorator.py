import enum
import inspect

import pytest

from hermes_nb.errors import ToolArgumentError, ToolNameError
from hermes_nb.tools.decorator import Tool, as_tool, tool


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


def test_a_tool_is_called_as_its_function():
    assert top_customers(2) == [2, 2]
    assert str(inspect.signature(top_customers)) == str(inspect.signature(top_customers.function))


def test_definition_is_name_description_and_parameters():
    assert top_customers.definition() == {
        "name": "top_customers",
        "description": "Customers with the highest revenue.",
        "parameters": {
            "type": "object",
            "properties": {
                "n": {"description": "How many.", "type": "integer", "default": 3},
                "colour": {"enum": ["red", "blue"], "type": "string", "default": "red"},
            },
            "additionalProperties": False,
        },
    }


def test_build_gives_the_member():
    assert top_customers.build('{"colour": "blue"}') == ((), {"colour": Colour.BLUE})


def test_a_wrong_argument_names_its_field():
    with pytest.raises(ToolArgumentError, match="argument 'n'"):
        top_customers.build({"n": "many"})


def test_options_are_kept():
    @tool(name="other", approval=True, timeout_s=3.0)
    def anything() -> None: ...

    assert (anything.name, anything.approval, anything.timeout_s) == ("other", True, 3.0)
    assert isinstance(anything, Tool)
    assert as_tool(anything) is anything


def test_a_name_hermes_owns_is_refused():
    def read_file(path: str) -> str: ...

    with pytest.raises(ToolNameError, match="my_read_file"):
        tool(read_file)
