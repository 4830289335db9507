"""Each notebook runs from top to bottom without a key, and is as it should be in the repository."""

import importlib.util
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ALIVE = {"01_hello", "02_tools", "03_sessions", "04_timeline", "05_promote", "06_real_data", "09_map_and_eval"}  # with outputs
MOST_S = 300  # all of them, together


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", ROOT / "scripts" / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in load(path)["cells"] if cell["cell_type"] == "code"]


def outputs(path: Path) -> list[dict[str, Any]]:
    return [output for cell in code_cells(path) for output in cell["outputs"]]


@pytest.mark.kernel
@pytest.mark.hermes
class TestRun:
    took_s: ClassVar[dict[str, float]] = {}

    @pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
    def test_it_runs_without_a_key_in_a_minute(self, path: Path, demo: ModuleType) -> None:
        began_s = time.monotonic()
        notebook = demo.run(path)
        self.took_s[path.stem] = time.monotonic() - began_s
        assert self.took_s[path.stem] < 60
        shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
        assert [output for output in shown if output["output_type"] == "error"] == []

    def test_all_of_them_take_less_than_five_minutes(self, record_property: Any) -> None:
        record_property("took_s", self.took_s)
        if len(self.took_s) < len(NOTEBOOKS):
            pytest.skip("not all of them were run")
        assert sum(self.took_s.values()) < MOST_S, self.took_s


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_short_and_says_what_it_shows(path: Path) -> None:
    cells = load(path)["cells"]
    assert len(cells) <= 20
    assert cells[0]["cell_type"] == "markdown"
    head = "".join(cells[0]["source"])
    assert head.startswith("# ")
    for promise in ("You will see", "without a key", "offline model"):
        assert promise in head, f"its first cell does not say {promise!r}"
    assert load(path)["metadata"]["kernelspec"]["name"] == "python3"


def test_the_numbers_are_in_order_and_those_that_must_be_alive_are_there() -> None:
    assert {path.stem for path in NOTEBOOKS} >= ALIVE
    assert len({path.stem[:2] for path in NOTEBOOKS}) == len(NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed_is_readable_anywhere(path: Path) -> None:
    """Outputs of a whole run or none; no widget, which is an error without its kernel; nothing of the machine that ran it."""
    assert "widgets" not in load(path)["metadata"]
    if path.stem in ALIVE:
        lines = ("%%hermes run", "%hermes run", "%%hermes map")
        asked = [cell for cell in code_cells(path) if "".join(cell["source"]).startswith(lines)]
        assert asked
        assert all(cell["outputs"] for cell in asked)
        counts = [cell["execution_count"] for cell in code_cells(path)]
        assert counts == list(range(1, len(counts) + 1)), "scripts/notebooks.py --write runs it from top to bottom"
    for output in outputs(path):
        assert output["output_type"] != "error"
        data = output.get("data", {})
        assert not any("widget-view" in kind for kind in data)
        assert not data or {"text/plain", "text/html", "text/markdown", "image/png"} & set(data)
    text = json.dumps(outputs(path))
    found = re.findall(r"(?:/root|/home|/Users|/tmp|/private|/opt|/mnt|/work|/var)/[\w./-]+", text)
    assert found == [], "a path of a machine"
    assert path.stat().st_size < 300_000


def test_those_that_are_alive_name_the_model_that_answered() -> None:
    for path in NOTEBOOKS:
        if path.stem in ALIVE:
            assert "hermes-nb-offline ·" in json.dumps(outputs(path), ensure_ascii=False), path.stem


def test_answers_have_every_form_that_a_viewer_may_want() -> None:
    asked = [c for c in code_cells(ROOT / "notebooks" / "01_hello.ipynb") if "".join(c["source"]).startswith("%%hermes run")]
    assert asked
    for cell in asked:
        bundles = [output["data"] for output in cell["outputs"] if "data" in output]
        assert any({"text/markdown", "text/html", "text/plain"} <= set(bundle) for bundle in bundles)


@pytest.mark.kernel
@pytest.mark.hermes
def test_the_demo_prints_answer_and_rows_and_how_to_go_on() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "demo.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "top_customers" in ran.stdout
    assert "1200" in ran.stdout
    assert "jupyter lab notebooks/01_hello.ipynb" in ran.stdout
    assert not (ROOT / "notebooks" / ".hermes-nb").exists()
