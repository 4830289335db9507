"""The guide's sub-command, view and runtime of one file each, word for word, in a package that a real kernel finds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "extending.md").read_text(encoding="utf-8")
SETUP = """
%load_ext hermes_nb
from hermes_nb import Agent, tool
@tool
def top_customers(n: int = 3) -> list[str]:
    "Customers with the highest revenue."
    return ["Ada", "Barbara", "Grace"][:n]
analyst = Agent("analyst", tools=[top_customers], model="offline")
%hermes agent analyst
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("mine")
    files = dict(re.findall(r"```python\n# mine/(\w+\.py)\n(.*?)```", GUIDE, re.DOTALL))
    assert set(files) == {"longest.py", "calls.py", "nice.py"}
    (folder / "site" / "mine").mkdir(parents=True)
    for name, text in files.items():
        (folder / "site" / "mine" / name).write_text(text, encoding="utf-8")
    told = next(block for block in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL) if "hermes_nb.views" in block)
    groups = tomllib.loads(told)["project"]["entry-points"]
    lines = [f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in entries.items()) for group, entries in groups.items()]
    info = folder / "site" / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "work").mkdir()
    made = Kernel(
        folder / "work",
        {"PYTHONPATH": str(folder / "site"), "HERMES_NB_TEMPLATE": "0"},  # a forked worker is no child of its kernel
    )
    try:
        made.ok(SETUP)
        made.ok("%hermes run -a analyst Which 2 customers have the highest revenue?")
        yield made
    finally:
        made.close()


def test_a_sub_command(kernel: Kernel) -> None:
    assert kernel.ok("%hermes longest").out == "top_customers\n"
    assert "name the slowest tool of the newest answer" in kernel.ok("%hermes help longest").out
    assert "Unknown option --nope" in str([m["content"] for m in kernel.run("%hermes longest --nope").messages])


def test_a_view(kernel: Kernel) -> None:
    assert kernel.ok("%hermes timeline --as calls").out == "top_customers\n"
    said = str([m["content"] for m in kernel.run("%hermes timeline --as cals").messages])
    assert "No view named" in said
    assert "calls" in said


def test_a_runtime(kernel: Kernel) -> None:
    kernel.ok("%hermes run -a analyst --on nice -o answer Which 2 customers have the highest revenue?")
    assert "Barbara" in kernel.ok("print(answer.text)").out
    assert kernel.ok(
        "import psutil\nprint(psutil.Process().nice() < 10, max(p.nice() for p in psutil.Process().children()))"
    ).out == ("True 10\n")
    said = str([m["content"] for m in kernel.run("%hermes run -a analyst --on nise Which?").messages])
    assert "No runtime named" in said
