"""Findings: all at once, each with its place and cure, before anything is uploaded."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.flyte import _sdk
from hermes_nb.flyte.promotion.bundle import digest, dumps
from hermes_nb.flyte.promotion.dependency_scan import taken_by
from hermes_nb.flyte.promotion.preflight import checked, preflight
from hermes_nb.flyte.promotion.promoted import describe
from hermes_nb.flyte.promotion.submit import refuse
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.flyte.task.definition import tool_function
from hermes_nb.model.agent import Agent, Model
from hermes_nb.tools.decorator import tool
from tests.flyte.loopback import LoopbackPlane

REMOTE_MODEL = Model("m", "custom", "https://models.example/v1")


@pytest.fixture(scope="module")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hermes]:
    hermes = Hermes.open_local(state=tmp_path_factory.mktemp("state"))
    yield hermes
    hermes.close()


def bound(hermes: Hermes, *tools: Any, model: Any = REMOTE_MODEL, **options: Any) -> BoundAgent:
    return hermes.bind(Agent("pre", model=model, tools=tools, **options))


def codes(hermes: Hermes, *tools: Any, config: Flyte | None = None, **options: Any) -> list[str]:
    return [f.code for f in checked(bound(hermes, *tools, **options), config or Flyte()).findings if f.is_fatal]


def in_notebook(source: str, **names: Any) -> dict[str, Any]:
    """Names of a notebook after a cell: functions that cloudpickle takes by value."""
    namespace: dict[str, Any] = {"__name__": "__main__", **names}
    exec(compile(source, "<ipython-input-3-abc>", "exec"), namespace)
    return namespace


def test_an_agent_without_a_fault_passes(hermes: Hermes) -> None:
    @tool
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    assert codes(hermes, double) == []


def test_an_unpicklable_variable_is_named_with_its_tool_and_cure(hermes: Hermes) -> None:
    names = in_notebook("def locked() -> int:\n    'Locks.'\n    with LOCK:\n        return 1\n", LOCK=threading.Lock())
    (finding,) = checked(bound(hermes, tool(names["locked"])), Flyte()).findings
    assert (finding.code, finding.variable, finding.is_fatal) == ("unpicklable", "LOCK", True)
    assert "locked" in finding.where
    assert "line 1" in finding.where
    assert "inside the function" in finding.cure


class Shell:
    def get_ipython(self) -> None:
        """Bound to what can't be pickled, as IPython's is."""

    def __reduce__(self) -> str:
        raise TypeError("cannot pickle '_thread.lock' object")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CONNECTION", sqlite3.connect(":memory:"), "Variable 'CONNECTION' is a sqlite3.Connection, which can't leave"),
        ("get_ipython", Shell().get_ipython, "It uses the notebook's shell (a line with ! or %, or get_ipython())"),
    ],
)
def test_a_callable_object_of_a_module_is_named_like_any_other(hermes: Hermes, name: str, value: Any, said: str) -> None:
    names = in_notebook(f"def uses() -> str:\n    'Use it.'\n    return str({name}('x'))\n", **{name: value})
    (finding,) = checked(bound(hermes, tool(names["uses"])), Flyte()).findings
    assert (finding.code, finding.variable, finding.is_fatal) == ("unpicklable", name, True)
    assert finding.text.startswith(said)


def test_functions_and_classes_of_modules_are_no_variables(hermes: Hermes) -> None:
    source = "def uses() -> str:\n    'Use them.'\n    return str([dumps, Path, sqrt, getcwd])\n"
    names = in_notebook(source, dumps=json.dumps, Path=Path, sqrt=math.sqrt, getcwd=os.getcwd)
    assert taken_by(tool(names["uses"])).variables == {}


def test_a_variable_that_a_tool_binds_anew_is_noted(hermes: Hermes) -> None:
    source = "def add():\n    global N\n    N += 1\ndef count() -> int:\n    'Count.'\n    add()\n    return N\n"
    names = in_notebook(source, N=0)
    (finding,) = checked(bound(hermes, tool(names["count"])), Flyte()).findings
    assert (finding.code, finding.variable, finding.is_fatal) == ("written", "N", False)
    assert "it changes a copy" in finding.text


def test_a_key_is_found_beside_a_variable_that_can_not_travel(hermes: Hermes) -> None:
    source = "def f() -> int:\n    'F.'\n    with LOCK:\n        return len(TOKEN)\n"
    names = in_notebook(source, LOCK=threading.Lock(), TOKEN="ghp_" + "a1B2" * 9)
    found = checked(bound(hermes, tool(names["f"])), Flyte()).fatal
    assert [(f.code, f.variable) for f in found] == [("unpicklable", "LOCK"), ("secret", "TOKEN")]


def test_a_secret_in_a_variable_is_found_by_value_and_by_shape(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "tok-1234567890-abcdef")
    source = "def a() -> str:\n    'A.'\n    return TOKEN\n\ndef b() -> str:\n    'B.'\n    return CONFIG['key']\n"
    names = in_notebook(source, TOKEN="tok-1234567890-abcdef", CONFIG={"key": "sk-" + "x1" * 20})
    found = checked(bound(hermes, tool(names["a"]), tool(names["b"])), Flyte()).findings
    assert [(f.code, f.variable) for f in found] == [("secret", "TOKEN"), ("secret", "CONFIG")]
    assert "SHOP_TOKEN" in found[0].text
    assert "tok-1234567890" not in str(found)


def test_the_models_key_never_travels(hermes: Hermes) -> None:
    key = "sk-model-0123456789abcdefghijk"
    plan = checked(bound(hermes, model=Model("m", "custom", "https://models.example/v1", key)), Flyte())
    assert [f.code for f in plan.findings] == ["no-secret"]
    assert key not in plan.spec.to_json()
    assert key.encode() not in plan.bundle.turn_code
    named = Flyte(secrets={"HERMES_NB_MODEL_KEY": "its-name"})
    assert checked(bound(hermes, model=Model("m", "custom", "https://models.example/v1", key)), named).fatal == []


def test_each_other_fault_has_its_code(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    @tool(approval=True)
    def careful() -> int:
        """Asks."""
        return 1

    assert codes(hermes, careful) == ["approval"]
    assert codes(hermes, careful, config=Flyte(yes=True)) == []

    class Table:
        """A type JSON can't carry."""

    @tool
    def reads(table: Table) -> int:
        """Reads a variable."""
        return 1

    assert codes(hermes, reads) == ["kernel-variable"]

    @tool(name="a_b")
    def one() -> int:
        """One."""
        return 1

    @tool(name="a-b")
    def other() -> int:
        """Other."""
        return 1

    assert codes(hermes, one, other) == ["name-collision"]
    names = in_notebook("def f() -> int:\n    'F.'\n    import no_such_module_of_mine\n    return 1\n")
    assert codes(hermes, tool(names["f"])) == ["missing-module"]
    assert codes(hermes, model=Model("m", "custom", "http://127.0.0.1:1/v1")) == ["loopback-model"]
    assert codes(hermes, config=Flyte(image="ghcr.io/x/y:py3.9-v1")) == ["python"]
    assert codes(hermes, config=Flyte(image=SimpleNamespace(python_version=(3, 9)))) == ["python"]
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-0123456789abcdefghij")
    assert codes(hermes, model=None) == ["no-model", "no-secret"]
    monkeypatch.delenv("OPENROUTER_API_KEY")
    assert codes(hermes, model=None) == ["no-model"]
    assert codes(hermes, model="offline") == []


def test_a_tools_own_image_is_looked_at_as_the_agents(hermes: Hermes) -> None:
    def one() -> int:
        """One."""
        return 1

    import flyte

    env = flyte.TaskEnvironment("own-image", image="ghcr.io/x/y:py3.9-v1")

    @env.task
    async def two() -> int:
        """Two."""
        return 2

    found = checked(bound(hermes, tool(one, remote={"image": "ghcr.io/x/y:py3.8-v1"}), tool(two.func, remote=two)), Flyte())
    assert [(f.code, f.site.tool) for f in found.fatal] == [("python", "one"), ("python", "two")]


def test_an_image_of_the_users_own_is_judged_by_what_its_base_says(hermes: Hermes, tmp_path: Path) -> None:
    flyte = _sdk.sdk()
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    file = tmp_path / "Dockerfile"
    file.write_text("FROM scratch")
    cases = [
        (flyte.Image.from_base("ghcr.io/me/app:py3.9"), "python", True),
        (flyte.Image.from_base("python:3.9-slim"), "python", True),
        (flyte.Image.from_base("ghcr.io/me/app:latest"), "unknown-image", False),
        (flyte.Image.from_ref_name("mine"), "unknown-image", False),
        (flyte.Image.from_dockerfile(file, registry="r.example", name="n"), "unknown-image", False),
        (flyte.Image.from_base(f"python:{here}-slim"), "", False),
        (flyte.Image.from_debian_base(), "", False),
    ]
    for image, code, is_fatal in cases:
        findings = checked(bound(hermes), Flyte(image=image)).findings
        found = [(f.code, f.is_fatal) for f in findings if f.code in ("python", "unknown-image")]
        assert found == ([(code, is_fatal)] if code else []), image


def test_what_classes_and_defaults_hold_is_named(hermes: Hermes) -> None:
    names = in_notebook(
        "class Base:\n    lock = LOCK\n    password = 'correct-horse'\n    def go(self):\n        import no_such_thing_d\n"
        "        return GUARD\n"
        "class Client(Base):\n    @property\n    def one(self):\n        import no_such_thing_e\n"
        "    @functools.cached_property\n    def two(self):\n        import no_such_thing_f\n"
        "def f(n: int = 3) -> int:\n    'F.'\n    return Client().go()\n"
        "def g(n: int) -> int:\n    'G.'\n    return h(n)\n"
        "def h(n, lock=LOCK):\n    return n\n",
        LOCK=threading.Lock(),
        GUARD=threading.Lock(),
        functools=functools,
    )
    for cls in ("Base", "Client"):
        names[cls].__module__ = "__main__"
    found = checked(bound(hermes, tool(names["f"]), tool(names["g"])), Flyte()).findings
    assert {(f.site.tool, f.variable) for f in found if f.code == "unpicklable"} == {
        ("f", "Base.lock"),
        ("f", "GUARD"),
        ("g", "lock"),
    }
    assert [f.variable for f in found if f.code == "secret-name"] == ["Base.password"]
    assert sorted(f.text.split("'")[1][-1] for f in found if f.code == "missing-module") == ["d", "e", "f"]


@pytest.mark.parametrize(
    "body",
    [
        "def __getattr__(self, name):\n        if name[0] == '_':\n            raise AttributeError\n        return Far()",
        "def __getattr__(self, name):\n        raise RuntimeError('outside of a request')",
    ],
)
def test_an_object_that_answers_oddly_stops_no_look(hermes: Hermes, body: str) -> None:
    names = in_notebook(
        f"class Far:\n    {body}\n    def __call__(self):\n        return 1\nfar = Far()\n"
        "def f() -> int:\n    'F.'\n    return far()\n"
    )
    checked(bound(hermes, tool(names["f"])), Flyte())


@pytest.mark.parametrize("name", ["a--b", "a_.b", "class", "Shop.v2", "x-", "Get_-_rate", "flyte"])
def test_any_agents_name_gives_an_environment_and_a_module(hermes: Hermes, name: str) -> None:
    import ast

    from hermes_nb.flyte.promotion.export import source

    def get__rate() -> int:
        """A name with two underscores."""
        return 1

    agent = Agent(name, model=REMOTE_MODEL, tools=[tool(get__rate)])
    plan = checked(hermes.bind(agent), Flyte(mode="local"))
    assert plan.fatal == []
    plan.task()  # Flyte accepts the names
    assert isinstance(ast.parse(source(plan)).body[-1], ast.AsyncFunctionDef)


@pytest.mark.parametrize("options", [{"mode": "moon"}, {"retries": -1}, {"secrets": "KEY"}, {"allow": "secret"}])
def test_a_configuration_that_makes_no_sense_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        Flyte(**options)


def test_a_package_that_is_not_installed_here_is_named(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    present = _sdk.versions()
    monkeypatch.setattr(_sdk, "versions", lambda: {**present, "flyteplugins-agents-hermes": ""})
    (finding,) = checked(bound(hermes), Flyte()).fatal
    assert finding.code == "package"
    assert "flyteplugins-agents-hermes" in finding.text
    assert "hermes-nb[flyte]" in finding.cure


def test_what_can_not_be_told_or_may_be_meant_is_a_note(hermes: Hermes) -> None:
    plan = checked(bound(hermes, toolsets=["terminal"]), Flyte(image="registry.example/mine:v1"))
    assert [(f.code, f.severity) for f in plan.findings] == [("toolsets", "note"), ("unknown-image", "note")]
    assert plan.fatal == []
    assert "terminal" in plan.findings[0].text
    assert "registry.example/mine:v1" in plan.findings[1].text


def test_a_huge_bundle_is_refused_and_its_biggest_variables_are_named(hermes: Hermes) -> None:
    source = "def f() -> int:\n    'F.'\n    return len(BIG) + len(SMALL)\n"
    names = in_notebook(source, BIG=bytes(101_000_000), SMALL=bytes(200_000))
    (finding,) = checked(bound(hermes, tool(names["f"])), Flyte()).fatal
    assert (finding.code, finding.variable, finding.severity) == ("size", "BIG", "stops")
    assert "BIG (101.0 MB), SMALL (200 kB)" in finding.text
    assert "from a file or a bucket" in finding.cure


def test_a_finding_is_data_for_a_widget(hermes: Hermes) -> None:
    names = in_notebook("\ndef f() -> int:\n    'F.'\n    return LOCK.locked()\n", LOCK=threading.Lock())
    plan = checked(bound(hermes, tool(names["f"])), Flyte(allow=["unpicklable"]))
    (finding,) = plan.findings
    told = finding.to_dict()
    expected = {"code": "unpicklable", "severity": "stops", "tool": "f", "line": 2, "cell": None, "variable": "LOCK"}
    assert {k: told[k] for k in expected} == expected
    assert set(told) == {*expected, "text", "cure", "place"}
    assert all(told[k] for k in ("text", "cure", "place"))
    assert plan.to_dict()["may_submit"] is False  # what can't be done can't be allowed


def test_a_finding_that_the_user_allowed_is_a_note(hermes: Hermes) -> None:
    plan = checked(bound(hermes, model=Model("m", "custom", "http://127.0.0.1:1/v1")), Flyte(allow=["loopback-model"]))
    assert [(f["code"], f["severity"]) for f in plan.to_dict()["findings"]] == [("loopback-model", "note")]
    assert plan.to_dict()["may_submit"] is True


def test_a_local_run_may_use_a_model_of_this_machine(hermes: Hermes) -> None:
    assert codes(hermes, model=Model("m", "custom", "http://127.0.0.1:1/v1"), config=Flyte(mode="local")) == []


def test_a_large_variable_is_told_with_its_size(hermes: Hermes) -> None:
    names = in_notebook("def f() -> int:\n    'F.'\n    return len(TABLE)\n", TABLE=list(range(5_000_000)))
    found = checked(bound(hermes, tool(names["f"])), Flyte()).findings
    assert [(f.code, f.variable, f.is_fatal) for f in found] == [("by-value", "TABLE", False), ("size", "TABLE", False)]
    assert "MB" in found[0].text


def test_a_refusal_names_every_finding_and_sends_nothing(hermes: Hermes) -> None:
    @tool(approval=True)
    def careful() -> int:
        """Asks."""
        return 1

    plan = checked(bound(hermes, careful, model=Model("m", "custom", "http://localhost:1/v1")), Flyte())
    with pytest.raises(UsageError) as refused:
        refuse(plan)
    assert "[approval]" in str(refused.value)
    assert "[loopback-model]" in str(refused.value)
    assert "STOPS [approval]" in describe(plan)
    plan.config.allow = ["approval", "loopback-model"]
    refuse(plan)


async def test_it_takes_under_two_seconds_and_knows_the_project(plane: LoopbackPlane, hermes: Hermes) -> None:
    import pandas

    frame = pandas.DataFrame({"x": range(100_000)})

    @tool
    def total() -> int:
        """Sum."""
        return int(frame["x"].sum())

    await preflight(bound(hermes, total), Flyte())  # imports flyte, in this process for the first time
    began_s = time.perf_counter()
    plan = await preflight(bound(hermes, total), Flyte())
    assert time.perf_counter() - began_s < 2.0
    assert [f.code for f in plan.findings] == ["by-value"]
    assert any(p.startswith("pandas==") for p in plan.spec.packages)


async def test_another_endpoint_than_the_users_own_is_refused(plane: LoopbackPlane, hermes: Hermes) -> None:
    plan = await preflight(bound(hermes), Flyte(endpoint="flyte.example:443"))
    assert [f.code for f in plan.findings] == ["endpoint"]
    assert "flyte.init" in plan.findings[0].text


def test_what_local_modules_import_travels_too(hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "shop_one.py": "import json\nimport shop_two\nfrom shop_pack import inner\ntry:\n    import no_such_thing_a\n"
        "except ImportError:\n    pass\ndef rate():\n    import shop_late, no_such_thing_b\n",
        "shop_two.py": "import httpx\nimport typing\nif typing.TYPE_CHECKING:\n    import shop_types\nimport shop_one\n",
        "shop_pack/__init__.py": "",
        "shop_pack/inner.py": "from . import other\nimport shop_deep\n",
        "shop_pack/other.py": "",
        "shop_deep.py": "",
        "shop_late.py": "",
        "shop_types.py": "",
        "shop_unused.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = in_notebook("import shop_one\ndef f() -> int:\n    'F.'\n    return shop_one.rate()\n")
    plan = checked(bound(hermes, tool(names["f"])), Flyte())
    assert plan.spec.local_modules == ["shop_deep", "shop_late", "shop_one", "shop_pack", "shop_two"]
    assert [p.partition("==")[0] for p in plan.spec.packages] == ["httpx"]
    assert plan.findings == []
    (tmp_path / "shop_deep.py").write_text("import no_such_thing_c\n")
    (finding,) = checked(bound(hermes, tool(names["f"])), Flyte()).fatal
    assert (finding.code, finding.where) == ("missing-module", "Module shop_deep.py")
    assert "no_such_thing_c" in finding.text


def _pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> Any:
    """A function that uses a local package of these files."""
    for name, text in {"__init__.py": "", **files}.items():
        (tmp_path / "my_pack" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "my_pack" / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_pack", raising=False)
    return in_notebook("import my_pack\ndef f() -> str:\n    'F.'\n    return my_pack.rates()\n")["f"]


READS = """
from importlib import resources
from pathlib import Path

def rates():
    return Path(__file__).with_name("rates.csv").read_text() + resources.files(__name__).joinpath("more/a.json").read_text()
"""


def test_data_files_of_a_local_package_travel_and_are_read_as_here(
    hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = _pack(tmp_path, monkeypatch, {"__init__.py": READS, "rates.csv": "gold,2", "more/a.json": "{}", ".DS_Store": "x"})
    plan = checked(bound(hermes, tool(f)), Flyte())
    assert plan.findings == []
    (data,) = plan.bundle.tools.values()
    place = tmp_path / "away"
    place.mkdir()
    function = tool_function(plan.bundle.code, digest(plan.bundle.code), "f", data, 0)
    (place / "call.pickle").write_bytes(dumps(function))
    run = "import asyncio, cloudpickle; print(asyncio.run(cloudpickle.load(open('call.pickle', 'rb'))('{}')))"
    for _ in range(2):  # the second finds the folder
        done = subprocess.run(
            [sys.executable, "-c", run],
            cwd=place,
            env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "gold,2{}" in done.stdout, done.stderr


def test_keys_links_and_much_data_of_a_local_package_are_said_to_stay(
    hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere.csv").write_text("x")
    files = {".env": "A=1", "tls/server.pem": "x", "my_credentials.json": "{}", "rates.csv": "gold,2"}
    f = _pack(tmp_path, monkeypatch, files)
    (tmp_path / "my_pack" / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    plan = checked(bound(hermes, tool(f)), Flyte())
    (finding,) = plan.findings
    assert (finding.code, finding.is_fatal) == ("files-left", False)
    assert ".env (named as a key or a secret), link.csv (a link out of the package)" in finding.text
    assert "and 1 more of package 'my_pack' stay here" in finding.text
    names = set(zipfile.ZipFile(io.BytesIO(plan.bundle.code)).namelist())
    assert {n for n in names if n.startswith("my_pack/")} == {"my_pack/__init__.py", "my_pack/rates.csv"}
    (tmp_path / "my_pack" / "big.bin").write_bytes(bytes(2_000_001))
    (finding,) = checked(bound(hermes, tool(f)), Flyte()).findings
    assert finding.text.startswith("Its data files are 2.0 MB, and 2.0 MB would travel: big.bin, rates.csv, ")


def test_a_key_in_a_data_file_stops_a_promotion(hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f = _pack(tmp_path, monkeypatch, {"settings.json": '{"key": "sk-or-v1-0123456789abcdef0123456789abcdef"}'})
    (finding,) = checked(bound(hermes, tool(f)), Flyte()).fatal
    assert (finding.code, finding.where) == ("secret", "Module my_pack/settings.json")


def test_local_modules_travel_as_their_source(hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_rules.py").write_text("LIMIT = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = in_notebook("import my_rules\ndef f() -> int:\n    'F.'\n    return my_rules.LIMIT\n")
    plan = checked(bound(hermes, tool(names["f"])), Flyte())
    assert plan.spec.local_modules == ["my_rules"]
    assert plan.findings == []
