"""Turns of the Python interface in a notebook that never loaded the extension: the same widget, the same file."""

from __future__ import annotations

import json

import pytest

from hermes_nb.testing import Hang, Say

from .turn_page import Page

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(300)]

NAME = "unloaded.ipynb"
SETUP, OPEN, LOCAL = range(3)
CELLS = (
    """\
from hermes_nb import Agent, Hermes, Model

agent = Agent("analyst", model=Model("scripted", "custom", base_url="BASE_URL"))
hermes = Hermes.open_local()
analyst = hermes.bind(agent)
print("Agent bound")""",
    "result = await analyst.run('Tell me a story.')\nresult.status",
    """\
async with Hermes.local(state="other") as local:
    instance = await local.create_instance("demo", agents=[agent])
    print((await instance.agent("analyst").run("Who matters?")).status)""",
)


def test_a_turn_streams_and_stops_by_click(page: Page) -> None:
    page.run(OPEN, Hang("Once upon a time ", "it was told."))
    page.wait(OPEN, "v?.state.answer.includes('Once upon')", timeout_s=60)
    page.button(OPEN, "Stop").click()
    page.notebook.wait_text("'stopped'", cell=OPEN)
    page.notebook.wait_idle()
    assert page.notebook.error_outputs() == []  # the status of a result, not an error
    page.model.extend([Say("It was told after all.")])
    page.button(OPEN, "Retry").click()
    page.wait(OPEN, "v.state.answer === 'It was told after all.' && v.state.head.status === 'ok'")


def test_a_turn_whose_hermes_is_closed_with_the_cell_stays_readable(page: Page) -> None:
    page.run(LOCAL, Say("Ada matters."))
    page.notebook.wait_text("completed", cell=LOCAL)
    page.notebook.wait_idle()
    page.wait(LOCAL, "v?.state.answer === 'Ada matters.'")
    for name in ("Retry", "Fork here", "Promote to Flyte"):
        page.button(LOCAL, name).click()
        page.wait(LOCAL, "v.said.classList.contains('hnbr-error') && v.said.textContent.includes('closed')")
        page.wait(LOCAL, "(v.said.textContent = '', 1)")
    assert page.cell(LOCAL).locator(".hnbs").count() == 0


def test_saved_it_is_static(page: Page) -> None:
    page.notebook.save()
    saved = json.loads((page.browser.lab.root / NAME).read_text(encoding="utf-8"))
    for cell, text in ((OPEN, "It was told after all."), (LOCAL, "Ada matters.")):
        forms = next(o["data"] for o in saved["cells"][cell]["outputs"] if o["output_type"] == "display_data")
        assert sorted(forms) == ["text/html", "text/markdown", "text/plain"]
        assert text in "".join(forms["text/plain"])
    page.browser.assert_clean()
