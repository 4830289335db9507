"""A collapsed output says what it holds, while its widget lives and when the file is opened again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_nb.testing import Say, ScriptedModel

from .lab import LabServer
from .nbcheck import Browser, Notebook
from .test_run import SCREENSHOTS, write_notebook
from .turn_page import ANALYST

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(300)]

NAME = "collapsed.ipynb"
SETUP, ASK, OTHER = range(3)
CELLS = (ANALYST, "%%hermes run -a analyst\nWho matters?", "from IPython.display import HTML\nHTML('<b>other</b>')")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Notebook]]:
    folder = tmp_path_factory.mktemp("notebooks")
    with ScriptedModel([Say("They bring **2,210** together.")]) as model:
        write_notebook(folder / NAME, [cell.replace("BASE_URL", model.base_url) for cell in CELLS])
        with LabServer(folder, lab_extension=True) as lab, Browser(lab) as browser:
            notebook = browser.open(NAME)
            for cell in range(len(CELLS)):
                notebook.run_cell(cell)
                notebook.wait_idle()
            notebook.wait_text("together.", cell=ASK)
            yield browser, notebook


def lines(notebook: Notebook) -> list[str]:
    notebook.wait_for("() => document.querySelectorAll('.jp-OutputPlaceholder').length === 3", "three lines", timeout_s=20)
    return list(notebook.page.locator(".jp-OutputPlaceholder").all_inner_texts())


def check(said: list[str]) -> None:
    assert said[SETUP].startswith("Agent analyst")
    assert said[ASK].startswith("They bring 2,210 together. · scripted · 1 model call · 20 tokens in, 10 out")
    assert said[OTHER].startswith("<b>other</b>")  # JupyterLab's own


def test_it_says_the_answer_live_and_saved(opened: tuple[Browser, Notebook]) -> None:
    browser, notebook = opened
    notebook.command("notebook:hide-all-cell-outputs")
    check(lines(notebook))
    notebook.screenshot(Path(SCREENSHOTS / "collapsed-light.png"))
    notebook.save()
    notebook.close()
    check(lines(browser.open(NAME)))
    browser.assert_clean()
