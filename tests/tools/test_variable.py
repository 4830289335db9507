"""Parameters JSON can't carry take the name of a notebook variable."""

import dataclasses
import subprocess
import sys
import typing

import numpy as np
import pandas as pd
import pydantic
import pytest

from hermes_nb.errors import ToolArgumentError, ToolDefinitionError
from hermes_nb.tools.decorator import tool
from hermes_nb.tools.variable import fitting, type_name


class Model:
    pass


class Fitted(Model):
    pass


SPACE = {
    "sales": pd.DataFrame({"a": [1]}),
    "prices": pd.Series([1.0]),
    "grid": np.zeros(2),
    "n": 3,
    "fit": Fitted(),
    "_hidden": pd.DataFrame(),
}


def summarise(frame: pd.DataFrame, other: pd.Series | None = None) -> None:
    """Sums up.

    Args:
        frame: The sales, one row each
    """


SUMMARISE = tool(summarise)


def refusal(made, sent, namespace=SPACE) -> str:
    with pytest.raises(ToolArgumentError) as error:
        made.build(sent, namespace)
    return str(error.value)


def test_the_schema_asks_for_a_name_and_tells_the_type():
    assert SUMMARISE.parameters["properties"]["frame"] == {
        "type": "string",
        "description": "The sales, one row each. Give the name of a notebook variable: a pandas.DataFrame.",
    }
    assert SUMMARISE.parameters["required"] == ["frame"]


def test_variable_parameters_are_listed_with_their_types():
    def many(a: Model, b: pd.DataFrame | np.ndarray, c: list[Model], d: int, e: Model | None = None) -> None: ...

    assert SUMMARISE.variable_parameters == {"frame": pd.DataFrame, "other": pd.Series}
    assert tool(many).variable_parameters == {"a": Model, "b": (pd.DataFrame, np.ndarray), "e": Model}


def test_the_body_gets_the_object_itself():
    assert SUMMARISE.build({"frame": "sales"}, SPACE)[1]["frame"] is SPACE["sales"]
    assert SUMMARISE.build({"frame": "_hidden"}, SPACE)[1]["frame"] is SPACE["_hidden"]


def test_an_object_given_from_python_is_taken():
    frame = pd.DataFrame()
    assert SUMMARISE.build({"frame": frame})[1]["frame"] is frame


def test_a_name_that_is_not_there_lists_those_that_fit():
    text = refusal(SUMMARISE, {"frame": "sale"})
    assert text == "summarise: argument 'frame': there is no variable 'sale'; variables that fit: sales."


def test_a_variable_of_another_type_is_named_with_its_type():
    text = refusal(SUMMARISE, {"frame": "prices"})
    assert "the variable 'prices' holds a pandas.Series, not a pandas.DataFrame; variables that fit: sales." in text


def test_nothing_that_fits_is_said():
    assert "and no variable holds a pandas.DataFrame" in refusal(SUMMARISE, {"frame": "x"}, {"n": 3})


def test_a_value_in_place_of_a_name_is_refused():
    text = refusal(SUMMARISE, {"frame": [{"a": 1}]})
    assert "give the name of a variable holding a pandas.DataFrame, as a string" in text


def test_a_missing_variable_parameter_says_what_is_wanted():
    assert "argument 'frame' is missing (wanted: the name of a pandas.DataFrame)" in refusal(SUMMARISE, {})


def test_the_list_of_those_that_fit_is_bounded():
    text = refusal(SUMMARISE, {"frame": "x"}, {f"frame_{i:03}": pd.DataFrame() for i in range(100)})
    assert text.endswith("frame_019 and 80 more.")


def test_a_subclass_fits():
    def use(m: Model) -> None: ...

    assert tool(use).build({"m": "fit"}, SPACE)[1]["m"] is SPACE["fit"]


def test_beside_a_string_the_name_of_a_variable_means_the_variable():
    def use(m: str | Model) -> None: ...

    assert tool(use).build({"m": "fit"}, SPACE)[1]["m"] is SPACE["fit"]
    assert tool(use).build({"m": "text"}, SPACE)[1]["m"] == "text"


def test_a_variable_in_a_dataclass_is_looked_up_too():
    @dataclasses.dataclass
    class Job:
        frame: pd.DataFrame
        limit: int = 3

    def use(job: Job) -> None: ...

    assert tool(use).build({"job": {"frame": "sales"}}, SPACE)[1]["job"].frame is SPACE["sales"]
    assert "argument 'job.frame': there is no variable 'x'" in refusal(tool(use), {"job": {"frame": "x"}})


def test_a_model_that_holds_an_object_is_refused_with_the_cure():
    class Job(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        frame: pd.DataFrame

    def use(job: Job) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"parameter 'job'.*holds a pandas.DataFrame.*parameter of its own"):
        tool(use)


def test_a_protocol_that_can_not_be_checked_takes_anything():
    class Sized(typing.Protocol):
        def size(self) -> int: ...

    def use(s: Sized) -> None: ...

    assert tool(use).build({"s": "n"}, SPACE)[1]["s"] == 3


def test_types_and_callables_go_by_name():
    def use(kind: type[Model], key: typing.Callable[[str], int]) -> None: ...

    _, kwargs = tool(use).build({"kind": "Model", "key": "len"}, {"Model": Model, "len": len})
    assert kwargs == {"kind": Model, "key": len}


def test_scalars_of_numpy_and_pandas_are_written_as_json():
    nothing, new_year = np.float64("nan"), pd.Timestamp("2024-01-01")

    def use(n: np.int64, x: np.float64 = nothing, when: pd.Timestamp = new_year) -> None: ...

    made = tool(use)
    assert made.parameters["properties"]["n"] == {"type": "integer"}
    assert made.parameters["properties"]["when"]["default"] == "2024-01-01T00:00:00"
    assert made.variable_parameters == {}
    _, kwargs = made.build({"n": 3, "x": 2, "when": "2024-05-01T10:00:00"})
    assert kwargs == {"n": 3, "x": 2.0, "when": pd.Timestamp("2024-05-01 10:00")}
    assert [type(v) for v in kwargs.values()] == [np.int64, np.float64, pd.Timestamp]


def test_fitting_lists_names_in_order_without_hidden_ones():
    assert fitting(SPACE, pd.DataFrame) == ["sales"]
    assert fitting(SPACE, (np.ndarray, pd.Series)) == ["grid", "prices"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pd.DataFrame, "pandas.DataFrame"),
        (int, "int"),
        (typing.Callable, "callable"),
        (Model, f"{__name__.partition('.')[0]}.Model"),
    ],
)
def test_a_type_is_named_as_people_do(kind, name):
    import collections.abc

    assert type_name(collections.abc.Callable if kind is typing.Callable else kind) == name


def test_neither_pandas_nor_numpy_is_imported_to_decide():
    code = (
        "import sys; from hermes_nb.tools.decorator import tool\n"
        "class Frame: pass\n"
        "@tool\n"
        "def f(frame: Frame, n: int = 3): ...\n"
        "f.build({'frame': 'x'}, {'x': Frame()}); print([m for m in ('pandas', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
