"""Each notebook runs from top to bottom without a key, and is as it should be in the repository."""

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ALIVE = "01_hello.ipynb"  # its outputs are committed: it must look alive where nothing runs


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


@pytest.mark.kernel
@pytest.mark.hermes
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_without_a_key_in_a_minute(path: Path, demo: ModuleType) -> None:
    began_s = time.monotonic()
    notebook = demo.run(path)
    assert time.monotonic() - began_s < 60
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output for output in outputs if output["output_type"] == "error"] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_short_and_has_no_outputs_but_where_it_must(path: Path) -> None:
    assert len(load(path)["cells"]) <= 20
    assert load(path)["cells"][0]["cell_type"] == "markdown"
    assert load(path)["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in load(path)["metadata"]
    has_outputs = [bool(cell["outputs"]) for cell in code_cells(path)]
    assert any(has_outputs) == (path.name == ALIVE)


def test_the_first_one_looks_alive_without_a_kernel() -> None:
    asked = [cell for cell in code_cells(ROOT / "notebooks" / ALIVE) if "".join(cell["source"]).startswith("%%hermes run")]
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
