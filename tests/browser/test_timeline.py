"""The timeline widget as a person meets it: live beside a turn that runs, with errors, hostile, large, and reopened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_nb.testing import Call, Hang, ScriptedModel, Step
from tests.golden.big import session
from tests.golden.logs import load

from .lab import LabServer
from .nbcheck import Browser, Notebook
from .test_run import SCREENSHOTS, contrasts, write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(400)]

NAME = "timeline.ipynb"
SETUP, LIVE, ASK, FAILED, HOSTILE, BIG, AGAIN, BLOCK = range(8)
N_BIG = 20_000

CELLS = (
    '''\
%load_ext hermes_nb
from pathlib import Path
from hermes_nb import Agent, Event, Model, timeline, tool

@tool
def top_customers(n: int = 3) -> list[dict]:
    """Customers with the highest revenue."""
    return [{"customer": "Ada", "revenue": 1200}, {"customer": "Barbara", "revenue": 1010}][:n]

analyst = Agent("analyst", instructions="Answer from the data.", tools=[top_customers],
                model=Model("scripted", "custom", base_url="BASE_URL"))
%hermes agent analyst

def log(name):
    return timeline([Event.from_json(line) for line in Path(name).read_text().splitlines()])''',
    "%hermes timeline --live",
    "%%hermes run -a analyst -o answer\nWhich customers matter most, and why?",
    "log('failed.jsonl')",
    "log('hostile.jsonl')",
    "log('big.jsonl')",
    "%hermes timeline --as figure",
    "import threading\nthreading.Event().wait(60)",
)


class Page:
    """The notebook; `js` evaluates an expression of a cell's view as `v` (the view), `l` (its log)."""

    def __init__(self, notebook: Notebook, browser: Browser, asked: Hang) -> None:
        self.notebook, self.browser, self.asked = notebook, browser, asked

    def js(self, cell: int, expression: str) -> Any:
        return self.notebook.page.evaluate(f"() => {{ {_view(cell)} return {expression}; }}")

    def wait(self, cell: int, expression: str, *, timeout_s: float = 30) -> None:
        script = f"() => {{ {_view(cell)} return v && ({expression}); }}"
        self.notebook.wait_for(script, f"{expression} in cell {cell}", timeout_s=timeout_s)

    def show(self, cell: int) -> None:
        self.notebook.run_cell(cell)
        self.wait(cell, "v.painter.frames > 0", timeout_s=60)
        self.notebook.wait_idle()

    def shoot(self, cell: int, name: str) -> None:
        page = self.notebook.page
        page.mouse.move(0, 0)
        area = page.locator(".jp-Notebook .jp-Cell").nth(cell)
        for theme in ("light", "dark"):
            themed(self.notebook, theme)
            area.scroll_into_view_if_needed()
            page.wait_for_timeout(300)  # the widget follows the theme, then Lab fades
            path = SCREENSHOTS / f"timeline-{name}-{theme}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            area.screenshot(path=str(path))
            assert contrasts(self.notebook, cell) == []
            assert self.js(cell, "v.painter.theme.isDark") == (theme == "dark")
        themed(self.notebook, "light")

    def press(self, cell: int, *keys: str) -> None:
        pane = self.notebook.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".hnbt-pane")
        pane.focus()
        for key in keys:
            pane.press(key)

    def pane(self, cell: int) -> dict[str, float]:
        pane = self.notebook.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".hnbt-pane")
        pane.scroll_into_view_if_needed()
        box: dict[str, float] = pane.bounding_box()
        return box


def _view(cell: int) -> str:
    root = f"[...document.querySelectorAll('.jp-Notebook .jp-Cell')][{cell}]?.querySelector('.hnbt')"
    return f"const v = {root}?.hnbt, l = v?.log;"


def themed(notebook: Notebook, theme: str) -> None:
    notebook.command("apputils:change-theme", theme=f"JupyterLab {theme.title()}")
    is_there = f"document.body.dataset.jpThemeLight === '{str(theme == 'light').lower()}'"
    notebook.wait_for(f"() => {is_there} && !document.getElementById('jupyterlab-splash')", theme, timeout_s=30)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("notebooks")
    asked = Hang("Ada and Barbara matter ", "most: they bring **2,210** together.")
    script: list[Step] = [Call("top_customers", {"n": 2}), asked]
    for name, events in (("failed", load("failed")), ("hostile", load("hostile")), ("big", session(N_BIG))):
        (folder / f"{name}.jsonl").write_text("".join(e.to_json() + "\n" for e in events), encoding="utf-8")
    with ScriptedModel(script) as model:
        write_notebook(folder / NAME, [cell.replace("BASE_URL", model.base_url) for cell in CELLS])
        with LabServer(folder) as lab, Browser(lab) as browser:
            notebook = browser.open(NAME)
            notebook.run_cell(SETUP)
            notebook.wait_text("analyst", cell=SETUP)
            notebook.wait_idle()
            yield Page(notebook, browser, asked)


def test_an_empty_session_says_that_it_waits(page: Page) -> None:
    page.show(LIVE)
    assert "Nothing has happened yet" in page.notebook.outputs()[LIVE]
    page.shoot(LIVE, "empty")


def test_it_follows_a_turn_that_runs_in_another_cell(page: Page) -> None:
    page.notebook.run_cell(ASK)
    page.wait(LIVE, "l.live && l.names.includes('top_customers')", timeout_s=60)
    page.wait(LIVE, "l.n >= 4")
    assert page.notebook.is_running(ASK)
    before = page.js(LIVE, "v.painter.frames")
    page.wait(LIVE, f"v.painter.frames > {before} + 3")  # what runs grows
    page.press(LIVE, "ArrowRight")
    page.wait(LIVE, "v.panel.element.innerText.includes('Which customers matter most')")  # asked of a busy kernel
    page.shoot(LIVE, "running")


def test_at_the_end_it_shows_all_and_stays(page: Page) -> None:
    page.asked.release()
    page.notebook.wait_idle()
    page.wait(LIVE, "!l.live && l.count(i => l.status(i) === 'ok') === l.n")
    page.notebook.wait_text("2,210", cell=ASK)
    page.press(LIVE, "Escape")
    page.shoot(LIVE, "finished")
    assert page.js(LIVE, "l.n") == 4


def test_the_panel_of_an_error_says_what_went_wrong(page: Page) -> None:
    page.show(FAILED)
    page.press(FAILED, "e", "e")
    page.wait(FAILED, "v.panel.element.innerText.includes('KeyError')")
    assert page.js(FAILED, "v.panel.element.innerText.includes('arguments')")
    page.shoot(FAILED, "failed")
    page.press(FAILED, "Enter")
    assert page.js(FAILED, "document.activeElement.closest('.hnbt-panel') !== null")
    page.notebook.page.keyboard.press("Escape")
    assert page.js(FAILED, "v.state.selected") == -1
    assert page.js(FAILED, "document.activeElement === v.pane")


def test_hostile_content_is_text(page: Page) -> None:
    page.show(HOSTILE)
    for number in range(page.js(HOSTILE, "l.n")):
        page.js(HOSTILE, f"v.goTo({number})")
        page.wait(HOSTILE, "v.shared.details.get(v.state.selected)?.isWhole")
    page.js(HOSTILE, "v.toggleFrame()")
    page.wait(HOSTILE, "v.table.told.size === l.n")
    assert page.js(HOSTILE, "v.root.querySelectorAll('script, img, svg, iframe, a, b').length") == 0
    assert "pwned" not in page.notebook.page.title()


def test_twenty_thousand_spans_are_zoomed_searched_and_filtered(page: Page) -> None:
    page.show(BIG)
    assert page.js(BIG, "l.n") >= N_BIG
    page.shoot(BIG, "20000")
    box = page.pane(BIG)
    mouse = page.notebook.page.mouse
    mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 90)
    whole = page.js(BIG, "v.state.to - v.state.from")
    mouse.wheel(0, -400)  # not focused: the page scrolls
    page.notebook.page.wait_for_timeout(200)
    assert page.js(BIG, "v.isFitted")
    box = page.pane(BIG)
    mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 90)
    page.press(BIG, "+", "+")
    page.wait(BIG, f"v.state.to - v.state.from < {whole} / 2")
    mouse.wheel(0, -400)
    page.wait(BIG, f"v.state.to - v.state.from < {whole} / 4")
    at = page.js(BIG, "v.state.from")
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 90, steps=4)
    mouse.up()
    page.wait(BIG, f"v.state.from > {at}")
    page.press(BIG, "0")
    page.wait(BIG, "v.isFitted")
    page.notebook.page.locator(".jp-Notebook .jp-Cell").nth(BIG).locator("input[type=search]").fill("question 17")
    page.wait(BIG, "v.found.textContent === '1 found' || Number(v.root.dataset.found) > 0")
    page.notebook.page.keyboard.press("Enter")
    page.wait(BIG, "v.panel.element.innerText.includes('Question 17')")
    page.js(BIG, "(v.search.value = '', v._search())")
    filters = page.notebook.page.locator(".jp-Notebook .jp-Cell").nth(BIG)
    filters.get_by_label("Filter by status").select_option("error")
    page.wait(BIG, "[...l.layout().shown].every(i => l.status(i) === 'error')")
    assert page.js(BIG, "l.layout().shown.length") > 0
    filters.get_by_label("Filter by status").select_option("")
    page.press(BIG, "Escape", "s")
    page.wait(BIG, "v.painter.slowAt > 0")  # its mark stands beside the lane's name
    page.wait(BIG, "v.state.selected === l.slowest()")


def test_a_blocking_cell_does_not_keep_it_from_answering(page: Page) -> None:
    page.press(BIG, "Escape")
    page.notebook.run_cell(BLOCK)
    page.press(BIG, "End")
    last = page.js(BIG, "v.state.selected")
    page.wait(BIG, f"v.shared.details.get({last})?.isWhole")
    assert page.notebook.is_running(BLOCK)
    page.notebook.interrupt()
    page.notebook.wait_idle(timeout_s=20)


def test_keys_are_the_timelines_while_it_has_the_focus(page: Page) -> None:
    state = "[jupyterapp.shell.currentWidget.content.activeCellIndex, jupyterapp.shell.currentWidget.content.widgets.length]"
    before = page.js(BIG, state)
    page.press(BIG, *"Home ArrowDown ArrowDown ArrowUp ArrowRight b a Shift+ArrowRight Enter Escape".split())
    assert page.js(BIG, "document.activeElement === v.pane")
    assert page.js(BIG, state) == before


def test_the_frame_is_the_text_alternative(page: Page) -> None:
    cell = page.notebook.page.locator(".jp-Notebook .jp-Cell").nth(LIVE)
    cell.get_by_role("button", name="Show the steps as a table").click()
    page.wait(LIVE, "v.table.element.querySelectorAll('tbody tr').length === l.n && v.table.told.size === l.n")
    text = page.js(LIVE, "v.table.element.innerText")
    assert "top_customers" in text
    assert "tokens in" in text
    assert "4 spans" in page.js(LIVE, "v.pane.getAttribute('aria-label')")
    cell.get_by_role("button", name="Show the steps as a table").click()


def test_the_figure_is_one_click_away(page: Page) -> None:
    cell = page.notebook.page.locator(".jp-Notebook .jp-Cell").nth(LIVE)
    cell.get_by_role("button", name="Show the Plotly figure below").click()
    plotted = "() => [...document.querySelectorAll('.jp-Notebook .jp-Cell')][%d].querySelector('.js-plotly-plot .bars path')"
    page.notebook.wait_for(plotted % LIVE, "the figure", timeout_s=60)
    page.notebook.run_cell(AGAIN)
    page.notebook.wait_for(plotted % AGAIN, "the figure by the magic", timeout_s=60)


def test_a_narrow_window_still_fits(page: Page) -> None:
    page.notebook.page.set_viewport_size({"width": 560, "height": 900})
    page.wait(FAILED, "v.painter.width < 520")
    page.press(FAILED, "e")
    page.wait(FAILED, "v.root.scrollWidth <= v.root.clientWidth + 1")
    page.shoot(FAILED, "narrow")
    page.notebook.page.set_viewport_size({"width": 1400, "height": 1000})
    page.press(FAILED, "Escape")


def test_saved_and_reopened_without_a_kernel_it_is_static(page: Page) -> None:
    page.wait(BIG, "v.model.get('static')['text/html']")
    page.notebook.save()
    path = page.browser.lab.root / NAME
    saved = json.loads(path.read_text(encoding="utf-8"))
    for cell in (LIVE, FAILED, HOSTILE, BIG):
        (output,) = saved["cells"][cell]["outputs"]
        assert sorted(output["data"]) == ["text/html", "text/plain"]
        assert len(json.dumps(output)) < 300_000
    assert page.js(LIVE, "v.root.isConnected")  # the widget stays on the page
    page.browser.assert_clean()
    page.notebook.close()
    page.notebook = page.browser.open(NAME)
    page.notebook.wait_text("top_customers", cell=LIVE)
    saved_rows = page.notebook.page.locator(".jp-Notebook .jp-Cell").nth(LIVE).locator(".hnb-strip > details")
    assert "2,210" not in page.notebook.outputs()[LIVE]  # the bars alone: the conversation stands in a cell of its own
    saved_rows.locator("> summary").click()
    page.notebook.wait_text("2,210", cell=LIVE)
    assert page.notebook.page.evaluate("document.querySelectorAll('.hnbt').length") == 0
    assert "model not found" not in "".join(page.notebook.outputs())
    for theme in ("light", "dark"):
        themed(page.notebook, theme)
        page.notebook.screenshot(SCREENSHOTS / f"timeline-reopened-{theme}.png")
        assert contrasts(page.notebook, LIVE) == []


def test_the_page_was_clean(page: Page) -> None:
    page.browser.assert_clean()
