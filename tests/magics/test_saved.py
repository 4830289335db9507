"""A notebook that ran is read without a kernel: nbconvert executes it, and shows answer and rows."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbconvert
import nbformat
import pytest

from hermes_nb.testing import Call, Hang, Say
from tests.magics.conftest import SETUP, Asked
from tests.magics.kernel import PROJECT

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]


def convert(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`jupyter nbconvert`, as its users call it."""
    templates = Path(nbconvert.__file__).parents[4] / "share" / "jupyter"  # also where a venv sees another's packages
    ours = {"PYTHONPATH": str(PROJECT), "IPYTHONDIR": str(folder / ".ipython"), "JUPYTER_PATH": str(templates)}
    environment = {**os.environ, **ours}
    return subprocess.run(
        [sys.executable, "-m", "nbconvert", *options, "run.ipynb"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def written(folder: Path, *sources: str) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    nbformat.write(notebook, folder / "run.ipynb")


def words(page: str) -> str:
    """What a page says."""
    body = page.partition("<body")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_nbconvert_executes_it_and_its_page_shows_answer_and_rows(tmp_path: Path, model: Asked) -> None:
    steps = iter([Call("add", {"a": 1, "b": 2}), Say("It is **3**."), Say("In the background.")])
    model.answer = lambda request: next(steps)
    written(
        tmp_path,
        SETUP.format(url=model.scripted.base_url),
        "%hermes agent analyst",
        "%hermes run What is 1 + 2?",
        "%hermes run --background -o later And?",
        "await later.wait();",
    )
    ran = convert(tmp_path, "--execute", "--inplace")
    assert ran.returncode == 0, ran.stderr[-2000:]
    saved = nbformat.read(tmp_path / "run.ipynb", as_version=4)
    nbformat.validate(saved)
    (shown,) = [o for o in saved.cells[2].outputs if o.output_type == "display_data"]
    assert {"text/plain", "text/html", "text/markdown"} <= set(shown.data)
    assert "In the background." in json.dumps(saved.cells[3].outputs)
    assert "widget" not in json.dumps(saved)
    for template in ("lab", "classic"):
        ran = convert(tmp_path, "--to", "html", "--template", template, "--output", f"{template}.html")
        assert ran.returncode == 0, ran.stderr[-2000:]
        page = words((tmp_path / f"{template}.html").read_text(encoding="utf-8"))
        for text in ("It is 3 .", "add", "adding 1 2", "add(a=1, b=2)", "In the background.", "cost unknown"):
            assert text in page, text
    ran = convert(tmp_path, "--to", "markdown")
    assert "It is <strong>3</strong>." in (tmp_path / "run.md").read_text(encoding="utf-8") + html.unescape(ran.stdout)


def test_nbconvert_stops_where_a_turn_did_not_complete(tmp_path: Path, model: Asked) -> None:
    model.answer = lambda request: Hang("Once upon ", "a time.")
    written(tmp_path, SETUP.format(url=model.scripted.base_url), "%hermes run --timeout 4 Tell me", "print('never')")
    ran = convert(tmp_path, "--execute", "--to", "notebook", "--output", "out.ipynb")
    assert ran.returncode != 0
    assert "TurnTimeoutError" in ran.stderr
