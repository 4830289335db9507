"""The extension in Notebook 7, which shares JupyterLab's interfaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_nb.testing import Hang, ScriptedModel

from .lab import LabServer
from .nbcheck import Browser
from .test_extension import CELLS, NAME, SETUP, STORY, Page, serious
from .test_run import SCREENSHOTS, write_notebook
from .test_timeline import themed

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(300)]


def test_in_notebook_7_buttons_panel_and_cells_work(tmp_path: Path) -> None:
    story = Hang("Once upon a time ", "it was told.")
    with ScriptedModel([story]) as model:
        cells = (CELLS[SETUP], CELLS[STORY])
        write_notebook(tmp_path / NAME, [cell.replace("BASE_URL", model.base_url) for cell in cells])
        with LabServer(tmp_path, app="notebook", lab_extension=True) as lab, Browser(lab) as browser:
            page = Page(browser.open(NAME), browser, story, model)
            page.notebook.run_cell(0)
            page.notebook.wait_text("Agent analyst", cell=0)
            page.notebook.wait_idle()
            page.select(1)
            page.button("Run agent").click()
            page.notebook.wait_text("Once upon a time", cell=1)
            page.notebook.command("hermes:panel")  # for the first time, while the kernel is busy
            page.wait_panel("1 turn running.")
            assert page.page.locator(".hnb-magic").inner_text() == "%%hermes"
            for theme in ("light", "dark"):
                themed(page.notebook, theme)
                page.page.wait_for_timeout(300)  # it fades
                page.notebook.screenshot(SCREENSHOTS / f"extension-notebook7-{theme}.png")
                assert serious(page.page) == []
            themed(page.notebook, "light")
            page.row("Running turns", "story").get_by_role("button", name="Stop").click()
            page.notebook.wait_idle(timeout_s=20)
            assert page.button("Promote to Flyte").is_visible()
            assert serious(page.page) == []
            assert browser.external == []
            # Notebook 7.6 logs this one without any extension.
            assert [e for e in browser.errors if "reading 'schema'" not in e] == []
