"""`%%hermes run` as a person meets it: JupyterLab in a Chromium, a kernel, a worker with Hermes, a model held back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes_nb.testing import Call, Hang, Say, ScriptedModel, Step

from .lab import LabServer
from .nbcheck import Browser, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(300)]

SCREENSHOTS = Path(os.environ.get("NBCHECK_SCREENSHOTS", Path(__file__).resolve().parents[2] / "screenshots"))
NAME = "run.ipynb"
SETUP, ASK, STOP, GO_ON = range(4)

CELLS = (
    '''\
%load_ext hermes_nb
from hermes_nb import Agent, Model, tool

@tool
def top_customers(n: int = 3) -> list[dict]:
    """Customers with the highest revenue."""
    return [{"customer": "Ada", "revenue": 1200}, {"customer": "Barbara", "revenue": 1010}][:n]

analyst = Agent("analyst", instructions="Answer from the data.", tools=[top_customers],
                model=Model("scripted", "custom", base_url="BASE_URL"))
%hermes agent analyst''',
    "%%hermes run -a analyst -o answer\nWhich customers matter most, and why?",
    "%%hermes run -a analyst\nTell me a very long story.",
    "%%hermes run -a analyst\nAre you still there?",
)


@dataclass
class Page:
    notebook: Notebook
    browser: Browser
    folder: Path
    asked: Hang
    story: Hang


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("notebooks")
    asked = Hang("Ada and Barbara matter ", "most: they bring **2,210** together.")
    story = Hang("Once upon a time ", "it was never told.")
    script: list[Step] = [Call("top_customers", {"n": 2}), asked, story, Say("Still here, and listening.")]
    with ScriptedModel(script) as model:
        write_notebook(folder / NAME, [cell.replace("BASE_URL", model.base_url) for cell in CELLS])
        with LabServer(folder) as lab, Browser(lab) as browser:
            notebook = browser.open(NAME)
            notebook.run_cell(SETUP)
            notebook.wait_text("analyst", cell=SETUP)
            notebook.wait_idle()
            yield Page(notebook, browser, folder, asked, story)


def write_notebook(path: Path, sources: list[str]) -> None:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for i, text in enumerate(sources)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook), encoding="utf-8")


def shoot(page: Page, name: str) -> None:
    page.notebook.page.mouse.move(0, 0)
    page.notebook.screenshot(SCREENSHOTS / f"run-{name}.png")


def test_text_grows_while_the_turn_runs(page: Page) -> None:
    page.notebook.run_cell(ASK)
    page.notebook.wait_text("Ada and Barbara matter", cell=ASK)
    assert page.notebook.is_running(ASK)
    assert "top_customers" in page.notebook.outputs()[ASK]
    assert "2,210" not in page.notebook.outputs()[ASK]
    shoot(page, "streaming")
    page.asked.release()
    page.notebook.wait_text("2,210", cell=ASK)
    page.notebook.wait_idle()
    shown = page.notebook.outputs()[ASK]
    assert "top_customers" in shown
    assert "scripted" in shown
    assert page.notebook.error_outputs() == []


def test_the_stop_square_stops_and_keeps_what_was_said(page: Page) -> None:
    page.notebook.run_cell(STOP)
    page.notebook.wait_text("Once upon a time", cell=STOP)
    page.notebook.interrupt()
    page.notebook.wait_idle(timeout_s=10)
    assert [error.partition(":")[0] for error in page.notebook.error_outputs()] == ["KeyboardInterrupt"]
    shown = page.notebook.outputs()[STOP]
    assert "Once upon a time" in shown
    assert "never told" not in shown
    shoot(page, "stopped")


def test_the_next_turn_works(page: Page) -> None:
    page.notebook.run_cell(GO_ON)
    page.notebook.wait_text("Still here, and listening.", cell=GO_ON)
    page.notebook.wait_idle()
    shoot(page, "light")


def test_the_dark_theme_is_readable(page: Page) -> None:
    page.notebook.command("apputils:change-theme", theme="JupyterLab Dark")
    is_dark = "document.body.dataset.jpThemeLight === 'false' && !document.getElementById('jupyterlab-splash')"
    page.notebook.wait_for(f"() => {is_dark}", "the dark theme", timeout_s=30)
    shoot(page, "dark")
    assert contrasts(page.notebook, ASK) == []


def test_reopened_the_notebook_shows_answer_and_rows(page: Page) -> None:
    page.notebook.save()
    page.notebook.close()
    page.notebook = page.browser.open(NAME)
    for text in ("2,210", "top_customers"):
        page.notebook.wait_text(text, cell=ASK)
    page.notebook.wait_text("Once upon a time", cell=STOP)
    shoot(page, "reopened")


def test_the_page_was_clean(page: Page) -> None:
    page.browser.assert_clean()


def contrasts(notebook: Notebook, cell: int, *, of: str = ".jp-OutputArea-output *", least: float = 3) -> list[str]:
    """Texts of a cell's output whose colour is too near to what is behind them (WCAG AA for large text: 3 to 1)."""
    found: list[str] = notebook.page.evaluate(
        """([cell, of, least]) => {
        const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);
        const light = c => rgb(c).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
            if ((rgb(c)[3] ?? 1) > 0.5) return c; } return 'rgb(255, 255, 255)'; };
        const area = [...document.querySelectorAll('.jp-Notebook .jp-Cell')][cell];
        const all = [...area.querySelectorAll(of)];
        return all.filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).filter(e => {
            const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05) < least; })
            .map(e => `${e.textContent.trim().slice(0, 40)} (${getComputedStyle(e).color})`);
        }""",
        [cell, of, least],
    )
    return found
