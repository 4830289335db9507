"""The first notebook as a newcomer opens it: alive before anything ran, and again after Run All."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .lab import LabServer
from .nbcheck import Browser
from .test_run import SCREENSHOTS

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(300)]

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOK, TIMELINE = NOTEBOOKS / "01_hello.ipynb", NOTEBOOKS / "04_timeline.ipynb"


def test_the_first_notebook_runs_in_the_browser(tmp_path: Path) -> None:
    shutil.copy(NOTEBOOK, tmp_path)
    env = {"HERMES_NB_MODEL": "offline"}
    with LabServer(tmp_path, env=env, lab_extension=True) as lab, Browser(lab, height=2300) as browser:
        notebook = browser.open(NOTEBOOK.name)
        asked = [i for i, text in enumerate(notebook.outputs()) if "Barbara" in text and "top_customers" in text]
        assert asked, "the committed outputs are not shown"
        # Lab strips the style of what was not run here; the extension gives it.
        assert notebook.page.locator(".jp-OutputArea-output style").count() == 0
        look = "(s => [s.tableLayout, s.borderCollapse])(getComputedStyle(document.querySelector('.hnb-steps')))"
        assert notebook.page.evaluate(look) == ["fixed", "collapse"]
        notebook.command("notebook:clear-all-cell-outputs")
        notebook.run_all()
        notebook.wait_text("Barbara", cell=asked[-1])
        notebook.wait_idle()
        assert notebook.error_outputs() == []
        assert "top_customers" in notebook.outputs()[asked[-1]]
        notebook.screenshot(SCREENSHOTS / "hello.png")
        browser.assert_clean()


def test_a_saved_timeline_shows_its_bars_where_it_was_not_run(tmp_path: Path) -> None:
    shutil.copy(TIMELINE, tmp_path)
    with LabServer(tmp_path, lab_extension=True) as lab, Browser(lab, height=2300) as browser:
        notebook = browser.open(TIMELINE.name)
        bar = notebook.page.locator(".hnb-strip i.hnb-tool").first
        assert bar.is_visible()
        assert "gradient" in bar.evaluate("e => getComputedStyle(e).backgroundImage")
        assert bar.bounding_box()["width"] > 50
        notebook.screenshot(SCREENSHOTS / "hello-timeline.png")
        browser.assert_clean()
