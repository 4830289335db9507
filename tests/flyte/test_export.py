"""The exported module: readable, complete, and run by Flyte's own command without this package's help."""

from __future__ import annotations

import ast
import dataclasses
import datetime
import linecache
import os
import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import flyte.remote
import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.flyte.promotion.export import export, source
from hermes_nb.flyte.promotion.plan import Plan
from hermes_nb.flyte.promotion.preflight import checked
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.model.agent import Agent, Model
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from tests.flyte.agents import REMOTE, opened
from tests.flyte.export_cells import REFUSED, WORKS
from tests.flyte.loopback import LoopbackPlane
from tests.flyte.loopback.state import SUCCEEDED
from tests.flyte.scripts import by_turn

CELL = '''
import math
from decimal import Decimal as D

RATES = {"gold": 2.0, "silver": 1.5}

def rate(kind: str) -> float:
    "Of a kind."
    return RATES[kind]

def price(kind: str, n: int) -> float:
    """Price of some pieces.

    Args:
        kind: gold or silver.
    """
    return float(D(math.floor(rate(kind) * n)))

async def ping() -> str:
    "Pong."
    return "pong"
'''


def notebook(folder: Path) -> dict[str, Any]:
    """Names of a notebook whose cell's source can be found, as IPython makes it findable."""
    file = folder / "cell_1.py"
    file.write_text(CELL)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, str(file), "exec"), names)
    return names


def planned(hermes: Hermes, names: dict[str, Any], model: Model, **options: Any) -> Any:
    tools = [names["price"], names["ping"]]
    return checked(hermes.bind(Agent("shop-keeper", "Sell.", model, tools=tools, **options)), Flyte(**REMOTE))


def flown(plane: LoopbackPlane, path: Path, entry: str) -> tuple[str, Any]:
    """The run that Flyte's own command made of a module's agent, ended."""
    flyte_command = Path(sys.executable).parent / "flyte"
    names = list(plane.store.runs)
    place = ["--endpoint", plane.endpoint, "--insecure", "--org", plane.org]
    target = ["run", "--project", plane.project, "--domain", plane.domain, path.name, entry, "--prompt", "Well?"]
    done = subprocess.run(
        [str(flyte_command) if flyte_command.exists() else "flyte", *place, *target],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (name,) = [n for n in plane.store.runs if n not in names]
    run = flyte.remote.Run.get(name)
    run.wait(quiet=True)
    return name, run


def test_it_runs_by_flytes_own_command(plane: LoopbackPlane, tmp_path: Path) -> None:
    steps = [Call("price", {"kind": "gold", "n": 3}), Call("ping"), Say("Six.")]
    with opened(tmp_path / "state") as hermes, ScriptedModel(by_turn(steps)) as model:
        path = export(planned(hermes, notebook(tmp_path), model.model), tmp_path / "shop.py")
        name, run = flown(plane, path, "shop_keeper")
        assert run.outputs()[0] == "Six."
    assert [row[1:] for row in plane.tree(name) if "model_turn" not in row] == [
        ("shop-keeper.shop_keeper", SUCCEEDED, 1),
        ("shop-keeper.price", SUCCEEDED, 1),
        ("shop-keeper.ping", SUCCEEDED, 1),
    ]
    said = [m["content"] for m in model.requests[-1].body["messages"] if m["role"] == "tool"]
    assert said == ["6.0", "pong"]


def test_it_is_readable_and_names_no_notebook(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as hermes:
        text = source(planned(hermes, notebook(tmp_path), Model("m", "custom", "https://models.example/v1")))
    tree = ast.parse(text)
    functions = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert functions == ["rate", "price", "ping", "shop_keeper"]
    assert "hermes_nb" not in text
    assert 'RATES = {"gold": 2.0' in text or "RATES = {'gold': 2.0" in text
    assert "from decimal import Decimal as D" in text
    assert "import math" in text
    assert text.index("import flyte") < text.index("env = flyte.TaskEnvironment") < text.index("@tool")


def test_names_of_annotations_and_defaults_come_along(tmp_path: Path) -> None:
    cell = """
import datetime as dt
from decimal import Decimal
from typing import Annotated, Literal

import pandas as pd
from pydantic import BaseModel

LIMIT = 3

class Order(BaseModel):
    day: dt.date
    price: Decimal = Decimal(1)

def rows(
    kind: Literal["gold", "silver"], orders: list[Order] | None = None, n: Annotated[int, "most"] = LIMIT,
) -> "list[dict[str, int]]":
    'Rows.'
    return pd.DataFrame({"n": [n]}).to_dict("records")
"""
    file = tmp_path / "cell_2.py"
    file.write_text(cell)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(cell, str(file), "exec"), names)
    for name in ("Order",):
        names[name].__module__ = "__main__"
    with opened(tmp_path / "state") as hermes:
        model = Model("m", "custom", "https://models.example/v1")
        plan = checked(hermes.bind(Agent("orders", "List.", model, tools=[names["rows"]])), Flyte(**REMOTE))
        text = source(plan)
    for line in (
        "import datetime as dt",
        "from typing import Literal",
        "from typing import Annotated",
        "LIMIT = 3",
        "import pandas as pd",
        "from decimal import Decimal",
        "from pydantic.main import BaseModel",
    ):
        assert line in text, text
    assert text.index("class Order") < text.index("def rows")
    compile(text, "orders.py", "exec")


def test_a_key_is_never_written_out(tmp_path: Path) -> None:
    names = notebook(tmp_path)
    names["RATES"] = {"gold": "ghp_" + "a1B2" * 9}
    with opened(tmp_path / "state") as hermes:
        plan = planned(hermes, names, Model("m", "custom", "https://models.example/v1"))
        with pytest.raises(UsageError, match="RATES") as refused:
            export(plan, tmp_path / "shop.py")
    assert "ghp_" not in str(refused.value)
    assert not (tmp_path / "shop.py").exists()


def test_what_has_no_source_is_refused(tmp_path: Path) -> None:
    names = notebook(tmp_path)
    names["RATES"] = {"gold": object()}
    with opened(tmp_path / "state") as hermes:
        plan = planned(hermes, names, Model("m", "custom", "https://models.example/v1"))
        with pytest.raises(UsageError, match="RATES"):
            source(plan)


def cells(folder: Path, text: str, name: str = "cell") -> dict[str, Any]:
    """What a cell defines, with its source where `inspect` finds it."""
    file = folder / f"{name}.py"
    file.write_text(text)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, str(file), "exec", dont_inherit=True), names)
    linecache.getlines(str(file))
    return names


def of_tools(hermes: Hermes, *tools: Any, **options: Any) -> Plan:
    model = Model("m", "custom", "https://models.example/v1")
    config = {k: options.pop(k) for k in ("yes", "env_vars", "memory_key", "resources", "allow") if k in options}
    return checked(hermes.bind(Agent("exporter", "Do.", model, tools=list(tools), **options)), Flyte(**{**REMOTE, **config}))


def module_of(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The exported module, run with Flyte's own names doing nothing; its text as `__text__`."""
    text = source(plan)

    def passing(function: Any = None, **options: Any) -> Any:
        return function if function is not None else lambda f: f

    module = types.ModuleType("exported")
    fake, adapter = MagicMock(), types.ModuleType("flyteplugins.agents.hermes")
    fake.TaskEnvironment.return_value.task = passing
    vars(adapter).update(tool=passing, run_agent=None)
    for name, value in (("flyte", fake), (adapter.__name__, adapter), ("exported", module)):
        monkeypatch.setitem(sys.modules, name, value)
    exec(compile(text, "exported.py", "exec", dont_inherit=True), vars(module))
    return {**vars(module), "__text__": text}


@pytest.mark.parametrize("what", WORKS)
def test_the_module_does_what_the_notebook_did(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, text = WORKS[what]
    names = cells(tmp_path, text)
    for value in list(names.values()):
        if isinstance(value, type) and value.__module__ == "builtins":
            value.__module__ = "__main__"
    with opened(tmp_path / "state") as hermes:
        module = module_of(of_tools(hermes, names["t"]), monkeypatch)
    assert module["t"](1) == answer
    typing.get_type_hints(module["t"])
    for value in module.values():
        if dataclasses.is_dataclass(value):
            typing.get_type_hints(value)
    assert "__main__" not in module["__text__"]
    assert "hermes_nb" not in module["__text__"]


def test_what_does_not_show_in_a_result_is_written_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {}
    for what in ("a cached tool", "modules in packages"):
        names = cells(tmp_path, WORKS[what][1])
        with opened(tmp_path / "state") as hermes:
            written[what] = module_of(of_tools(hermes, names["t"]), monkeypatch)["__text__"]
    assert "@env.task\n@functools.lru_cache(maxsize=3)\ndef t" in written["a cached tool"]
    names = cells(tmp_path, WORKS["a result whose type is not said"][1])
    with opened(tmp_path / "state") as hermes:
        assert module_of(of_tools(hermes, names["t"]), monkeypatch)["t"].__annotations__["return"] is Any
    for line in ("import concurrent.futures\n", "import xml.etree.ElementTree as E\n", "import xml.dom.minidom\n"):
        assert line in written["modules in packages"]


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_mean_something_else_in_a_module_is_refused(what: str, tmp_path: Path) -> None:
    tools, message, text = REFUSED[what]
    names = cells(tmp_path, text)
    with opened(tmp_path / "state") as hermes:
        plan = of_tools(hermes, *(names[name] for name in tools))
        with pytest.raises(UsageError, match=message):
            source(plan)


PICTURES = {
    "matplotlib": ("plt.subplots", "import matplotlib.pyplot as plt", "fig, ax = plt.subplots()\n    return fig"),
    "axes": ("plt.subplots", "import matplotlib.pyplot as plt", "fig, ax = plt.subplots()\n    return ax"),
    "figure of axes": ("plt.gca", "import matplotlib.pyplot as plt", "ax = plt.gca()\n    return ax.figure"),
    "pillow": ("Image.new", "from PIL import Image", "return Image.new('RGB', (x, x))"),
    "plotly": ("px.line", "import plotly.express as px", "return px.line(x=[1], y=[x])"),
    "imported within": (
        "go.Figure",
        "import plotly.graph_objects",
        "import plotly.graph_objects as go\n    return [go.Figure()]",
    ),
    "of a frame": ("df.plot.*get_figure", "", "df = None\n    return df.plot().get_figure()"),
}
NO_PICTURES = {
    "a size": ("import matplotlib.pyplot as plt", "fig, ax = plt.subplots()\n    return len(fig.axes)"),
    "json": ("import plotly.express as px", "return px.line(x=[1], y=[x]).to_json()"),
    "data": ("import plotly.express as px", "return px.data.tips().to_dict()"),
    "within": ("import matplotlib.pyplot as plt", "def g():\n        return plt.figure()\n    return str(g())"),
}


@pytest.mark.parametrize("what", PICTURES)
def test_a_picture_that_a_tool_returns_is_refused_by_name(what: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib.pyplot"), pytest.importorskip("plotly.express"), pytest.importorskip("PIL.Image")
    made, imports, body = PICTURES[what]
    names = cells(tmp_path, f"{imports}\ndef draw(x: int):\n    'D'\n    {body}\n")
    with opened(tmp_path / "state") as hermes, pytest.raises(UsageError, match=f"'draw' returns a figure .*{made}"):
        source(of_tools(hermes, names["draw"]))


@pytest.mark.parametrize("said", ["plt.Figure", "list[plt.Figure]", "'plt.Figure'", "plt.Axes | None"])
def test_a_picture_that_a_tool_says_it_returns_is_refused_by_name(said: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib.pyplot")
    text = f"import matplotlib.pyplot as plt\ndef draw(x: int) -> {said}:\n    'D'\n    return other(x)\nother = len"
    names = cells(tmp_path, text)
    with opened(tmp_path / "state") as hermes, pytest.raises(UsageError, match="'draw' returns a figure"):
        source(of_tools(hermes, names["draw"]))


@pytest.mark.parametrize("what", NO_PICTURES)
def test_what_is_made_of_a_picture_is_no_picture(what: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib.pyplot"), pytest.importorskip("plotly.express")
    imports, body = NO_PICTURES[what]
    names = cells(tmp_path, f"{imports}\ndef draw(x: int):\n    'D'\n    {body}\n")
    with opened(tmp_path / "state") as hermes:
        assert "def draw" in source(of_tools(hermes, names["draw"]))


def test_two_modules_with_a_variable_of_one_name_are_refused(tmp_path: Path) -> None:
    tools = []
    for name, rate in (("one", 2), ("two", 3)):
        tools.append(cells(tmp_path, f"RATE = {rate}\ndef {name}(x: int) -> int:\n    'D'\n    return x * RATE", name)[name])
    with opened(tmp_path / "state") as hermes, pytest.raises(UsageError, match="'RATE', which is something else"):
        source(of_tools(hermes, *tools))


def test_what_a_tool_and_an_agent_say_of_themselves_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "import datetime\nfrom hermes_nb import tool\n"
        "@tool(name='get_price', description='Told.', remote={'timeout': datetime.timedelta(seconds=3), 'retries': 2})\n"
        "def price(x: int) -> int:\n    'Not told.'\n    return x"
    )
    names = cells(tmp_path, text)
    with opened(tmp_path / "state") as hermes:
        plan = of_tools(hermes, names["price"], env_vars={"REGION": "eu"}, memory_key="talk")
        written = module_of(plan, monkeypatch)["__text__"]
    assert '@tool(name="get_price", description="Told.")\n@env.task(timeout=timedelta(seconds=3), retries=2)' in written
    assert 'env_vars={"PYTHONHASHSEED": "0", "REGION": "eu"}' in written
    assert 'memory_key="talk"' in written


def _task(tmp_path: Path, environment: str, options: str) -> Any:
    text = f"""
import datetime
import flyte
env = flyte.TaskEnvironment("mine"{environment})

@env.task({options})
async def price(x: int) -> int:
    'Told.'
    return x
"""
    return cells(tmp_path, text)["price"]


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ("", "@env.task"),
        ("retries=3", "@env.task(retries=3)"),
        ("retries=3, timeout=60, cache='auto'", "@env.task(cache='auto', retries=3, timeout=60)"),
        ("timeout=datetime.timedelta(minutes=5), short_name='p'", "@env.task(short_name='p', timeout=timedelta("),
        ("report=True, interruptible=True", "@env.task(interruptible=True, report=True)"),
    ],
)
def test_options_of_the_users_own_task_are_written(
    options: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = _task(tmp_path, "", options)
    with opened(tmp_path / "state") as hermes:
        text = module_of(of_tools(hermes, tool(task.func, remote=task)), monkeypatch)["__text__"]
    (line,) = [line for line in text.splitlines() if line.startswith("@env.task") and "report=True, retries=" not in line]
    assert line.startswith(written)
    again: dict[str, Any] = {"flyte": flyte, "timedelta": datetime.timedelta, "env": flyte.TaskEnvironment("other")}
    exec(f"{line}\nasync def price(x: int) -> int: ...", again)
    assert str(again["price"].cache.behavior) == str(task.cache.behavior)
    for name in ("retries", "timeout", "short_name", "report", "interruptible"):
        assert getattr(again["price"], name) == getattr(task, name)


@pytest.mark.parametrize(
    ("environment", "options", "named"),
    [
        (", image='ghcr.io/mine:1'", "", "image"),
        (", image=flyte.Image.from_debian_base().with_pip_packages('pandas')", "retries=2", "image"),
        (", resources=flyte.Resources(cpu=2), secrets='key'", "", "resources, secrets"),
        (", env_vars={'A': 'b'}", "", "env_vars"),
        ("", "pod_template='large'", "pod_template"),
    ],
)
def test_a_task_of_another_environment_is_refused(environment: str, options: str, named: str, tmp_path: Path) -> None:
    task = _task(tmp_path, environment, options)
    with opened(tmp_path / "state") as hermes:
        plan = of_tools(hermes, tool(task.func, remote=task))
        with pytest.raises(UsageError, match=f"Tool 'price' is a task of your own with {named}, and in the module"):
            source(plan)


@pytest.mark.parametrize(
    "options", [{"toolsets": ["web"]}, {"config": {"model": {"max_tokens": 1}}}, {"resources": object()}]
)
def test_what_the_adapter_has_no_place_for_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    names = cells(tmp_path, "def t(x: int) -> int:\n    'D'\n    return x")
    with opened(tmp_path / "state") as hermes, pytest.raises(UsageError, match=next(iter(options))):
        source(of_tools(hermes, names["t"], **options))


def test_a_tool_that_asks_is_not_written_unasked(tmp_path: Path) -> None:
    text = "from hermes_nb import tool\n@tool(approval=True)\ndef pay(x: int) -> int:\n    'Pay.'\n    return x"
    names = cells(tmp_path, text)
    with opened(tmp_path / "state") as hermes:
        with pytest.raises(UsageError, match="asks before each call"):
            export(of_tools(hermes, names["pay"]), tmp_path / "pay.py")
        assert not (tmp_path / "pay.py").exists()
        assert export(of_tools(hermes, names["pay"], yes=True), tmp_path / "pay.py").exists()


def test_a_key_in_a_comment_is_not_written_out(tmp_path: Path) -> None:
    names = cells(tmp_path, f"def t(x: int) -> int:\n    'D'\n    # was ghp_{'a1B2' * 9}\n    return x")
    with opened(tmp_path / "state") as hermes, pytest.raises(UsageError, match="would be in line") as refused:
        export(of_tools(hermes, names["t"]), tmp_path / "t.py")
    assert "ghp_" not in str(refused.value)
    assert not (tmp_path / "t.py").exists()


def of_module(folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], text: str) -> Any:
    """The tool `t` of a cell, with modules in a folder that the notebook put on its path."""
    for place, content in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(content)
    monkeypatch.syspath_prepend(folder)
    for name in [n for n in sys.modules if n.partition(".")[0] in ("lib", "shop")]:
        monkeypatch.delitem(sys.modules, name)
    return cells(folder, text)["t"]


def imported_alone(path: Path) -> str:
    """What an interpreter of its own says when it imports the module as `flyte run` does."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import {path.stem}; print('imported')"],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )
    return done.stdout.strip() or done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "from lib.shared import vat\ndef t(x: int) -> int:\n    'D'\n    return vat(x)\n",
        "def t(x: int) -> int:\n    'D'\n    from lib.shared import vat\n    return vat(x)\n",
    ],
)
def test_a_module_of_another_folder_is_refused_and_taken_from_its_own(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = of_module(tmp_path, monkeypatch, {"lib/shared.py": "def vat(x):\n    return 2 * x\n"}, text)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    with opened(tmp_path / "state") as hermes:
        plan = of_tools(hermes, tool)
        with pytest.raises(UsageError, match=r"module 'lib' is found here through the notebook's sys\.path.*in \. does not"):
            export(plan, "out.py")
        assert not (other / "out.py").exists()
        assert imported_alone(export(plan, "../beside.py")) == "imported"


def test_data_files_of_a_package_are_named_to_flyte(
    plane: LoopbackPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "shop/__init__.py": "import pathlib\ndef rate():\n"
        "    return pathlib.Path(__file__).with_name('data').joinpath('rate.txt').read_text()\n",
        "shop/data/rate.txt": "seven",
    }
    tool = of_module(
        tmp_path, monkeypatch, files, "import shop\ndef t(x):\n    'D'\n    return {'rate': shop.rate(), 'x': x}\n"
    )
    with opened(tmp_path / "state") as hermes, ScriptedModel(by_turn([Call("t", {"x": 1}), Say("Seven.")])) as model:
        plan = checked(hermes.bind(Agent("rater", "Rate.", model.model, tools=[tool])), Flyte(**REMOTE))
        other = tmp_path / "other"
        other.mkdir()
        with pytest.raises(UsageError, match="Package 'shop' has data files"):
            export(plan, other / "out.py")
        path = export(plan, tmp_path / "rates.py")
        assert 'include=("shop/data/rate.txt",)' in path.read_text()
        flown(plane, path, "rater")
    said = [m["content"] for m in model.requests[-1].body["messages"] if m["role"] == "tool"]
    assert said == ['{"rate": "seven", "x": 1}']


def test_what_fails_at_the_modules_import_is_refused(tmp_path: Path) -> None:
    names = cells(tmp_path, "def d(n):\n    assert n == 1, 'once'\n    return lambda f: f\nN = [1]\n")
    text = "@d(N.pop() if N else 2)\ndef t(x: int) -> int:\n    'D'\n    return x\n"
    with opened(tmp_path / "state") as hermes:
        names |= cells(tmp_path, "def d(n):\n    assert n == 1, 'once'\n    return lambda f: f\nN = [1]\n" + text, "two")
        plan = of_tools(hermes, names["t"])
        with pytest.raises(UsageError, match="can't be imported in an interpreter of its own: AssertionError: once"):
            export(plan, tmp_path / "out.py")
