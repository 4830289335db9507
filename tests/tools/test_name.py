import json
import subprocess
import sys

import pytest

from hermes_nb.errors import ToolNameError
from hermes_nb.tools.decorator import tool
from hermes_nb.tools.name import HERMES_NAMES, OUR_NAMES, check, unique


@pytest.mark.parametrize("name", ["read_file", "terminal", "todo", "memory", "web_search", "execute_code", "tool_search"])
def test_a_name_hermes_owns_is_refused_with_a_suggestion(name):
    with pytest.raises(ToolNameError, match=rf"belongs to Hermes's own.*@tool\(name='my_{name}'\)"):
        check(name)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("top customers", "top_customers"),
        ("größe", "grosse"),
        ("naïve-bayes!", "naive-bayes"),
        ("3d", "my_3d"),
        ("", "my_tool"),
        ("日本", "my_tool"),
        ("a" * 65, "a" * 64),
        ("read file", "my_read_file"),
        ("f.g", "f_g"),
    ],
)
def test_a_malformed_name_is_refused_with_a_well_formed_one(name, suggestion):
    with pytest.raises(ToolNameError) as error:
        check(name)
    assert repr(suggestion) in str(error.value)
    assert check(suggestion) == suggestion


def test_a_lambda_needs_a_name():
    with pytest.raises(ToolNameError, match="lambda"):
        tool(lambda: 1)
    assert tool(lambda: 1, name="one").name == "one"


@pytest.mark.parametrize("name", ["f", "_f", "top-customers", "A1", "a" * 64])
def test_a_well_formed_name_is_taken(name):
    assert check(name) == name


def test_a_second_function_of_a_name_is_refused_and_both_are_located():
    def probe(n: int) -> int: ...

    first = tool(probe)

    def probe(s: str) -> str: ...

    with pytest.raises(
        ToolNameError, match=r"(?s)'probe'.*line \d+ of .*test_name\.py.* and .*line \d+ of .*name='my_probe'"
    ):
        unique([first, tool(probe)])


def test_the_same_function_twice_is_kept_once():
    class Shop:
        @tool
        def best(self) -> None: ...

    def probe(n: int) -> int: ...

    def other(n: int) -> int: ...

    shop = Shop()
    tools = [tool(probe), tool(other), tool(probe), shop.best, shop.best]
    assert [t.name for t in unique(tools)] == ["probe", "other", "best"]
    with pytest.raises(ToolNameError):
        unique([shop.best, Shop().best])


@pytest.mark.hermes
def test_the_names_hermes_owns_are_those_of_the_installed_release(tmp_path):
    code = (
        "import json, model_tools; from tools.registry import registry; from tools.tool_search import BRIDGE_TOOL_NAMES;"
        "import toolsets; named = {t for s in toolsets.TOOLSETS.values() for t in s['tools']};"
        "print('NAMES', json.dumps(sorted({*registry.get_all_tool_names(), *BRIDGE_TOOL_NAMES, *named})))"
    )
    environment = {"HERMES_HOME": str(tmp_path / "hermes"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("NAMES "))
    owned = set(json.loads(line.removeprefix("NAMES ")))
    assert {"added": sorted(owned - HERMES_NAMES), "gone": sorted(HERMES_NAMES - owned)} == {"added": [], "gone": []}


@pytest.mark.parametrize("name", OUR_NAMES)
def test_a_name_of_the_package_s_own_tools_is_refused_with_a_suggestion(name):
    for make in (lambda: tool(print, name=name), lambda: tool(int, name=name), lambda: tool(tool(len), name=name)):
        with pytest.raises(ToolNameError, match=rf"{name!r} belongs to the tool of hermes_nb that .*name='my_{name}'"):
            make()


def test_a_function_of_such_a_name_is_refused_by_it():
    def more(x: int) -> int:
        return x

    with pytest.raises(ToolNameError, match="'more' belongs to the tool of hermes_nb that reads on in a cut result"):
        tool(more)
    assert tool(more, name="more_of").name == "more_of"
