"""The first notebook as a newcomer opens it: alive before anything ran, and again after Run All."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .lab import LabServer
from .nbcheck import Browser
from .test_run import SCREENSHOTS

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(300)]

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "01_hello.ipynb"


def test_the_first_notebook_runs_in_the_browser(tmp_path: Path) -> None:
    shutil.copy(NOTEBOOK, tmp_path)
    env = {"HERMES_NB_MODEL": "offline"}
    with LabServer(tmp_path, env=env, lab_extension=True) as lab, Browser(lab, height=2300) as browser:
        notebook = browser.open(NOTEBOOK.name)
        asked = [i for i, text in enumerate(notebook.outputs()) if "Barbara" in text and "top_customers" in text]
        assert asked, "the committed outputs are not shown"
        # Lab strips the style of what was not run here; the extension gives it.
        assert notebook.page.locator(".jp-OutputArea-output style").count() == 0
        look = "(s => [s.textIndent, s.borderBottomStyle])(getComputedStyle(document.querySelector('.hnb-row')))"
        indent, border = notebook.page.evaluate(look)
        assert (float(indent.removesuffix("px")) < 0, border) == (True, "solid")
        notebook.command("notebook:clear-all-cell-outputs")
        notebook.run_all()
        notebook.wait_text("Barbara", cell=asked[-1])
        notebook.wait_idle()
        assert notebook.error_outputs() == []
        assert "top_customers" in notebook.outputs()[asked[-1]]
        notebook.screenshot(SCREENSHOTS / "hello.png")
        browser.assert_clean()
