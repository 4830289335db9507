"""The exported module: readable, complete, and run by Flyte's own command without this package's help."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import flyte.remote
import pytest

from hermes_nb.errors import UsageError
from hermes_nb.flyte.export import export, source
from hermes_nb.flyte.preflight import checked
from hermes_nb.flyte.runtime import Flyte
from hermes_nb.model.agent import Agent, Model
from hermes_nb.sessions.hermes import Hermes
from hermes_nb.testing import Call, Say, ScriptedModel
from tests.flyte.agents import REMOTE, opened
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


def test_it_runs_by_flytes_own_command(plane: LoopbackPlane, tmp_path: Path) -> None:
    steps = [Call("price", {"kind": "gold", "n": 3}), Call("ping"), Say("Six.")]
    with opened(tmp_path / "state") as hermes, ScriptedModel(by_turn(steps)) as model:
        path = export(planned(hermes, notebook(tmp_path), model.model), tmp_path / "shop.py")
        names = list(plane.store.runs)
        done = subprocess.run(
            [str(Path(sys.executable).parent / "flyte") if (Path(sys.executable).parent / "flyte").exists() else "flyte",
             "--endpoint", plane.endpoint, "--insecure", "--org", plane.org, "run", "--project", plane.project,
             "--domain", plane.domain, path.name, "shop_keeper", "--prompt", "What do 3 gold cost?"],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "PYTHONPATH": ""},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        (name,) = [n for n in plane.store.runs if n not in names]
        run = flyte.remote.Run.get(name)
        run.wait(quiet=True)
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
    for line in ("import datetime as dt", "from typing import Literal", "from typing import Annotated", "LIMIT = 3",
                 "import pandas as pd", "from decimal import Decimal", "from pydantic.main import BaseModel"):  # fmt: skip
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
